//! The rule engine: a pack of declarations becomes an immutable [`RuleSet`] that decides what happens to a host.
//!
//! A pack is loaded by [`load_pack`], checked as a whole, and decides by [`RuleSet::decide`]: a pure function of a
//! [`Snapshot`]. What rules can read is listed by [`fact_dictionary`]; how to write them is in this crate's README.
//!
//! Four layers, each of which imports only those before it: `ir` (plain data), `lang` (from scripts to data) and `eval`
//! (from data and a snapshot to decisions), which do not import each other, and `suite` (tests, graph and comparison
//! of packs).

mod eval;
mod ir;
mod lang;
mod load;
mod suite;

pub use eval::{RuleSet, decide::Fallback};
pub use ir::{
    decision::{Action, Argument, Decision, Delete, DpuStep, FailureChange, Fault, FaultKind, Go, OnFailure, Wait},
    diagnostic::{Diagnostic, LoadError, Place},
    pack::{Pack, StateKind},
    snapshot::{
        ActionRecord, ActionStatus, Answer, Area, Attestation, Bmc, CauseNow, Credentials, Decommission, DpfPhase, Dpu,
        DpuHealth, Fact, FactId, FactType, Failure, Firmware, HardwareHealth, HealthAlert, HealthReport, HealthSuccess,
        Host, HostHealth, InstallMethod, InstallTask, Instance, JobState, Lockdown, MaintenanceOperation, Measurement,
        Micros, PowerRequest, PowerState, Reported, Requests, Rotation, ScriptStatus, SecureBoot, Site, Snapshot,
        State, Supplier, TaskState, UploadStatus, Validation, Value, Vendor, fact_dictionary,
    },
    state_path::StatePath,
    trace::{AlertSeen, ArmResult, ArmTrace, Decided, Explanation, FactSeen, Trace, TraceStep},
    view::{Prevented, TenantState},
};
pub use lang::{files::read_pack_files, format::format, load::LoadOptions};
pub use load::{load_files, load_pack, load_pack_with};
pub use suite::{
    CaseResult, Expectation, ExpectedAction, ExpectedDpu, SuiteResult, UntestedArm,
    diff::{Change, ChangeKind, diff},
    graph::{Graph, GraphAction, GraphArm, GraphRule, GraphState},
    read_tests, test_snapshots,
};
