//! When a guard can change its answer by the passing of time alone.
//!
//! A comparison of ages is linear in time, so the moment it flips can be computed. Where it cannot, the host is looked
//! at again after [`FALLBACK`].

use crate::{
    eval::{env::Env, evaluate::Unwatched},
    ir::{
        expr::{Expr, FactRef, Quantifier, Record},
        health::{Reports, Source},
        line::{Compare, Line},
        operand::Operand,
        operators::{Op, Time},
        snapshot::FactType,
    },
};

/// Seconds after which an answer is asked for again if the moment it flips is not known: ages count whole seconds, so no
/// change is missed.
const FALLBACK: i64 = 1;

/// What of a guard follows the clock, and whether it is asked of each DPU.
#[derive(Debug)]
pub(crate) struct Timed {
    expr: Expr,
    of_dpus: bool,
}

impl Timed {
    /// None if nothing of it does.
    pub(crate) fn of(expr: &Expr, of_dpus: bool, reports: &Reports) -> Option<Self> {
        aging(expr, reports).map(|expr| Self { expr, of_dpus })
    }

    /// Seconds until the answer can change by time alone, for the DPU that comes first if it is asked of each.
    pub(crate) fn next_flip(&self, env: &Env<'_>) -> Option<i64> {
        of_any(&self.expr, self.of_dpus, env)
    }
}

/// An expression without the parts that do not follow the clock; none if none does.
fn aging(expr: &Expr, reports: &Reports) -> Option<Expr> {
    let parts = || expr.children().iter().filter_map(|part| aging(part, reports));
    match expr {
        Expr::Apply(op @ (Op::And | Op::Or | Op::Not), _) => {
            let parts: Box<[Expr]> = parts().collect();
            (!parts.is_empty()).then_some(Expr::Apply(*op, parts))
        }
        Expr::Each(quantifier @ (Quantifier::Any | Quantifier::All), depth, bodies) if bodies.len() == 1 => {
            Some(Expr::Each(*quantifier, *depth, [parts().next()?].into()))
        }
        Expr::Report(at, _) => report_ages(at.report, reports).then(|| expr.clone()),
        Expr::Fact(at) => (at.fact.kind == FactType::Age).then(|| expr.clone()),
        Expr::Record(_, record, _) => (*record == Record::Age).then(|| expr.clone()),
        other => parts().next().map(|_| other.clone()),
    }
}

/// Parts of the report come and go with time.
fn report_ages(number: usize, reports: &Reports) -> bool {
    reports.reports.get(number).is_some_and(|report| {
        report.parts.iter().any(|part| {
            let inner = matches!(part.source, Source::Dpus(inner) if report_ages(inner, reports));
            inner || part.when.iter().chain(&part.unclassified).any(|guard| aging(&guard.expr, reports).is_some())
        })
    })
}

fn of_any(expr: &Expr, of_dpus: bool, env: &Env<'_>) -> Option<i64> {
    if of_dpus { soonest(env.host.dpus.iter().map(|dpu| flip(expr, &env.with(0, dpu)))) } else { flip(expr, env) }
}

fn soonest(flips: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    flips.flatten().min()
}

/// Seconds until the answer can change by time alone, none if it cannot.
fn flip(expr: &Expr, env: &Env<'_>) -> Option<i64> {
    match expr {
        Expr::Each(_, depth, parts) => match &**parts {
            [body] => soonest(env.host.dpus.iter().map(|dpu| flip(body, &env.with(*depth, dpu)))),
            [body, list] => match list.eval(env, &mut Unwatched) {
                Ok(Operand::Texts(texts)) => soonest(texts.iter().map(|text| flip(body, &env.with_item(*depth, text)))),
                _ => None,
            },
            _ => None,
        },
        Expr::Report(at, _) => report(at.report, env),
        Expr::Apply(op, parts) => match (op.entry().time, &**parts) {
            (Time::Order(compare), [left, right]) => compared(compare, line(left, env), line(right, env)),
            (Time::Equal, [left, right]) => equal(left, right, env),
            (Time::Opaque | Time::Linear(_), parts) => soonest(parts.iter().map(|part| moves(part, env))),
            (_, parts) => soonest(parts.iter().map(|part| flip(part, env))),
        },
        other => soonest(other.children().iter().map(|part| flip(part, env))),
    }
}

/// Two numbers are equal until their lines part; what is absent, or a version, does not age.
fn equal(left: &Expr, right: &Expr, env: &Env<'_>) -> Option<i64> {
    match (left.eval(env, &mut Unwatched), right.eval(env, &mut Unwatched)) {
        (Ok(Operand::Int(_)), Ok(Operand::Int(_))) => compared(Compare::Equal, line(left, env), line(right, env)),
        (Err(_), _) | (_, Err(_)) => Some(FALLBACK),
        _ => soonest([flip(left, env), flip(right, env)].into_iter()),
    }
}

/// When a value can change, of which it is not known how the answer follows it.
fn moves(part: &Expr, env: &Env<'_>) -> Option<i64> {
    match part.eval(env, &mut Unwatched) {
        Ok(Operand::Int(_)) | Err(_) => match line(part, env) {
            Some(line) if line.slope == 0 => None,
            _ => Some(FALLBACK),
        },
        _ => flip(part, env),
    }
}

fn compared(compare: Compare, left: Option<Line>, right: Option<Line>) -> Option<i64> {
    match left.zip(right).and_then(|(left, right)| left.minus(right)) {
        Some(difference) => difference.flip(compare),
        None => Some(FALLBACK),
    }
}

/// Parts of a report can come and go with time.
fn report(number: usize, env: &Env<'_>) -> Option<i64> {
    let report = env.reports.reports.get(number)?;
    soonest(report.parts.iter().flat_map(|part| {
        let inner = match part.source {
            Source::Dpus(inner) => self::report(inner, env),
            _ => None,
        };
        let guards = part.when.iter().chain(&part.unclassified);
        guards.map(|guard| of_any(&guard.expr, report.of_dpu || guard.of_dpu, env)).chain([inner])
    }))
}

fn aged(fact: &FactRef, value: i64) -> Line {
    Line { now: value, slope: i64::from(fact.fact.kind == FactType::Age) }
}

/// A number as a line over time, if it is one.
fn line(expr: &Expr, env: &Env<'_>) -> Option<Line> {
    let still = || {
        let moves = soonest(expr.children().iter().map(|part| moves(part, env))).is_some();
        let value = if moves { None } else { expr.eval(env, &mut Unwatched).ok() };
        value.map(|value| Line::flat(value.int()))
    };
    match expr {
        Expr::Fact(fact) => Some(aged(fact, fact.value(env).int())),
        Expr::Record(owner, Record::Age, name) => {
            Some(Line { now: env.record(*owner, Record::Age, name).int(), slope: 1 })
        }
        Expr::If(parts) => match flip(&parts[0], env) {
            None => line(if parts[0].holds(env) == Ok(true) { &parts[1] } else { &parts[2] }, env),
            Some(_) => None,
        },
        Expr::Each(Quantifier::Count, ..) | Expr::Report(..) => match flip(expr, env) {
            None => expr.eval(env, &mut Unwatched).ok().map(|value| Line::flat(value.int())),
            Some(_) => None,
        },
        Expr::Apply(Op::Then, parts) => line(parts.last()?, env),
        Expr::Apply(op, parts) => match (op.entry().time, &**parts) {
            (Time::Linear(linear), parts) => {
                linear(&parts.iter().map(|part| line(part, env)).collect::<Option<Vec<_>>>()?)
            }
            (Time::FirstKnown, [first, otherwise]) => match first.eval(env, &mut Unwatched).ok()? {
                Operand::Absent => line(otherwise, env),
                _ => line(first, env),
            },
            _ => still(),
        },
        _ => still(),
    }
}
