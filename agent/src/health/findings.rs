//! Collects what the probes found, and turns it into the report.

use std::collections::BTreeMap;

use proto::health::{HealthProbeAlert, HealthProbeSuccess, HealthReport};

/// Source of this agent's reports, as the site knows it.
const SOURCE: &str = "forge-dpu-agent";

/// What an alert stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing: it is shown only.
    Notice,
    /// New instances.
    PreventsAllocations,
    /// New instances, and every change of the host's state that waits for health.
    Critical,
}

impl Severity {
    /// The classifications that say so.
    #[must_use]
    pub fn classifications(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Notice => &[],
            Self::PreventsAllocations => &["PreventAllocations"],
            Self::Critical => &["PreventAllocations", "PreventHostStateChanges"],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }
}

/// What the probes found, one entry a probe and target. An alert outlasts a success of the same probe and target, and
/// two alerts of one become one with both messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    hbn_is_silent: bool,
    found: BTreeMap<(String, Option<String>), Option<Alert>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Alert {
    severity: Severity,
    messages: Vec<String>,
}

impl Findings {
    /// A probe is content.
    pub fn success(&mut self, id: &str, target: Option<&str>) {
        self.found.entry((id.to_owned(), target.map(str::to_owned))).or_insert(None);
    }

    /// A probe is not content.
    pub fn alert(&mut self, id: &str, target: Option<&str>, severity: Severity, message: impl Into<String>) {
        let message = message.into();
        let alert = self.found.entry((id.to_owned(), target.map(str::to_owned))).or_default();
        match alert {
            Some(alert) => {
                alert.severity = alert.severity.max(severity);
                if !alert.messages.contains(&message) {
                    alert.messages.push(message);
                }
            }
            None => *alert = Some(Alert { severity, messages: vec![message] }),
        }
    }

    /// HBN, or a part of it, gave no answer: it may come back as another one.
    pub(crate) fn hbn_is_silent(&self) -> bool {
        self.hbn_is_silent
    }

    /// HBN gave no answer, which is critical.
    pub(super) fn silence(&mut self, id: &str, message: impl Into<String>) {
        self.hbn_is_silent = true;
        self.alert(id, None, Severity::Critical, message);
    }

    /// Something was checked.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.found.is_empty()
    }

    /// Something was checked, and nothing is in alert.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        !self.found.is_empty() && self.found.values().all(Option::is_none)
    }

    /// Whether a probe is in alert, for any target.
    #[must_use]
    pub fn has_alert(&self, id: &str) -> bool {
        self.found.iter().any(|((probe, _), alert)| probe == id && alert.is_some())
    }

    /// The alerts as text: probe, target, message.
    pub fn alerts(&self) -> impl Iterator<Item = (&str, Option<&str>, Severity, String)> {
        self.found.iter().filter_map(|((id, target), alert)| {
            let alert = alert.as_ref()?;
            Some((id.as_str(), target.as_deref(), alert.severity, alert.messages.join("\n")))
        })
    }

    /// The successes: probe, target.
    pub fn successes(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let content = self.found.iter().filter(|(_, alert)| alert.is_none());
        content.map(|((id, target), _)| (id.as_str(), target.as_deref()))
    }

    /// As the controller takes it; it fills in the times.
    #[must_use]
    pub fn report(&self) -> HealthReport {
        let owned = |text: &str| text.to_owned();
        HealthReport {
            source: SOURCE.into(),
            observed_at: None,
            successes: (self.successes())
                .map(|(id, target)| HealthProbeSuccess { id: owned(id), target: target.map(owned) })
                .collect(),
            alerts: (self.alerts())
                .map(|(id, target, severity, message)| HealthProbeAlert {
                    id: owned(id),
                    in_alert_since: None,
                    message,
                    tenant_message: None,
                    classifications: severity.classifications(),
                    target: target.map(owned),
                })
                .collect(),
            triggered_by: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_outlasts_a_success_and_takes_the_worse_severity() {
        let mut findings = Findings::default();
        assert!(!findings.is_healthy(), "nothing was checked");
        findings.success("A", None);
        assert!(findings.is_healthy());
        findings.alert("A", None, Severity::Notice, "one");
        findings.alert("A", None, Severity::Critical, "two");
        findings.alert("A", None, Severity::Notice, "one");
        findings.success("A", None);
        findings.success("B", Some("x"));
        assert!(!findings.is_healthy());
        let report = findings.report();
        assert_eq!(report.alerts.len(), 1);
        assert_eq!(report.alerts[0].message, "one\ntwo");
        assert_eq!(report.alerts[0].classifications, ["PreventAllocations", "PreventHostStateChanges"]);
        assert_eq!(report.successes, [HealthProbeSuccess { id: "B".into(), target: Some("x".into()) }]);
    }
}
