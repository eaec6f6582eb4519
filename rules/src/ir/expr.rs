//! Guards after lowering: one expression type over facts, with one way to walk it. [`crate::ir::operators`] lists the
//! operators, `eval` evaluates. Built by `lang`, read by all layers.

use std::{collections::BTreeSet, sync::Arc};

use crate::ir::{
    operators::Op,
    snapshot::{Fact, Snapshot},
};

/// How many DPUs, and how many texts of lists, can be bound at once: the guard's own DPU and one for each nested `any`,
/// `all` or `count`.
pub(crate) const DEPTH: usize = 4;

/// Why a guard has no answer. Its gate counts as closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GuardError {
    /// Nobody has told this fact. It matters only where the answer depends on it.
    #[error("{0} is not known")]
    Unknown(UnknownFact),
    #[error("integer overflow")]
    Overflow,
    #[error("division by zero")]
    DivisionByZero,
}

/// The value of a guard, or why it has none.
pub(crate) type Evaluated<T> = Result<T, GuardError>;

/// A fact that nobody has told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnknownFact(pub(crate) &'static Fact);

impl PartialEq for UnknownFact {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for UnknownFact {}

impl std::fmt::Display for UnknownFact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}.{}`", self.0.area, self.0.name)
    }
}

impl GuardError {
    pub(crate) fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

/// Whether one of several answers is yes. Where one is, it does not matter that others are unknown.
#[inline]
pub(crate) fn any_holds(answers: impl Iterator<Item = Evaluated<bool>>) -> Evaluated<bool> {
    let mut unknown = None;
    for answer in answers {
        match answer {
            Ok(false) => {}
            Err(error) if error.is_unknown() => unknown = unknown.or(Some(error)),
            decided => return decided,
        }
    }
    unknown.map_or(Ok(false), Err)
}

/// An expression of a guard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Bool(bool),
    Int(i64),
    Text(Arc<str>),
    /// A list literal of texts.
    TextList(Arc<[Arc<str>]>),
    /// A list literal of numbers.
    IntList(Arc<[i64]>),
    Fact(FactRef),
    /// The text of a list, bound at a depth.
    Item(u8),
    /// A counter, a note, or the record of an action.
    Record(Owner, Record, Arc<str>),
    Report(ReportRef, Query),
    /// How many DPUs the host has.
    Dpus,
    /// A body for each DPU, bound at a depth; or, with a list as second part, for each text of the list.
    Each(Quantifier, u8, Box<[Expr]>),
    /// Condition, then, otherwise.
    If(Box<[Expr; 3]>),
    Apply(Op, Box<[Expr]>),
}

/// How the results for the members of a list are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Any,
    All,
    Count,
}

/// A fact, of the host or of the DPU bound at `depth`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactRef {
    pub(crate) fact: &'static Fact,
    pub(crate) depth: u8,
}

impl PartialEq for FactRef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.fact, other.fact) && self.dpu() == other.dpu()
    }
}

impl FactRef {
    pub(crate) fn is_of_dpu(&self) -> bool {
        self.fact.area == "dpu"
    }

    /// The depth of its DPU, if it is a fact of DPUs.
    pub(crate) fn dpu(&self) -> Option<u8> {
        self.is_of_dpu().then_some(self.depth)
    }

    /// The path of the host's state.
    pub(crate) fn is_path(&self) -> bool {
        (self.fact.area, self.fact.name) == ("state", "path")
    }
}

/// Whose counters, notes and actions: the host's, or those of the DPU bound at a depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Host,
    Dpu(u8),
}

impl Owner {
    /// The depth of the DPU, if the owner is one.
    pub(crate) fn dpu(self) -> Option<u8> {
        match self {
            Self::Host => None,
            Self::Dpu(depth) => Some(depth),
        }
    }
}

/// What is read of a counter, a note or an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    Counter,
    Note,
    Done,
    Failed,
    Running,
    Tries,
    /// Seconds since the action's last try, absent if there was none.
    Age,
}

/// A health report of the pack: of the host, or of the DPU bound at a depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportRef {
    pub(crate) report: usize,
    pub(crate) dpu: Option<u8>,
}

/// What is read of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Query {
    /// An alert of this probe, if given, with this classification, if given.
    Has { probe: Option<Arc<str>>, class: Option<Arc<str>> },
    /// None of its stored reports is present.
    Missing,
    /// How many alerts it has.
    Alerts,
}

impl Expr {
    pub(crate) fn apply(op: Op, args: impl IntoIterator<Item = Self>) -> Self {
        Self::Apply(op, args.into_iter().collect())
    }

    /// The negation of a bool.
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Bool(value) => Self::Bool(!value),
            Self::Apply(Op::Not, args) => match <[Self; 1]>::try_from(args.into_vec()) {
                Ok([inner]) => inner,
                Err(args) => Self::apply(Op::Not, [Self::Apply(Op::Not, args.into())]),
            },
            other => Self::apply(Op::Not, [other]),
        }
    }

    /// The parts of an expression, in the order of evaluation.
    pub(crate) fn children(&self) -> &[Self] {
        match self {
            Self::Each(_, _, parts) | Self::Apply(_, parts) => parts,
            Self::If(parts) => &**parts,
            _ => &[],
        }
    }

    /// The same with its parts replaced.
    pub(crate) fn map(&self, change: impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Each(quantifier, depth, parts) => Self::Each(*quantifier, *depth, parts.iter().map(change).collect()),
            Self::Apply(op, parts) => Self::Apply(*op, parts.iter().map(change).collect()),
            Self::If(parts) => Self::If(Box::new(parts.each_ref().map(change))),
            leaf => leaf.clone(),
        }
    }

    /// Visits all parts at any depth, itself first.
    pub(crate) fn walk(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        self.children().iter().for_each(|child| child.walk(visit));
    }

    /// The number of its parts, members of list literals included.
    pub(crate) fn size(&self) -> usize {
        let own = match self {
            Self::TextList(words) => words.len(),
            Self::IntList(numbers) => numbers.len(),
            _ => 1,
        };
        own + self.children().iter().map(Self::size).sum::<usize>()
    }

    /// Its nesting depth.
    pub(crate) fn depth(&self) -> usize {
        self.children().iter().map(Self::depth).max().unwrap_or(0) + 1
    }

    /// Whether a fact can be unknown that its answer depends on.
    pub(crate) fn can_be_unknown(&self, report_unknown: &impl Fn(usize) -> bool) -> bool {
        let own = match self {
            Self::Fact(fact) => fact.fact.reported,
            Self::Report(at, _) => report_unknown(at.report),
            _ => false,
        };
        let parts = match self {
            Self::Apply(Op::Known | Op::OrElse, parts) if matches!(parts.first(), Some(Self::Fact(_))) => &parts[1..],
            other => other.children(),
        };
        own || parts.iter().any(|part| part.can_be_unknown(report_unknown))
    }

    /// Whether its evaluation can fail on known facts.
    pub(crate) fn can_fail(&self, report_fails: &impl Fn(usize) -> bool) -> bool {
        let own = match self {
            Self::Apply(op, _) => op.entry().can_fail,
            Self::Report(at, _) => report_fails(at.report),
            _ => false,
        };
        own || self.children().iter().any(|child| child.can_fail(report_fails))
    }

    /// Depths of its free DPUs: those that it reads and does not bind.
    pub(crate) fn dpus(&self) -> BTreeSet<u8> {
        let mut depths: BTreeSet<u8> = self.children().iter().flat_map(Self::dpus).collect();
        match self {
            Self::Each(_, depth, parts) if parts.len() == 1 => drop(depths.remove(depth)),
            Self::Fact(fact) => depths.extend(fact.dpu()),
            Self::Record(owner, ..) => depths.extend(owner.dpu()),
            Self::Report(at, _) => depths.extend(at.dpu),
            _ => {}
        }
        depths
    }
}

/// Seconds since an action's last try.
pub(crate) fn seconds_since(host: &Snapshot, at: u64) -> i64 {
    i64::try_from(host.now.saturating_sub(at) / 1_000_000).unwrap_or(i64::MAX)
}
