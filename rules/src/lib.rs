//! The rule engine: a pack of declarations becomes an immutable [`RuleSet`] that decides what happens to a host.
//!
//! A pack is loaded by [`load_pack`], checked as a whole, and decides by [`RuleSet::decide`]: a pure function of a
//! [`Snapshot`]. What rules can read is listed by [`fact_dictionary`]; how to write them is in this crate's README.

mod build;
mod check;
mod decide;
mod decision;
mod declare;
mod diff;
mod explain;
mod fault;
mod file;
mod format;
mod graph;
mod guard;
mod health;
mod limits;
mod pack;
mod ruleset;
mod snapshot;
mod state_path;
mod suite;
mod trace;
mod track;
mod view;

pub use decide::Diversion;
pub use decision::{Action, Argument, Decision, Delete, DpuStep, FailureChange, Fault, FaultKind, Go, OnFailure, Wait};
pub use diff::{Change, ChangeKind, diff};
pub use fault::{PackFault, PackFaults, Place};
pub use file::read_pack_files;
pub use format::format;
pub use graph::{Graph, GraphAction, GraphArm, GraphRule, GraphState};
pub use pack::{LoadOptions, load_files, load_pack, load_pack_with};
pub use ruleset::{RuleSet, StateKind};
pub use snapshot::{
    ActionRecord, ActionStatus, Alert, Answer, Attestation, Bmc, CauseNow, Credentials, Decommission, DpfPhase, Dpu,
    DpuHealth, Fact, FactType, Failure, Firmware, HardwareHealth, HealthReport, Host, HostHealth, InstallMethod,
    InstallTask, Instance, JobState, Lockdown, MaintenanceOperation, Measurement, Micros, PowerRequest, PowerState,
    Requests, Rotation, ScriptStatus, SecureBoot, Site, Snapshot, State, Success, TaskState, UploadStatus, Validation,
    Value, Vendor, fact_dictionary,
};
pub use state_path::StatePath;
pub use suite::{
    CaseResult, Expectation, ExpectedAction, ExpectedDpu, SuiteResult, UntestedArm, read_tests, test_snapshots,
};
pub use trace::{AlertSeen, ArmResult, ArmTrace, Decided, Explanation, FactSeen, Step, Trace};
pub use view::{Prevented, TenantState};
