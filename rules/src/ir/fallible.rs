//! Whether a predicate can fail to answer. rhai evaluates a function's arguments before its body; a function that is put
//! in the place of its call evaluates them where they are used, or not at all. That is the same only if they cannot fail.

use crate::ir::{
    health::Reports,
    predicate::{BoolExpr, IntExpr, MaybeExpr, TextExpr},
};

/// What can be asked whether it can fail.
pub(crate) trait CanFail {
    fn can_fail(&self, reports: Option<&Reports>) -> bool;
}

impl CanFail for BoolExpr {
    fn can_fail(&self, reports: Option<&Reports>) -> bool {
        let all = |parts: &[BoolExpr]| parts.iter().any(|part| part.can_fail(reports));
        let report = |number| reports.is_none_or(|reports| reports.is_interpreted(number));
        match self {
            Self::Const(_) | Self::Fact(_) | Self::Known(_) | Self::NoTexts(_) | Self::NoDpus | Self::Action(..) => {
                false
            }
            Self::Not(inner) | Self::Any(_, inner) | Self::All(_, inner) => inner.can_fail(reports),
            Self::And(parts) | Self::Or(parts) => all(parts),
            Self::If(parts) => all(&**parts),
            Self::Same(sides) => all(&**sides),
            Self::Compare(_, sides) => sides.iter().any(|side| side.can_fail(reports)),
            Self::TextEqual(sides) | Self::VersionAtLeast(sides) => sides.iter().any(|side| side.can_fail(reports)),
            Self::MaybeEqual(sides) => sides.iter().any(|side| match side {
                MaybeExpr::Fact(_) => false,
                MaybeExpr::Int(number) => number.can_fail(reports),
                MaybeExpr::Text(text) => text.can_fail(reports),
            }),
            Self::OneOf(text, _) | Self::Contains(_, text) | Self::Within(text, _) => text.can_fail(reports),
            Self::StartsWith(text, prefix) => text.can_fail(reports) || prefix.can_fail(reports),
            Self::OneOfInts(number, _) => number.can_fail(reports),
            Self::Report(at, _) => report(at.report),
        }
    }
}

impl CanFail for IntExpr {
    fn can_fail(&self, reports: Option<&Reports>) -> bool {
        match self {
            Self::Add(_)
            | Self::Subtract(_)
            | Self::Multiply(_)
            | Self::Divide(_)
            | Self::Remainder(_)
            | Self::Negate(_) => true,
            Self::Const(_) | Self::Fact(_) | Self::Dpus | Self::Texts(_) | Self::Counter(..) | Self::Tries(..) => false,
            Self::FactOr(_, default) | Self::ActionAgeOr(_, _, default) => default.can_fail(reports),
            Self::If(condition, sides) => {
                condition.can_fail(reports) || sides.iter().any(|side| side.can_fail(reports))
            }
            Self::Count(_, body) => body.can_fail(reports),
            Self::Alerts(at) => reports.is_none_or(|reports| reports.is_interpreted(at.report)),
        }
    }
}

impl CanFail for TextExpr {
    fn can_fail(&self, reports: Option<&Reports>) -> bool {
        match self {
            Self::Const(_) | Self::Fact(_) | Self::Note(..) => false,
            Self::FactOr(_, default) => default.can_fail(reports),
            Self::If(condition, sides) => {
                condition.can_fail(reports) || sides.iter().any(|side| side.can_fail(reports))
            }
        }
    }
}
