//! What the rules say about a host beside its next step: what its tenant sees, and which alert prevents something.

use crate::{
    eval::RuleSet,
    ir::{
        expr::ReportRef,
        snapshot::{HealthAlert, Snapshot},
        view::{Prevented, TenantState},
    },
};

impl RuleSet {
    /// What the tenant sees of an instance on the host, with a detail where the state alone says too little.
    #[must_use]
    pub fn tenant_sees(&self, snapshot: &Snapshot) -> (TenantState, &str) {
        let env = self.env(snapshot);
        let first = self.views.tenant.iter().find(|view| view.guard.holds(&env) == Ok(true));
        first.map_or((TenantState::Invalid, ""), |view| (view.state, &view.detail))
    }

    /// The first alert that prevents something, with the classification that does.
    #[must_use]
    pub fn prevented_by(&self, what: Prevented, snapshot: &Snapshot) -> Option<(HealthAlert, &str)> {
        let env = self.env(snapshot);
        let report = self.reports.merged(ReportRef { report: self.views.judged_by?, dpu: None }, &env).ok()?;
        let prevents = self.views.prevents.iter().filter(|(prevented, _)| *prevented == what);
        let classes: Vec<&str> = prevents.map(|(_, class)| &**class).collect();
        report.alerts.into_iter().find_map(|alert| {
            let class = *classes.iter().find(|class| alert.classifications.iter().any(|has| has == **class))?;
            Some((alert, class))
        })
    }
}
