//! What guards mean: the answer of a typed tree for one host.

use crate::{
    eval::env::Env,
    ir::{
        predicate::{Answer, BoolExpr, FactRef, GuardError, IntExpr, MaybeExpr, TextExpr},
        snapshot::{ActionRecord, Value},
        state_path::is_within,
    },
};

impl BoolExpr {
    pub(crate) fn eval(&self, env: &Env<'_>) -> Answer<bool> {
        match self {
            Self::Const(value) => Ok(*value),
            Self::Fact(fact) => Ok(matches!(fact.value(env), Value::Bool(true))),
            Self::Known(fact) => Ok(fact.value(env) != Value::Absent),
            Self::Not(inner) => inner.eval(env).map(|answer| !answer),
            Self::And(parts) => Ok(!first(parts.iter().map(|part| part.eval(env)), false)?),
            Self::Or(parts) => first(parts.iter().map(|part| part.eval(env)), true),
            Self::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                if condition.eval(env)? { then.eval(env) } else { otherwise.eval(env) }
            }
            Self::Same(sides) => Ok(sides[0].eval(env)? == sides[1].eval(env)?),
            Self::Compare(compare, sides) => Ok(compare.holds(sides[0].eval(env)?, sides[1].eval(env)?)),
            Self::TextEqual(sides) => Ok(sides[0].eval(env)? == sides[1].eval(env)?),
            Self::MaybeEqual(sides) => {
                let (left, right) = (sides[0].eval(env)?, sides[1].eval(env)?);
                Ok(left != Value::Absent && left == right)
            }
            Self::OneOf(text, words) => {
                let text = text.eval(env)?;
                Ok(words.iter().any(|word| **word == *text))
            }
            Self::OneOfInts(number, numbers) => Ok(numbers.contains(&number.eval(env)?)),
            Self::Contains(list, text) => {
                let text = text.eval(env)?;
                Ok(list.texts(env).iter().any(|candidate| candidate == text))
            }
            Self::Within(text, prefix) => Ok(is_within(text.eval(env)?, prefix)),
            Self::StartsWith(text, prefix) => Ok(text.eval(env)?.starts_with(prefix.eval(env)?)),
            Self::NoTexts(list) => Ok(list.texts(env).is_empty()),
            Self::NoDpus => Ok(env.host.dpus.is_empty()),
            Self::VersionAtLeast(sides) => Ok(version_at_least(sides[0].eval(env)?, sides[1].eval(env)?)),
            Self::Any(depth, body) => first(env.host.dpus.iter().map(|dpu| body.eval(&env.with(*depth, dpu))), true),
            Self::All(depth, body) => {
                Ok(!first(env.host.dpus.iter().map(|dpu| body.eval(&env.with(*depth, dpu))), false)?)
            }
            Self::Report(report, query) => env.reports.ask(*report, query, env),
            Self::Action(owner, name, status) => {
                Ok(env.action(*owner, name).is_some_and(|record| record.status == *status))
            }
        }
    }
}

/// Some answer is `deciding`; those after the first one, or after an error, are not asked for.
fn first(answers: impl Iterator<Item = Answer<bool>>, deciding: bool) -> Answer<bool> {
    for answer in answers {
        if answer? == deciding {
            return Ok(true);
        }
    }
    Ok(false)
}

impl IntExpr {
    pub(crate) fn eval(&self, env: &Env<'_>) -> Answer<i64> {
        let both = |sides: &[IntExpr; 2]| Ok((sides[0].eval(env)?, sides[1].eval(env)?));
        match self {
            Self::Const(value) => Ok(*value),
            Self::Fact(fact) => match fact.value(env) {
                Value::Int(value) => Ok(value),
                _ => Ok(0),
            },
            Self::FactOr(fact, default) => match fact.value(env) {
                Value::Int(value) => Ok(value),
                _ => default.eval(env),
            },
            Self::Add(sides) => both(sides).and_then(|(a, b)| a.checked_add(b).ok_or(GuardError::Overflow)),
            Self::Subtract(sides) => both(sides).and_then(|(a, b)| a.checked_sub(b).ok_or(GuardError::Overflow)),
            Self::Multiply(sides) => both(sides).and_then(|(a, b)| a.checked_mul(b).ok_or(GuardError::Overflow)),
            Self::Divide(sides) => both(sides).and_then(|(a, b)| match b {
                0 => Err(GuardError::DivisionByZero),
                _ => a.checked_div(b).ok_or(GuardError::Overflow),
            }),
            Self::Remainder(sides) => both(sides).and_then(|(a, b)| match b {
                0 => Err(GuardError::DivisionByZero),
                _ => a.checked_rem(b).ok_or(GuardError::Overflow),
            }),
            Self::Negate(inner) => inner.eval(env)?.checked_neg().ok_or(GuardError::Overflow),
            Self::If(condition, sides) => {
                if condition.eval(env)? {
                    sides[0].eval(env)
                } else {
                    sides[1].eval(env)
                }
            }
            Self::Count(depth, body) => {
                let mut count = 0;
                for dpu in &env.host.dpus {
                    count += i64::from(body.eval(&env.with(*depth, dpu))?);
                }
                Ok(count)
            }
            Self::Dpus => Ok(length(env.host.dpus.len())),
            Self::Texts(list) => Ok(length(list.texts(env).len())),
            Self::Counter(owner, name) => Ok(env.counter(*owner, name)),
            Self::Tries(owner, name) => Ok(env.action(*owner, name).map_or(0, |record| record.tries)),
            Self::ActionAgeOr(owner, name, default) => match env.action(*owner, name) {
                Some(record) => Ok(action_age(env, record)),
                None => default.eval(env),
            },
            Self::Alerts(report) => env.reports.count(*report, env).map(length),
        }
    }
}

/// Seconds since an action's last try.
pub(crate) fn action_age(env: &Env<'_>, record: &ActionRecord) -> i64 {
    i64::try_from(env.host.now.saturating_sub(record.at) / 1_000_000).unwrap_or(i64::MAX)
}

fn length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

impl TextExpr {
    pub(crate) fn eval<'a>(&'a self, env: &Env<'a>) -> Answer<&'a str> {
        match self {
            Self::Const(text) => Ok(text),
            Self::Fact(fact) => match fact.value(env) {
                Value::Text(text) => Ok(text),
                _ => Ok(""),
            },
            Self::FactOr(fact, default) => match fact.value(env) {
                Value::Text(text) => Ok(text),
                _ => default.eval(env),
            },
            Self::If(condition, sides) => {
                if condition.eval(env)? {
                    sides[0].eval(env)
                } else {
                    sides[1].eval(env)
                }
            }
            Self::Note(owner, name) => Ok(env.note(*owner, name)),
        }
    }
}

impl MaybeExpr {
    pub(crate) fn eval<'a>(&'a self, env: &Env<'a>) -> Answer<Value<'a>> {
        Ok(match self {
            Self::Fact(fact) => fact.value(env),
            Self::Int(number) => Value::Int(number.eval(env)?),
            Self::Text(text) => Value::Text(text.eval(env)?),
        })
    }
}

impl FactRef {
    #[inline]
    pub(crate) fn value<'a>(&self, env: &Env<'a>) -> Value<'a> {
        (self.fact.get)(env.host, env.dpu(self.depth))
    }

    pub(crate) fn texts<'a>(&self, env: &Env<'a>) -> &'a [String] {
        match self.value(env) {
            Value::Texts(texts) => texts,
            _ => &[],
        }
    }
}

/// Compares dotted versions such as `24.10` and `BF-24.04-5` number by number; text that is no number counts as none.
pub(crate) fn version_at_least(version: &str, least: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit())
            .filter(|part| !part.is_empty())
            .map_while(|n| n.parse().ok())
            .collect()
    };
    let (version, least) = (numbers(version), numbers(least));
    !version.is_empty() && version >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        for (version, least, holds) in [
            ("24.10", "24.10", true),
            ("24.10.1", "24.10", true),
            ("24.9", "24.10", false),
            ("BF-24.10-24", "24.10", true),
            ("BF-24.04-5", "24.10", false),
            ("25", "24.10", true),
            ("", "24.10", false),
            ("unknown", "24.10", false),
        ] {
            assert_eq!(version_at_least(version, least), holds, "{version} >= {least}");
        }
    }
}
