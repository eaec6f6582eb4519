//! Declares names: gates, probes, causes, actions, timeouts, limits, counters, notes.

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, Map, NativeCallContext};

use crate::{
    ir::{members::UNITS, signature::ArgumentType},
    lang::declare::{Collector, Declarations, GateDecl, Named, Use, call_place, guard, texts, used},
};

/// The gate that a chain is about.
#[derive(Clone, Copy)]
struct GateChain(usize);

/// The counter or note that a chain is about.
#[derive(Clone, Copy)]
enum KeptChain {
    Counter(usize),
    Note(usize),
}

pub(super) fn register(collector: &Collector, engine: &mut Engine) {
    gates(collector, engine);
    plain(collector, engine);
    actions(collector, engine);
    numbers(collector, engine);
    kept(collector, engine);
}

fn gates(collector: &Collector, engine: &mut Engine) {
    engine.register_type_with_name::<GateChain>("gate");
    let to = collector.clone();
    engine.register_fn("gate", move |ctx: NativeCallContext, name: &str, closure: FnPtr| {
        let gate = GateDecl { guard: guard(&ctx, closure), waits: None };
        let mut to = to.lock();
        to.reserve()?.gates.push(Named { name: name.into(), place: call_place(&ctx), value: gate });
        Ok::<_, Box<EvalAltResult>>(GateChain(to.gates.len() - 1))
    });
    collector.on_with(engine, "waits", |to, ctx, chain: GateChain, reason: ImmutableString| {
        let before = to.gates.get_mut(chain.0).and_then(|gate| gate.value.waits.replace(reason.to_string()));
        if before.is_some() {
            to.diagnostics.error("duplicate", &call_place(ctx), "the gate has a reason already", "keep one of them");
        }
        chain
    });
}

fn plain(collector: &Collector, engine: &mut Engine) {
    type NameList = fn(&mut Declarations) -> &mut Vec<Use>;
    let lists: [(&str, NameList); 3] =
        [("probe", |to| &mut to.probes), ("source", |to| &mut to.sources), ("failure_cause", |to| &mut to.causes)];
    for (verb, list) in lists {
        let to = collector.clone();
        engine.register_fn(verb, move |ctx: NativeCallContext, name: &str| {
            let name = used(&ctx, name);
            list(to.lock().reserve()?).push(name);
            Ok::<_, Box<EvalAltResult>>(())
        });
    }
}

fn actions(collector: &Collector, engine: &mut Engine) {
    let to = collector.clone();
    engine.register_fn("action", move |ctx: NativeCallContext, name: &str| {
        to.lock().actions.push(Named { name: name.into(), place: call_place(&ctx), value: Vec::new() });
    });
    let to = collector.clone();
    engine.register_fn("action", move |ctx: NativeCallContext, name: &str, types: Map| {
        let mut to = to.lock();
        let mut signature = Vec::new();
        for (argument, kind) in types {
            let kind = match kind.is_array() {
                true => texts(kind).filter(|words| !words.is_empty()).map(ArgumentType::OneOf).ok_or_else(String::new),
                false => ArgumentType::named(&kind.to_string()).ok_or_else(|| kind.to_string()),
            };
            match kind {
                Ok(kind) => signature.push((argument.as_str().into(), kind)),
                Err(other) => to.diagnostics.unknown("type", &call_place(&ctx), "type", &other, ArgumentType::NAMES),
            }
        }
        to.actions.push(Named { name: name.into(), place: call_place(&ctx), value: signature });
    });
}

fn numbers(collector: &Collector, engine: &mut Engine) {
    type NumberList = fn(&mut Declarations) -> &mut Vec<Named<i64>>;
    let lists: [(&str, NumberList); 2] = [("timeout", |to| &mut to.timeouts), ("limit", |to| &mut to.limits)];
    for (verb, list) in lists {
        let to = collector.clone();
        engine.register_fn(verb, move |ctx: NativeCallContext, name: &str, value: i64| {
            let mut to = to.lock();
            list(to.reserve()?).push(Named { name: name.into(), place: call_place(&ctx), value });
            if value < 0 {
                let message = format!("{verb} `{name}` is below zero");
                to.diagnostics.error("negative", &call_place(&ctx), message, "use a number from 0 on");
            }
            Ok::<_, Box<EvalAltResult>>(())
        });
    }
    for (unit, seconds) in UNITS {
        engine.register_fn(unit, move |n: i64| n.saturating_mul(seconds));
    }
}

fn kept(collector: &Collector, engine: &mut Engine) {
    engine.register_type_with_name::<KeptChain>("counter or note");
    let to = collector.clone();
    engine.register_fn("counter", move |ctx: NativeCallContext, name: &str| {
        let mut to = to.lock();
        to.counters.push(Named { name: name.into(), place: call_place(&ctx), value: Vec::new() });
        KeptChain::Counter(to.counters.len() - 1)
    });
    let to = collector.clone();
    engine.register_fn("note", move |ctx: NativeCallContext, name: &str, values: Array| {
        let mut to = to.lock();
        let values = texts(values.into()).unwrap_or_else(|| {
            to.diagnostics.error(
                "type",
                &call_place(&ctx),
                "the values of a note are texts",
                "write `[\"one\", \"other\"]`",
            );
            Vec::new()
        });
        to.notes.push(Named { name: name.into(), place: call_place(&ctx), value: (values, Vec::new()) });
        KeptChain::Note(to.notes.len() - 1)
    });
    let keep = |to: &Collector, ctx: &NativeCallContext, chain: KeptChain, paths: Dynamic| {
        let mut to = to.lock();
        let Some(paths) = texts(paths) else {
            let hint = "write `\"State\"` or `[\"State\", \"Other/State\"]`";
            to.diagnostics.error("type", &call_place(ctx), "`kept_in` takes a state path or a list of them", hint);
            return chain;
        };
        let paths = paths.iter().map(|path| used(ctx, path));
        match chain {
            KeptChain::Counter(counter) => to.counters.get_mut(counter).map(|counter| counter.value.extend(paths)),
            KeptChain::Note(note) => to.notes.get_mut(note).map(|note| note.value.1.extend(paths)),
        };
        chain
    };
    let to = collector.clone();
    engine.register_fn("kept_in", move |ctx: NativeCallContext, chain: KeptChain, path: &str| {
        keep(&to, &ctx, chain, path.into())
    });
    let to = collector.clone();
    engine.register_fn("kept_in", move |ctx: NativeCallContext, chain: KeptChain, paths: Array| {
        keep(&to, &ctx, chain, paths.into())
    });
}
