use std::sync::Arc;

use rules::{Decision, Prevented, Snapshot, TenantState};

use crate::{RulesInForce, Timestamp, ask::ask, facts, store::HostRecord};

/// What the rules say about a host apart from its next state, for requests that must be answered at once.
#[derive(Debug, Clone)]
pub struct Judge {
    rules: Arc<RulesInForce>,
    switches: rules::Site,
}

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
        let mut snapshot = self.snapshot(host);
        let state = &host.life.state;
        match ask(&rules, |rules| rules.decision(&snapshot)) {
            Decision::Wait(_) => {}
            Decision::Go(go) => return Some(format!("it is leaving {state} for {}", go.to)),
            Decision::Error(fault) => return Some(format!("it is in state {state}: {}", fault.reason)),
            Decision::Delete(_) => return Some("it is being deleted".to_owned()),
        }
        snapshot.instance.present = true;
        if !matches!(ask(&rules, |rules| rules.decision(&snapshot)), Decision::Go(_)) {
            return Some(format!("it is in state {state}, in which the rules take no instance"));
        }
        if allow_unhealthy { None } else { self.prevented(Prevented::Allocation, host) }
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
        ask(&rules, |rules| {
            let (state, detail) = rules.tenant_sees(&self.snapshot(host));
            (state, detail.to_owned())
        })
    }

    fn snapshot(&self, host: &HostRecord) -> Snapshot {
        facts::snapshot(host, &self.switches, Timestamp::now())
    }

    /// The first alert that prevents something by what the rules make of all reports, for people.
    fn prevented(&self, what: Prevented, host: &HostRecord) -> Option<String> {
        let rules = self.rules.current();
        let (alert, classification) = ask(&rules, |rules| {
            let (alert, classification) = rules.prevented_by(what, &self.snapshot(host))?;
            Some((alert, classification.to_owned()))
        })?;
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
