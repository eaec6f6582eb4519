use super::AGENT_SOURCE;
use crate::store::{AppliedReport, ApplyMode, HealthAlert, HealthReport, HealthSuccess};

pub(super) fn host(stored: Option<&Vec<AppliedReport>>) -> rules::HostHealth {
    let mut health = rules::HostHealth::default();
    for applied in stored.into_iter().flatten() {
        let report = report(&applied.report);
        match applied.mode {
            ApplyMode::Replace => health.replace = Some(report),
            ApplyMode::Merge => drop(health.merges.insert(report.source.clone(), report)),
        }
    }
    health
}

pub(super) fn dpu(stored: Option<&Vec<AppliedReport>>) -> rules::DpuHealth {
    let host = host(stored);
    let mut merges = host.merges;
    rules::DpuHealth { agent: merges.remove(AGENT_SOURCE), replace: host.replace, merges }
}

fn report(report: &HealthReport) -> rules::HealthReport {
    rules::HealthReport {
        source: report.source.clone(),
        observed_at: report.observed_at.map(|at| at.micros()),
        successes: report.successes.iter().map(success).collect(),
        alerts: report.alerts.iter().map(alert).collect(),
    }
}

fn success(success: &HealthSuccess) -> rules::Success {
    rules::Success { id: success.id.clone(), target: success.target.clone() }
}

fn alert(alert: &HealthAlert) -> rules::Alert {
    rules::Alert {
        id: alert.id.clone(),
        target: alert.target.clone(),
        in_alert_since: alert.in_alert_since.map(|at| at.micros()),
        message: alert.message.clone(),
        tenant_message: alert.tenant_message.clone(),
        classifications: alert.classifications.clone(),
    }
}
