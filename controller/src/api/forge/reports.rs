use std::collections::HashMap;

use proto::health;
use tonic::Status;

use super::fields::{invalid, name, required_name};
use crate::{
    Timestamp,
    store::{HealthAlert, HealthReport, HealthSuccess},
};

/// Probes that one report may name.
const MOST_PROBES: usize = 2_000;

/// Reads a health report. Times in the future are cut to `now`. An alert keeps the time since when the former report of
/// the same source had it.
pub(super) fn read(
    field: &str,
    report: health::HealthReport,
    source: String,
    former: Option<&HealthReport>,
    now: Timestamp,
) -> Result<HealthReport, Status> {
    if report.alerts.len() + report.successes.len() > MOST_PROBES {
        return Err(invalid(field, format_args!("names more than {MOST_PROBES} probes")));
    }
    let since: HashMap<_, _> = former
        .iter()
        .flat_map(|former| &former.alerts)
        .map(|alert| ((alert.id.as_str(), alert.target.as_deref()), alert.in_alert_since))
        .collect();
    let past = |time: prost_types::Timestamp| Timestamp::from(time).min(now);
    let mut alerts = Vec::with_capacity(report.alerts.len());
    for (place, alert) in report.alerts.into_iter().enumerate() {
        let field = format!("{field}.alerts[{place}]");
        let id = required_name(&format!("{field}.id"), &alert.id)?;
        for (place, class) in alert.classifications.iter().enumerate() {
            let field = format!("{field}.classifications[{place}]");
            if required_name(&field, class)?.contains(char::is_whitespace) {
                return Err(invalid(&field, format_args!("`{}` has blanks", class.escape_default())));
            }
        }
        let known = since.get(&(id.as_str(), alert.target.as_deref())).copied().flatten();
        alerts.push(HealthAlert {
            in_alert_since: Some(known.map(|known| known.min(now)).or(alert.in_alert_since.map(past)).unwrap_or(now)),
            id,
            target: alert.target,
            message: alert.message,
            tenant_message: alert.tenant_message,
            classifications: alert.classifications,
        });
    }
    let mut successes = Vec::with_capacity(report.successes.len());
    for (place, success) in report.successes.into_iter().enumerate() {
        let id = required_name(&format!("{field}.successes[{place}].id"), &success.id)?;
        successes.push(HealthSuccess { id, target: success.target });
    }
    let triggered_by = report.triggered_by.map(|by| name(&format!("{field}.triggered_by"), &by)).transpose()?;
    Ok(HealthReport {
        source,
        observed_at: Some(report.observed_at.map_or(now, past)),
        successes,
        alerts,
        triggered_by,
    })
}

/// A stored report as it travels.
pub(super) fn to_wire(report: HealthReport) -> health::HealthReport {
    health::HealthReport {
        source: report.source,
        observed_at: report.observed_at.map(Into::into),
        successes: report
            .successes
            .into_iter()
            .map(|success| health::HealthProbeSuccess { id: success.id, target: success.target })
            .collect(),
        alerts: report
            .alerts
            .into_iter()
            .map(|alert| health::HealthProbeAlert {
                id: alert.id,
                in_alert_since: alert.in_alert_since.map(Into::into),
                message: alert.message,
                tenant_message: alert.tenant_message,
                classifications: alert.classifications,
                target: alert.target,
            })
            .collect(),
        triggered_by: report.triggered_by,
    }
}
