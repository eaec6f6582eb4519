//! Predicates as closures: each node becomes one that knows its operands, so that asking costs a call a node and no
//! decision about what the node is.

use super::{
    Env,
    predicate::{Answer, BoolExpr, Compare, FactRef, IntExpr, version_at_least},
};
use crate::snapshot::{Dpu, Value};

type Closure = dyn Fn(&Env<'_>) -> Answer<bool> + Send + Sync;

/// A compiled predicate.
pub(crate) struct Ask(Box<Closure>);

impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ask")
    }
}

impl Ask {
    #[inline]
    pub(crate) fn of(&self, env: &Env<'_>) -> Answer<bool> {
        (self.0)(env)
    }

    fn new(closure: impl Fn(&Env<'_>) -> Answer<bool> + Send + Sync + 'static) -> Self {
        Self(Box::new(closure))
    }
}

/// The DPU that a fact is of; facts of the host are read with any.
#[inline]
fn dpu<'a>(env: &Env<'a>, depth: usize) -> &'a Dpu {
    env.dpus[depth]
}

fn depth(fact: &FactRef) -> usize {
    if fact.is_of_dpu() { fact.depth.into() } else { 0 }
}

impl BoolExpr {
    /// The answer, for those who ask once.
    pub(crate) fn eval(&self, env: &Env<'_>) -> Answer<bool> {
        self.compile().of(env)
    }

    pub(crate) fn compile(&self) -> Ask {
        match self {
            Self::Field(fact, field, wanted) => {
                let (field, wanted) = (*field, *wanted);
                match depth(fact) {
                    0 => Ask::new(move |env| Ok(*field(env.host, env.dpus[0]) == wanted)),
                    depth => Ask::new(move |env| Ok(*field(env.host, dpu(env, depth)) == wanted)),
                }
            }
            Self::FieldIs(fact, field, text, wanted) => {
                let (field, text, wanted, depth) = (*field, text.clone(), *wanted, depth(fact));
                Ask::new(move |env| Ok((**field(env.host, dpu(env, depth)) == *text) == wanted))
            }
            Self::CompareField(fact, field, compare, number) => compare_field(fact, *field, *compare, *number),
            Self::SameField(sides) => {
                let [(a, left), (b, right)] = **sides;
                let (a, b) = (depth(&a), depth(&b));
                Ask::new(move |env| Ok(left(env.host, dpu(env, a)) == right(env.host, dpu(env, b))))
            }
            Self::SameVersion(sides) => {
                let [(a, left), (b, right)] = **sides;
                let (a, b) = (depth(&a), depth(&b));
                Ask::new(move |env| {
                    let left = left(env.host, dpu(env, a));
                    Ok(left.is_some() && left == right(env.host, dpu(env, b)))
                })
            }
            Self::Not(inner) => {
                let inner = inner.compile();
                Ask::new(move |env| inner.of(env).map(|answer| !answer))
            }
            Self::And(parts) => chain(parts, false),
            Self::Or(parts) => chain(parts, true),
            Self::Any(depth, body) => some(*depth, body.compile(), true),
            Self::All(depth, body) => {
                let fails = some(*depth, body.compile(), false);
                Ask::new(move |env| fails.of(env).map(|some_fails| !some_fails))
            }
            Self::Look(look) => {
                let look = look.clone();
                Ask::new(move |env| look.found(env))
            }
            Self::Compare(compare, sides) => compare_numbers(*compare, sides),
            Self::Same(sides) => {
                let [left, right] = [sides[0].compile(), sides[1].compile()];
                Ask::new(move |env| Ok(left.of(env)? == right.of(env)?))
            }
            Self::If(parts) => {
                let [condition, then, otherwise] = [parts[0].compile(), parts[1].compile(), parts[2].compile()];
                Ask::new(move |env| if condition.of(env)? { then.of(env) } else { otherwise.of(env) })
            }
            other => other.compile_rare(),
        }
    }

    /// What has no operands that are predicates, and is asked seldom.
    fn compile_rare(&self) -> Ask {
        match self.clone() {
            Self::Fact(fact) => Ask::new(move |env| Ok(matches!(fact.value(env), Value::Bool(true)))),
            Self::Known(fact) => Ask::new(move |env| Ok(fact.value(env) != Value::Absent)),
            Self::TextEqual(sides) => Ask::new(move |env| Ok(sides[0].eval(env)? == sides[1].eval(env)?)),
            Self::MaybeEqual(sides) => Ask::new(move |env| {
                let (left, right) = (sides[0].eval(env)?, sides[1].eval(env)?);
                Ok(left != Value::Absent && left == right)
            }),
            Self::OneOf(text, words) => Ask::new(move |env| {
                let text = text.eval(env)?;
                Ok(words.iter().any(|word| **word == *text))
            }),
            Self::OneOfInts(number, numbers) => Ask::new(move |env| Ok(numbers.contains(&number.eval(env)?))),
            Self::Contains(list, text) => Ask::new(move |env| {
                let text = text.eval(env)?;
                Ok(list.texts(env).iter().any(|candidate| candidate == text))
            }),
            Self::Within(text, prefix) => Ask::new(move |env| {
                let rest = text.eval(env)?.strip_prefix(&*prefix);
                Ok(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
            }),
            Self::StartsWith(text, prefix) => Ask::new(move |env| Ok(text.eval(env)?.starts_with(prefix.eval(env)?))),
            Self::NoTexts(list) => Ask::new(move |env| Ok(list.texts(env).is_empty())),
            Self::NoDpus => Ask::new(|env| Ok(env.host.dpus.is_empty())),
            Self::VersionAtLeast(sides) => {
                Ask::new(move |env| Ok(version_at_least(sides[0].eval(env)?, sides[1].eval(env)?)))
            }
            Self::Report(report, query) => Ask::new(move |env| env.reports.ask(report, &query, env)),
            Self::Action(owner, name, status) => {
                Ask::new(move |env| Ok(env.action(owner, &name).is_some_and(|record| record.status == status)))
            }
            Self::Const(value) => Ask::new(move |_| Ok(value)),
            other @ (Self::Field(..)
            | Self::FieldIs(..)
            | Self::CompareField(..)
            | Self::SameField(_)
            | Self::SameVersion(_)
            | Self::Not(_)
            | Self::And(_)
            | Self::Or(_)
            | Self::Any(..)
            | Self::All(..)
            | Self::Look(_)
            | Self::Compare(..)
            | Self::Same(_)
            | Self::If(_)) => other.compile(),
        }
    }
}

fn compare_field(fact: &FactRef, field: crate::snapshot::Field<i64>, compare: Compare, number: i64) -> Ask {
    let depth = depth(fact);
    Ask::new(move |env| Ok(compare.holds(*field(env.host, dpu(env, depth)), number)))
}

fn compare_numbers(compare: Compare, sides: &[IntExpr; 2]) -> Ask {
    match sides {
        [IntExpr::Dpus, IntExpr::Field(fact, field)] => {
            let (field, depth) = (*field, depth(fact));
            Ask::new(move |env| {
                let dpus = i64::try_from(env.host.dpus.len()).unwrap_or(i64::MAX);
                Ok(compare.holds(dpus, *field(env.host, dpu(env, depth))))
            })
        }
        [IntExpr::Fact(fact), IntExpr::Const(number)] => {
            let (fact, number) = (*fact, *number);
            Ask::new(move |env| match fact.value(env) {
                Value::Int(value) => Ok(compare.holds(value, number)),
                _ => Ok(compare.holds(0, number)),
            })
        }
        sides => {
            let sides = sides.clone();
            Ask::new(move |env| Ok(compare.holds(sides[0].eval(env)?, sides[1].eval(env)?)))
        }
    }
}

/// Operands asked in turn until one answers `deciding`.
fn chain(parts: &[BoolExpr], deciding: bool) -> Ask {
    let mut asks = parts.iter().map(BoolExpr::compile);
    match (asks.next(), asks.next(), asks.next(), asks.len()) {
        (Some(a), Some(b), None, _) => {
            Ask::new(move |env| if a.of(env)? == deciding { Ok(deciding) } else { b.of(env) })
        }
        (Some(a), Some(b), Some(c), 0) => {
            Ask::new(move |env| if a.of(env)? == deciding || b.of(env)? == deciding { Ok(deciding) } else { c.of(env) })
        }
        _ => {
            let asks: Box<[Ask]> = parts.iter().map(BoolExpr::compile).collect();
            Ask::new(move |env| {
                for ask in &asks {
                    if ask.of(env)? == deciding {
                        return Ok(deciding);
                    }
                }
                Ok(!deciding)
            })
        }
    }
}

/// Some DPU, bound at `depth`, answers `wanted`.
fn some(depth: u8, body: Ask, wanted: bool) -> Ask {
    let depth = usize::from(depth);
    Ask::new(move |env| {
        let mut bound = *env;
        for dpu in &env.host.dpus {
            bound.dpus[depth] = dpu;
            if body.of(&bound)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    })
}
