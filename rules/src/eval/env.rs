//! What a guard is asked about: a host, the DPUs bound to its parameters, and what the guards of one decision share.

use std::{
    cell::{Cell, OnceCell},
    sync::{Arc, LazyLock},
};

use crate::{
    eval::interpret::Interpreter,
    ir::{
        health::Reports,
        limits,
        predicate::{DEPTH, Owner},
        sandbox::Meter,
        snapshot::{ActionRecord, Dpu, Snapshot},
    },
};

/// Stands where no DPU is bound.
pub(crate) static NO_DPU: LazyLock<Dpu> = LazyLock::new(Dpu::default);

/// What a guard is asked about.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub(crate) host: &'a Snapshot,
    pub(crate) dpus: [&'a Dpu; DEPTH],
    pub(crate) reports: &'a Reports,
    shared: &'a Shared,
}

/// What the interpreted guards of one decision share.
pub(crate) struct Shared {
    /// The snapshot as they need it, made when the first of them asks.
    snapshot: OnceCell<Arc<Snapshot>>,
    /// Steps that they may still take.
    steps: Cell<u64>,
    interpreter: Option<Arc<Interpreter>>,
}

impl Shared {
    pub(crate) fn new(interpreter: Option<&Arc<Interpreter>>) -> Self {
        let steps = Cell::new(limits::DECISION_OPERATIONS);
        Self { snapshot: OnceCell::new(), steps, interpreter: interpreter.cloned() }
    }

    pub(crate) fn of(snapshot: Arc<Snapshot>, interpreter: Option<&Arc<Interpreter>>) -> Self {
        Self { snapshot: OnceCell::from(snapshot), ..Self::new(interpreter) }
    }
}

impl<'a> Env<'a> {
    pub(crate) fn new(host: &'a Snapshot, reports: &'a Reports, shared: &'a Shared) -> Self {
        Self::of_dpu(host, &NO_DPU, reports, shared)
    }

    /// With a DPU bound at every depth.
    pub(crate) fn of_dpu(host: &'a Snapshot, dpu: &'a Dpu, reports: &'a Reports, shared: &'a Shared) -> Self {
        Self { host, dpus: [dpu; DEPTH], reports, shared }
    }

    pub(crate) fn shared(&self) -> &'a Arc<Snapshot> {
        self.shared.snapshot.get_or_init(|| Arc::new(self.host.clone()))
    }

    /// The same host, for guards that share something else.
    pub(crate) fn sharing<'b>(&self, shared: &'b Shared) -> Env<'b>
    where
        'a: 'b,
    {
        Env { shared, ..*self }
    }

    pub(crate) fn interpreter(&self) -> Option<&'a Arc<Interpreter>> {
        self.shared.interpreter.as_ref()
    }

    /// Runs an interpreted guard with the steps that are left to it. None if none are left to any.
    pub(crate) fn metered<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let left = self.shared.steps.get();
        if left == 0 {
            return None;
        }
        let meter = Meter::new(left.min(limits::GUARD_OPERATIONS));
        let result = run();
        self.shared.steps.set(left.saturating_sub(meter.taken()));
        Some(result)
    }

    pub(crate) fn out_of_steps(&self) -> bool {
        self.shared.steps.get() == 0
    }

    pub(crate) fn with(&self, depth: u8, dpu: &'a Dpu) -> Self {
        let mut bound = *self;
        bound.bind(depth, dpu);
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

    pub(crate) fn action(&self, owner: Owner, name: &str) -> Option<&'a ActionRecord> {
        match owner {
            Owner::Host => self.host.state.actions.get(name),
            Owner::Dpu(depth) => self.dpu(depth).actions.get(name),
        }
    }

    pub(crate) fn counter(&self, owner: Owner, name: &str) -> i64 {
        let counters = match owner {
            Owner::Host => &self.host.state.counters,
            Owner::Dpu(depth) => &self.dpu(depth).counters,
        };
        counters.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn note(&self, owner: Owner, name: &str) -> &'a str {
        let notes = match owner {
            Owner::Host => &self.host.state.notes,
            Owner::Dpu(depth) => &self.dpu(depth).notes,
        };
        notes.get(name).map_or("", String::as_str)
    }
}
