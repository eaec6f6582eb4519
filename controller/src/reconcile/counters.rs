//! What the reconciler did and found, counted for metrics.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use proto::MachineId;
use rules::StatePath;

/// What the reconciler has done since it started, for metrics.
#[derive(Debug, Default)]
pub struct ReconcileCounters {
    decisions: AtomicU64,
    unchanged: AtomicU64,
    transitions: AtomicU64,
    waits: AtomicU64,
    errors: AtomicU64,
    conflicts: AtomicU64,
    actions_done: AtomicU64,
    actions_failed: AtomicU64,
    late: AtomicU64,
    queued: AtomicU64,
    running: AtomicU64,
    /// Hosts that were longer in their state than its limit when they were last looked at, with the state.
    overdue: Mutex<HashMap<MachineId, StatePath>>,
    /// Hosts that were free and that no tenant could have, when they were last looked at.
    withheld: Mutex<HashSet<MachineId>>,
    /// Names in the reports on a host that the rules do not declare, where there are any.
    undeclared: Mutex<HashMap<MachineId, u64>>,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReconcileFigures {
    /// Hosts decided.
    pub decisions: u64,
    /// Hosts looked at of which nothing had changed since their last decision.
    pub unchanged: u64,
    /// Moves committed.
    pub transitions: u64,
    /// Decisions to wait.
    pub waits: u64,
    /// Decisions that were errors, and actions that failed.
    pub errors: u64,
    /// Moves that lost against another change and were decided again.
    pub conflicts: u64,
    /// Actions that worked.
    pub actions_done: u64,
    /// Actions that did not.
    pub actions_failed: u64,
    /// Hosts whose handling was cut off by the time limit.
    pub late: u64,
    /// Hosts that wait for their turn now.
    pub queued: u64,
    /// Hosts that are worked on now.
    pub running: u64,
}

/// One thing to count.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReconcileEvent {
    Decision,
    Unchanged,
    Transition,
    Wait,
    Error,
    Conflict,
    ActionDone,
    ActionFailed,
    Late,
}

impl ReconcileCounters {
    pub(crate) fn count(&self, what: ReconcileEvent) {
        let counter = match what {
            ReconcileEvent::Decision => &self.decisions,
            ReconcileEvent::Unchanged => &self.unchanged,
            ReconcileEvent::Transition => &self.transitions,
            ReconcileEvent::Wait => &self.waits,
            ReconcileEvent::Error => &self.errors,
            ReconcileEvent::Conflict => &self.conflicts,
            ReconcileEvent::ActionDone => &self.actions_done,
            ReconcileEvent::ActionFailed => &self.actions_failed,
            ReconcileEvent::Late => &self.late,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn queue(&self, queued: usize, running: usize) {
        self.queued.store(queued as u64, Ordering::Relaxed);
        self.running.store(running as u64, Ordering::Relaxed);
    }

    /// Notes whether a host is longer in its state than the state's limit.
    pub(super) fn overdue(&self, host: &MachineId, state: Option<&StatePath>) {
        let mut overdue = self.overdue.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            Some(state) => drop(overdue.insert(host.clone(), state.clone())),
            None => drop(overdue.remove(host)),
        }
    }

    /// Notes whether a host that looks free is kept from tenants.
    pub(super) fn withheld(&self, host: &MachineId, withheld: bool) {
        let mut hosts = self.withheld.lock().unwrap_or_else(PoisonError::into_inner);
        if withheld {
            hosts.insert(host.clone());
        } else {
            hosts.remove(host);
        }
    }

    /// How many hosts are free, but kept from tenants.
    #[must_use]
    pub fn hosts_withheld(&self) -> u64 {
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Notes how many names in the reports on a host the rules do not declare.
    pub(super) fn undeclared(&self, host: &MachineId, names: usize) {
        let mut hosts = self.undeclared.lock().unwrap_or_else(PoisonError::into_inner);
        match names {
            0 => drop(hosts.remove(host)),
            names => drop(hosts.insert(host.clone(), names as u64)),
        }
    }

    /// How many names in all reports the rules do not declare.
    #[must_use]
    pub fn names_undeclared(&self) -> u64 {
        self.undeclared.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// How many hosts are longer in their state than its limit, by state.
    #[must_use]
    pub fn overdue_by_state(&self) -> BTreeMap<String, u64> {
        let mut by_state = BTreeMap::new();
        for state in self.overdue.lock().unwrap_or_else(PoisonError::into_inner).values() {
            *by_state.entry(state.to_string()).or_default() += 1;
        }
        by_state
    }

    /// All counters now.
    #[must_use]
    pub fn figures(&self) -> ReconcileFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReconcileFigures {
            decisions: read(&self.decisions),
            unchanged: read(&self.unchanged),
            transitions: read(&self.transitions),
            waits: read(&self.waits),
            errors: read(&self.errors),
            conflicts: read(&self.conflicts),
            actions_done: read(&self.actions_done),
            actions_failed: read(&self.actions_failed),
            late: read(&self.late),
            queued: read(&self.queued),
            running: read(&self.running),
        }
    }
}
