//! Declares `state`, `dpu_state`, `any_state`, `steps` and their attributes.

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, NativeCallContext};

use crate::{
    ir::pack::StateKind,
    lang::declare::{
        AnyDecl, Block, BlockKind, Collector, Declarations, SlaDecl, StateDecl, call_place, guard, texts, used,
    },
};

/// The receiver of a chain of verbs: a block, and its last arm.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    pub(super) block: usize,
    pub(super) arm: Option<usize>,
}

impl Declarations {
    fn open(&mut self, block: Block) -> Result<Chain, Box<EvalAltResult>> {
        self.reserve()?.blocks.push(block);
        Ok(Chain { block: self.blocks.len() - 1, arm: None })
    }

    /// Changes the state of a chain; attributes of states are errors elsewhere.
    fn state(&mut self, ctx: &NativeCallContext, chain: Chain, change: impl FnOnce(&mut StateDecl)) -> Chain {
        match self.blocks.get_mut(chain.block).map(|block| &mut block.kind) {
            Some(BlockKind::State(state)) => change(state),
            _ => {
                let message = format!("`{}` is for states", ctx.fn_name());
                self.diagnostics.error(
                    "misplaced-verb",
                    &call_place(ctx),
                    message,
                    "put it after `state(…)` or `dpu_state(…)`",
                );
            }
        }
        chain
    }

    /// Sets an attribute of a state. Some are for states of DPUs only, and a state has one kind.
    fn flag(&mut self, ctx: &NativeCallContext, chain: Chain, verb: &str, flag: fn(&mut StateDecl)) -> Chain {
        let (mut of_host, mut second) = (false, false);
        let chain = self.state(ctx, chain, |state| {
            of_host = !state.of_dpu;
            let before = state.kind;
            flag(state);
            second = before != StateKind::Normal && before != state.kind;
        });
        if of_host && matches!(verb, "barrier" | "aside") {
            let message = format!("`{verb}` is for states of DPUs");
            self.diagnostics.error(
                "misplaced-verb",
                &call_place(ctx),
                message,
                "declare it with `dpu_state(…)`, or remove it",
            );
        }
        if second {
            let message = format!("`{verb}` and an earlier verb of the state exclude each other");
            self.diagnostics.error("misplaced-verb", &call_place(ctx), message, "keep one of them");
        }
        chain
    }

    /// The time limit of a state.
    fn limit(&mut self, ctx: &NativeCallContext, chain: Chain, sla: SlaDecl) -> Chain {
        let mut second = false;
        let chain = self.state(ctx, chain, |state| second = state.sla.replace(sla).is_some());
        if second {
            self.diagnostics.error(
                "duplicate",
                &call_place(ctx),
                "the state has a time limit already",
                "keep one of them",
            );
        }
        chain
    }

    fn any(&mut self, ctx: &NativeCallContext, chain: Chain, change: impl FnOnce(&mut AnyDecl)) -> Chain {
        match self.blocks.get_mut(chain.block).map(|block| &mut block.kind) {
            Some(BlockKind::Any(any)) => change(any),
            _ => {
                let message = format!("`{}` is for rules of any state", ctx.fn_name());
                self.diagnostics.error("misplaced-verb", &call_place(ctx), message, "put it after `any_state(…)`");
            }
        }
        chain
    }
}

pub(super) fn register(collector: &Collector, engine: &mut Engine) {
    engine.register_type_with_name::<Chain>("state");
    for (verb, of_dpu) in [("state", false), ("dpu_state", true)] {
        let to = collector.clone();
        engine.register_fn(verb, move |ctx: NativeCallContext, path: &str| {
            let kind = BlockKind::State(StateDecl { of_dpu, ..StateDecl::default() });
            to.lock().open(Block { name: path.into(), place: call_place(&ctx), kind, arms: Vec::new() })
        });
    }
    let to = collector.clone();
    engine.register_fn("any_state", move |ctx: NativeCallContext, name: &str| {
        let kind = BlockKind::Any(AnyDecl::default());
        to.lock().open(Block { name: name.into(), place: call_place(&ctx), kind, arms: Vec::new() })
    });
    let to = collector.clone();
    engine.register_fn("steps", move |ctx: NativeCallContext, name: &str| {
        to.lock().open(Block { name: name.into(), place: call_place(&ctx), kind: BlockKind::Steps, arms: Vec::new() })
    });
    flags(collector, engine);
    slas(collector, engine);
    scopes(collector, engine);
}

fn flags(collector: &Collector, engine: &mut Engine) {
    type Flag = fn(&mut StateDecl);
    let flags: [(&str, Flag); 7] = [
        ("barrier", |state| state.barrier = true),
        ("aside", |state| state.aside = true),
        ("entry", |state| state.entry = true),
        ("terminal", |state| state.kind = StateKind::Terminal),
        ("waits_for_operator", |state| state.kind = StateKind::WaitsForOperator),
        ("legacy", |state| state.kind = StateKind::Legacy),
        ("deprecated", |state| state.kind = StateKind::Deprecated),
    ];
    for (verb, flag) in flags {
        collector.on(engine, verb, move |to, ctx, chain: Chain| to.flag(ctx, chain, verb, flag));
    }
}

fn slas(collector: &Collector, engine: &mut Engine) {
    collector
        .on_with(engine, "sla", |to, ctx, chain: Chain, seconds: i64| to.limit(ctx, chain, SlaDecl::Seconds(seconds)));
    collector.on_with(engine, "sla", |to, ctx, chain: Chain, number: FnPtr| {
        let number = guard(ctx, number);
        to.limit(ctx, chain, SlaDecl::Computed(number))
    });
    collector.on(engine, "no_sla", |to, ctx, chain: Chain| to.limit(ctx, chain, SlaDecl::None));
    let to = collector.clone();
    engine.register_fn("no_sla_while", move |ctx: NativeCallContext, closure: FnPtr| {
        to.lock().no_sla_while = Some(guard(&ctx, closure));
    });
    let to = collector.clone();
    engine.register_fn("initial", move |ctx: NativeCallContext, path: &str| {
        let initial = used(&ctx, path);
        to.lock().initial.push(initial);
    });
}

fn scopes(collector: &Collector, engine: &mut Engine) {
    for (verb, within) in [("within", true), ("except", false)] {
        let add = move |to: &mut Declarations, ctx: &NativeCallContext, chain: Chain, paths: Dynamic| {
            let Some(paths) = texts(paths) else {
                let message = format!("`{verb}` takes a state path or a list of them");
                let hint = "write `\"State\"` or `[\"State\", \"Other/State\"]`";
                to.diagnostics.error("type", &call_place(ctx), message, hint);
                return chain;
            };
            let paths = paths.iter().map(|path| used(ctx, path)).collect::<Vec<_>>();
            to.any(ctx, chain, |any| if within { any.within.extend(paths) } else { any.except.extend(paths) })
        };
        collector.on_with(engine, verb, move |to, ctx, chain: Chain, path: ImmutableString| {
            add(to, ctx, chain, path.into())
        });
        collector.on_with(engine, verb, move |to, ctx, chain: Chain, paths: Array| add(to, ctx, chain, paths.into()));
    }
}
