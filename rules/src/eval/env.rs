//! The environment of an evaluation: a host, and the DPUs and texts bound to parameters.

use crate::ir::{
    expr::{DEPTH, Owner, Record, seconds_since},
    health::Reports,
    operand::Operand,
    snapshot::{ActionRecord, ActionStatus, Dpu, NO_DPU, Snapshot},
};

/// A host with bindings of DPUs and texts.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub(crate) host: &'a Snapshot,
    dpus: [&'a Dpu; DEPTH],
    items: [&'a str; DEPTH],
    pub(crate) reports: &'a Reports,
}

impl<'a> Env<'a> {
    pub(crate) fn new(host: &'a Snapshot, reports: &'a Reports) -> Self {
        Self::of_dpu(host, &NO_DPU, reports)
    }

    /// With a DPU bound at every depth.
    pub(crate) fn of_dpu(host: &'a Snapshot, dpu: &'a Dpu, reports: &'a Reports) -> Self {
        Self { host, dpus: [dpu; DEPTH], items: [""; DEPTH], reports }
    }

    pub(crate) fn with(&self, depth: u8, dpu: &'a Dpu) -> Self {
        let mut bound = *self;
        bound.bind(depth, dpu);
        bound
    }

    /// With a text of a list bound at a depth.
    pub(crate) fn with_item(&self, depth: u8, item: &'a str) -> Self {
        let mut bound = *self;
        bound.items[usize::from(depth) % DEPTH] = item;
        bound
    }

    #[inline]
    pub(crate) fn bind(&mut self, depth: u8, dpu: &'a Dpu) {
        self.dpus[usize::from(depth) % DEPTH] = dpu;
    }

    #[inline]
    pub(crate) fn dpu(&self, depth: u8) -> &'a Dpu {
        self.dpus[usize::from(depth) % DEPTH]
    }

    pub(crate) fn item(&self, depth: u8) -> &'a str {
        self.items[usize::from(depth) % DEPTH]
    }

    pub(crate) fn action(&self, owner: Owner, name: &str) -> Option<&'a ActionRecord> {
        match owner {
            Owner::Host => self.host.state.actions.get(name),
            Owner::Dpu(depth) => self.dpu(depth).actions.get(name),
        }
    }

    /// Reads a counter, a note or the record of an action.
    pub(crate) fn record(&self, owner: Owner, record: Record, name: &str) -> Operand<'a> {
        let action = || self.action(owner, name);
        let is = |status| action().is_some_and(|action| action.status == status).into();
        let (counters, notes) = match owner {
            Owner::Host => (&self.host.state.counters, &self.host.state.notes),
            Owner::Dpu(depth) => (&self.dpu(depth).counters, &self.dpu(depth).notes),
        };
        match record {
            Record::Counter => Operand::Int(counters.get(name).copied().unwrap_or(0)),
            Record::Note => Operand::Text(notes.get(name).map_or("", String::as_str).into()),
            Record::Done => is(ActionStatus::Done),
            Record::Failed => is(ActionStatus::Failed),
            Record::Running => is(ActionStatus::Running),
            Record::Tries => Operand::Int(action().map_or(0, |action| action.tries)),
            Record::Age => action().map_or(Operand::Absent, |action| Operand::Int(seconds_since(self.host, action.at))),
        }
    }
}
