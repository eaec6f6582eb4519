//! Health reports as they are stored. What they add up to is for the pack to say, not for the snapshot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ir::snapshot::values::Micros;

/// One health report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthReport {
    /// Who made it.
    pub source: String,
    /// When it was made.
    pub observed_at: Option<Micros>,
    /// Probes that found nothing wrong.
    pub successes: Vec<Success>,
    /// Probes that found something.
    pub alerts: Vec<Alert>,
}

/// A probe that found nothing wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Success {
    /// Id of the probe.
    pub id: String,
    /// What it looked at.
    pub target: Option<String>,
}

/// A probe that found something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Alert {
    /// Id of the probe.
    pub id: String,
    /// What it looked at.
    pub target: Option<String>,
    /// Since when it has been in alert without a break.
    pub in_alert_since: Option<Micros>,
    /// For operators.
    pub message: String,
    /// For tenants.
    pub tenant_message: Option<String>,
    /// What the alert means for the host's life.
    pub classifications: Vec<String>,
}

/// Reports stored for the host, and for its rack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostHealth {
    /// Report that stands for all others.
    pub replace: Option<HealthReport>,
    /// Reports to be merged, by source.
    pub merges: BTreeMap<String, HealthReport>,
    /// The rack's report that stands for its others.
    pub rack_replace: Option<HealthReport>,
    /// The rack's reports to be merged, by source.
    pub rack_merges: BTreeMap<String, HealthReport>,
}

impl HostHealth {
    /// Nothing is stored for the host or its rack.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.replace.is_none() && self.merges.is_empty() && self.rack_replace.is_none() && self.rack_merges.is_empty()
    }
}

/// Reports stored for one DPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DpuHealth {
    /// The agent's report, which is stored as one of the reports to be merged.
    pub agent: Option<HealthReport>,
    /// Report that stands for all others.
    pub replace: Option<HealthReport>,
    /// Reports to be merged, by source, without the agent's.
    pub merges: BTreeMap<String, HealthReport>,
}
