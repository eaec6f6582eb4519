//! Resolves declared reports: their sources, parts and alerts.

use crate::{
    ir::{
        diagnostic::Place,
        health::{Part, Report, Reports, Source, StoredSource},
        snapshot::HealthAlert,
    },
    lang::{
        declare::{AlertDecl, Named, PartDecl, ReportDecl, SourceDecl},
        resolve::Resolver,
    },
};

impl Resolver<'_> {
    pub(super) fn build_reports(&mut self, declared: &[Named<ReportDecl>]) -> Reports {
        let mut reports = Vec::new();
        for decl in declared {
            let mut parts = Vec::new();
            for part in &decl.value.parts {
                parts.extend(self.part(part, decl.value.of_dpu));
            }
            if parts.is_empty() {
                let message = format!("report `{}` has no parts", decl.name);
                self.diagnostics.error("empty", &decl.place, message, "add `.with(…)`");
            }
            reports.push(Report { name: decl.name.to_string(), of_dpu: decl.value.of_dpu, parts });
        }
        let mut reports = Reports { reports };
        for (number, decl) in declared.iter().enumerate() {
            self.reject_cycle(number, decl, &mut reports);
        }
        reports
    }

    /// A report that depends on itself has no value. Its conditions are dropped, so that the rest can be checked.
    fn reject_cycle(&mut self, number: usize, decl: &Named<ReportDecl>, reports: &mut Reports) {
        let mut seen = Vec::new();
        let mut next = dependencies(number, reports);
        while let Some(report) = next.pop() {
            if !seen.contains(&report) {
                seen.push(report);
                next.extend(dependencies(report, reports));
            }
        }
        if seen.contains(&number) {
            let message = format!("report `{}` depends on itself", decl.name);
            self.diagnostics.error("circle", &decl.place, message, "use facts or other reports in its conditions");
            if let Some(report) = reports.reports.get_mut(number) {
                report.parts.iter_mut().for_each(|part| (part.when, part.unclassified) = (None, None));
            }
        }
    }

    fn part(&mut self, decl: &PartDecl, of_dpu: bool) -> Option<Part> {
        let source = match &decl.source {
            SourceDecl::Stored(name) => self.stored(name, decl, of_dpu)?,
            SourceDecl::Alert(alert) => Source::Alert(self.alert(alert)),
            SourceDecl::Dpus(report) => match self.names.reports.get(&report.name) {
                Some((number, true)) if !of_dpu => Source::Dpus(*number),
                Some(_) => {
                    let message = "`with_dpus` merges a report of DPUs into a report of the host";
                    self.diagnostics.error(
                        "misplaced-verb",
                        &report.place,
                        message,
                        "use it in a `report`, with a `dpu_report`",
                    );
                    return None;
                }
                None => {
                    let known = self.names.reports.keys().map(|name| &**name).collect::<Vec<_>>();
                    self.diagnostics.unknown("unknown-report", &report.place, "report", &report.name, known);
                    return None;
                }
            },
        };
        let of_each = matches!(source, Source::Dpus(_));
        let when = decl.when.as_ref().and_then(|guard| self.guard(guard));
        let unclassified = decl.unclassified.as_ref().and_then(|guard| self.guard(guard));
        for guard in when.iter().chain(&unclassified) {
            if guard.of_dpu && !of_dpu && !of_each {
                self.diagnostics.error(
                    "type",
                    &guard.place,
                    "this guard takes a DPU, and there is none here",
                    "write `|h| …`",
                );
            }
        }
        for source in decl.only.iter().chain(&decl.except) {
            self.check_source(&source.name, &source.place);
        }
        Some(Part {
            source,
            instead: decl.instead,
            only: decl.only.as_ref().map(|source| source.name.to_string()),
            except: decl.except.iter().map(|source| source.name.to_string()).collect(),
            when,
            unclassified,
            or_alert: decl.or_alert.as_ref().map(|alert| self.alert(alert)),
        })
    }

    fn stored(&mut self, name: &str, decl: &PartDecl, of_dpu: bool) -> Option<Source> {
        let stored = StoredSource::all(of_dpu).find(|stored| stored.name() == name);
        if stored.is_none() {
            let known = StoredSource::all(of_dpu).map(StoredSource::name);
            self.diagnostics.unknown("unknown-source", &decl.place, "source", name, known);
        }
        stored.map(Source::Stored)
    }

    fn alert(&mut self, decl: &AlertDecl) -> HealthAlert {
        let alert = &decl.alert;
        self.check_probe(&alert.id, &decl.place);
        for class in &alert.classifications {
            self.check_classification(class, &decl.place);
        }
        alert.clone()
    }

    pub(super) fn check_probe(&mut self, probe: &str, place: &Place) {
        if !self.names.probes.contains_key(probe) {
            let known = self.names.probes.keys().map(|name| &**name);
            self.diagnostics.unknown("unknown-probe", place, "probe", probe, known);
        }
    }

    pub(super) fn check_classification(&mut self, class: &str, place: &Place) {
        if !self.names.classifications.contains_key(class) {
            let known = self.names.classifications.keys().map(|name| &**name);
            self.diagnostics.unknown("unknown-classification", place, "classification", class, known);
        }
    }

    /// Checks a source of health reports, or a pattern of several, against the declared ones.
    pub(super) fn check_source(&mut self, source: &str, place: &Place) {
        if !self.names.sources.contains_key(source) {
            let known = self.names.sources.keys().map(|name| &**name);
            self.diagnostics.unknown("unknown-source", place, "health source", source, known);
        }
    }
}

/// Reports that a report contains or that its conditions read.
fn dependencies(report: usize, reports: &Reports) -> Vec<usize> {
    let parts = reports.reports.get(report).into_iter().flat_map(|report| &report.parts);
    let asked = |part: &Part| {
        let guards = part.when.iter().chain(&part.unclassified).flat_map(|guard| guard.reads.reports.clone());
        let made_of = match part.source {
            Source::Dpus(inner) => Some(inner),
            _ => None,
        };
        guards.chain(made_of).collect::<Vec<_>>()
    };
    parts.flat_map(asked).collect()
}
