//! Collects what the probes found into one health report. Probes add to it; the report becomes a message at the wire only.

use types::{HealthAlert, HealthReport, HealthSuccess};

/// Source of this agent's reports, as the site knows it.
const SOURCE: &str = "forge-dpu-agent";

/// Classification of alerts that keep new instances off the host.
pub const PREVENT_ALLOCATIONS: &str = "PreventAllocations";
/// Classification of alerts that keep the host in its state.
pub const PREVENT_HOST_STATE_CHANGES: &str = "PreventHostStateChanges";

/// What an alert stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Nothing: it is shown only.
    Notice,
    /// New instances.
    PreventsAllocations,
    /// New instances, and every change of the host's state that waits for health.
    Critical,
}

impl Severity {
    /// The classifications that say so. Each severity has those of the lower ones, too.
    fn classifications(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Notice => &[],
            Self::PreventsAllocations => &[PREVENT_ALLOCATIONS],
            Self::Critical => &[PREVENT_ALLOCATIONS, PREVENT_HOST_STATE_CHANGES],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }
}

/// What the probes found: one success or one alert for each probe and target, sorted by both. An alert replaces a success, and
/// two alerts become one with both messages and the higher severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Findings {
    report: HealthReport,
    hbn_is_silent: bool,
}

impl Default for Findings {
    fn default() -> Self {
        Self { report: HealthReport { source: SOURCE.into(), ..HealthReport::default() }, hbn_is_silent: false }
    }
}

impl Findings {
    /// A probe found nothing wrong.
    pub(crate) fn success(&mut self, id: &str, target: Option<&str>) {
        if self.alert_place(id, target).is_ok() {
            return;
        }
        let successes = &mut self.report.successes;
        if let Err(place) = successes.binary_search_by(|it| (&*it.id, it.target.as_deref()).cmp(&(id, target))) {
            successes.insert(place, HealthSuccess { id: id.to_owned(), target: target.map(str::to_owned) });
        }
    }

    /// A probe found something wrong.
    pub(crate) fn alert(&mut self, id: &str, target: Option<&str>, severity: Severity, message: impl Into<String>) {
        let (message, classifications) = (message.into(), severity.classifications());
        self.report.successes.retain(|it| (&*it.id, it.target.as_deref()) != (id, target));
        let place = self.alert_place(id, target);
        match place.map(|place| self.report.alerts.get_mut(place)) {
            Ok(Some(alert)) => {
                // The longer list is that of the higher severity.
                if alert.classifications.len() < classifications.len() {
                    alert.classifications = classifications;
                }
                if !format!("\n{}\n", alert.message).contains(&format!("\n{message}\n")) {
                    alert.message = format!("{}\n{message}", alert.message);
                }
            }
            Ok(None) => (),
            Err(place) => {
                let (id, target) = (id.to_owned(), target.map(str::to_owned));
                let alert = HealthAlert { id, target, message, classifications, ..HealthAlert::default() };
                self.report.alerts.insert(place, alert);
            }
        }
    }

    /// Where the alert of a probe and target is, or where it belongs.
    fn alert_place(&self, id: &str, target: Option<&str>) -> Result<usize, usize> {
        self.report.alerts.binary_search_by(|it| (&*it.id, it.target.as_deref()).cmp(&(id, target)))
    }

    /// HBN, or a part of it, gave no answer: it may come back in another state.
    pub(crate) fn hbn_is_silent(&self) -> bool {
        self.hbn_is_silent
    }

    /// HBN gave no answer, which is critical.
    pub(super) fn silence(&mut self, id: &str, message: impl Into<String>) {
        self.hbn_is_silent = true;
        self.alert(id, None, Severity::Critical, message);
    }

    /// Whether anything was checked.
    pub(crate) fn any(&self) -> bool {
        !self.report.successes.is_empty() || !self.report.alerts.is_empty()
    }

    /// Whether something was checked and nothing is in alert.
    pub(crate) fn is_healthy(&self) -> bool {
        self.any() && self.report.alerts.is_empty()
    }

    /// Whether a probe is in alert, for any target.
    pub(crate) fn has_alert(&self, id: &str) -> bool {
        self.report.alerts.iter().any(|alert| alert.id == id)
    }

    /// The report, without times: the controller adds them.
    pub(crate) fn report(&self) -> &HealthReport {
        &self.report
    }
}

impl From<Findings> for HealthReport {
    fn from(findings: Findings) -> Self {
        findings.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_replaces_a_success_and_takes_the_higher_severity() {
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
        assert_eq!(report.successes, [HealthSuccess { id: "B".into(), target: Some("x".into()) }]);
    }

    #[test]
    fn findings_are_sorted_by_probe_and_target_and_listed_once() {
        let mut findings = Findings::default();
        for (id, target) in [("B", Some("y")), ("A", Some("x")), ("B", None), ("B", Some("x")), ("B", Some("y"))] {
            findings.success(id, target);
            findings.alert(&format!("not{id}"), target, Severity::Notice, "a\nb");
            findings.alert(&format!("not{id}"), target, Severity::Notice, "a\nb");
        }
        let sorted = [("A", Some("x")), ("B", None), ("B", Some("x")), ("B", Some("y"))];
        let report = findings.report();
        let successes: Vec<_> = report.successes.iter().map(|it| (&*it.id, it.target.as_deref())).collect();
        assert_eq!(successes, sorted);
        let alerts: Vec<_> = report.alerts.iter().map(|it| (&it.id[3..], it.target.as_deref())).collect();
        assert_eq!(alerts, sorted);
        assert!(report.alerts.iter().all(|alert| alert.message == "a\nb"));
    }
}
