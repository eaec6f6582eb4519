//! Between the messages of the protocol and the types of the crate `types`: once, for all crates.

use types::{HealthAlert, HealthReport, HealthSuccess, MachineId, MachineIdError, Timestamp};

use crate::{common, health};

impl From<&MachineId> for common::MachineId {
    fn from(id: &MachineId) -> Self {
        Self { id: id.to_string() }
    }
}

impl TryFrom<&common::MachineId> for MachineId {
    type Error = MachineIdError;

    fn try_from(id: &common::MachineId) -> Result<Self, Self::Error> {
        id.id.parse()
    }
}

impl From<health::HealthReport> for HealthReport {
    fn from(report: health::HealthReport) -> Self {
        Self {
            source: report.source,
            observed_at: report.observed_at.map(Timestamp::from),
            successes: report.successes.into_iter().map(HealthSuccess::from).collect(),
            alerts: report.alerts.into_iter().map(HealthAlert::from).collect(),
            triggered_by: report.triggered_by,
        }
    }
}

impl From<health::HealthProbeSuccess> for HealthSuccess {
    fn from(success: health::HealthProbeSuccess) -> Self {
        Self { id: success.id, target: success.target }
    }
}

impl From<health::HealthProbeAlert> for HealthAlert {
    fn from(alert: health::HealthProbeAlert) -> Self {
        Self {
            id: alert.id,
            target: alert.target,
            in_alert_since: alert.in_alert_since.map(Timestamp::from),
            message: alert.message,
            tenant_message: alert.tenant_message,
            classifications: alert.classifications,
        }
    }
}

impl From<HealthReport> for health::HealthReport {
    fn from(report: HealthReport) -> Self {
        Self {
            source: report.source,
            observed_at: report.observed_at.map(Into::into),
            successes: report.successes.into_iter().map(Into::into).collect(),
            alerts: report.alerts.into_iter().map(Into::into).collect(),
            triggered_by: report.triggered_by,
        }
    }
}

impl From<HealthSuccess> for health::HealthProbeSuccess {
    fn from(success: HealthSuccess) -> Self {
        Self { id: success.id, target: success.target }
    }
}

impl From<HealthAlert> for health::HealthProbeAlert {
    fn from(alert: HealthAlert) -> Self {
        Self {
            id: alert.id,
            target: alert.target,
            in_alert_since: alert.in_alert_since.map(Into::into),
            message: alert.message,
            tenant_message: alert.tenant_message,
            classifications: alert.classifications,
        }
    }
}
