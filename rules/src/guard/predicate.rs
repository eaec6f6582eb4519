//! Guards after lowering: typed trees over facts. [`super::compile`] makes them fast.

use std::sync::Arc;

use proto::ConfigVersion;

use super::Env;
use crate::{
    health::Look,
    snapshot::{ActionRecord, ActionStatus, Fact, Field, Typed, Value},
};

/// Why a guard has no answer. Its gate counts as closed.
///
/// Small: what a script said is asked for again, by [`super::Guard::error`], where somebody reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GuardError {
    #[error("a number left the range of 64 bits")]
    Overflow,
    #[error("division by zero")]
    DivisionByZero,
    #[error("the interpreter stopped")]
    Script,
}

pub(crate) type Answer<T> = Result<T, GuardError>;

/// A fact, of the host or of the DPU bound at `depth`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactRef {
    pub(crate) fact: &'static Fact,
    pub(crate) depth: u8,
}

impl FactRef {
    #[inline]
    pub(crate) fn value<'a>(&self, env: &Env<'a>) -> Value<'a> {
        (self.fact.get)(env.host, env.dpus[self.depth as usize])
    }

    pub(crate) fn is_of_dpu(&self) -> bool {
        self.fact.area == "dpu"
    }
}

/// Whose counters, notes and actions are meant: the host's, or those of the DPU bound at a depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Host,
    Dpu(u8),
}

#[derive(Debug, Clone)]
pub(crate) enum BoolExpr {
    Const(bool),
    Fact(FactRef),
    /// A fact that is a field has this value.
    Field(FactRef, Field<bool>, bool),
    Known(FactRef),
    Not(Box<BoolExpr>),
    And(Box<[BoolExpr]>),
    Or(Box<[BoolExpr]>),
    If(Box<[BoolExpr; 3]>),
    Same(Box<[BoolExpr; 2]>),
    /// The same for two facts that are fields.
    SameField(Box<[(FactRef, Field<bool>); 2]>),
    /// A fact that is a field, compared with a number.
    CompareField(FactRef, Field<i64>, Compare, i64),
    Compare(Compare, Box<[IntExpr; 2]>),
    TextEqual(Box<[TextExpr; 2]>),
    /// A fact that is a field has this text, or has not.
    FieldIs(FactRef, Field<String>, Arc<str>, bool),
    /// Absent equals nothing, not even absent.
    MaybeEqual(Box<[MaybeExpr; 2]>),
    /// The same for two facts that are fields.
    SameVersion(Box<[(FactRef, Field<Option<ConfigVersion>>); 2]>),
    OneOf(Box<TextExpr>, Box<[Arc<str>]>),
    OneOfInts(Box<IntExpr>, Box<[i64]>),
    Contains(FactRef, Box<TextExpr>),
    Within(Box<TextExpr>, Arc<str>),
    StartsWith(Box<TextExpr>, Box<TextExpr>),
    NoTexts(FactRef),
    NoDpus,
    VersionAtLeast(Box<[TextExpr; 2]>),
    /// Some DPU, bound at `depth`, fits.
    Any(u8, Box<BoolExpr>),
    /// Every DPU, bound at `depth`, fits.
    All(u8, Box<BoolExpr>),
    Report(ReportRef, Query),
    /// The same, prepared for what is sought.
    Look(Box<Look>),
    Action(Owner, Arc<str>, ActionStatus),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Debug, Clone)]
pub(crate) enum IntExpr {
    Const(i64),
    Fact(FactRef),
    /// A fact that is a field.
    Field(FactRef, Field<i64>),
    FactOr(FactRef, Box<IntExpr>),
    Add(Box<[IntExpr; 2]>),
    Subtract(Box<[IntExpr; 2]>),
    Multiply(Box<[IntExpr; 2]>),
    Divide(Box<[IntExpr; 2]>),
    Remainder(Box<[IntExpr; 2]>),
    Negate(Box<IntExpr>),
    If(Box<BoolExpr>, Box<[IntExpr; 2]>),
    Count(u8, Box<BoolExpr>),
    Dpus,
    Texts(FactRef),
    Counter(Owner, Arc<str>),
    Tries(Owner, Arc<str>),
    ActionAgeOr(Owner, Arc<str>, Box<IntExpr>),
    Alerts(ReportRef),
}

#[derive(Debug, Clone)]
pub(crate) enum TextExpr {
    Const(Arc<str>),
    Fact(FactRef),
    FactOr(FactRef, Box<TextExpr>),
    If(Box<BoolExpr>, Box<[TextExpr; 2]>),
    Note(Owner, Arc<str>),
}

/// A value that can be absent, for comparison.
#[derive(Debug, Clone)]
pub(crate) enum MaybeExpr {
    Fact(FactRef),
    Int(IntExpr),
    Text(TextExpr),
}

/// A health report of the pack, of the host or of the DPU bound at a depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportRef {
    pub(crate) report: usize,
    pub(crate) depth: u8,
}

/// What is asked of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Query {
    /// An alert of this probe, if given, with this classification, if given.
    Has { probe: Option<Arc<str>>, class: Option<Arc<str>> },
    /// None of the stored reports behind it is there.
    Missing,
}

impl BoolExpr {
    /// A fact that is true or false.
    pub(crate) fn fact(at: FactRef) -> Self {
        match (at.fact.typed)() {
            Typed::Bool(field) => Self::Field(at, field, true),
            _ => Self::Fact(at),
        }
    }

    /// The opposite.
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Field(at, field, wanted) => Self::Field(at, field, !wanted),
            Self::FieldIs(at, field, text, wanted) => Self::FieldIs(at, field, text, !wanted),
            Self::Const(value) => Self::Const(!value),
            other => Self::Not(Box::new(other)),
        }
    }

    /// Two truths are the same.
    pub(crate) fn same(left: Self, right: Self) -> Self {
        match (left, right) {
            (Self::Field(left, left_field, true), Self::Field(right, right_field, true)) => {
                Self::SameField(Box::new([(left, left_field), (right, right_field)]))
            }
            (left, right) => Self::Same(Box::new([left, right])),
        }
    }

    /// Two numbers compare.
    pub(crate) fn compare(compare: Compare, left: IntExpr, right: IntExpr) -> Self {
        match (left, right) {
            (IntExpr::Field(at, field), IntExpr::Const(number)) => Self::CompareField(at, field, compare, number),
            (left, right) => Self::Compare(compare, Box::new([left, right])),
        }
    }

    /// Two texts are equal.
    pub(crate) fn text_equal(left: TextExpr, right: TextExpr) -> Self {
        match (left, right) {
            (TextExpr::Fact(fact), TextExpr::Const(text)) | (TextExpr::Const(text), TextExpr::Fact(fact)) => {
                match (fact.fact.typed)() {
                    Typed::Text(field) => Self::FieldIs(fact, field, text, true),
                    _ => Self::TextEqual(Box::new([TextExpr::Fact(fact), TextExpr::Const(text)])),
                }
            }
            (left, right) => Self::TextEqual(Box::new([left, right])),
        }
    }

    /// Two values that can be absent are equal.
    pub(crate) fn maybe_equal(left: MaybeExpr, right: MaybeExpr) -> Self {
        if let (MaybeExpr::Fact(left), MaybeExpr::Fact(right)) = (&left, &right)
            && let (Typed::Version(left_field), Typed::Version(right_field)) =
                ((left.fact.typed)(), (right.fact.typed)())
        {
            return Self::SameVersion(Box::new([(*left, left_field), (*right, right_field)]));
        }
        Self::MaybeEqual(Box::new([left, right]))
    }
}

impl Compare {
    #[inline]
    pub(super) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Less => left < right,
            Self::LessEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterEqual => left >= right,
        }
    }
}

impl IntExpr {
    /// The value of an operation on two constants, if it has one.
    pub(crate) fn constant(&self) -> Option<i64> {
        let (sides, operation): (_, fn(i64, i64) -> Option<i64>) = match self {
            Self::Add(sides) => (sides, i64::checked_add),
            Self::Subtract(sides) => (sides, i64::checked_sub),
            Self::Multiply(sides) => (sides, i64::checked_mul),
            Self::Divide(sides) => (sides, i64::checked_div),
            Self::Remainder(sides) => (sides, i64::checked_rem),
            _ => return None,
        };
        match &**sides {
            [Self::Const(left), Self::Const(right)] => operation(*left, *right),
            _ => None,
        }
    }

    /// A fact that is a number.
    pub(crate) fn fact(at: FactRef) -> Self {
        match (at.fact.typed)() {
            Typed::Int(field) => Self::Field(at, field),
            _ => Self::Fact(at),
        }
    }

    pub(crate) fn eval(&self, env: &Env<'_>) -> Answer<i64> {
        let both = |sides: &[IntExpr; 2]| Ok((sides[0].eval(env)?, sides[1].eval(env)?));
        match self {
            Self::Const(value) => Ok(*value),
            Self::Fact(fact) => match fact.value(env) {
                Value::Int(value) => Ok(value),
                _ => Ok(0),
            },
            Self::Field(fact, field) => Ok(*field(env.host, env.dpus[fact.depth as usize])),
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
