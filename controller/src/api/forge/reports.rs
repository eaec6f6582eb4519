//! Health reports from the wire, with bounds on every text. For the handlers that take reports.

use std::collections::HashMap;

use proto::health;
use tonic::Status;

use super::fields::{invalid, name, required_name};
use crate::{
    Timestamp,
    store::{HealthAlert, HealthReport, HealthSuccess},
};

/// Probes that one report may name, classifications of an alert, and bytes of its texts.
const MOST_PROBES: usize = 2_000;
const MOST_CLASSIFICATIONS: usize = 32;
const LONGEST_MESSAGE: usize = 4_096;
const LONGEST_TENANT_MESSAGE: usize = 1_024;
const LONGEST_TARGET: usize = 256;
/// Bytes of all messages of a report.
const LONGEST_IN_ALL: usize = 256 << 10;

/// What becomes of messages that are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongTexts {
    /// They are cut, and say so: what a DPU has to say counts, however it says it.
    Cut,
    /// The report is refused.
    Refuse,
}

impl LongTexts {
    fn bound(self, field: &str, text: String, most: usize) -> Result<String, Status> {
        match self {
            _ if text.len() <= most => Ok(text),
            Self::Refuse => Err(invalid(field, format_args!("is longer than {most} bytes"))),
            Self::Cut => {
                const MARK: &str = "… (cut)";
                let end = text.floor_char_boundary(most.saturating_sub(MARK.len()));
                Ok(format!("{}{MARK}", text.get(..end).unwrap_or_default()))
            }
        }
    }
}

/// Reads a health report. Times in the future are cut to `now`. An alert keeps the time since when the former report of
/// the same source had it.
pub(super) fn read(
    field: &str,
    report: health::HealthReport,
    source: String,
    former: Option<&HealthReport>,
    now: Timestamp,
    long: LongTexts,
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
    let mut left = LONGEST_IN_ALL;
    let mut alerts = Vec::with_capacity(report.alerts.len());
    for (place, alert) in report.alerts.into_iter().enumerate() {
        let field = format!("{field}.alerts[{place}]");
        let id = required_name(&format!("{field}.id"), &alert.id)?;
        if alert.classifications.len() > MOST_CLASSIFICATIONS {
            return Err(invalid(
                &format!("{field}.classifications"),
                format_args!("are more than {MOST_CLASSIFICATIONS}"),
            ));
        }
        bounded_target(&field, alert.target.as_deref())?;
        let message = long.bound(&format!("{field}.message"), alert.message, LONGEST_MESSAGE.min(left))?;
        let tenant_message = alert
            .tenant_message
            .map(|text| long.bound(&format!("{field}.tenant_message"), text, LONGEST_TENANT_MESSAGE.min(left)));
        let tenant_message = tenant_message.transpose()?;
        left = left.saturating_sub(message.len() + tenant_message.as_ref().map_or(0, String::len)).max(16);
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
            message,
            tenant_message,
            classifications: alert.classifications,
        });
    }
    let mut successes = Vec::with_capacity(report.successes.len());
    for (place, success) in report.successes.into_iter().enumerate() {
        let field = format!("{field}.successes[{place}]");
        let id = required_name(&format!("{field}.id"), &success.id)?;
        bounded_target(&field, success.target.as_deref())?;
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

fn bounded_target(field: &str, target: Option<&str>) -> Result<(), Status> {
    match target {
        Some(target) if target.len() > LONGEST_TARGET => {
            Err(invalid(&format!("{field}.target"), format_args!("is longer than {LONGEST_TARGET} bytes")))
        }
        _ => Ok(()),
    }
}
