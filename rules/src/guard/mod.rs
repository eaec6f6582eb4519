//! Guards: what they are after loading, and how they are asked.

pub(crate) mod blame;
pub(crate) mod clock;
pub(crate) mod compile;
pub(crate) mod eval;
mod fallible;
pub(crate) mod fold;
mod functions;
pub(crate) mod interpret;
pub(crate) mod lower;
mod lowered;
mod members;
pub(crate) mod names;
mod operators;
pub(crate) mod predicate;
pub(crate) mod reads;
pub(crate) mod weight;

use std::{
    cell::{Cell, OnceCell},
    sync::{Arc, LazyLock},
};

use crate::{
    declare::Wanted,
    fault::Place,
    health::Reports,
    limits,
    snapshot::{ActionRecord, Dpu, Snapshot, question::Test},
};
use compile::Asks;
use fold::Fold;
use interpret::Script;
use lower::NotNative;
use predicate::{Answer, BoolExpr, GuardError, IntExpr, Owner};
use reads::Reads;
use weight::Weight as _;

/// A question about a host, or about a host and one of its DPUs.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) place: Place,
    /// Source text, white space reduced.
    pub(crate) text: Arc<str>,
    /// It takes a DPU as its second parameter.
    pub(crate) of_dpu: bool,
    pub(crate) body: Body<BoolExpr>,
    /// The same, ready to be asked.
    pub(crate) asks: Arc<Asks>,
    /// The same guard for the interpreter: what is lowered is held against it by tests.
    pub(crate) script: Script,
    pub(crate) reads: Reads,
}

/// A number about a host: the time limit of a state.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    pub(crate) body: Body<IntExpr>,
    pub(crate) script: Option<Script>,
    pub(crate) reads: Reads,
}

#[derive(Debug, Clone)]
pub(crate) enum Body<T> {
    Native(T),
    /// Left to rhai, and why.
    Script(NotNative),
}

impl Guard {
    pub(crate) fn holds(&self, env: &Env<'_>) -> Answer<bool> {
        self.asks.hold(env)
    }

    /// The guard as a test of the host and its own DPU, if it cannot fail.
    pub(crate) fn test(&self) -> Option<Test> {
        match &self.body {
            Body::Native(expr) => expr.compile().into_test_of_each(0).ok(),
            Body::Script(_) => None,
        }
    }

    /// The guard, or its opposite, ready to be asked in one state.
    pub(crate) fn asks_in(&self, state: &Fold<'_>, wanted: Wanted) -> Asks {
        match (&self.body, wanted) {
            (Body::Native(expr), Wanted::Yes) => state.bool(expr).compile(),
            (Body::Native(expr), Wanted::No) => state.bool(expr).not().compile(),
            (Body::Script(_), Wanted::Yes) => Asks::script(self.script.clone(), self.of_dpu),
            (Body::Script(_), Wanted::No) => Asks::script(self.script.clone(), self.of_dpu).not(),
        }
    }

    /// Parts that the guard has to be asked for.
    pub(crate) fn weight(&self) -> usize {
        match &self.body {
            Body::Native(expr) => expr.weight(),
            Body::Script(_) => 1,
        }
    }

    /// Why the guard has no answer, in words.
    pub(crate) fn error(&self, env: &Env<'_>, error: GuardError) -> String {
        let own = match &self.body {
            Body::Script(_) => self.script.error(env, self.of_dpu),
            Body::Native(_) if error == GuardError::Script => env.reports.script_error(&self.reads.reports, env),
            Body::Native(_) => None,
        };
        own.unwrap_or_else(|| error.to_string())
    }

    /// What keeps the guard with the interpreter, none if it is native.
    pub(crate) fn interpreted(&self) -> Option<&NotNative> {
        match &self.body {
            Body::Native(_) => None,
            Body::Script(reason) => Some(reason),
        }
    }
}

impl Number {
    pub(crate) fn value(&self, env: &Env<'_>) -> Answer<i64> {
        match (&self.body, &self.script) {
            (Body::Native(expr), _) => expr.eval(env),
            (Body::Script(_), Some(script)) => script.number(env),
            (Body::Script(_), None) => Ok(0),
        }
    }
}

/// DPUs that can be bound at once: the guard's own and one in each nested `any`, `all` or `count`.
pub(crate) const DEPTH: usize = 4;

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
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self { snapshot: OnceCell::new(), steps: Cell::new(limits::DECISION_OPERATIONS) }
    }

    fn of(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot: OnceCell::from(snapshot), ..Self::new() }
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

    /// Runs an interpreted guard with the steps that are left to it. None if none are left to any.
    fn metered<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let left = self.shared.steps.get();
        if left == 0 {
            return None;
        }
        let meter = limits::Meter::new(left.min(limits::GUARD_OPERATIONS));
        let result = run();
        self.shared.steps.set(left.saturating_sub(meter.taken()));
        Some(result)
    }

    fn out_of_steps(&self) -> bool {
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
