//! Guards after lowering, as plain data: the expression, its place in the source, and its read set.

use std::sync::Arc;

use crate::ir::{diagnostic::Place, expr::Expr, read_set::ReadSet};

/// Whether a condition has to hold (`when`) or must not (`unless`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polarity {
    When,
    Unless,
}

/// Which of the matching DPUs an arm's actions are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    First,
    Each,
}

/// A predicate of a host, or of a host and one of its DPUs.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) place: Place,
    /// Source text with normalised white space.
    pub(crate) text: Arc<str>,
    /// It takes a DPU as its second parameter.
    pub(crate) of_dpu: bool,
    pub(crate) expr: Arc<Expr>,
    pub(crate) reads: ReadSet,
    /// It lowered without errors and uses no setting that a site can change, so a constant value is a mistake.
    pub(crate) lintable: bool,
}

impl Guard {
    /// The guard's expression, negated for `unless`.
    pub(crate) fn condition(&self, polarity: Polarity) -> Expr {
        match polarity {
            Polarity::When => (*self.expr).clone(),
            Polarity::Unless => (*self.expr).clone().not(),
        }
    }
}

/// The time limit of a state in seconds: constant, or computed from the host.
#[derive(Debug, Clone)]
pub(crate) struct TimeLimit {
    pub(crate) expr: Expr,
    pub(crate) reads: ReadSet,
}

impl From<i64> for TimeLimit {
    fn from(seconds: i64) -> Self {
        Self { expr: Expr::Int(seconds), reads: ReadSet::default() }
    }
}
