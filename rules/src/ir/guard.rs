//! Guards after lowering, as plain data: what is asked, where it stands, and what it reads.

use std::sync::Arc;

use crate::ir::{expr::Expr, fault::Place, reads::Reads};

/// Whether a condition has to hold or not to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Yes,
    No,
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
    pub(crate) reads: Reads,
    /// It has no fault, and no setting of a site has a part in it: that its answer never changes is a mistake.
    pub(crate) own: bool,
}

impl Guard {
    /// The guard, or its opposite.
    pub(crate) fn wanted(&self, wanted: Wanted) -> Expr {
        match wanted {
            Wanted::Yes => (*self.expr).clone(),
            Wanted::No => (*self.expr).clone().not(),
        }
    }
}

/// A number about a host: the time limit of a state.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    pub(crate) expr: Expr,
    pub(crate) reads: Reads,
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self { expr: Expr::Int(number), reads: Reads::default() }
    }
}
