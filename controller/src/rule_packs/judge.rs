//! What the active rules say of a host apart from its next state. For requests that are answered at once.

use std::sync::Arc;

use proto::site;
use rules::{Decision, Prevented, RuleSet, Snapshot, TenantState};

use crate::{
    ActiveRules, Timestamp, facts,
    store::{Dpu, HELD_SOURCE, HealthReport, HostRecord},
};

/// What the rules say about a host apart from its next state, for requests that must be answered at once.
#[derive(Debug, Clone)]
pub struct Judge {
    rules: Arc<ActiveRules>,
    switches: rules::Site,
}

impl Judge {
    /// Judges by the active rules; `switches` are those that the reconciler shows them.
    #[must_use]
    pub fn new(rules: Arc<ActiveRules>, switches: rules::Site) -> Self {
        Self { rules, switches }
    }

    /// Why a tenant cannot have the host now. The host is free if the rules leave it where it is, and would move it on
    /// for an instance. `allow_unhealthy` leaves health out of it.
    pub(crate) fn allocation_refusal(&self, host: &HostRecord, allow_unhealthy: bool) -> Option<String> {
        let rules = self.rules.current();
        if let Some(refusal) = occupied(&rules, self.snapshot(host)) {
            return Some(refusal);
        }
        if allow_unhealthy { None } else { self.prevented(Prevented::Allocation, host) }
    }

    /// Why no tenant can have a host that looks free.
    pub(crate) fn withheld(&self, host: &HostRecord) -> Option<String> {
        let rules = self.rules.current();
        if !is_withheld(&rules, host, &self.snapshot(host)) {
            return None;
        }
        self.prevented(Prevented::Allocation, host).or_else(|| Some("the site knows no primary DPU of it".to_owned()))
    }

    /// Probes and classifications in the host's reports that the rules do not declare, with where they are.
    pub(crate) fn undeclared(&self, host: &HostRecord) -> Vec<String> {
        undeclared(&self.rules.current(), host)
    }

    /// Notes in alerts which of their names the rules do not declare.
    pub(crate) fn mark_undeclared(&self, alerts: &mut [site::Alert]) {
        let rules = self.rules.current();
        for alert in alerts.iter_mut().filter(|alert| alert.source != HELD_SOURCE) {
            let probe = Some(&alert.probe).filter(|probe| !declares_probe(&rules, probe));
            let classes = alert.classifications.iter().filter(|class| !declares_classification(&rules, class));
            alert.undeclared = probe.into_iter().chain(classes).cloned().collect();
        }
    }

    /// Refuses a report that names a probe or classification which the rules do not declare.
    pub(crate) fn check_names(&self, report: &HealthReport) -> Result<(), String> {
        let rules = self.rules.current();
        let unknown = |what: &str, name: &str, known: Vec<&str>| {
            let name: String = name.chars().take(80).collect();
            Err(format!(
                "the rules declare no {what} `{}`{}",
                name.escape_default(),
                types::did_you_mean(&name, &known)
            ))
        };
        for alert in &report.alerts {
            if !declares_probe(&rules, &alert.id) {
                return unknown("probe", &alert.id, rules.probes().collect());
            }
            for class in &alert.classifications {
                if !declares_classification(&rules, class) {
                    return unknown("classification", class, rules.classifications().collect());
                }
            }
        }
        Ok(())
    }

    /// Why a tenant cannot give the host back now.
    pub(crate) fn release_refusal(&self, host: &HostRecord) -> Option<String> {
        self.prevented(Prevented::Release, host)
    }

    /// Alert that keeps the host's configuration from counting as applied.
    pub(crate) fn blocking_alert(&self, host: &HostRecord) -> Option<String> {
        self.prevented(Prevented::Readiness, host)
    }

    /// What the tenant of the host's instance sees, as far as rules can say, and why where the state says too little.
    pub(crate) fn tenant_sees(&self, host: &HostRecord) -> (TenantState, String) {
        let rules = self.rules.current();
        {
            let (state, detail) = rules.tenant_sees(&self.snapshot(host));
            (state, detail.to_owned())
        }
    }

    fn snapshot(&self, host: &HostRecord) -> Snapshot {
        facts::snapshot(host, &self.switches, Timestamp::now())
    }

    /// The first alert that prevents something by what the rules make of all reports, for people.
    fn prevented(&self, what: Prevented, host: &HostRecord) -> Option<String> {
        let rules = self.rules.current();
        let (alert, classification) = {
            let (alert, classification) = rules.prevented_by(what, &self.snapshot(host))?;
            Some((alert, classification.to_owned()))
        }?;
        let dpus = host.dpus.iter().filter(|dpu| {
            let mut reports = host.health.get(&dpu.id).into_iter().flatten().flat_map(|entry| &entry.report.alerts);
            reports.any(|seen| seen.id == alert.id && seen.target == alert.target)
        });
        let dpus: Vec<&str> = dpus.map(|dpu| dpu.name.as_str()).collect();
        let target = alert.target.as_deref().map(|target| format!(" ({target})")).unwrap_or_default();
        let of = if dpus.is_empty() { String::new() } else { format!(" of DPU {}", dpus.join(", ")) };
        Some(format!("alert {}{target}{of} has {classification}: {}", alert.id, alert.message))
    }
}

/// Why the rules would not take an instance on the host now, whatever its health.
fn occupied(rules: &RuleSet, mut snapshot: Snapshot) -> Option<String> {
    let state = snapshot.state.path.clone();
    match rules.decision(&snapshot) {
        Decision::Wait(_) => {}
        Decision::Go(go) => return Some(format!("it is leaving {state} for {}", go.to)),
        Decision::Error(fault) => return Some(format!("it is in state {state}: {}", fault.reason)),
        Decision::Delete(_) => return Some("it is being deleted".to_owned()),
    }
    snapshot.instance.present = true;
    match rules.decision(&snapshot) {
        Decision::Go(_) => None,
        _ => Some(format!("it is in state {state}, in which the rules take no instance")),
    }
}

/// The host is free, but for an alert that keeps it from tenants, or for the DPU that would carry their interfaces.
pub(crate) fn is_withheld(rules: &RuleSet, host: &HostRecord, snapshot: &Snapshot) -> bool {
    let carried = host.dpus.iter().any(Dpu::primary);
    !snapshot.instance.present
        && (!carried || rules.prevented_by(Prevented::Allocation, snapshot).is_some())
        && occupied(rules, snapshot.clone()).is_none()
}

fn declares_probe(rules: &RuleSet, name: &str) -> bool {
    rules.probes().any(|known| known == name)
}

fn declares_classification(rules: &RuleSet, name: &str) -> bool {
    rules.classifications().any(|known| known == name)
}

/// Names in stored reports that the rules do not declare. DPUs may be of another release than the rules.
pub(crate) fn undeclared(rules: &RuleSet, host: &HostRecord) -> Vec<String> {
    let mut found = Vec::new();
    for (machine, reports) in &host.health {
        let name = host.dpus.iter().find(|dpu| dpu.id == *machine).map_or(&host.host.name, |dpu| &dpu.name);
        // What the controller says itself is not a matter of names.
        let of_others = reports.iter().filter(|applied| applied.report.source != HELD_SOURCE);
        for alert in of_others.flat_map(|applied| &applied.report.alerts) {
            if !declares_probe(rules, &alert.id) {
                found.push(format!("probe {} of {name}", alert.id));
            }
            for class in &alert.classifications {
                if !declares_classification(rules, class) {
                    found.push(format!("classification {class} of {} of {name}", alert.id));
                }
            }
        }
    }
    found
}
