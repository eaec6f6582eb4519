//! Compiled queries to health reports: is there an alert of this probe, with this classification?
//!
//! The result is that of walking the report's parts, but parts that can never contain the alert are removed when the pack
//! is loaded, and a part's conditions are evaluated only if it has a matching alert. Reports whose conditions can fail are
//! not compiled.

use std::{collections::BTreeMap, sync::Arc};

use crate::ir::{
    expr::ReportRef,
    guard::Guard,
    health::{Part, Reports, Source, StoredReports, StoredSource, names_match},
    snapshot::{Dpu, HealthAlert, HealthReport, Snapshot, predicate::Predicate},
};

/// A compiled query.
#[derive(Debug, Clone)]
pub(crate) struct AlertQuery {
    pattern: AlertPattern,
    parts: Arc<[PreparedPart]>,
    /// Those of them that can contain the alert if no report is stored for the host itself.
    without_host_reports: Arc<[PreparedPart]>,
}

/// Which alerts match.
#[derive(Debug, Clone)]
enum AlertPattern {
    Any,
    Probe(Arc<str>),
    Class(Arc<str>),
    Alert { probe: Arc<str>, class: Arc<str> },
}

/// A part that can contain the alert, or hide later parts.
#[derive(Debug)]
struct PreparedPart {
    source: PreparedSource,
    instead: bool,
    /// Its `or_alert` matches, which counts if no report is stored.
    has_or_alert: bool,
    /// Boxed, because they are rarely evaluated.
    conditions: Box<PartConditions>,
}

struct PartConditions {
    only: Option<String>,
    except: Vec<String>,
    when: Option<Predicate>,
    unclassified: Option<Predicate>,
}

impl std::fmt::Debug for PartConditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rest")
    }
}

#[derive(Debug)]
enum PreparedSource {
    Stored(StoredSource),
    /// A matching alert of the rules themselves.
    Made,
    Dpus(Arc<[PreparedPart]>),
}

impl AlertQuery {
    /// Compiles a query; none if a condition of the report can fail.
    pub(crate) fn prepare(
        reports: &Arc<Reports>,
        at: ReportRef,
        probe: Option<Arc<str>>,
        class: Option<Arc<str>>,
    ) -> Option<Self> {
        let report = reports.reports.get(at.report)?;
        let pattern = match (probe, class) {
            (None, None) => AlertPattern::Any,
            (Some(probe), None) => AlertPattern::Probe(probe),
            (None, Some(class)) => AlertPattern::Class(class),
            (Some(probe), Some(class)) => AlertPattern::Alert { probe, class },
        };
        let parts = prepare(&report.parts, &pattern, reports)?.into();
        let without_host_reports =
            prepare(&report.parts, &pattern, reports)?.into_iter().filter(|part| !part.needs_host_report());
        Some(Self { pattern, without_host_reports: without_host_reports.collect(), parts })
    }

    /// Whether a matching alert is present; `dpu` is read if the report is of a DPU.
    pub(crate) fn found(&self, host: &Snapshot, dpu: &Dpu) -> bool {
        let parts = if host.health.is_empty() { &self.without_host_reports } else { &self.parts };
        match &self.pattern {
            AlertPattern::Any => walk(parts, &|_| true, host, dpu),
            AlertPattern::Probe(probe) => walk(parts, &|alert| *alert.id == **probe, host, dpu),
            AlertPattern::Class(class) => walk(parts, &|alert| has(alert, class), host, dpu),
            AlertPattern::Alert { probe, class } => {
                walk(parts, &|alert| *alert.id == **probe && has(alert, class), host, dpu)
            }
        }
    }
}

/// Matches alerts. Generic, so that each pattern gets its own inlined loop.
trait AlertFilter: Fn(&HealthAlert) -> bool {}
impl<T: Fn(&HealthAlert) -> bool> AlertFilter for T {}

fn prepare(parts: &[Part], pattern: &AlertPattern, reports: &Arc<Reports>) -> Option<Vec<PreparedPart>> {
    let mut prepared = Vec::new();
    for part in parts {
        let source = match &part.source {
            Source::Stored(stored) => PreparedSource::Stored(*stored),
            Source::Alert(alert) if pattern.is(alert) => PreparedSource::Made,
            Source::Alert(_) => continue,
            Source::Dpus(inner) => {
                PreparedSource::Dpus(prepare(&reports.reports.get(*inner)?.parts, pattern, reports)?.into())
            }
        };
        prepared.push(PreparedPart {
            source,
            instead: part.instead,
            has_or_alert: part.or_alert.as_ref().is_some_and(|alert| pattern.is(alert)),
            conditions: Box::new(PartConditions {
                only: part.only.clone(),
                except: part.except.clone(),
                when: compiled(part.when.as_ref(), reports)?,
                unclassified: compiled(part.unclassified.as_ref(), reports)?.filter(|_| pattern.by_class()),
            }),
        });
    }
    Some(prepared)
}

/// The compiled guard, if there is one; none if it can fail.
fn compiled(guard: Option<&Guard>, reports: &Arc<Reports>) -> Option<Option<Predicate>> {
    guard.map_or(Some(None), |guard| guard.expr.compile(reports).into_dpu_predicate(0).ok().map(Some))
}

/// Whether some part contains the alert, and no earlier part hides it.
fn walk(parts: &[PreparedPart], filter: &impl AlertFilter, host: &Snapshot, dpu: &Dpu) -> bool {
    for part in parts {
        let lookup = match &part.source {
            PreparedSource::Stored(stored) => match stored.reports(&host.health, &dpu.health) {
                StoredReports::One(stored) => part.one(filter, stored, host, dpu),
                StoredReports::Many(stored) if stored.is_empty() && !part.has_or_alert => Lookup::Nothing,
                StoredReports::Many(stored) => part.several(filter, stored, host, dpu),
            },
            PreparedSource::Made => part.conditionally(Lookup::Found, host, dpu),
            PreparedSource::Dpus(parts) => part.dpus(parts, filter, host),
        };
        match lookup {
            Lookup::Nothing => {}
            Lookup::Found => return true,
            Lookup::Hidden => return false,
        }
    }
    false
}

/// The result of one part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// No matching alert: continue.
    Nothing,
    /// A matching alert.
    Found,
    /// It replaces the rest of the report, and has no matching alert.
    Hidden,
}

impl PreparedPart {
    /// It matters only if a report is stored for the host itself.
    fn needs_host_report(&self) -> bool {
        let of_host = matches!(self.source, PreparedSource::Stored(stored) if !stored.is_of_dpu());
        of_host && !self.has_or_alert
    }

    #[inline(always)]
    fn one(&self, filter: &impl AlertFilter, stored: Option<&HealthReport>, host: &Snapshot, dpu: &Dpu) -> Lookup {
        match stored {
            None if !self.has_or_alert => Lookup::Nothing,
            None => self.conditionally(Lookup::Found, host, dpu),
            Some(report) if report.alerts.iter().any(filter) => self.conditionally(Lookup::Found, host, dpu),
            Some(_) if self.instead => self.conditionally(Lookup::Hidden, host, dpu),
            Some(_) => Lookup::Nothing,
        }
    }

    fn several(
        &self,
        filter: &impl AlertFilter,
        stored: &BTreeMap<String, HealthReport>,
        host: &Snapshot,
        dpu: &Dpu,
    ) -> Lookup {
        let mut there = false;
        for (source, report) in stored {
            let taken = self.conditions.only.as_ref().is_none_or(|only| names_match(only, source))
                && !self.conditions.except.iter().any(|except| names_match(except, source));
            if taken {
                if report.alerts.iter().any(filter) {
                    return self.conditionally(Lookup::Found, host, dpu);
                }
                there = true;
            }
        }
        match there {
            true if self.instead => self.conditionally(Lookup::Hidden, host, dpu),
            false if self.has_or_alert => self.conditionally(Lookup::Found, host, dpu),
            _ => Lookup::Nothing,
        }
    }

    /// Applies the part's conditions to what was found.
    #[inline(never)]
    fn conditionally(&self, lookup: Lookup, host: &Snapshot, dpu: &Dpu) -> Lookup {
        let holds = |test: &Predicate| test(host, dpu);
        if !self.conditions.when.as_ref().is_none_or(holds) {
            Lookup::Nothing
        } else if lookup == Lookup::Found && self.conditions.unclassified.as_ref().is_some_and(holds) {
            if self.instead { Lookup::Hidden } else { Lookup::Nothing }
        } else {
            lookup
        }
    }

    fn dpus(&self, parts: &[PreparedPart], filter: &impl AlertFilter, host: &Snapshot) -> Lookup {
        let when = self.conditions.when.as_ref();
        let found = |dpu: &Dpu| when.is_none_or(|when| when(host, dpu)) && walk(parts, filter, host, dpu);
        if host.dpus.iter().any(found) { Lookup::Found } else { Lookup::Nothing }
    }
}

impl AlertPattern {
    /// Whether it matches by classification, which a part can take from its alerts.
    fn by_class(&self) -> bool {
        matches!(self, Self::Class(_) | Self::Alert { .. })
    }

    fn is(&self, alert: &HealthAlert) -> bool {
        match self {
            Self::Any => true,
            Self::Probe(probe) => *alert.id == **probe,
            Self::Class(class) => has(alert, class),
            Self::Alert { probe, class } => *alert.id == **probe && has(alert, class),
        }
    }
}

fn has(alert: &HealthAlert, class: &str) -> bool {
    alert.classifications.iter().any(|known| *known == *class)
}
