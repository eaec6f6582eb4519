//! What the rules say about a host beside its next step: what its tenant sees, and what alerts prevent.

use std::sync::Arc;

use crate::ir::guard::Guard;

/// What alerts can prevent beside state changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prevented {
    /// A tenant gets the host.
    Allocation,
    /// The tenant gives it back.
    Release,
    /// The host's configuration counts as applied.
    Readiness,
}

impl Prevented {
    pub(crate) const ALL: [Self; 3] = [Self::Allocation, Self::Release, Self::Readiness];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Allocation => "allocation",
            Self::Release => "release",
            Self::Readiness => "readiness",
        }
    }
}

/// State of an instance as its tenant sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantState {
    /// The host is made ready for the instance.
    Provisioning,
    /// The tenant can use it.
    Ready,
    /// Its configuration is being changed.
    Configuring,
    /// It is given back.
    Terminating,
    /// It is gone.
    Terminated,
    /// An operator has to help.
    Failed,
    /// Firmware or the DPUs' system is being changed.
    Updating,
    /// The host is being repaired.
    Repairing,
    /// The host is where no instance should be.
    Invalid,
}

impl TenantState {
    pub(crate) const ALL: [Self; 9] = [
        Self::Provisioning,
        Self::Ready,
        Self::Configuring,
        Self::Terminating,
        Self::Terminated,
        Self::Failed,
        Self::Updating,
        Self::Repairing,
        Self::Invalid,
    ];

    /// As rules write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Provisioning => "Provisioning",
            Self::Ready => "Ready",
            Self::Configuring => "Configuring",
            Self::Terminating => "Terminating",
            Self::Terminated => "Terminated",
            Self::Failed => "Failed",
            Self::Updating => "Updating",
            Self::Repairing => "Repairing",
            Self::Invalid => "Invalid",
        }
    }
}

/// One line of what tenants see.
#[derive(Debug)]
pub(crate) struct TenantView {
    pub(crate) state: TenantState,
    pub(crate) guard: Guard,
    pub(crate) detail: Arc<str>,
}

/// What a pack declares beside decisions.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// The first line whose guard holds is shown.
    pub(crate) tenant: Vec<TenantView>,
    pub(crate) prevents: Vec<(Prevented, Arc<str>)>,
    /// Number of the report whose alerts count for `prevents`.
    pub(crate) judged_by: Option<usize>,
}
