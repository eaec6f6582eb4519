//! The action journal as actions use it: what was begun, done or failed for this decision. For `act` and the
//! reconciler.

use std::{collections::BTreeMap, fmt, sync::Arc};

use proto::{ConfigVersion, MachineId};
use rules::{Action, Argument, StatePath};
use serde::{Deserialize, Serialize};

use super::Found;
use crate::{
    Timestamp,
    store::{self, ActionStatus, HostRecord, Store, StoreError},
};

/// What the journal keeps of an action beside its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JournalEntry {
    /// The decision that the action belongs to: `go Assigned/Ready`, `wait`, or `dpu ...` of a DPU's own.
    pub step: String,
    /// Machine ids of the DPUs it is for; empty if it is for the host.
    pub dpus: Vec<String>,
    /// Its arguments.
    pub args: BTreeMap<Arc<str>, Argument>,
}

impl JournalEntry {
    /// The entry of a journal line.
    #[must_use]
    pub fn of(action: &store::Action) -> Self {
        serde_json::from_value(action.arguments.clone()).unwrap_or_default()
    }

    /// An arm of a DPU asked for it, not one of the host.
    #[must_use]
    pub fn by_dpu(&self) -> bool {
        self.step.starts_with("dpu ")
    }
}

/// Which part of a decision an action belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    to: Option<StatePath>,
    of_dpu: bool,
}

impl Step {
    /// The host's own, on the way to `to`, or while it waits.
    pub(crate) fn host(to: Option<&StatePath>) -> Self {
        Self { to: to.cloned(), of_dpu: false }
    }

    /// A DPU's own, on its way to `to`, or while it waits.
    pub(crate) fn dpu(to: Option<&StatePath>) -> Self {
        Self { to: to.cloned(), of_dpu: true }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.of_dpu { "dpu " } else { "" })?;
        match &self.to {
            Some(to) => write!(f, "go {to}"),
            None => f.write_str("wait"),
        }
    }
}

/// What the journal knows of an action that is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// It has not run for this decision.
    New,
    /// It may have run: the controller ended in the middle.
    Unknown {
        /// Its line.
        number: u32,
        /// When it was about to run.
        at: Timestamp,
    },
    /// It has run; only the commit is missing.
    Done,
}

/// The journal of one host for one decision.
pub(crate) struct Journal<'a> {
    store: &'a Store,
    record: &'a HostRecord,
}

impl<'a> Journal<'a> {
    pub(crate) fn new(store: &'a Store, record: &'a HostRecord) -> Self {
        Self { store, record }
    }

    /// What an earlier try of the same decision left. Only a move is committed once; what a wait does, it may do again.
    pub(crate) fn before(&self, action: &Action, step: &Step) -> Before {
        let entry = entry(action, step);
        let same = |line: &&store::Action| {
            line.state_version == self.version() && *line.name == *action.name && JournalEntry::of(line) == entry
        };
        // Newest first: a failure after a success says that the success did not last.
        match self.record.actions.iter().find(same) {
            Some(line) if line.status == ActionStatus::Intended => {
                Before::Unknown { number: line.number, at: line.intended_at }
            }
            Some(line) if line.status == ActionStatus::Done && step.to.is_some() => Before::Done,
            _ => Before::New,
        }
    }

    /// Writes that the action is about to run.
    pub(crate) async fn intend(&self, action: &Action, step: &Step) -> Result<u32, StoreError> {
        let entry = entry(action, step);
        let target = target(self.record, &entry.dpus);
        let arguments = serde_json::to_value(&entry)
            .map_err(|error| StoreError::Unreadable { column: "arguments", fault: error.to_string() })?;
        let mut tx = self.store.write().await?;
        let host = &self.record.host.id;
        let number =
            tx.intend_action(host, self.version(), &action.name, &target, &arguments, Timestamp::now()).await?;
        tx.commit().await?;
        Ok(number)
    }

    /// Writes how it ended, and what it found out, together.
    pub(crate) async fn finish(&self, number: u32, error: &str, found: &[Found]) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let mut tx = self.store.write().await?;
        tx.finish_action(&self.record.host.id, number, error, now).await?;
        for found in found {
            tx.put_finding(&found.machine, &found.finding(now)).await?;
        }
        tx.commit().await
    }

    fn version(&self) -> ConfigVersion {
        self.record.life.version
    }
}

fn entry(action: &Action, step: &Step) -> JournalEntry {
    JournalEntry { step: step.to_string(), dpus: action.dpus.clone(), args: action.args.clone() }
}

/// Names, for people: the host's, or those of the DPUs.
fn target(record: &HostRecord, dpus: &[String]) -> String {
    if dpus.is_empty() {
        return record.host.name.clone();
    }
    let name = |id: &String| {
        let known = record.dpus.iter().find(|dpu| dpu.id.as_str() == id);
        known.map_or_else(|| id.clone(), |dpu| dpu.name.clone())
    };
    dpus.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// The DPU of a host by the id that a decision names.
pub(super) fn dpu_of<'a>(record: &'a HostRecord, id: &str) -> Option<&'a store::Dpu> {
    record.dpus.iter().find(|dpu| dpu.id.as_str() == id)
}

/// Whether the action of a line is for this machine: the host, or a DPU of its host.
pub(crate) fn is_for(record: &HostRecord, line: &store::Action, machine: &MachineId) -> bool {
    match JournalEntry::of(line).dpus.as_slice() {
        [] => *machine == record.host.id,
        dpus => dpus.iter().any(|id| id == machine.as_str()),
    }
}

/// For findings: the machine ids an action is for.
pub(super) fn machines(record: &HostRecord, action: &Action) -> Vec<MachineId> {
    if action.dpus.is_empty() {
        return vec![record.host.id.clone()];
    }
    action.dpus.iter().filter_map(|id| dpu_of(record, id)).map(|dpu| dpu.id.clone()).collect()
}
