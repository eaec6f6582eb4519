//! The read set of a guard: which facts, reports and records it can read, known without evaluating it.

use std::sync::Arc;

use crate::ir::{
    expr::{Expr, Owner, Record},
    snapshot::{Fact, FactType},
};

/// A counter, a note or an action of the journal, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecordKind {
    Counter,
    Note,
    Action,
}

impl Record {
    pub(crate) fn kind(self) -> RecordKind {
        match self {
            Self::Counter => RecordKind::Counter,
            Self::Note => RecordKind::Note,
            Self::Done | Self::Failed | Self::Running | Self::Tries | Self::Age => RecordKind::Action,
        }
    }
}

/// Everything that a guard can read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadSet {
    pub(crate) facts: Vec<&'static Fact>,
    /// Reports, by number.
    pub(crate) reports: Vec<usize>,
    /// Counters, notes and actions of the journal, with their owners.
    pub(crate) records: Vec<(RecordKind, Arc<str>, Owner)>,
    /// It contains ages of facts or actions, which grow with time.
    pub(crate) ages: bool,
}

impl ReadSet {
    pub(crate) fn of(expr: &Expr) -> Self {
        let mut reads = Self::default();
        expr.walk(&mut |part| match part {
            Expr::Fact(at) => reads.fact(at.fact),
            Expr::Report(at, _) => reads.report(at.report),
            Expr::Record(owner, record, name) => {
                reads.ages |= *record == Record::Age;
                reads.records.push((record.kind(), name.clone(), *owner));
            }
            _ => {}
        });
        reads
    }

    /// Part of it changes with every move: times and action records of the present state, counters, DPUs' states.
    pub(crate) fn change_on_move(&self) -> bool {
        let of_state = |fact: &&Fact| {
            fact.name == "elapsed"
                || fact.name.ends_with("_since_state_change")
                || (fact.area, fact.name) == ("dpu", "state")
        };
        !self.records.is_empty() || self.facts.iter().any(of_state)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for fact in &other.facts {
            self.fact(fact);
        }
        for report in &other.reports {
            self.report(*report);
        }
        self.records.extend(other.records.iter().cloned());
        self.ages |= other.ages;
    }

    fn fact(&mut self, fact: &'static Fact) {
        self.ages |= fact.kind == FactType::Age;
        if !self.facts.iter().any(|known| std::ptr::eq(*known, fact)) {
            self.facts.push(fact);
        }
    }

    pub(crate) fn report(&mut self, report: usize) {
        if !self.reports.contains(&report) {
            self.reports.push(report);
        }
    }
}
