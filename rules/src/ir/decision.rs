//! What the rules want done with a host, as data: the controller carries it out and commits it.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::ir::state_path::StatePath;

/// What the rules want done with a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Decision {
    /// Carry out the actions, then commit the move in one transaction.
    Go(Go),
    /// Stay, and say why.
    Wait(Wait),
    /// Stay: the rules, or the host, are in a condition that needs attention.
    Error(Fault),
    /// Carry out the actions, then the host's records leave the controller.
    Delete(Delete),
}

/// A move to another state, or of some DPUs to other states of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Go {
    /// The host's next state. If only DPUs move: the least advanced state after their moves, perhaps the present one.
    pub to: StatePath,
    /// Actions on the host, in order; the controller carries them out before it commits the move.
    pub actions: Vec<Action>,
    /// DPUs that move, act or wait on their own. A DPU that is not listed keeps its state; if `to` is a state of the
    /// host alone the list is empty and DPUs lose theirs.
    pub dpus: Vec<DpuStep>,
    /// The host's counters after the move; stored in place of the old ones.
    pub counters: BTreeMap<String, i64>,
    /// The host's notes after the move; stored in place of the old ones.
    pub notes: BTreeMap<String, String>,
    /// What happens to the recorded failure.
    pub failure: FailureChange,
}

/// Staying in a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Why, as text for operators.
    pub reason: Arc<str>,
    /// The closed gate, if a gate holds the host back.
    pub gate: Option<Arc<str>>,
    /// Actions to carry out while staying, such as a restart that is due.
    pub actions: Vec<Action>,
    /// What DPUs do on their own; none of them moves.
    pub dpus: Vec<DpuStep>,
    /// The host's counters if they change.
    pub counters: Option<BTreeMap<String, i64>>,
    /// Seconds until the passing of time alone can change the value of a guard of this state.
    pub recheck_after: Option<i64>,
}

/// A condition that needs attention. The host stays where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// What is wrong, as text for operators.
    pub reason: Arc<str>,
    /// The gate whose guard failed, or whose `or_fail` makes this an error.
    pub gate: Option<Arc<str>>,
    /// Who says that this is an error: a rule, a failing guard, or an unknown state.
    pub kind: FaultKind,
    /// Seconds until the passing of time alone can change the value of a guard of this state.
    pub recheck_after: Option<i64>,
}

/// Who says that a host is in error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// An arm of the rules says that this is an error.
    Declared,
    /// A guard failed while it was evaluated. Its gate counts as closed. Stored decisions of older releases can say that
    /// a guard took too many steps.
    #[serde(alias = "steps")]
    Guard,
    /// The rules have no such state.
    UnknownState,
}

/// The host's records are deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delete {
    /// Actions to carry out first.
    pub actions: Vec<Action>,
}

/// What one DPU does on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DpuStep {
    /// Machine id of the DPU.
    pub dpu: String,
    /// Its next state; none if it stays.
    pub to: Option<StatePath>,
    /// Why it stays, as text for operators.
    pub reason: Option<Arc<str>>,
    /// Actions on this DPU, to be carried out before its move.
    pub actions: Vec<Action>,
    /// The DPU's counters if they change.
    pub counters: Option<BTreeMap<String, i64>>,
    /// The DPU's notes if they change.
    pub notes: Option<BTreeMap<String, String>>,
}

/// What happens to the recorded failure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureChange {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is replaced.
    Set {
        /// Cause as the pack names it.
        cause: Arc<str>,
        /// Machine id of the DPU it belongs to; none for the host.
        dpu: Option<String>,
    },
    /// It is removed.
    Clear,
}

/// An action by name. The controller knows what the name does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// As in the controller's registry, such as `redfish.force_restart`.
    pub name: Arc<str>,
    /// Arguments by name.
    pub args: BTreeMap<Arc<str>, Argument>,
    /// Machine ids of the DPUs it is for; empty if it is for the host.
    pub dpus: Vec<String>,
    /// What to do if it fails.
    pub on_failure: OnFailure,
}

/// Argument of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// True or false.
    Bool(bool),
    /// A whole number; seconds where it is a duration.
    Int(i64),
    /// Any text.
    Text(Arc<str>),
    /// A list of texts.
    Texts(Vec<Arc<str>>),
}

impl std::fmt::Display for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Texts(texts) => write!(f, "[{}]", texts.join(", ")),
        }
    }
}

/// What to do if an action fails.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Record the error, drop the decision, stay; the next evaluation tries again.
    #[default]
    Stay,
    /// Record the error and go on as if the action had worked.
    Ignore,
    /// Record the error, drop the decision's move and move here instead.
    Go(StatePath),
}
