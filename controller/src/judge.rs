use std::sync::Arc;

use rules::Decision;

use crate::{Moment, RulesInForce, facts, store::HostRecord};

/// What the rules say about a host apart from its next state, for requests that must be answered at once.
#[derive(Debug, Clone)]
pub struct Judge {
    rules: Arc<RulesInForce>,
    switches: rules::Site,
}

/// The report by which rules judge a host.
const AGGREGATE: &str = "aggregate_health";
// Classifications of the site protocol that speak of requests instead of states.
const PREVENT_ALLOCATIONS: &str = "PreventAllocations";
const PREVENT_RELEASE: &str = "PreventInstanceDeletion";
const PREVENT_STATE_CHANGES: &str = "PreventHostStateChanges";

impl Judge {
    /// Judges by the rules in force; `switches` are those that the reconciler shows them.
    #[must_use]
    pub fn new(rules: Arc<RulesInForce>, switches: rules::Site) -> Self {
        Self { rules, switches }
    }

    /// Why a tenant cannot have the host now. The host is free if the rules leave it where it is, and would move it on
    /// for an instance. `allow_unhealthy` leaves health out of it.
    pub(crate) fn allocation_refusal(&self, host: &HostRecord, allow_unhealthy: bool) -> Option<String> {
        let rules = self.rules.current();
        let mut snapshot = facts::snapshot(host, &self.switches, Moment::now());
        let state = &host.life.state;
        match rules.decision(&snapshot) {
            Decision::Wait(_) => {}
            Decision::Go(go) => return Some(format!("it is leaving {state} for {}", go.to)),
            Decision::Error(fault) => return Some(format!("it is in state {state}: {}", fault.reason)),
            Decision::Delete(_) => return Some("it is being deleted".to_owned()),
        }
        snapshot.instance.present = true;
        if !matches!(rules.decision(&snapshot), Decision::Go(_)) {
            return Some(format!("it is in state {state}, in which the rules take no instance"));
        }
        if allow_unhealthy { None } else { self.alert_with(host, PREVENT_ALLOCATIONS) }
    }

    /// Why a tenant cannot give the host back now.
    pub(crate) fn release_refusal(&self, host: &HostRecord) -> Option<String> {
        self.alert_with(host, PREVENT_RELEASE)
    }

    /// Alert that keeps the host's configuration from counting as applied.
    pub(crate) fn blocking_alert(&self, host: &HostRecord) -> Option<String> {
        self.alert_with(host, PREVENT_STATE_CHANGES)
    }

    /// The first alert with a classification in what the rules make of all reports, for people.
    fn alert_with(&self, host: &HostRecord, classification: &str) -> Option<String> {
        let snapshot = facts::snapshot(host, &self.switches, Moment::now());
        let report = self.rules.current().health_report(AGGREGATE, &snapshot, None)?;
        let alert =
            report.alerts.iter().find(|alert| alert.classifications.iter().any(|class| class == classification))?;
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
