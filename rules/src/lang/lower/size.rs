//! How many parts a guard has after lowering. Functions stand in the place of their calls then, and arguments in the
//! place of parameters, so a short text can come to more than any memory holds.

use crate::{
    ir::{
        fault::{Faults, Place},
        guard::{Body, Guard},
        limits,
        predicate::{BoolExpr, IntExpr, MaybeExpr, TextExpr},
    },
    lang::lower::lowered::Lowered,
};

/// Parts that the arms and guards of a pack may still come to; none when they came to more.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: Option<usize>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: Some(limits::PACK_PARTS) }
    }
}

impl Allowance {
    /// Takes some, or says once that there are not enough left.
    pub(crate) fn take(&mut self, parts: usize, faults: &mut Faults) -> bool {
        let Some(left) = self.left else { return false };
        self.left = left.checked_sub(parts);
        if self.left.is_none() {
            let whole = Place { file: "".into(), line: 0, column: 0 };
            let message = format!("its arms and guards come to more than {} parts together", limits::PACK_PARTS);
            let hint = "arms count in every state that takes over their steps, or that their rule for any state is for";
            faults.hint("limit", &whole, message, hint);
        }
        self.left.is_some()
    }

    /// They came to more.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.is_none()
    }
}

/// What has parts.
pub(crate) trait Weight {
    /// Itself and all its parts.
    fn weight(&self) -> usize;
}

impl<T: Weight> Weight for [T] {
    fn weight(&self) -> usize {
        self.iter().map(Weight::weight).sum::<usize>() + 1
    }
}

impl Weight for BoolExpr {
    fn weight(&self) -> usize {
        match self {
            Self::Const(_) | Self::Fact(_) | Self::Known(_) | Self::NoTexts(_) | Self::NoDpus => 1,
            Self::Report(..) | Self::Action(..) => 1,
            Self::Not(inner) | Self::Any(_, inner) | Self::All(_, inner) => 1 + inner.weight(),
            Self::And(parts) | Self::Or(parts) => parts.weight(),
            Self::If(parts) => parts.weight(),
            Self::Same(sides) => sides.weight(),
            Self::Compare(_, sides) => sides.weight(),
            Self::TextEqual(sides) | Self::VersionAtLeast(sides) => sides.weight(),
            Self::MaybeEqual(sides) => sides.weight(),
            Self::OneOf(text, words) => 1 + text.weight() + words.len(),
            Self::OneOfInts(number, numbers) => 1 + number.weight() + numbers.len(),
            Self::Contains(_, text) | Self::Within(text, _) => 1 + text.weight(),
            Self::StartsWith(text, prefix) => 1 + text.weight() + prefix.weight(),
        }
    }
}

impl Weight for IntExpr {
    fn weight(&self) -> usize {
        match self {
            Self::Const(_) | Self::Fact(_) | Self::Dpus | Self::Texts(_) | Self::Alerts(_) => 1,
            Self::Counter(..) | Self::Tries(..) => 1,
            Self::FactOr(_, inner) | Self::Negate(inner) | Self::ActionAgeOr(_, _, inner) => 1 + inner.weight(),
            Self::Add(sides)
            | Self::Subtract(sides)
            | Self::Multiply(sides)
            | Self::Divide(sides)
            | Self::Remainder(sides) => sides.weight(),
            Self::If(condition, sides) => condition.weight() + sides.weight(),
            Self::Count(_, body) => 1 + body.weight(),
        }
    }
}

impl Weight for TextExpr {
    fn weight(&self) -> usize {
        match self {
            Self::Const(_) | Self::Fact(_) | Self::Note(..) => 1,
            Self::FactOr(_, default) => 1 + default.weight(),
            Self::If(condition, sides) => condition.weight() + sides.weight(),
        }
    }
}

impl Weight for MaybeExpr {
    fn weight(&self) -> usize {
        match self {
            Self::Fact(_) => 1,
            Self::Int(number) => number.weight(),
            Self::Text(text) => text.weight(),
        }
    }
}

impl Weight for Lowered {
    fn weight(&self) -> usize {
        match self {
            Self::Bool(value) => value.weight(),
            Self::Int(value) => value.weight(),
            Self::Text(value, _) => value.weight(),
            Self::List(items) | Self::Closure(_, items) => items.weight(),
            _ => 1,
        }
    }
}

impl Guard {
    /// Parts that the guard has to be asked for.
    pub(crate) fn weight(&self) -> usize {
        match &self.body {
            Body::Native(expr) => expr.weight(),
            Body::Script(_) => 1,
        }
    }
}
