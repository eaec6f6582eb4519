//! Guards after lowering, as plain data: what is asked, where it stands, and what it reads.

use std::sync::Arc;

use crate::ir::{diagnostic::Place, expr::Expr, read_set::ReadSet};

/// Whether a condition has to hold or not to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polarity {
    When,
    Unless,
}

/// Which of the DPUs that fit an arm's actions are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    First,
    Each,
}

/// A question about a host, or about a host and one of its DPUs.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) place: Place,
    /// Source text, white space reduced.
    pub(crate) text: Arc<str>,
    /// It takes a DPU as its second parameter.
    pub(crate) of_dpu: bool,
    pub(crate) expr: Arc<Expr>,
    pub(crate) reads: ReadSet,
    /// It has no fault, and no setting of a site has a part in it: that its answer never changes is a mistake.
    pub(crate) lintable: bool,
}

impl Guard {
    /// The guard, or its opposite.
    pub(crate) fn condition(&self, polarity: Polarity) -> Expr {
        match polarity {
            Polarity::When => (*self.expr).clone(),
            Polarity::Unless => (*self.expr).clone().not(),
        }
    }
}

/// A number about a host: the time limit of a state.
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
