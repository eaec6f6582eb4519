//! Declarations: the verbs of the rule language as native functions, which record names and closures while scripts run.
//!
//! Nothing is resolved here. An error does not stop the script, so that all errors of a pack are reported together.

mod arms;
mod names;
mod reports;
mod states;
mod views;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhai::{Engine, EvalAltResult, FnPtr, NativeCallContext, Position};

use crate::ir::{
    decision::Argument,
    diagnostic::{Diagnostics, Place},
    guard::{Polarity, Selection},
    limits,
    signature::Signature,
    snapshot::HealthAlert,
};

/// A name that is declared at a place.
#[derive(Debug, Clone)]
pub(crate) struct Named<T> {
    pub(crate) name: Arc<str>,
    pub(crate) place: Place,
    pub(crate) value: T,
}

/// A name that is used at a place.
pub(crate) type Use = Named<()>;

#[derive(Debug, Clone)]
pub(crate) struct GuardDecl {
    pub(crate) closure: FnPtr,
    pub(crate) place: Place,
}

/// A state, or a rule for any state, with its arms.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) name: Arc<str>,
    pub(crate) place: Place,
    pub(crate) kind: BlockKind,
    pub(crate) arms: Vec<ArmDecl>,
}

#[derive(Debug)]
pub(crate) enum BlockKind {
    State(StateDecl),
    Any(AnyDecl),
    /// Arms that states use by the block's name.
    Steps,
}

#[derive(Debug, Default)]
pub(crate) struct StateDecl {
    pub(crate) of_dpu: bool,
    pub(crate) barrier: bool,
    pub(crate) aside: bool,
    pub(crate) entry: bool,
    pub(crate) kind: crate::ir::pack::StateKind,
    pub(crate) sla: Option<SlaDecl>,
}

#[derive(Debug)]
pub(crate) enum SlaDecl {
    None,
    Seconds(i64),
    Computed(GuardDecl),
}

#[derive(Debug, Default)]
pub(crate) struct AnyDecl {
    pub(crate) within: Vec<Use>,
    pub(crate) except: Vec<Use>,
}

#[derive(Debug)]
pub(crate) struct ArmDecl {
    pub(crate) place: Place,
    pub(crate) verb: VerbDecl,
    pub(crate) conditions: Vec<(GuardDecl, Polarity)>,
    pub(crate) select: Option<(GuardDecl, Selection)>,
    /// DPUs that enter the target, and the state that the others enter.
    pub(crate) split: Option<(GuardDecl, Option<Use>)>,
    pub(crate) actions: Vec<ActionDecl>,
    pub(crate) counts: Vec<Use>,
    pub(crate) resets: Vec<Use>,
    pub(crate) notes: Vec<Named<String>>,
    pub(crate) cause: Option<Use>,
    /// The place of the verb.
    pub(crate) clears_failure: Option<Place>,
    pub(crate) or_fail: bool,
}

#[derive(Debug)]
pub(crate) enum VerbDecl {
    Go(Use),
    HostGo(Use),
    Pass(Use),
    Wait(String),
    Fail(String),
    Delete,
    /// Replaced by the arms of a block of steps.
    Steps(Use),
}

#[derive(Debug)]
pub(crate) struct ActionDecl {
    pub(crate) name: Use,
    pub(crate) args: Vec<Named<Argument>>,
    pub(crate) on_failure: OnFailureDecl,
}

#[derive(Debug, Default)]
pub(crate) enum OnFailureDecl {
    #[default]
    Stay,
    Ignore,
    Go(Use),
}

#[derive(Debug)]
pub(crate) struct GateDecl {
    pub(crate) guard: GuardDecl,
    pub(crate) waits: Option<String>,
}

#[derive(Debug)]
pub(crate) struct TenantViewDecl {
    pub(crate) guard: GuardDecl,
    pub(crate) detail: String,
}

#[derive(Debug)]
pub(crate) struct ReportDecl {
    pub(crate) of_dpu: bool,
    pub(crate) parts: Vec<PartDecl>,
}

#[derive(Debug)]
pub(crate) struct PartDecl {
    pub(crate) place: Place,
    pub(crate) source: SourceDecl,
    pub(crate) instead: bool,
    pub(crate) only: Option<Use>,
    pub(crate) except: Vec<Use>,
    pub(crate) when: Option<GuardDecl>,
    pub(crate) unclassified: Option<GuardDecl>,
    pub(crate) or_alert: Option<AlertDecl>,
}

#[derive(Debug)]
pub(crate) enum SourceDecl {
    Stored(String),
    Dpus(Use),
    Alert(AlertDecl),
}

#[derive(Debug)]
pub(crate) struct AlertDecl {
    pub(crate) place: Place,
    pub(crate) alert: HealthAlert,
}

/// Everything that a pack declares.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) blocks: Vec<Block>,
    pub(crate) gates: Vec<Named<GateDecl>>,
    pub(crate) reports: Vec<Named<ReportDecl>>,
    pub(crate) probes: Vec<Use>,
    /// Sources of health reports; a trailing `*` stands for any ending.
    pub(crate) sources: Vec<Use>,
    /// Classifications, with what their alerts prevent.
    pub(crate) classifications: Vec<Named<Vec<Use>>>,
    /// Report whose alerts count for `prevents`.
    pub(crate) judged_by: Vec<Use>,
    pub(crate) tenant_views: Vec<Named<TenantViewDecl>>,
    pub(crate) causes: Vec<Use>,
    pub(crate) actions: Vec<Named<Signature>>,
    pub(crate) timeouts: Vec<Named<i64>>,
    pub(crate) limits: Vec<Named<i64>>,
    /// Counters, with the states between which they survive a move.
    pub(crate) counters: Vec<Named<Vec<Use>>>,
    /// Notes, with their values and the states between which they survive a move.
    pub(crate) notes: Vec<Named<(Vec<String>, Vec<Use>)>>,
    pub(crate) initial: Vec<Use>,
    pub(crate) no_sla_while: Option<GuardDecl>,
    pub(crate) diagnostics: Diagnostics,
    /// The number of declarations.
    count: usize,
}

impl Declarations {
    /// Counts one more declaration against the limit.
    fn reserve(&mut self) -> Result<&mut Self, Box<EvalAltResult>> {
        self.count += 1;
        if self.count > limits::DECLARATIONS {
            return Err(format!("a pack declares at most {} things", limits::DECLARATIONS).into());
        }
        Ok(self)
    }
}

/// The declarations, shared with the native functions while scripts run.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Declarations>>);

impl Collector {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Declarations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The collected declarations.
    pub(crate) fn take(&self) -> Declarations {
        std::mem::take(&mut *self.lock())
    }

    /// Registers a verb of a chain.
    fn on<C: Clone + Send + Sync + 'static>(
        &self,
        engine: &mut Engine,
        verb: &str,
        call: impl Fn(&mut Declarations, &NativeCallContext, C) -> C + Send + Sync + 'static,
    ) {
        let collector = self.clone();
        engine.register_fn(verb, move |ctx: NativeCallContext, chain: C| call(&mut collector.lock(), &ctx, chain));
    }

    /// Registers a verb of a chain with one argument.
    fn on_with<C: Clone + Send + Sync + 'static, A: Clone + Send + Sync + 'static>(
        &self,
        engine: &mut Engine,
        verb: &str,
        call: impl Fn(&mut Declarations, &NativeCallContext, C, A) -> C + Send + Sync + 'static,
    ) {
        let collector = self.clone();
        engine.register_fn(verb, move |ctx: NativeCallContext, chain: C, argument: A| {
            call(&mut collector.lock(), &ctx, chain, argument)
        });
    }

    /// Registers the verbs.
    pub(crate) fn register(&self, engine: &mut Engine) {
        names::register(self, engine);
        states::register(self, engine);
        arms::register(self, engine);
        reports::register(self, engine);
        views::register(self, engine);
    }
}

/// Where a verb is called.
fn call_place(ctx: &NativeCallContext) -> Place {
    place(ctx.call_source().unwrap_or(""), ctx.call_position())
}

pub(crate) fn place(file: &str, position: Position) -> Place {
    Place { file: file.into(), line: position.line().unwrap_or(0), column: position.position().unwrap_or(0) }
}

fn used(ctx: &NativeCallContext, name: &str) -> Use {
    Named { name: name.into(), place: call_place(ctx), value: () }
}

fn guard(ctx: &NativeCallContext, closure: FnPtr) -> GuardDecl {
    GuardDecl { closure, place: call_place(ctx) }
}

/// A text or a list of texts, as verbs take them.
fn texts(value: rhai::Dynamic) -> Option<Vec<String>> {
    if value.is_string() {
        return Some(vec![value.to_string()]);
    }
    value.into_array().ok()?.into_iter().map(|item| item.into_string().ok()).collect()
}
