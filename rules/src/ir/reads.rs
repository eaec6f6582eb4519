//! Which facts a guard can read, known without asking it.

use std::{collections::BTreeSet, sync::Arc};

use crate::ir::{
    predicate::{BoolExpr, FactRef, IntExpr, MaybeExpr, Owner, TextExpr},
    snapshot::{Fact, FactType},
};

/// A counter, a note or an action of the journal, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecordKind {
    Counter,
    Note,
    Action,
}

/// What a guard can read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    pub(crate) facts: Vec<&'static Fact>,
    /// Reports, by number.
    pub(crate) reports: Vec<usize>,
    /// Counters, notes or actions of the journal.
    pub(crate) records: bool,
    /// Which, as far as it is known, and whose; nobody's if that is not known.
    pub(crate) named: Vec<(RecordKind, Arc<str>, Option<Owner>)>,
    /// What rises with the clock: ages of facts or of actions.
    pub(crate) ages: bool,
    /// Depths at which the DPUs are bound that it asks about.
    pub(crate) depths: BTreeSet<u8>,
}

impl Reads {
    pub(crate) fn of(expr: &BoolExpr) -> Self {
        let mut reads = Self::default();
        reads.bool(expr);
        reads
    }

    pub(crate) fn of_number(expr: &IntExpr) -> Self {
        let mut reads = Self::default();
        reads.int(expr);
        reads
    }

    /// Something of it is otherwise after every move: times and marks of the present state, counters, DPUs' states.
    pub(crate) fn end_with_a_move(&self) -> bool {
        let of_state = |fact: &&Fact| {
            fact.name == "elapsed"
                || fact.name.ends_with("_since_state_change")
                || (fact.area, fact.name) == ("dpu", "state")
        };
        self.records || self.facts.iter().any(of_state)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for fact in &other.facts {
            self.fact(fact);
        }
        for report in &other.reports {
            self.report(*report);
        }
        self.records |= other.records;
        self.named.extend(other.named.iter().cloned());
        self.ages |= other.ages;
    }

    pub(crate) fn fact(&mut self, fact: &'static Fact) {
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

    fn at(&mut self, fact: &FactRef) {
        self.fact(fact.fact);
        self.depths.extend(fact.dpu());
    }

    fn record(&mut self, owner: Owner, kind: RecordKind, name: &Arc<str>) {
        self.records = true;
        self.named.push((kind, name.clone(), Some(owner)));
        match owner {
            Owner::Host => {}
            Owner::Dpu(depth) => drop(self.depths.insert(depth)),
        }
    }

    fn bool(&mut self, expr: &BoolExpr) {
        match expr {
            BoolExpr::Const(_) | BoolExpr::NoDpus => {}
            BoolExpr::Fact(fact) | BoolExpr::Known(fact) | BoolExpr::NoTexts(fact) => self.at(fact),
            BoolExpr::Not(inner) | BoolExpr::Any(_, inner) | BoolExpr::All(_, inner) => self.bool(inner),
            BoolExpr::And(parts) | BoolExpr::Or(parts) => parts.iter().for_each(|part| self.bool(part)),
            BoolExpr::If(parts) => parts.iter().for_each(|part| self.bool(part)),
            BoolExpr::Same(sides) => sides.iter().for_each(|side| self.bool(side)),
            BoolExpr::Compare(_, sides) => sides.iter().for_each(|side| self.int(side)),
            BoolExpr::TextEqual(sides) | BoolExpr::VersionAtLeast(sides) => {
                sides.iter().for_each(|side| self.text(side));
            }
            BoolExpr::MaybeEqual(sides) => sides.iter().for_each(|side| match side {
                MaybeExpr::Fact(fact) => self.at(fact),
                MaybeExpr::Int(number) => self.int(number),
                MaybeExpr::Text(text) => self.text(text),
            }),
            BoolExpr::OneOf(text, _) | BoolExpr::Within(text, _) => self.text(text),
            BoolExpr::StartsWith(text, prefix) => {
                self.text(text);
                self.text(prefix);
            }
            BoolExpr::OneOfInts(number, _) => self.int(number),
            BoolExpr::Contains(list, text) => {
                self.at(list);
                self.text(text);
            }
            BoolExpr::Report(at, _) => {
                self.report(at.report);
                self.depths.insert(at.depth);
            }
            BoolExpr::Action(owner, action, _) => self.record(*owner, RecordKind::Action, action),
        }
    }

    fn int(&mut self, expr: &IntExpr) {
        match expr {
            IntExpr::Const(_) | IntExpr::Dpus => {}
            IntExpr::Fact(fact) | IntExpr::Texts(fact) => self.at(fact),
            IntExpr::FactOr(fact, default) => {
                self.at(fact);
                self.int(default);
            }
            IntExpr::Add(sides)
            | IntExpr::Subtract(sides)
            | IntExpr::Multiply(sides)
            | IntExpr::Divide(sides)
            | IntExpr::Remainder(sides) => sides.iter().for_each(|side| self.int(side)),
            IntExpr::Negate(inner) => self.int(inner),
            IntExpr::If(condition, sides) => {
                self.bool(condition);
                sides.iter().for_each(|side| self.int(side));
            }
            IntExpr::Count(_, body) => self.bool(body),
            IntExpr::Counter(owner, counter) => self.record(*owner, RecordKind::Counter, counter),
            IntExpr::Tries(owner, action) => self.record(*owner, RecordKind::Action, action),
            IntExpr::ActionAgeOr(owner, action, default) => {
                self.record(*owner, RecordKind::Action, action);
                self.ages = true;
                self.int(default);
            }
            IntExpr::Alerts(report) => self.report(report.report),
        }
    }

    fn text(&mut self, expr: &TextExpr) {
        match expr {
            TextExpr::Const(_) => {}
            TextExpr::Fact(fact) => self.at(fact),
            TextExpr::FactOr(fact, default) => {
                self.at(fact);
                self.text(default);
            }
            TextExpr::If(condition, sides) => {
                self.bool(condition);
                sides.iter().for_each(|side| self.text(side));
            }
            TextExpr::Note(owner, note) => self.record(*owner, RecordKind::Note, note),
        }
    }
}
