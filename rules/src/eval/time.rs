//! When a guard can change its answer by the passing of time alone.
//!
//! A comparison of ages is linear in time, so the moment it flips can be computed. Where it cannot, the host is looked
//! at again after [`FALLBACK`].

use crate::{
    eval::{env::Env, evaluate::action_age},
    ir::{
        guard::{Body, Guard},
        health::Source,
        predicate::{BoolExpr, Compare, FactRef, IntExpr, MaybeExpr, TextExpr},
        snapshot::{FactType, Value},
    },
};

/// Seconds after which an answer is asked for again if the moment it flips is not known: ages count whole seconds, so no
/// change is missed.
const FALLBACK: i64 = 1;

impl Guard {
    /// The same, for the DPU among all that comes first, if it is asked of DPUs.
    pub(crate) fn next_flip_of_any(&self, of_dpus: bool, env: &Env<'_>) -> Option<i64> {
        if of_dpus {
            soonest(env.host.dpus.iter().map(|dpu| self.next_flip(&env.with(0, dpu))))
        } else {
            self.next_flip(env)
        }
    }

    /// Seconds until the answer can change by time alone, none if it cannot.
    pub(crate) fn next_flip(&self, env: &Env<'_>) -> Option<i64> {
        match &self.body {
            Body::Native(expr) => bool(expr, env),
            Body::Script(_) => Some(FALLBACK),
        }
    }
}

fn soonest(flips: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    flips.flatten().min()
}

fn bool(expr: &BoolExpr, env: &Env<'_>) -> Option<i64> {
    match expr {
        BoolExpr::Not(inner) => bool(inner, env),
        BoolExpr::And(parts) | BoolExpr::Or(parts) => soonest(parts.iter().map(|part| bool(part, env))),
        BoolExpr::If(parts) => soonest(parts.iter().map(|part| bool(part, env))),
        BoolExpr::Same(sides) => soonest(sides.iter().map(|side| bool(side, env))),
        BoolExpr::Any(depth, body) | BoolExpr::All(depth, body) => {
            soonest(env.host.dpus.iter().map(|dpu| bool(body, &env.with(*depth, dpu))))
        }
        BoolExpr::Compare(compare, sides) => compared(*compare, line(&sides[0], env), line(&sides[1], env)),
        BoolExpr::MaybeEqual(sides) => match &**sides {
            [MaybeExpr::Text(side), _] | [_, MaybeExpr::Text(side)] => text(side, env),
            [left, right] => match (number(left, env), number(right, env)) {
                (Some(left), Some(right)) => compared(Compare::Equal, left, right),
                _ => None,
            },
        },
        BoolExpr::OneOfInts(number, _) => match line(number, env) {
            Some(line) if line.slope == 0 => None,
            _ => Some(FALLBACK),
        },
        BoolExpr::TextEqual(sides) | BoolExpr::VersionAtLeast(sides) => {
            soonest(sides.iter().map(|side| text(side, env)))
        }
        BoolExpr::OneOf(side, _) | BoolExpr::Within(side, _) => text(side, env),
        BoolExpr::Contains(_, side) => text(side, env),
        BoolExpr::StartsWith(side, prefix) => soonest([side, prefix].into_iter().map(|side| text(side, env))),
        BoolExpr::Report(at, _) => report(at.report, env),
        BoolExpr::Const(_)
        | BoolExpr::Fact(_)
        | BoolExpr::Known(_)
        | BoolExpr::NoTexts(_)
        | BoolExpr::NoDpus
        | BoolExpr::Action(..) => None,
    }
}

fn compared(compare: Compare, left: Option<Line>, right: Option<Line>) -> Option<i64> {
    match left.zip(right).and_then(|(left, right)| left.minus(right)) {
        Some(difference) => difference.flip(compare),
        None => Some(FALLBACK),
    }
}

fn text(expr: &TextExpr, env: &Env<'_>) -> Option<i64> {
    match expr {
        TextExpr::Const(_) | TextExpr::Fact(_) | TextExpr::Note(..) => None,
        TextExpr::FactOr(_, default) => text(default, env),
        TextExpr::If(condition, sides) => {
            soonest([bool(condition, env), text(&sides[0], env), text(&sides[1], env)].into_iter())
        }
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
        guards.map(|guard| guard.next_flip_of_any(report.of_dpu || guard.of_dpu, env)).chain([inner])
    }))
}

/// A number as a line over time: its value now, and what it gains each second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    now: i64,
    slope: i64,
}

impl Line {
    fn flat(now: i64) -> Self {
        Self { now, slope: 0 }
    }

    fn minus(self, other: Self) -> Option<Self> {
        Some(Self { now: self.now.checked_sub(other.now)?, slope: self.slope.checked_sub(other.slope)? })
    }

    fn plus(self, other: Self) -> Option<Self> {
        Some(Self { now: self.now.checked_add(other.now)?, slope: self.slope.checked_add(other.slope)? })
    }

    fn times(self, factor: i64) -> Option<Self> {
        Some(Self { now: self.now.checked_mul(factor)?, slope: self.slope.checked_mul(factor)? })
    }

    /// Seconds until `self compare 0` changes.
    fn flip(self, compare: Compare) -> Option<i64> {
        let Self { now, slope } = if self.slope < 0 { self.times(-1)? } else { self };
        if slope == 0 {
            return None;
        }
        // With a rising line the order relations change once: where it reaches zero, or where it leaves it.
        let reaches = (now < 0).then(|| now.unsigned_abs().div_ceil(slope.unsigned_abs()));
        let leaves = (now <= 0).then(|| now.unsigned_abs() / slope.unsigned_abs() + 1);
        let mirrored = self.slope < 0;
        let seconds = match (compare, mirrored) {
            (Compare::GreaterEqual | Compare::Less, false) | (Compare::LessEqual | Compare::Greater, true) => reaches,
            (Compare::Greater | Compare::LessEqual, false) | (Compare::Less | Compare::GreaterEqual, true) => leaves,
            (Compare::Equal, _) => {
                if now == 0 {
                    Some(1)
                } else {
                    reaches
                }
            }
        };
        seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX))
    }
}

fn aged(fact: &FactRef, value: i64) -> Line {
    Line { now: value, slope: i64::from(fact.fact.kind == FactType::Age) }
}

/// The line of what is a number now: what is absent, or a version, does not age.
fn number(expr: &MaybeExpr, env: &Env<'_>) -> Option<Option<Line>> {
    match expr {
        MaybeExpr::Fact(fact) => match fact.value(env) {
            Value::Int(value) => Some(Some(aged(fact, value))),
            _ => None,
        },
        MaybeExpr::Int(number) => Some(line(number, env)),
        MaybeExpr::Text(_) => None,
    }
}

fn line(expr: &IntExpr, env: &Env<'_>) -> Option<Line> {
    match expr {
        IntExpr::Fact(fact) => match fact.value(env) {
            Value::Int(value) => Some(aged(fact, value)),
            _ => Some(Line::flat(0)),
        },
        IntExpr::FactOr(fact, default) => match fact.value(env) {
            Value::Int(value) => Some(aged(fact, value)),
            _ => line(default, env),
        },
        IntExpr::ActionAgeOr(owner, name, default) => match env.action(*owner, name) {
            Some(record) => Some(Line { now: action_age(env, record), slope: 1 }),
            None => line(default, env),
        },
        IntExpr::Add(sides) => line(&sides[0], env)?.plus(line(&sides[1], env)?),
        IntExpr::Subtract(sides) => line(&sides[0], env)?.minus(line(&sides[1], env)?),
        IntExpr::Negate(inner) => line(inner, env)?.times(-1),
        IntExpr::Multiply(sides) => {
            let (a, b) = (line(&sides[0], env)?, line(&sides[1], env)?);
            if b.slope == 0 {
                a.times(b.now)
            } else if a.slope == 0 {
                b.times(a.now)
            } else {
                None
            }
        }
        IntExpr::Divide(sides) | IntExpr::Remainder(sides) => {
            let (a, b) = (line(&sides[0], env)?, line(&sides[1], env)?);
            if a.slope == 0 && b.slope == 0 { expr.eval(env).ok().map(Line::flat) } else { None }
        }
        IntExpr::If(condition, sides) => match bool(condition, env) {
            None => line(&sides[usize::from(condition.eval(env) != Ok(true))], env),
            Some(_) => None,
        },
        IntExpr::Count(depth, body) => {
            let moves = env.host.dpus.iter().any(|dpu| bool(body, &env.with(*depth, dpu)).is_some());
            if moves { None } else { expr.eval(env).ok().map(Line::flat) }
        }
        _ => expr.eval(env).ok().map(Line::flat),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_flips_where_its_line_crosses_zero() {
        use Compare::*;
        let compares = [Less, LessEqual, Greater, GreaterEqual, Equal];
        for slope in -3_i64..=3 {
            for now in -20_i64..=20 {
                for compare in compares {
                    let holds = |t: i64| {
                        let value = now + slope * t;
                        match compare {
                            Less => value < 0,
                            LessEqual => value <= 0,
                            Greater => value > 0,
                            GreaterEqual => value >= 0,
                            Equal => value == 0,
                        }
                    };
                    let flip = Line { now, slope }.flip(compare);
                    let seen = (1..100).find(|t| holds(*t) != holds(0));
                    match (flip, seen) {
                        (Some(flip), Some(seen)) => {
                            assert!(flip <= seen, "{now}+{slope}t {compare:?}: {flip} > {seen}")
                        }
                        (None, Some(seen)) => panic!("{now}+{slope}t {compare:?} flips after {seen}"),
                        (Some(_), None) if compare == Equal => {}
                        (Some(flip), None) => panic!("{now}+{slope}t {compare:?} never flips, said {flip}"),
                        (None, None) => {}
                    }
                    if let (Some(flip), Some(seen), false) = (flip, seen, compare == Equal) {
                        assert_eq!(flip, seen, "{now}+{slope}t {compare:?}");
                    }
                }
            }
        }
    }
}
