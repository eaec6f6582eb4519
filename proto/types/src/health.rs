//! Health reports as every room speaks of them: rules judge them, the store keeps them, the wire carries them.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What one source says about the health of a host or DPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthReport {
    /// Who says it, e.g. `forge-dpu-agent`.
    pub source: String,
    /// When it was seen.
    pub observed_at: Option<Timestamp>,
    /// Probes that found nothing wrong.
    pub successes: Vec<HealthSuccess>,
    /// Probes that found something.
    pub alerts: Vec<HealthAlert>,
    /// What made the source look.
    pub triggered_by: Option<String>,
}

/// A probe that found nothing wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthSuccess {
    /// Id of the probe.
    pub id: String,
    /// What was probed.
    pub target: Option<String>,
}

/// A probe that found something.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthAlert {
    /// Id of the probe.
    pub id: String,
    /// What was probed.
    pub target: Option<String>,
    /// Since when it has been in alert without a break, as far as the site knows.
    pub in_alert_since: Option<Timestamp>,
    /// For operators.
    pub message: String,
    /// For the tenant.
    pub tenant_message: Option<String>,
    /// What the alert means for the life of the host.
    pub classifications: Vec<String>,
}
