//! Resolves what tenants see and what alerts prevent.

use std::sync::Arc;

use crate::{
    ir::view::{Prevented, TenantState, TenantView, Views},
    lang::{declare::Declarations, resolve::Resolver},
};

impl Resolver<'_> {
    pub(super) fn views(&mut self, declarations: &Declarations) -> Views {
        let mut tenant = Vec::new();
        for decl in &declarations.tenant_views {
            let state = TenantState::ALL.into_iter().find(|state| state.name() == &*decl.name);
            if state.is_none() {
                let known = TenantState::ALL.map(TenantState::name);
                self.diagnostics.unknown(
                    "unknown-tenant-state",
                    &decl.place,
                    "state of an instance",
                    &decl.name,
                    known,
                );
            }
            let guard = self.host_guard(&decl.value.guard);
            if let (Some(state), Some(guard)) = (state, guard) {
                tenant.push(TenantView { state, guard, detail: decl.value.detail.as_str().into() });
            }
        }
        let mut prevents: Vec<(Prevented, Arc<str>)> = Vec::new();
        for classification in &declarations.classifications {
            for what in &classification.value {
                match Prevented::ALL.into_iter().find(|known| known.name() == &*what.name) {
                    Some(known) => prevents.push((known, classification.name.clone())),
                    None => {
                        let known = Prevented::ALL.map(Prevented::name);
                        self.diagnostics.unknown(
                            "unknown-prevented",
                            &what.place,
                            "thing to prevent",
                            &what.name,
                            known,
                        );
                    }
                }
            }
        }
        Views { tenant, prevents, judged_by: self.judged_by(declarations) }
    }

    /// Number of the report whose alerts count for `prevents`.
    fn judged_by(&mut self, declarations: &Declarations) -> Option<usize> {
        let prevents = declarations.classifications.iter().flat_map(|classification| &classification.value).next();
        match (declarations.judged_by.as_slice(), prevents) {
            ([], None) => None,
            ([], Some(first)) => {
                let message = "the pack does not say in which report alerts prevent this";
                self.diagnostics.error("judged-by", &first.place, message, "add `judged_by(\"report\")` to one file");
                None
            }
            ([one], _) => match self.names.reports.get(&one.name) {
                Some((number, false)) => Some(*number),
                Some((_, true)) => {
                    self.diagnostics.error(
                        "type",
                        &one.place,
                        "a host is judged by a report of the host, not of a DPU",
                        "name a `report`, not a `dpu_report`",
                    );
                    None
                }
                None => {
                    let known = self.names.reports.keys().map(|name| &**name).collect::<Vec<_>>();
                    self.diagnostics.unknown("unknown-report", &one.place, "report", &one.name, known);
                    None
                }
            },
            ([_, second, ..], _) => {
                self.diagnostics.error(
                    "judged-by",
                    &second.place,
                    "a host is judged by one report only",
                    "remove all but one `judged_by`",
                );
                None
            }
        }
    }
}
