//! What all evaluations share, and what one comes to. Everything else in this room may look here.

use std::{sync::Arc, time::Duration};

use super::{ReconcileCounters, ReconcileSettings, permits::Permits};
use bmc::BmcClient;

use crate::{rule_packs::ActiveRules, store::Store};

/// What all evaluations share.
pub(super) struct Context {
    pub(super) store: Store,
    pub(super) rules: Arc<ActiveRules>,
    pub(super) bmc: Arc<dyn BmcClient>,
    pub(super) settings: ReconcileSettings,
    pub(super) permits: Arc<Permits>,
    pub(super) counters: Arc<ReconcileCounters>,
}

/// What an evaluation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evaluated {
    /// The host moved: it is decided again at once.
    Moved,
    /// The host stays; rules can change their mind by time alone after that long.
    Stays(Option<Duration>),
    /// Somebody else changed the host meanwhile: it is decided again at once.
    Conflict,
    /// The host is not there any more.
    Gone,
}
