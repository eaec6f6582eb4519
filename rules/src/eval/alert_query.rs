//! A report prepared for one question: is there an alert of this probe, with this classification?
//!
//! The same answer as walking the report's parts, but parts that can never hold the alert are left out when the pack is
//! loaded, and a part's own conditions are asked only if its alerts hold what is wanted. A report with conditions that
//! can fail is not prepared.

use std::{collections::BTreeMap, sync::Arc};

use crate::ir::{
    expr::ReportRef,
    guard::Guard,
    health::{Part, Reports, Source, names_match},
    snapshot::{Dpu, HealthAlert, HealthReport, Snapshot, question::Test},
};

/// A question to a report.
#[derive(Debug, Clone)]
pub(crate) struct AlertQuery {
    wanted: AlertPattern,
    parts: Arc<[Prepared]>,
    /// Those of them that can hold the alert if nothing is stored for the host as a whole.
    of_quiet_host: Arc<[Prepared]>,
}

/// Which alert is wanted.
#[derive(Debug, Clone)]
enum AlertPattern {
    Any,
    Probe(Arc<str>),
    Class(Arc<str>),
    Alert { probe: Arc<str>, class: Arc<str> },
}

/// A part of the report that can hold the alert, or hide those after it.
#[derive(Debug)]
struct Prepared {
    stored: Stored,
    instead: bool,
    /// An alert like the one wanted stands in if nothing is stored.
    stands_in: bool,
    /// What is asked seldom, apart from what is asked always.
    rest: Box<Rest>,
}

struct Rest {
    only: Option<String>,
    except: Vec<String>,
    when: Option<Test>,
    unclassified: Option<Test>,
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rest")
    }
}

#[derive(Debug)]
enum Stored {
    HostReplace,
    HostMerge,
    RackReplace,
    RackMerge,
    DpuReplace,
    DpuAgent,
    DpuMerge,
    /// An alert of the rules like the one wanted.
    Made,
    Dpus(Arc<[Prepared]>),
}

impl AlertQuery {
    /// Prepares a question; none if it cannot be.
    pub(crate) fn prepare(
        reports: &Arc<Reports>,
        at: ReportRef,
        probe: Option<Arc<str>>,
        class: Option<Arc<str>>,
    ) -> Option<Self> {
        let report = reports.reports.get(at.report)?;
        let wanted = match (probe, class) {
            (None, None) => AlertPattern::Any,
            (Some(probe), None) => AlertPattern::Probe(probe),
            (None, Some(class)) => AlertPattern::Class(class),
            (Some(probe), Some(class)) => AlertPattern::Alert { probe, class },
        };
        let parts = prepare(&report.parts, &wanted, reports)?.into();
        let of_quiet_host = prepare(&report.parts, &wanted, reports)?.into_iter().filter(|part| !part.is_of_host());
        Some(Self { wanted, of_quiet_host: of_quiet_host.collect(), parts })
    }

    /// The alert is there. The DPU matters if the report is of one.
    pub(crate) fn found(&self, host: &Snapshot, dpu: &Dpu) -> bool {
        let parts = if host.health.is_quiet() { &self.of_quiet_host } else { &self.parts };
        match &self.wanted {
            AlertPattern::Any => walk(parts, &|_| true, host, dpu),
            AlertPattern::Probe(probe) => walk(parts, &|alert| *alert.id == **probe, host, dpu),
            AlertPattern::Class(class) => walk(parts, &|alert| has(alert, class), host, dpu),
            AlertPattern::Alert { probe, class } => {
                walk(parts, &|alert| *alert.id == **probe && has(alert, class), host, dpu)
            }
        }
    }
}

/// Is this an alert like the one wanted?
trait Sees: Fn(&HealthAlert) -> bool {}
impl<T: Fn(&HealthAlert) -> bool> Sees for T {}

fn prepare(parts: &[Part], wanted: &AlertPattern, reports: &Arc<Reports>) -> Option<Vec<Prepared>> {
    let mut prepared = Vec::new();
    for part in parts {
        let stored = match &part.source {
            Source::HostReplace => Stored::HostReplace,
            Source::RackReplace => Stored::RackReplace,
            Source::HostMerge => Stored::HostMerge,
            Source::RackMerge => Stored::RackMerge,
            Source::DpuReplace => Stored::DpuReplace,
            Source::DpuAgent => Stored::DpuAgent,
            Source::DpuMerge => Stored::DpuMerge,
            Source::Alert(alert) if wanted.is(alert) => Stored::Made,
            Source::Alert(_) => continue,
            Source::Dpus(inner) => Stored::Dpus(prepare(&reports.reports.get(*inner)?.parts, wanted, reports)?.into()),
        };
        prepared.push(Prepared {
            stored,
            instead: part.instead,
            stands_in: part.or_alert.as_ref().is_some_and(|alert| wanted.is(alert)),
            rest: Box::new(Rest {
                only: part.only.clone(),
                except: part.except.clone(),
                when: test(part.when.as_ref(), reports)?,
                unclassified: test(part.unclassified.as_ref(), reports)?.filter(|_| wanted.by_class()),
            }),
        });
    }
    Some(prepared)
}

/// A guard that cannot fail, if there is one; none if it can.
fn test(guard: Option<&Guard>, reports: &Arc<Reports>) -> Option<Option<Test>> {
    guard.map_or(Some(None), |guard| guard.expr.compile(reports).into_test_of_each(0).ok().map(Some))
}

/// Some part holds the alert, and none before it hides it.
fn walk(parts: &[Prepared], sees: &impl Sees, host: &Snapshot, dpu: &Dpu) -> bool {
    let (of_host, of_dpu) = (&host.health, &dpu.health);
    for part in parts {
        let one = |stored: &Option<HealthReport>| part.one(sees, stored.as_ref(), host, dpu);
        let several = |stored: &BTreeMap<String, HealthReport>| {
            let silent = stored.is_empty() && !part.stands_in;
            if silent { Looked::On } else { part.several(sees, stored, host, dpu) }
        };
        let looked = match &part.stored {
            Stored::HostReplace => one(&of_host.replace),
            Stored::RackReplace => one(&of_host.rack_replace),
            Stored::DpuReplace => one(&of_dpu.replace),
            Stored::DpuAgent => one(&of_dpu.agent),
            Stored::HostMerge => several(&of_host.merges),
            Stored::RackMerge => several(&of_host.rack_merges),
            Stored::DpuMerge => several(&of_dpu.merges),
            Stored::Made => part.conditionally(Looked::Alert, host, dpu),
            Stored::Dpus(parts) => part.dpus(parts, sees, host),
        };
        match looked {
            Looked::On => {}
            Looked::Alert => return true,
            Looked::Hidden => return false,
        }
    }
    false
}

/// What a part has to say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// Nothing: look on.
    On,
    /// It holds the alert.
    Alert,
    /// It is the whole report, and does not hold the alert.
    Hidden,
}

impl Prepared {
    /// Without a report that is stored for the host as a whole it has nothing to say.
    fn is_of_host(&self) -> bool {
        let of_host =
            matches!(self.stored, Stored::HostReplace | Stored::HostMerge | Stored::RackReplace | Stored::RackMerge);
        of_host && !self.stands_in
    }

    #[inline(always)]
    fn one(&self, sees: &impl Sees, stored: Option<&HealthReport>, host: &Snapshot, dpu: &Dpu) -> Looked {
        match stored {
            None if !self.stands_in => Looked::On,
            None => self.conditionally(Looked::Alert, host, dpu),
            Some(report) if report.alerts.iter().any(sees) => self.conditionally(Looked::Alert, host, dpu),
            Some(_) if self.instead => self.conditionally(Looked::Hidden, host, dpu),
            Some(_) => Looked::On,
        }
    }

    fn several(&self, sees: &impl Sees, stored: &BTreeMap<String, HealthReport>, host: &Snapshot, dpu: &Dpu) -> Looked {
        let mut there = false;
        for (source, report) in stored {
            let taken = self.rest.only.as_ref().is_none_or(|only| names_match(only, source))
                && !self.rest.except.iter().any(|except| names_match(except, source));
            if taken {
                if report.alerts.iter().any(sees) {
                    return self.conditionally(Looked::Alert, host, dpu);
                }
                there = true;
            }
        }
        match there {
            true if self.instead => self.conditionally(Looked::Hidden, host, dpu),
            false if self.stands_in => self.conditionally(Looked::Alert, host, dpu),
            _ => Looked::On,
        }
    }

    /// What was found matters: do the part's own conditions hold?
    #[inline(never)]
    fn conditionally(&self, looked: Looked, host: &Snapshot, dpu: &Dpu) -> Looked {
        let holds = |test: &Test| test(host, dpu);
        if !self.rest.when.as_ref().is_none_or(holds) {
            Looked::On
        } else if looked == Looked::Alert && self.rest.unclassified.as_ref().is_some_and(holds) {
            if self.instead { Looked::Hidden } else { Looked::On }
        } else {
            looked
        }
    }

    fn dpus(&self, parts: &[Prepared], sees: &impl Sees, host: &Snapshot) -> Looked {
        let when = self.rest.when.as_ref();
        let found = |dpu: &Dpu| when.is_none_or(|when| when(host, dpu)) && walk(parts, sees, host, dpu);
        if host.dpus.iter().any(found) { Looked::Alert } else { Looked::On }
    }
}

impl AlertPattern {
    /// Classifications that are not asked for need not be there.
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
