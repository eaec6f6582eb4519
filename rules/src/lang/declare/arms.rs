//! Declares arms (`go`, `pass`, `wait`, `fail`, `delete`, `steps`) and their modifiers.

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, Map, NativeCallContext};

use crate::{
    ir::{
        decision::Argument,
        guard::{Polarity, Selection},
    },
    lang::declare::{
        ActionDecl, ArmDecl, Collector, Declarations, Named, OnFailureDecl, Use, VerbDecl, call_place, guard,
        states::Chain, used,
    },
};

impl Declarations {
    fn add_arm(&mut self, ctx: &NativeCallContext, chain: Chain, verb: VerbDecl) -> Result<Chain, Box<EvalAltResult>> {
        let Some(block) = self.reserve()?.blocks.get_mut(chain.block) else { return Ok(chain) };
        block.arms.push(ArmDecl {
            place: call_place(ctx),
            verb,
            conditions: Vec::new(),
            select: None,
            split: None,
            actions: Vec::new(),
            counts: Vec::new(),
            resets: Vec::new(),
            notes: Vec::new(),
            cause: None,
            clears_failure: None,
            or_fail: false,
        });
        Ok(Chain { arm: Some(block.arms.len() - 1), ..chain })
    }

    /// Changes the arm that was added last.
    fn arm(&mut self, ctx: &NativeCallContext, chain: Chain, change: impl FnOnce(&mut ArmDecl)) -> Chain {
        let arm = chain.arm.and_then(|arm| self.blocks.get_mut(chain.block)?.arms.get_mut(arm));
        match arm {
            Some(arm) => change(arm),
            None => {
                let message = format!("`{}` is for an arm, and there is none before it", ctx.fn_name());
                let hint = "put it after `go`, `pass`, `wait`, `fail` or `delete`";
                self.diagnostics.error("misplaced-verb", &call_place(ctx), message, hint);
            }
        }
        chain
    }

    /// Changes the last action of the last arm.
    fn action(&mut self, ctx: &NativeCallContext, chain: Chain, change: impl FnOnce(&mut ActionDecl)) -> Chain {
        let arm = chain.arm.and_then(|arm| self.blocks.get_mut(chain.block)?.arms.get_mut(arm));
        match arm.and_then(|arm| arm.actions.last_mut()) {
            Some(action) => change(action),
            None => {
                let message = format!("`{}` is for an action, and there is none before it", ctx.fn_name());
                self.diagnostics.error("misplaced-verb", &call_place(ctx), message, "put it after `does`");
            }
        }
        chain
    }
}

pub(super) fn register(collector: &Collector, engine: &mut Engine) {
    verbs(collector, engine);
    conditions(collector, engine);
    actions(collector, engine);
    effects(collector, engine);
}

fn verbs(collector: &Collector, engine: &mut Engine) {
    type Make = fn(&NativeCallContext, &str) -> VerbDecl;
    let verbs: [(&str, Make); 6] = [
        ("go", |ctx, to| VerbDecl::Go(used(ctx, to))),
        ("host_go", |ctx, to| VerbDecl::HostGo(used(ctx, to))),
        ("steps", |ctx, steps| VerbDecl::Steps(used(ctx, steps))),
        ("pass", |ctx, gate| VerbDecl::Pass(used(ctx, gate))),
        ("wait", |_, reason| VerbDecl::Wait(reason.to_owned())),
        ("fail", |_, reason| VerbDecl::Fail(reason.to_owned())),
    ];
    for (verb, make) in verbs {
        let to = collector.clone();
        engine.register_fn(verb, move |ctx: NativeCallContext, chain: Chain, of: &str| {
            let verb = make(&ctx, of);
            to.lock().add_arm(&ctx, chain, verb)
        });
    }
    let to = collector.clone();
    engine.register_fn("delete", move |ctx: NativeCallContext, chain: Chain| {
        to.lock().add_arm(&ctx, chain, VerbDecl::Delete)
    });
}

fn conditions(collector: &Collector, engine: &mut Engine) {
    for (verb, polarity) in [("when", Polarity::When), ("unless", Polarity::Unless)] {
        collector.on_with(engine, verb, move |to, ctx, chain: Chain, closure: FnPtr| {
            let condition = (guard(ctx, closure), polarity);
            to.arm(ctx, chain, |arm| arm.conditions.push(condition))
        });
    }
    for (verb, selection) in [("each_dpu", Selection::Each), ("first_dpu", Selection::First)] {
        collector.on_with(engine, verb, move |to, ctx, chain: Chain, closure: FnPtr| {
            let select = (guard(ctx, closure), selection);
            to.arm(ctx, chain, |arm| arm.select = Some(select))
        });
    }
    collector.on_with(engine, "for_dpus", |to, ctx, chain: Chain, closure: FnPtr| {
        let split = guard(ctx, closure);
        to.arm(ctx, chain, |arm| arm.split = Some((split, None)))
    });
    collector.on_with(engine, "others", |to, ctx, chain: Chain, state: ImmutableString| {
        let others = used(ctx, &state);
        let mut misplaced = false;
        to.arm(ctx, chain, |arm| match &mut arm.split {
            Some((_, state)) => *state = Some(others),
            None => misplaced = true,
        });
        if misplaced {
            to.diagnostics.error(
                "misplaced-verb",
                &call_place(ctx),
                "`others` is for the DPUs that `for_dpus` leaves, and there is none before it",
                "put it after `for_dpus`",
            );
        }
        chain
    });
}

fn actions(collector: &Collector, engine: &mut Engine) {
    collector.on_with(engine, "does", |to, ctx, chain: Chain, name: ImmutableString| {
        let action = ActionDecl { name: used(ctx, &name), args: Vec::new(), on_failure: OnFailureDecl::Stay };
        to.arm(ctx, chain, |arm| arm.actions.push(action))
    });
    let to = collector.clone();
    engine.register_fn("does", move |ctx: NativeCallContext, chain: Chain, name: &str, args: Map| {
        let mut to = to.lock();
        let mut given = Vec::new();
        for (key, value) in args {
            match argument(value) {
                Some(value) => given.push(Named { name: key.as_str().into(), place: call_place(&ctx), value }),
                None => {
                    let message =
                        format!("argument `{key}` has to be true or false, a number, a text or a list of texts");
                    to.diagnostics.error("type", &call_place(&ctx), message, "write `#{ name: value, … }`");
                }
            }
        }
        let action = ActionDecl { name: used(&ctx, name), args: given, on_failure: OnFailureDecl::Stay };
        to.arm(&ctx, chain, |arm| arm.actions.push(action))
    });
    collector.on(engine, "ignoring_failure", |to, ctx, chain: Chain| {
        to.action(ctx, chain, |action| action.on_failure = OnFailureDecl::Ignore)
    });
    collector.on_with(engine, "or_go", |to, ctx, chain: Chain, state: ImmutableString| {
        let state = used(ctx, &state);
        to.action(ctx, chain, |action| action.on_failure = OnFailureDecl::Go(state))
    });
}

fn argument(value: Dynamic) -> Option<Argument> {
    if let Ok(value) = value.as_bool() {
        return Some(Argument::Bool(value));
    }
    if let Ok(value) = value.as_int() {
        return Some(Argument::Int(value));
    }
    if value.is_string() {
        return Some(Argument::Text(value.to_string().into()));
    }
    let items: Array = value.into_array().ok()?;
    let items = items.into_iter().map(|item| item.into_string().ok().map(Into::into)).collect::<Option<_>>()?;
    Some(Argument::Texts(items))
}

fn effects(collector: &Collector, engine: &mut Engine) {
    type Add = fn(&mut ArmDecl, Use);
    let names: [(&str, Add); 3] = [
        ("count", |arm, counter| arm.counts.push(counter)),
        ("reset", |arm, counter| arm.resets.push(counter)),
        ("cause", |arm, cause| arm.cause = Some(cause)),
    ];
    for (verb, add) in names {
        collector.on_with(engine, verb, move |to, ctx, chain: Chain, name: ImmutableString| {
            let name = used(ctx, &name);
            to.arm(ctx, chain, |arm| add(arm, name))
        });
    }
    let to = collector.clone();
    engine.register_fn("note", move |ctx: NativeCallContext, chain: Chain, note: &str, value: &str| {
        let note = Named { name: note.into(), place: call_place(&ctx), value: value.to_owned() };
        to.lock().arm(&ctx, chain, |arm| arm.notes.push(note))
    });
    collector.on(engine, "clears_failure", |to, ctx, chain: Chain| {
        let place = call_place(ctx);
        to.arm(ctx, chain, |arm| arm.clears_failure = Some(place))
    });
    collector.on(engine, "or_fail", |to, ctx, chain: Chain| to.arm(ctx, chain, |arm| arm.or_fail = true));
}
