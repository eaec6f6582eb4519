//! Guards that stay with rhai, and the types they see there.
//!
//! The interpreter and the native predicates are two readers of one dictionary: both take values from the same
//! getters, so they can differ only in the operators, and a property test holds those together.

use std::sync::{Arc, Weak};

use proto::ConfigVersion;
use rhai::{AST, Dynamic, Engine, EvalAltResult, FnPtr, NativeCallContext};

use crate::{
    eval::{
        env::{Env, Shared},
        evaluate::{action_age, version_at_least},
    },
    ir::{
        health::Reports,
        limits,
        pack::Pack,
        predicate::{Answer, GuardError, Owner, Query, ReportRef},
        sandbox::sandbox,
        snapshot::{ActionStatus, Dpu, Snapshot, Value, areas, facts},
        state_path::is_within,
    },
};

/// The closure's answer as a bool.
pub(crate) fn ask(closure: &FnPtr, env: &Env<'_>, of_dpu: bool) -> Answer<bool> {
    let answer = call(closure, env, of_dpu)?.map_err(|error| kind(&error))?;
    answer.as_bool().map_err(|_| GuardError::Script)
}

/// The closure's answer as a number.
pub(crate) fn number(closure: &FnPtr, env: &Env<'_>) -> Answer<i64> {
    let answer = call(closure, env, false)?.map_err(|error| kind(&error))?;
    answer.as_int().map_err(|_| GuardError::Script)
}

/// What is wrong with the answer, in words.
pub(crate) fn error(closure: &FnPtr, env: &Env<'_>, of_dpu: bool) -> Option<String> {
    let called = match call(closure, env, of_dpu) {
        Ok(called) => called,
        Err(error) => return Some(error.to_string()),
    };
    match called {
        Ok(answer) => answer.as_bool().err().map(|kind| format!("the answer is {kind}, not true or false")),
        Err(error) => match kind(&error) {
            GuardError::Script => Some(match error.unwrap_inner() {
                EvalAltResult::ErrorTooManyOperations(_) | EvalAltResult::ErrorTerminated(..) => {
                    format!("it takes more than {} steps", limits::GUARD_OPERATIONS)
                }
                inner => inner.to_string(),
            }),
            plain => Some(plain.to_string()),
        },
    }
}

/// What the closure answers, or why it cannot. The outer error is that no steps are left to it.
fn call(closure: &FnPtr, env: &Env<'_>, of_dpu: bool) -> Answer<Result<Dynamic, Box<EvalAltResult>>> {
    let Some(interpreter) = env.interpreter() else { return Err(GuardError::Script) };
    let host = env.shared();
    let called = env.metered(|| {
        if of_dpu {
            let index = env.host.dpus.iter().position(|dpu| std::ptr::eq(dpu, env.dpu(0))).unwrap_or(0);
            let dpu = DpuValue { host: host.clone(), index };
            closure.call::<Dynamic>(&interpreter.engine, &interpreter.library, (HostValue(host.clone()), dpu))
        } else {
            closure.call::<Dynamic>(&interpreter.engine, &interpreter.library, (HostValue(host.clone()),))
        }
    });
    match called {
        Some(Ok(answer)) => Ok(Ok(answer)),
        Some(error) if !env.out_of_steps() => Ok(error),
        _ => Err(GuardError::Steps),
    }
}

fn kind(error: &EvalAltResult) -> GuardError {
    match error.unwrap_inner() {
        // Of remainders rhai says the same whether the divisor is zero or the lowest number is divided by -1.
        EvalAltResult::ErrorArithmetic(text, _) if text.contains("zero") && !text.ends_with("% -1") => {
            GuardError::DivisionByZero
        }
        EvalAltResult::ErrorArithmetic(..) => GuardError::Overflow,
        _ => GuardError::Script,
    }
}

/// The engine that interpreted guards of one pack share.
pub(crate) struct Interpreter {
    engine: Engine,
    library: Arc<AST>,
}

impl std::fmt::Debug for Interpreter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interpreter")
    }
}

#[derive(Clone)]
struct HostValue(Arc<Snapshot>);

#[derive(Clone)]
struct DpusValue(Arc<Snapshot>);

#[derive(Clone)]
struct DpuValue {
    host: Arc<Snapshot>,
    index: usize,
}

/// One area of the host; a type of its own for each, so that rhai tells their facts apart.
#[derive(Clone)]
struct AreaValue<const AREA: usize>(Arc<Snapshot>);

#[derive(Clone)]
struct ReportValue {
    host: Arc<Snapshot>,
    dpu: Option<usize>,
    report: usize,
}

/// A fact that nobody has supplied. Equal to nothing.
#[derive(Clone, Copy)]
struct Absent;

fn dynamic(value: Value<'_>) -> Dynamic {
    match value {
        Value::Absent => Dynamic::from(Absent),
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Text(text) => text.into(),
        Value::Version(version) => Dynamic::from(version),
        Value::Texts(texts) => texts.iter().map(|text| Dynamic::from(text.clone())).collect::<Vec<_>>().into(),
    }
}

impl DpuValue {
    fn dpu(&self) -> Result<&Dpu, Box<EvalAltResult>> {
        self.host.dpus.get(self.index).ok_or_else(|| "the DPU is gone".into())
    }
}

impl Interpreter {
    pub(crate) fn new(pack: &Pack) -> Arc<Self> {
        Arc::new_cyclic(|own| Self::knowing(own.clone(), pack))
    }

    fn knowing(own: Weak<Self>, pack: &Pack) -> Self {
        let mut engine = sandbox(limits::GUARD_OPERATIONS);
        unshared(&mut engine);
        host(&mut engine, &pack.reports);
        dpu(&mut engine, &pack.reports);
        register_areas(&mut engine);
        optional(&mut engine);
        values(&mut engine, pack);
        report(&mut engine, pack.reports.clone(), own);
        records(&mut engine);
        Self { engine, library: pack.library.clone() }
    }
}

/// Hands out hosts and DPUs by value. A closure in `h.dpus.all(|d| …)` that uses `h` makes it a shared variable, and the
/// call would hold its lock while the closure reads it.
fn unshared(engine: &mut Engine) {
    #[allow(deprecated, reason = "the callback is marked as not yet stable; the version is pinned by the lock file")]
    engine.on_var(|name, _, context| {
        let Some(variable) = context.scope().get(name) else { return Ok(None) };
        let host = variable.read_lock::<HostValue>().map(|host| Dynamic::from(host.clone()));
        Ok(host.or_else(|| variable.read_lock::<DpuValue>().map(|dpu| Dynamic::from(dpu.clone()))))
    });
}

fn host(engine: &mut Engine, reports: &Reports) {
    engine
        .register_type_with_name::<HostValue>("Host")
        .register_get("dpus", |host: &mut HostValue| DpusValue(host.0.clone()))
        .register_type_with_name::<DpusValue>("Dpus")
        .register_fn("len", |dpus: &mut DpusValue| i64::try_from(dpus.0.dpus.len()).unwrap_or(i64::MAX))
        .register_fn("is_empty", |dpus: &mut DpusValue| dpus.0.dpus.is_empty())
        .register_fn("any", |ctx: NativeCallContext, dpus: &mut DpusValue, closure: FnPtr| {
            for index in 0..dpus.0.dpus.len() {
                if fits(&ctx, dpus, index, &closure)? {
                    return Ok(true);
                }
            }
            Ok::<_, Box<EvalAltResult>>(false)
        })
        .register_fn("all", |ctx: NativeCallContext, dpus: &mut DpusValue, closure: FnPtr| {
            for index in 0..dpus.0.dpus.len() {
                if !fits(&ctx, dpus, index, &closure)? {
                    return Ok(false);
                }
            }
            Ok::<_, Box<EvalAltResult>>(true)
        })
        .register_fn("count", |ctx: NativeCallContext, dpus: &mut DpusValue, closure: FnPtr| {
            let mut count = 0_i64;
            for index in 0..dpus.0.dpus.len() {
                count += i64::from(fits(&ctx, dpus, index, &closure)?);
            }
            Ok::<_, Box<EvalAltResult>>(count)
        });
    for (report, declared) in reports.reports.iter().enumerate() {
        let name = &declared.name;
        if !declared.of_dpu {
            engine.register_get(name, move |host: &mut HostValue| ReportValue {
                host: host.0.clone(),
                dpu: None,
                report,
            });
        }
    }
}

fn fits(ctx: &NativeCallContext, dpus: &DpusValue, index: usize, closure: &FnPtr) -> Result<bool, Box<EvalAltResult>> {
    let dpu = DpuValue { host: dpus.0.clone(), index };
    closure.call_within_context::<bool>(ctx, (dpu,))
}

fn dpu(engine: &mut Engine, reports: &Reports) {
    engine.register_type_with_name::<DpuValue>("Dpu");
    for fact in facts("dpu") {
        engine.register_get(fact.name, |dpu: &mut DpuValue| {
            Ok::<_, Box<EvalAltResult>>(dynamic((fact.get)(&dpu.host, dpu.dpu()?)))
        });
    }
    for (report, declared) in reports.reports.iter().enumerate() {
        let name = &declared.name;
        if declared.of_dpu {
            engine.register_get(name, move |dpu: &mut DpuValue| ReportValue {
                host: dpu.host.clone(),
                dpu: Some(dpu.index),
                report,
            });
        }
    }
}

macro_rules! each_area {
    ($engine:ident: $($number:literal)+) => { $( area::<$number>($engine); )+ };
}

fn register_areas(engine: &mut Engine) {
    each_area!(engine: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

fn area<const AREA: usize>(engine: &mut Engine) {
    let Some(name) = areas().nth(AREA) else { return };
    engine
        .register_type_with_name::<AreaValue<AREA>>(name)
        .register_get(name, |host: &mut HostValue| AreaValue::<AREA>(host.0.clone()));
    for fact in facts(name) {
        engine.register_get(fact.name, |area: &mut AreaValue<AREA>| {
            static NONE: std::sync::LazyLock<Dpu> = std::sync::LazyLock::new(Dpu::default);
            dynamic((fact.get)(&area.0, &NONE))
        });
    }
}

/// What absence means has to be said: it has no order, and equals nothing.
fn optional(engine: &mut Engine) {
    macro_rules! with {
        ($($kind:ty)+) => { $(
            engine
                .register_get("known", |_: &mut $kind| true)
                .register_fn("or", |value: &mut $kind, _: $kind| value.clone())
                .register_fn("or", |_: &mut Absent, default: $kind| default)
                .register_fn("==", |_: Absent, _: $kind| false)
                .register_fn("==", |_: $kind, _: Absent| false)
                .register_fn("!=", |_: Absent, _: $kind| true)
                .register_fn("!=", |_: $kind, _: Absent| true);
        )+ };
    }
    with!(i64 rhai::ImmutableString ConfigVersion);
    engine
        .register_type_with_name::<Absent>("absent fact")
        .register_get("known", |_: &mut Absent| false)
        .register_fn("==", |_: Absent, _: Absent| false)
        .register_fn("!=", |_: Absent, _: Absent| true);
    for order in ["<", "<=", ">", ">="] {
        engine
            .register_fn(order, |_: Absent, _: Dynamic| no_order())
            .register_fn(order, |_: Dynamic, _: Absent| no_order());
    }
}

fn no_order() -> Result<bool, Box<EvalAltResult>> {
    Err("an absent fact is neither more nor less than anything: use `.or(…)`".into())
}

fn values(engine: &mut Engine, pack: &Pack) {
    let (timeouts, limits) = (pack.timeouts.clone(), pack.limits.clone());
    engine
        .register_type_with_name::<ConfigVersion>("version")
        .register_fn("==", |a: ConfigVersion, b: ConfigVersion| a == b)
        .register_fn("!=", |a: ConfigVersion, b: ConfigVersion| a != b)
        .register_fn("within", is_within)
        .register_fn("version_at_least", version_at_least)
        .register_fn("seconds", |n: i64| n)
        .register_fn("minutes", |n: i64| n.saturating_mul(60))
        .register_fn("hours", |n: i64| n.saturating_mul(3600))
        .register_fn("days", |n: i64| n.saturating_mul(86_400))
        .register_fn("timeout", move |name: &str| lookup(&timeouts, "timeout", name))
        .register_fn("limit", move |name: &str| lookup(&limits, "limit", name));
}

fn lookup(
    table: &std::collections::BTreeMap<Arc<str>, i64>,
    what: &str,
    name: &str,
) -> Result<i64, Box<EvalAltResult>> {
    table.get(name).copied().ok_or_else(|| format!("unknown {what} `{name}`").into())
}

fn report(engine: &mut Engine, reports: Arc<Reports>, own: Weak<Interpreter>) {
    let ask = move |report: &ReportValue, query: &Query| -> Result<(bool, i64), Box<EvalAltResult>> {
        let shared = Shared::of(report.host.clone(), own.upgrade().as_ref());
        let mut env = Env::new(&report.host, &reports, &shared);
        if let Some(dpu) = report.dpu.and_then(|index| report.host.dpus.get(index)) {
            env = env.with(0, dpu);
        }
        let at = ReportRef { report: report.report, depth: 0 };
        let answer = reports.ask(at, query, &env).map_err(|error| error.to_string())?;
        let count = reports.count(at, &env).map_err(|error| error.to_string())?;
        Ok((answer, i64::try_from(count).unwrap_or(i64::MAX)))
    };
    let ask = Arc::new(ask);
    engine.register_type_with_name::<ReportValue>("health report");
    let by = ask.clone();
    engine.register_fn("has_class", move |report: &mut ReportValue, class: &str| {
        by(report, &Query::Has { probe: None, class: Some(class.into()) }).map(|(has, _)| has)
    });
    let by = ask.clone();
    engine.register_fn("has_probe", move |report: &mut ReportValue, probe: &str| {
        by(report, &Query::Has { probe: Some(probe.into()), class: None }).map(|(has, _)| has)
    });
    let by = ask.clone();
    engine.register_fn("has_alert", move |report: &mut ReportValue, probe: &str, class: &str| {
        by(report, &Query::Has { probe: Some(probe.into()), class: Some(class.into()) }).map(|(has, _)| has)
    });
    let by = ask.clone();
    engine.register_get("missing", move |report: &mut ReportValue| {
        by(report, &Query::Missing).map(|(missing, _)| missing)
    });
    engine.register_get("alerts", move |report: &mut ReportValue| ask(report, &Query::Missing).map(|(_, count)| count));
}

/// Counters, notes and actions.
fn records(engine: &mut Engine) {
    macro_rules! of_both {
        ($($name:literal => |$env:ident, $owner:ident, $key:ident| $value:expr;)+) => { $(
            engine
                .register_fn($name, |host: &mut HostValue, $key: &str| {
                    let (reports, shared) = (Reports::default(), Shared::of(host.0.clone(), None));
                    let ($env, $owner) = (Env::new(&host.0, &reports, &shared), Owner::Host);
                    $value
                })
                .register_fn($name, |dpu: &mut DpuValue, $key: &str| {
                    let (reports, shared) = (Reports::default(), Shared::of(dpu.host.clone(), None));
                    let ($env, $owner) = (Env::new(&dpu.host, &reports, &shared).with(0, dpu.dpu()?), Owner::Dpu(0));
                    $value
                });
        )+ };
    }
    type Fallible<T> = Result<T, Box<EvalAltResult>>;
    of_both! {
        "counter" => |env, owner, name| Fallible::Ok(env.counter(owner, name));
        "note" => |env, owner, name| Fallible::Ok(env.note(owner, name).to_owned());
        "tries" => |env, owner, name| Fallible::Ok(env.action(owner, name).map_or(0, |record| record.tries));
        "done" => |env, owner, name| Fallible::Ok(status(&env, owner, name, ActionStatus::Done));
        "failed" => |env, owner, name| Fallible::Ok(status(&env, owner, name, ActionStatus::Failed));
        "running" => |env, owner, name| Fallible::Ok(status(&env, owner, name, ActionStatus::Running));
        "action_age" => |env, owner, name| Fallible::Ok(
            env.action(owner, name).map_or(Dynamic::from(Absent), |record| action_age(&env, record).into())
        );
    }
}

fn status(env: &Env<'_>, owner: Owner, name: &str, status: ActionStatus) -> bool {
    env.action(owner, name).is_some_and(|record| record.status == status)
}
