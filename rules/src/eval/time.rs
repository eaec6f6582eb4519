//! Computes when a guard can change its value by the passing of time alone.
//!
//! Ages are linear in time, so the time at which a comparison flips can be computed. Where it cannot, the host is
//! evaluated again after [`RECHECK_FALLBACK`].

use crate::{
    eval::{env::Env, evaluate::Unobserved},
    ir::{
        expr::{Expr, FactRef, Quantifier, Record},
        health::{Reports, Source},
        line::{Compare, Line},
        operand::Operand,
        operators::{Op, TimeDependence},
        snapshot::FactType,
    },
};

/// Seconds until the next evaluation if the time of a change is unknown. Ages count whole seconds, so this misses no
/// change.
const RECHECK_FALLBACK: i64 = 1;

/// Expressions of guards that change with time, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct Timed(Vec<Expr>);

impl Timed {
    /// The expressions of each of a pack's reports that change with time.
    pub(crate) fn of_reports(reports: &Reports) -> Vec<Self> {
        (0..reports.reports.len())
            .map(|report| {
                let mut found = Vec::new();
                of_report(report, reports, &mut found);
                Self(found)
            })
            .collect()
    }

    /// Adds the parts of an expression that change with time; `of_dpus` evaluates them for every DPU.
    pub(crate) fn add(&mut self, expr: &Expr, of_dpus: bool, reports: &[Self]) {
        let mut found = Vec::new();
        collect(expr, &|report| reports.get(report).map_or(&[], |timed| &timed.0), &mut found);
        for part in found {
            let part = if of_dpus { of_each_dpu(part) } else { part };
            if !self.0.contains(&part) {
                self.0.push(part);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Seconds until one of them can change its value by time alone.
    pub(crate) fn next_flip(&self, env: &Env<'_>) -> Option<i64> {
        soonest(self.0.iter().map(|part| flip(part, env)))
    }
}

fn of_each_dpu(expr: Expr) -> Expr {
    Expr::Each(Quantifier::Any, 0, [expr].into())
}

/// Collects the smallest bool parts of an expression that change with time.
fn collect<'r>(expr: &Expr, of_report: &dyn Fn(usize) -> &'r [Expr], found: &mut Vec<Expr>) {
    match expr {
        Expr::Apply(Op::And | Op::Or | Op::Not, parts) => parts.iter().for_each(|part| collect(part, of_report, found)),
        Expr::Each(Quantifier::Any | Quantifier::All, depth, parts) if parts.len() == 1 => {
            let mut inner = Vec::new();
            collect(&parts[0], of_report, &mut inner);
            found.extend(inner.into_iter().map(|part| Expr::Each(Quantifier::Any, *depth, [part].into())));
        }
        Expr::Report(at, _) => found.extend(of_report(at.report).iter().cloned()),
        other if ages(other, of_report) => found.push(other.clone()),
        _ => {}
    }
}

/// Collects the conditions of a report's parts that change with time.
fn of_report(number: usize, reports: &Reports, found: &mut Vec<Expr>) {
    let Some(report) = reports.reports.get(number) else { return };
    for part in &report.parts {
        if let Source::Dpus(inner) = part.source {
            of_report(inner, reports, found);
        }
        for guard in part.when.iter().chain(&part.unclassified) {
            for asked in &guard.reads.reports {
                of_report(*asked, reports, found);
            }
            let mut inner = Vec::new();
            collect(&guard.expr, &|_| &[], &mut inner);
            let of_dpus = report.of_dpu || guard.of_dpu;
            found.extend(inner.into_iter().map(|part| if of_dpus { of_each_dpu(part) } else { part }));
        }
    }
}

fn ages<'r>(expr: &Expr, of_report: &dyn Fn(usize) -> &'r [Expr]) -> bool {
    let own = match expr {
        Expr::Fact(at) => at.fact.kind == FactType::Age,
        Expr::Record(_, record, _) => *record == Record::Age,
        Expr::Report(at, _) => !of_report(at.report).is_empty(),
        _ => false,
    };
    own || expr.children().iter().any(|part| ages(part, of_report))
}

fn soonest(flips: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    flips.flatten().min()
}

/// Seconds until the value can change by time alone, none if it cannot.
fn flip(expr: &Expr, env: &Env<'_>) -> Option<i64> {
    match expr {
        Expr::Each(_, depth, parts) => match &**parts {
            [body] => soonest(env.host.dpus.iter().map(|dpu| flip(body, &env.with(*depth, dpu)))),
            [body, list] => match list.eval(env, &mut Unobserved) {
                Ok(Operand::Texts(texts)) => soonest(texts.iter().map(|text| flip(body, &env.with_item(*depth, text)))),
                _ => None,
            },
            _ => None,
        },
        Expr::Report(at, _) => {
            let mut timed = Vec::new();
            of_report(at.report, env.reports, &mut timed);
            soonest(timed.iter().map(|part| flip(part, env)))
        }
        Expr::Apply(op, parts) => match (op.entry().time, &**parts) {
            (TimeDependence::Order(compare), [left, right]) => compared(compare, line(left, env), line(right, env)),
            (TimeDependence::Equal, [left, right]) => equal(left, right, env),
            (TimeDependence::Opaque | TimeDependence::Linear(_), parts) => {
                soonest(parts.iter().map(|part| next_change(part, env)))
            }
            (_, parts) => soonest(parts.iter().map(|part| flip(part, env))),
        },
        other => soonest(other.children().iter().map(|part| flip(part, env))),
    }
}

/// When an equality can change: of numbers by their lines; absent values and versions do not change with time.
fn equal(left: &Expr, right: &Expr, env: &Env<'_>) -> Option<i64> {
    match (left.eval(env, &mut Unobserved), right.eval(env, &mut Unobserved)) {
        (Ok(Operand::Int(_)), Ok(Operand::Int(_))) => compared(Compare::Equal, line(left, env), line(right, env)),
        (Err(error), _) | (_, Err(error)) if !error.is_unknown() => Some(RECHECK_FALLBACK),
        _ => soonest([flip(left, env), flip(right, env)].into_iter()),
    }
}

/// When an argument can change, for operators whose dependence on time is unknown.
fn next_change(part: &Expr, env: &Env<'_>) -> Option<i64> {
    match part.eval(env, &mut Unobserved) {
        Err(error) if error.is_unknown() => flip(part, env),
        Ok(Operand::Int(_)) | Err(_) => match line(part, env) {
            Some(line) if line.slope == 0 => None,
            _ => Some(RECHECK_FALLBACK),
        },
        _ => flip(part, env),
    }
}

fn compared(compare: Compare, left: Option<Line>, right: Option<Line>) -> Option<i64> {
    match left.zip(right).and_then(|(left, right)| left.minus(right)) {
        Some(difference) => difference.flip(compare),
        None => Some(RECHECK_FALLBACK),
    }
}

fn aged(fact: &FactRef, value: i64) -> Line {
    Line { now: value, slope: i64::from(fact.fact.kind == FactType::Age) }
}

/// A number as a linear function of time, if it is one.
fn line(expr: &Expr, env: &Env<'_>) -> Option<Line> {
    let still = || {
        let moves = soonest(expr.children().iter().map(|part| next_change(part, env))).is_some();
        match expr.eval(env, &mut Unobserved) {
            _ if moves => None,
            Ok(value) => Some(Line::flat(value.int())),
            Err(error) => error.is_unknown().then(|| Line::flat(0)),
        }
    };
    match expr {
        Expr::Int(number) => Some(Line::flat(*number)),
        // What is unknown does not become known by time alone.
        Expr::Fact(fact) => Some(fact.value(env).map_or(Line::flat(0), |value| aged(fact, value.int()))),
        Expr::Record(owner, Record::Age, name) => {
            Some(Line { now: env.record(*owner, Record::Age, name).int(), slope: 1 })
        }
        Expr::If(parts) => match flip(&parts[0], env) {
            None => line(if parts[0].holds(env) == Ok(true) { &parts[1] } else { &parts[2] }, env),
            Some(_) => None,
        },
        Expr::Each(Quantifier::Count, ..) | Expr::Report(..) => match flip(expr, env) {
            None => expr.eval(env, &mut Unobserved).ok().map(|value| Line::flat(value.int())),
            Some(_) => None,
        },
        Expr::Apply(Op::Sequence, parts) => line(parts.last()?, env),
        Expr::Apply(op, parts) => match (op.entry().time, &**parts) {
            (TimeDependence::Linear(linear), parts) => {
                linear(&parts.iter().map(|part| line(part, env)).collect::<Option<Vec<_>>>()?)
            }
            (TimeDependence::FirstKnown, [Expr::Fact(fact), otherwise]) => match fact.value(env) {
                Ok(Operand::Int(value)) => Some(aged(fact, value)),
                _ => line(otherwise, env),
            },
            (TimeDependence::FirstKnown, [first, otherwise]) => match first.eval(env, &mut Unobserved).ok()? {
                Operand::Absent => line(otherwise, env),
                _ => line(first, env),
            },
            _ => still(),
        },
        _ => still(),
    }
}
