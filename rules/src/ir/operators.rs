//! The operators of the rule language: one table that lowering, type checks, evaluation, time and explanation read. A new
//! operator is one variant of [`Op`] and one entry of [`OPERATORS`].

use std::borrow::Cow;

use Kind::{Bool, Int, IntList, MaybeInt, MaybeText, Shown, Text, TextList, Texts, Version};

use crate::ir::{
    expr::{Evaluated, GuardError},
    line::{Compare, Line},
    operand::Operand,
    state_path::is_within,
};

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    And,
    Or,
    Not,
    Sequence,
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
    Join,
    OrElse,
    Known,
    Contains,
    StartsWith,
    EndsWith,
    Within,
    VersionAtLeast,
    ToLower,
    ToUpper,
    Length,
    IsEmpty,
    First,
    Min,
    Max,
    Abs,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Text,
    Version,
    /// A list of texts: a fact.
    Texts,
    /// A list literal of texts.
    TextList,
    IntList,
    /// A number that can be absent.
    MaybeInt,
    MaybeText,
    /// Of an argument: anything that converts to text.
    Shown,
}

/// Which literals make sense as the second argument, if the possible values of the first are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiteralRule {
    /// All.
    Any,
    /// A prefix of a possible value.
    Prefix,
    /// The path of a state, or of a group of states.
    StatePath,
}

/// How a value changes with time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TimeDependence {
    /// It changes only when a part changes.
    Parts,
    /// A comparison of two numbers.
    Order(Compare),
    /// An equality of two values of any kind.
    Equal,
    /// Linear if its parts are linear.
    Linear(fn(&[Line]) -> Option<Line>),
    /// Its first part if that is present, else the second.
    FirstKnown,
    /// Unknown.
    Opaque,
}

/// Everything that the engine knows about an operator.
pub(crate) struct Operator {
    pub(crate) op: Op,
    /// As rules write it: between, before, or as a function or method of its first argument.
    pub(crate) name: &'static str,
    /// Its signatures: kinds of arguments, and the kind of the result.
    pub(crate) takes: &'static [(&'static [Kind], Kind)],
    pub(crate) literal: LiteralRule,
    pub(crate) can_fail: bool,
    pub(crate) time: TimeDependence,
    pub(crate) apply: for<'a> fn(&[Operand<'a>]) -> Evaluated<Operand<'a>>,
}

impl Op {
    #[inline]
    pub(crate) fn entry(self) -> &'static Operator {
        &OPERATORS[self as usize]
    }

    /// As a comparison of numbers, if it is one.
    pub(crate) fn compare(self) -> Option<Compare> {
        match (self, self.entry().time) {
            (Self::Equal, _) => Some(Compare::Equal),
            (_, TimeDependence::Order(compare)) => Some(compare),
            _ => None,
        }
    }
}

/// An entry with the defaults: it cannot fail, takes any literal, and its change over time is unknown.
const fn plain(
    op: Op,
    name: &'static str,
    takes: &'static [(&'static [Kind], Kind)],
    apply: for<'a> fn(&[Operand<'a>]) -> Evaluated<Operand<'a>>,
) -> Operator {
    Operator { op, name, takes, literal: LiteralRule::Any, can_fail: false, time: TimeDependence::Opaque, apply }
}

const fn order(
    op: Op,
    name: &'static str,
    compare: Compare,
    apply: for<'a> fn(&[Operand<'a>]) -> Evaluated<Operand<'a>>,
) -> Operator {
    Operator { time: TimeDependence::Order(compare), ..plain(op, name, &[(&[Int, Int], Bool)], apply) }
}

/// An entry for arithmetic, which fails on overflow of 64 bits.
const fn arithmetic(
    op: Op,
    name: &'static str,
    takes: &'static [(&'static [Kind], Kind)],
    time: TimeDependence,
    apply: for<'a> fn(&[Operand<'a>]) -> Evaluated<Operand<'a>>,
) -> Operator {
    Operator { can_fail: true, time, ..plain(op, name, takes, apply) }
}

const fn with_literal(literal: LiteralRule, operator: Operator) -> Operator {
    Operator { literal, ..operator }
}

const INTS: &[(&[Kind], Kind)] = &[(&[Int, Int], Int)];

/// All operators, in the order of [`Op`].
pub(crate) static OPERATORS: [Operator; 31] = [
    // The evaluator short-circuits these three.
    Operator {
        time: TimeDependence::Parts,
        ..plain(Op::And, "&&", &[], |of| Ok(of.iter().all(|a| *a == true).into()))
    },
    Operator { time: TimeDependence::Parts, ..plain(Op::Or, "||", &[], |of| Ok(of.iter().any(|a| *a == true).into())) },
    Operator {
        time: TimeDependence::Parts,
        ..plain(Op::Not, "!", &[(&[Bool], Bool)], |of| Ok((of[0] != true).into()))
    },
    // Values of `let` are evaluated although nothing uses them, because they can fail. The last part is the value.
    Operator { time: TimeDependence::Parts, ..plain(Op::Sequence, "let", &[], |of| Ok(of[of.len() - 1].clone())) },
    Operator { time: TimeDependence::Equal, ..plain(Op::Equal, "==", &[], |of| Ok(of[0].equals(&of[1]).into())) },
    order(Op::Less, "<", Compare::Less, |of| compared(Compare::Less, of)),
    order(Op::LessEqual, "<=", Compare::LessEqual, |of| compared(Compare::LessEqual, of)),
    order(Op::Greater, ">", Compare::Greater, |of| compared(Compare::Greater, of)),
    order(Op::GreaterEqual, ">=", Compare::GreaterEqual, |of| compared(Compare::GreaterEqual, of)),
    arithmetic(Op::Add, "+", INTS, TimeDependence::Linear(|of| of[0].plus(of[1])), |of| ints(of, i64::checked_add)),
    arithmetic(Op::Subtract, "-", INTS, TimeDependence::Linear(|of| of[0].minus(of[1])), |of| {
        ints(of, i64::checked_sub)
    }),
    arithmetic(Op::Multiply, "*", INTS, TimeDependence::Linear(times), |of| ints(of, i64::checked_mul)),
    arithmetic(Op::Divide, "/", INTS, TimeDependence::Opaque, |of| divided(of, i64::checked_div)),
    arithmetic(Op::Remainder, "%", INTS, TimeDependence::Opaque, |of| divided(of, i64::checked_rem)),
    arithmetic(Op::Negate, "-", &[(&[Int], Int)], TimeDependence::Linear(|of| of[0].times(-1)), |of| {
        int(of, i64::checked_neg)
    }),
    plain(Op::Join, "+", &[(&[Text, Shown], Text), (&[Shown, Text], Text)], |of| {
        Ok(Operand::Text(Cow::Owned(joined(of))))
    }),
    Operator {
        time: TimeDependence::FirstKnown,
        ..plain(Op::OrElse, "or", &[(&[MaybeInt, Int], Int), (&[MaybeText, Text], Text)], |of| {
            Ok(if of[0] == Operand::Absent { of[1].clone() } else { of[0].clone() })
        })
    },
    Operator {
        time: TimeDependence::Parts,
        ..plain(Op::Known, "known", &[(&[MaybeInt], Bool), (&[MaybeText], Bool), (&[Version], Bool)], |of| {
            Ok((of[0] != Operand::Absent).into())
        })
    },
    plain(
        Op::Contains,
        "contains",
        &[(&[Texts, Text], Bool), (&[TextList, Text], Bool), (&[IntList, Int], Bool), (&[Text, Text], Bool)],
        |of| Ok(of[0].contains(&of[1]).into()),
    ),
    with_literal(
        LiteralRule::Prefix,
        plain(Op::StartsWith, "starts_with", &[(&[Text, Text], Bool)], |of| {
            Ok(texts(of, |text, start| text.starts_with(start)))
        }),
    ),
    plain(Op::EndsWith, "ends_with", &[(&[Text, Text], Bool)], |of| Ok(texts(of, |text, end| text.ends_with(end)))),
    with_literal(
        LiteralRule::StatePath,
        plain(Op::Within, "within", &[(&[Text, Text], Bool)], |of| Ok(texts(of, is_within))),
    ),
    plain(Op::VersionAtLeast, "version_at_least", &[(&[Text, Text], Bool)], |of| Ok(texts(of, version_at_least))),
    plain(Op::ToLower, "to_lower", &[(&[Text], Text)], |of| Ok(Operand::Text(Cow::Owned(of[0].text().to_lowercase())))),
    plain(Op::ToUpper, "to_upper", &[(&[Text], Text)], |of| Ok(Operand::Text(Cow::Owned(of[0].text().to_uppercase())))),
    plain(Op::Length, "len", &[(&[Texts], Int), (&[TextList], Int), (&[IntList], Int), (&[Text], Int)], |of| {
        Ok(Operand::Int(i64::try_from(of[0].length()).unwrap_or(i64::MAX)))
    }),
    plain(
        Op::IsEmpty,
        "is_empty",
        &[(&[Texts], Bool), (&[TextList], Bool), (&[IntList], Bool), (&[Text], Bool)],
        |of| Ok((of[0].length() == 0).into()),
    ),
    plain(Op::First, "first", &[(&[Texts], MaybeText), (&[TextList], MaybeText), (&[IntList], MaybeInt)], |of| {
        Ok(of[0].first())
    }),
    plain(Op::Min, "min", INTS, |of| ints(of, |a, b| Some(a.min(b)))),
    plain(Op::Max, "max", INTS, |of| ints(of, |a, b| Some(a.max(b)))),
    arithmetic(Op::Abs, "abs", &[(&[Int], Int)], TimeDependence::Opaque, |of| int(of, i64::checked_abs)),
];

fn compared<'a>(compare: Compare, of: &[Operand<'a>]) -> Evaluated<Operand<'a>> {
    Ok(compare.holds(of[0].int(), of[1].int()).into())
}

fn int<'a>(of: &[Operand<'a>], operation: fn(i64) -> Option<i64>) -> Evaluated<Operand<'a>> {
    operation(of[0].int()).map(Operand::Int).ok_or(GuardError::Overflow)
}

fn ints<'a>(of: &[Operand<'a>], operation: fn(i64, i64) -> Option<i64>) -> Evaluated<Operand<'a>> {
    operation(of[0].int(), of[1].int()).map(Operand::Int).ok_or(GuardError::Overflow)
}

fn divided<'a>(of: &[Operand<'a>], operation: fn(i64, i64) -> Option<i64>) -> Evaluated<Operand<'a>> {
    if of[1].int() == 0 { Err(GuardError::DivisionByZero) } else { ints(of, operation) }
}

fn texts<'a>(of: &[Operand<'a>], holds: fn(&str, &str) -> bool) -> Operand<'a> {
    holds(of[0].text(), of[1].text()).into()
}

fn joined(of: &[Operand<'_>]) -> String {
    of.iter().map(Operand::shown).collect()
}

/// A product is linear if one factor is constant.
fn times(of: &[Line]) -> Option<Line> {
    match (of[0].slope, of[1].slope) {
        (_, 0) => of[0].times(of[1].now),
        (0, _) => of[1].times(of[0].now),
        _ => None,
    }
}

/// Compares dotted versions such as `24.10` and `BF-24.04-5` number by number; a text without numbers is no version.
fn version_at_least(version: &str, least: &str) -> bool {
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
    fn an_operator_is_found_at_its_place_in_the_table() {
        for (place, operator) in OPERATORS.iter().enumerate() {
            assert_eq!(operator.op as usize, place, "{}", operator.name);
        }
    }

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
