//! How a decision was reached: the trace that every decision keeps, and the explanation that operators read.

use serde::{Deserialize, Serialize};

use crate::ir::{decision::Decision, snapshot::Micros, state_path::StatePath};

/// A decision and the arms that led to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// What the rules want done.
    pub decision: Decision,
    /// The arms that were tried, in order. [`crate::RuleSet::explain`] adds texts and facts.
    pub trace: Trace,
}

/// The arms that were tried, in order. Small, so that every decision can keep it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// One step for each arm, and for each DPU where DPUs decide one by one.
    pub steps: Vec<TraceStep>,
}

/// One arm that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceStep {
    /// Number of the arm in the rule set.
    pub arm: u32,
    /// Position of the DPU it was tried for, if it was tried for one.
    pub dpu: Option<u16>,
    /// Its result.
    pub result: ArmResult,
}

/// The result of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmResult {
    /// It decided.
    Taken,
    /// Its gate is open.
    Passed,
    /// Its gate is closed, or it says to wait.
    Blocked,
    /// Its guard does not hold.
    Skipped,
    /// Its guard has no answer: it needs a fact that nobody has told.
    Unknown,
    /// Its guard failed.
    Failed,
}

/// A decision with everything that was read for it, and the values found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// State of the host.
    pub state: StatePath,
    /// What the rules want done.
    pub decision: Decision,
    /// Time limit of the state in seconds, none if it has none.
    pub sla_seconds: Option<i64>,
    /// The host has been in the state for longer.
    pub above_sla: bool,
    /// Arms tried, in order.
    pub arms: Vec<ArmTrace>,
    /// The facts behind a wait or an error: what the deciding arm read, for the DPUs that block it.
    pub facts: Vec<FactSeen>,
    /// The alerts behind a wait or an error.
    pub alerts: Vec<AlertSeen>,
}

/// One arm that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmTrace {
    /// Where it is declared, `file:line`.
    pub at: String,
    /// What it does: `go Assigned/Ready`, `pass primary_p0_ready`, `wait`.
    pub arm: String,
    /// Its result.
    pub result: ArmResult,
    /// Name of the DPU it was tried for, if it was tried for one.
    pub dpu: Option<String>,
    /// Text of the error, if its guard failed.
    pub error: Option<String>,
    /// Facts read.
    pub facts: Vec<FactSeen>,
}

/// One fact that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactSeen {
    /// Path of the fact: `instance.deletion_requested`, `dpu.observed_network_version`.
    pub name: String,
    /// Its value as text.
    pub value: String,
    /// Name of the DPU, if it is a fact of a DPU.
    pub dpu: Option<String>,
}

/// One alert that blocks a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertSeen {
    /// Id of the probe.
    pub probe: String,
    /// What the probe checked.
    pub target: Option<String>,
    /// The alert's text for operators.
    pub message: String,
    /// Its classifications, by which rules react to it.
    pub classifications: Vec<String>,
    /// Since when, in microseconds since the epoch.
    pub since: Option<Micros>,
    /// The report that contains it.
    pub source: String,
    /// Name of the DPU it is about, if it is about one.
    pub dpu: Option<String>,
}
