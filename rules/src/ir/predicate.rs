//! Guards after lowering: typed trees over facts. `eval` says what they mean.

use std::sync::Arc;

use crate::ir::snapshot::{ActionStatus, Fact};

/// DPUs that can be bound at once: the guard's own and one in each nested `any`, `all` or `count`.
pub(crate) const DEPTH: usize = 4;

/// Why a guard has no answer. Its gate counts as closed.
///
/// Small: what a script said is asked for again where somebody reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GuardError {
    #[error("a number left the range of 64 bits")]
    Overflow,
    #[error("division by zero")]
    DivisionByZero,
    #[error("the interpreter stopped")]
    Script,
    /// All that are asked in one decision together.
    #[error("the interpreted guards of one decision take more than {} steps", crate::ir::limits::DECISION_OPERATIONS)]
    Steps,
}

pub(crate) type Answer<T> = Result<T, GuardError>;

/// A fact, of the host or of the DPU bound at `depth`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactRef {
    pub(crate) fact: &'static Fact,
    pub(crate) depth: u8,
}

impl FactRef {
    pub(crate) fn is_of_dpu(&self) -> bool {
        self.fact.area == "dpu"
    }

    /// The depth of the DPU that it is of, if it is of one.
    pub(crate) fn dpu(&self) -> Option<u8> {
        self.is_of_dpu().then_some(self.depth)
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
    Known(FactRef),
    Not(Box<BoolExpr>),
    And(Box<[BoolExpr]>),
    Or(Box<[BoolExpr]>),
    If(Box<[BoolExpr; 3]>),
    Same(Box<[BoolExpr; 2]>),
    Compare(Compare, Box<[IntExpr; 2]>),
    TextEqual(Box<[TextExpr; 2]>),
    /// Absent equals nothing, not even absent.
    MaybeEqual(Box<[MaybeExpr; 2]>),
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
    /// The opposite.
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Const(value) => Self::Const(!value),
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Two numbers compare.
    pub(crate) fn compare(compare: Compare, left: IntExpr, right: IntExpr) -> Self {
        Self::Compare(compare, Box::new([left, right]))
    }
}

impl Compare {
    #[inline]
    pub(crate) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Less => left < right,
            Self::LessEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterEqual => left >= right,
        }
    }

    /// The least and the most that compare so with a number; the least is more than the most if nothing does.
    pub(crate) fn range(self, number: i64) -> (i64, i64) {
        let nothing = (1, 0);
        match self {
            Self::Equal => (number, number),
            Self::LessEqual => (i64::MIN, number),
            Self::GreaterEqual => (number, i64::MAX),
            Self::Less => number.checked_sub(1).map_or(nothing, |most| (i64::MIN, most)),
            Self::Greater => number.checked_add(1).map_or(nothing, |least| (least, i64::MAX)),
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
}
