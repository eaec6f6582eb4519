//! A report prepared for one question: is there an alert of this probe, with this classification?
//!
//! The same answer as walking the report's parts, but parts that can never hold the alert are left out when the pack is
//! loaded, and a part's own conditions are asked only if its alerts hold what is sought.

use std::{collections::BTreeMap, sync::Arc};

use super::{HealthReport, Part, Reports, Source, holds};
use crate::{
    guard::{
        Env, Guard,
        predicate::{Answer, Query, ReportRef},
    },
    snapshot::{Alert, Dpu, Snapshot},
};

/// A question to a report.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) at: ReportRef,
    of_dpu: bool,
    sought: Sought,
    parts: Arc<[Prepared]>,
}

#[derive(Debug, Clone)]
struct Sought {
    probe: Option<Arc<str>>,
    class: Option<Arc<str>>,
}

/// A part of the report that can hold the alert, or hide those after it.
#[derive(Debug)]
struct Prepared {
    stored: Stored,
    instead: bool,
    only: Option<String>,
    except: Vec<String>,
    when: Option<Guard>,
    unclassified: Option<Guard>,
    /// An alert like the one sought stands in if nothing is stored.
    stands_in: bool,
}

#[derive(Debug)]
enum Stored {
    OfHost(fn(&Snapshot) -> &Option<HealthReport>),
    OfDpu(fn(&Dpu) -> &Option<HealthReport>),
    SeveralOfHost(fn(&Snapshot) -> &BTreeMap<String, HealthReport>),
    SeveralOfDpu(fn(&Dpu) -> &BTreeMap<String, HealthReport>),
    /// An alert of the rules like the one sought.
    Made,
    Dpus(Arc<[Prepared]>),
}

/// What was found in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Alert,
    /// A report without it.
    Other,
    Nothing,
}

impl Look {
    /// Prepares a question; none if the report is not there.
    pub(crate) fn prepare(
        reports: &Reports,
        at: ReportRef,
        probe: Option<Arc<str>>,
        class: Option<Arc<str>>,
    ) -> Option<Self> {
        let report = reports.reports.get(at.report)?;
        let sought = Sought { probe, class };
        let parts = prepare(&report.parts, &sought, reports);
        Some(Self { at, of_dpu: report.of_dpu, sought, parts })
    }

    pub(crate) fn query(&self) -> Query {
        Query::Has { probe: self.sought.probe.clone(), class: self.sought.class.clone() }
    }

    pub(crate) fn found(&self, env: &Env<'_>) -> Answer<bool> {
        let found = if self.of_dpu {
            walk(&self.parts, &self.sought, &env.with(0, env.dpus[self.at.depth as usize]))
        } else {
            walk(&self.parts, &self.sought, env)
        };
        found.map(|found| found == Found::Alert)
    }
}

fn prepare(parts: &[Part], sought: &Sought, reports: &Reports) -> Arc<[Prepared]> {
    let prepared = parts.iter().filter_map(|part| {
        let stored = match &part.source {
            Source::HostReplace => Stored::OfHost(|host| &host.health.replace),
            Source::RackReplace => Stored::OfHost(|host| &host.health.rack_replace),
            Source::HostMerge => Stored::SeveralOfHost(|host| &host.health.merges),
            Source::RackMerge => Stored::SeveralOfHost(|host| &host.health.rack_merges),
            Source::DpuReplace => Stored::OfDpu(|dpu| &dpu.health.replace),
            Source::DpuAgent => Stored::OfDpu(|dpu| &dpu.health.agent),
            Source::DpuMerge => Stored::SeveralOfDpu(|dpu| &dpu.health.merges),
            Source::Alert(alert) if sought.is(alert) => Stored::Made,
            Source::Alert(_) => return None,
            Source::Dpus(inner) => Stored::Dpus(prepare(&reports.reports.get(*inner)?.parts, sought, reports)),
        };
        Some(Prepared {
            stored,
            instead: part.instead,
            only: part.only.clone(),
            except: part.except.clone(),
            when: part.when.clone(),
            // Classifications that are not asked for need not be there.
            unclassified: sought.class.as_ref().and(part.unclassified.clone()),
            stands_in: part.or_alert.as_ref().is_some_and(|alert| sought.is(alert)),
        })
    });
    prepared.collect()
}

fn walk(parts: &[Prepared], sought: &Sought, env: &Env<'_>) -> Answer<Found> {
    let mut any = Found::Nothing;
    for part in parts {
        match part.look(sought, env)? {
            Found::Alert => return Ok(Found::Alert),
            Found::Other if part.instead => return Ok(Found::Other),
            Found::Other => any = Found::Other,
            Found::Nothing => {}
        }
    }
    Ok(any)
}

impl Prepared {
    fn look(&self, sought: &Sought, env: &Env<'_>) -> Answer<Found> {
        let found = match &self.stored {
            Stored::OfHost(get) => sought.one(get(env.host)),
            Stored::OfDpu(get) => sought.one(get(env.dpus[0])),
            Stored::SeveralOfHost(get) => self.several(sought, get(env.host)),
            Stored::SeveralOfDpu(get) => self.several(sought, get(env.dpus[0])),
            Stored::Made => Found::Alert,
            Stored::Dpus(parts) => return self.dpus(parts, sought, env),
        };
        match found {
            Found::Nothing if !self.stands_in => Ok(Found::Nothing),
            Found::Other if !self.instead => Ok(Found::Other),
            found => self.conditionally(found, env),
        }
    }

    /// What was found matters: do the part's own conditions hold?
    fn conditionally(&self, found: Found, env: &Env<'_>) -> Answer<Found> {
        if !holds(self.when.as_ref(), env, true)? {
            return Ok(Found::Nothing);
        }
        let unclassified = holds(self.unclassified.as_ref(), env, false)?;
        Ok(match found {
            Found::Nothing => {
                if unclassified {
                    Found::Nothing
                } else {
                    Found::Alert
                }
            }
            Found::Alert if unclassified => Found::Other,
            found => found,
        })
    }

    fn several(&self, sought: &Sought, stored: &BTreeMap<String, HealthReport>) -> Found {
        let mut found = Found::Nothing;
        if stored.is_empty() {
            return found;
        }
        for (source, report) in stored {
            let taken = self.only.as_ref().is_none_or(|only| super::matches(only, source))
                && !self.except.iter().any(|except| super::matches(except, source));
            if taken {
                if sought.is_in(&report.alerts) {
                    return Found::Alert;
                }
                found = Found::Other;
            }
        }
        found
    }

    fn dpus(&self, parts: &[Prepared], sought: &Sought, env: &Env<'_>) -> Answer<Found> {
        let mut bound = *env;
        for dpu in &env.host.dpus {
            bound.dpus[0] = dpu;
            if holds(self.when.as_ref(), &bound, true)? && walk(parts, sought, &bound)? == Found::Alert {
                return Ok(Found::Alert);
            }
        }
        Ok(if env.host.dpus.is_empty() { Found::Nothing } else { Found::Other })
    }
}

impl Sought {
    fn one(&self, stored: &Option<HealthReport>) -> Found {
        match stored {
            Some(report) if self.is_in(&report.alerts) => Found::Alert,
            Some(_) => Found::Other,
            None => Found::Nothing,
        }
    }

    fn is_in(&self, alerts: &[Alert]) -> bool {
        alerts.iter().any(|alert| self.is(alert))
    }

    fn is(&self, alert: &Alert) -> bool {
        self.probe.as_ref().is_none_or(|probe| **probe == *alert.id)
            && self.class.as_ref().is_none_or(|class| alert.classifications.iter().any(|known| **class == **known))
    }
}
