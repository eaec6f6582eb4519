//! Guards after lowering, as plain data: what is asked, where it stands, and what it reads.

use std::sync::Arc;

use rhai::FnPtr;

use crate::ir::{
    fault::Place,
    predicate::{BoolExpr, IntExpr},
    reads::Reads,
};

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

/// What keeps an expression with the interpreter, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotNative {
    pub(crate) place: Place,
    pub(crate) what: &'static str,
}

/// A question about a host, or about a host and one of its DPUs.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) place: Place,
    /// Source text, white space reduced.
    pub(crate) text: Arc<str>,
    /// It takes a DPU as its second parameter.
    pub(crate) of_dpu: bool,
    pub(crate) body: Body<BoolExpr>,
    pub(crate) closure: FnPtr,
    pub(crate) reads: Reads,
}

/// A number about a host: the time limit of a state.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    pub(crate) body: Body<IntExpr>,
    pub(crate) closure: Option<FnPtr>,
    pub(crate) reads: Reads,
}

#[derive(Debug, Clone)]
pub(crate) enum Body<T> {
    Native(T),
    /// Left to rhai, and why.
    Script(NotNative),
}

impl Guard {
    /// What keeps the guard with the interpreter, none if it is native.
    pub(crate) fn interpreted(&self) -> Option<&NotNative> {
        match &self.body {
            Body::Native(_) => None,
            Body::Script(reason) => Some(reason),
        }
    }
}
