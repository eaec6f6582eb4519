//! Which facts a guard can read, known without asking it.

use super::predicate::{BoolExpr, FactRef, IntExpr, MaybeExpr, TextExpr};
use crate::snapshot::Fact;

/// What a guard can read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    pub(crate) facts: Vec<&'static Fact>,
    /// Reports, by number.
    pub(crate) reports: Vec<usize>,
    /// Counters, notes or actions of the journal.
    pub(crate) records: bool,
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

    pub(crate) fn add(&mut self, other: &Self) {
        for fact in &other.facts {
            self.fact(fact);
        }
        for report in &other.reports {
            self.report(*report);
        }
        self.records |= other.records;
    }

    pub(crate) fn fact(&mut self, fact: &'static Fact) {
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
    }

    fn bool(&mut self, expr: &BoolExpr) {
        match expr {
            BoolExpr::Const(_) | BoolExpr::NoDpus => {}
            BoolExpr::Fact(fact)
            | BoolExpr::Field(fact, ..)
            | BoolExpr::FieldIs(fact, ..)
            | BoolExpr::CompareField(fact, ..)
            | BoolExpr::Known(fact)
            | BoolExpr::NoTexts(fact) => self.at(fact),
            BoolExpr::SameField(sides) => sides.iter().for_each(|(fact, _)| self.at(fact)),
            BoolExpr::SameVersion(sides) => sides.iter().for_each(|(fact, _)| self.at(fact)),
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
            BoolExpr::Report(report, _) => self.report(report.report),
            BoolExpr::Look(look) => self.report(look.at.report),
            BoolExpr::Action(..) => self.records = true,
        }
    }

    fn int(&mut self, expr: &IntExpr) {
        match expr {
            IntExpr::Const(_) | IntExpr::Dpus => {}
            IntExpr::Fact(fact) | IntExpr::Field(fact, _) | IntExpr::Texts(fact) => self.at(fact),
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
            IntExpr::Counter(..) | IntExpr::Tries(..) => self.records = true,
            IntExpr::ActionAgeOr(_, _, default) => {
                self.records = true;
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
            TextExpr::Note(..) => self.records = true,
        }
    }
}
