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
    snapshot::Alert,
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
    /// An alert like the one sought stands in if nothing is stored.
    stands_in: bool,
    /// What is asked seldom, apart from what is asked always.
    rest: Box<Rest>,
}

#[derive(Debug)]
struct Rest {
    only: Option<String>,
    except: Vec<String>,
    when: Option<Guard>,
    unclassified: Option<Guard>,
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
    /// An alert of the rules like the one sought.
    Made,
    Dpus(Arc<[Prepared]>),
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
        if self.of_dpu && self.at.depth > 0 {
            return walk(&self.parts, &self.sought, &env.with(0, env.dpus[self.at.depth as usize]));
        }
        walk(&self.parts, &self.sought, env)
    }
}

fn prepare(parts: &[Part], sought: &Sought, reports: &Reports) -> Arc<[Prepared]> {
    let prepared = parts.iter().filter_map(|part| {
        let stored = match &part.source {
            Source::HostReplace => Stored::HostReplace,
            Source::RackReplace => Stored::RackReplace,
            Source::HostMerge => Stored::HostMerge,
            Source::RackMerge => Stored::RackMerge,
            Source::DpuReplace => Stored::DpuReplace,
            Source::DpuAgent => Stored::DpuAgent,
            Source::DpuMerge => Stored::DpuMerge,
            Source::Alert(alert) if sought.is(alert) => Stored::Made,
            Source::Alert(_) => return None,
            Source::Dpus(inner) => Stored::Dpus(prepare(&reports.reports.get(*inner)?.parts, sought, reports)),
        };
        Some(Prepared {
            stored,
            instead: part.instead,
            stands_in: part.or_alert.as_ref().is_some_and(|alert| sought.is(alert)),
            rest: Box::new(Rest {
                only: part.only.clone(),
                except: part.except.clone(),
                when: part.when.clone(),
                // Classifications that are not asked for need not be there.
                unclassified: sought.class.as_ref().and(part.unclassified.clone()),
            }),
        })
    });
    prepared.collect()
}

/// Some part holds the alert, and none before it hides it.
fn walk(parts: &[Prepared], sought: &Sought, env: &Env<'_>) -> Answer<bool> {
    let (host, dpu) = (&env.host.health, env.dpus[0]);
    for part in parts {
        let looked = match &part.stored {
            Stored::HostReplace => part.one(sought, host.replace.as_ref(), env)?,
            Stored::RackReplace => part.one(sought, host.rack_replace.as_ref(), env)?,
            Stored::DpuReplace => part.one(sought, dpu.health.replace.as_ref(), env)?,
            Stored::DpuAgent => part.one(sought, dpu.health.agent.as_ref(), env)?,
            Stored::HostMerge => part.several(sought, &host.merges, env)?,
            Stored::RackMerge => part.several(sought, &host.rack_merges, env)?,
            Stored::DpuMerge => part.several(sought, &dpu.health.merges, env)?,
            Stored::Made => part.conditionally(Looked::Alert, env)?,
            Stored::Dpus(parts) => part.dpus(parts, sought, env)?,
        };
        match looked {
            Looked::On => {}
            Looked::Alert => return Ok(true),
            Looked::Hidden => return Ok(false),
        }
    }
    Ok(false)
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
    #[inline]
    fn one(&self, sought: &Sought, stored: Option<&HealthReport>, env: &Env<'_>) -> Answer<Looked> {
        match stored {
            None if !self.stands_in => Ok(Looked::On),
            None => self.conditionally(Looked::Alert, env),
            Some(report) if sought.is_in(&report.alerts) => self.conditionally(Looked::Alert, env),
            Some(_) if self.instead => self.conditionally(Looked::Hidden, env),
            Some(_) => Ok(Looked::On),
        }
    }

    #[inline]
    fn several(&self, sought: &Sought, stored: &BTreeMap<String, HealthReport>, env: &Env<'_>) -> Answer<Looked> {
        if stored.is_empty() && !self.stands_in {
            return Ok(Looked::On);
        }
        self.some(sought, stored, env)
    }

    #[inline(never)]
    fn some(&self, sought: &Sought, stored: &BTreeMap<String, HealthReport>, env: &Env<'_>) -> Answer<Looked> {
        let mut there = false;
        for (source, report) in stored {
            let taken = self.rest.only.as_ref().is_none_or(|only| super::matches(only, source))
                && !self.rest.except.iter().any(|except| super::matches(except, source));
            if taken {
                if sought.is_in(&report.alerts) {
                    return self.conditionally(Looked::Alert, env);
                }
                there = true;
            }
        }
        match there {
            true if self.instead => self.conditionally(Looked::Hidden, env),
            false if self.stands_in => self.conditionally(Looked::Alert, env),
            _ => Ok(Looked::On),
        }
    }

    /// What was found matters: do the part's own conditions hold?
    #[inline(never)]
    fn conditionally(&self, looked: Looked, env: &Env<'_>) -> Answer<Looked> {
        if !holds(self.rest.when.as_ref(), env, true)? {
            return Ok(Looked::On);
        }
        if looked == Looked::Alert && holds(self.rest.unclassified.as_ref(), env, false)? {
            return Ok(if self.instead { Looked::Hidden } else { Looked::On });
        }
        Ok(looked)
    }

    fn dpus(&self, parts: &[Prepared], sought: &Sought, env: &Env<'_>) -> Answer<Looked> {
        let mut bound = *env;
        for dpu in &env.host.dpus {
            bound.dpus[0] = dpu;
            if holds(self.rest.when.as_ref(), &bound, true)? && walk(parts, sought, &bound)? {
                return Ok(Looked::Alert);
            }
        }
        Ok(Looked::On)
    }
}

impl Sought {
    #[inline(never)]
    fn is_in(&self, alerts: &[Alert]) -> bool {
        alerts.iter().any(|alert| self.is(alert))
    }

    fn is(&self, alert: &Alert) -> bool {
        self.probe.as_ref().is_none_or(|probe| **probe == *alert.id)
            && self.class.as_ref().is_none_or(|class| alert.classifications.iter().any(|known| **class == **known))
    }
}
