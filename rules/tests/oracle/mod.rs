//! The oracle of the property test: guards as rhai's own interpreter answers them. Facts come from the same dictionary;
//! health reports are worked out by hand for the two that the test's pack declares.
#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use std::sync::Arc;

use rhai::{
    AST, Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, NativeCallContext, OptimizationLevel, Scope,
    packages::{
        ArithmeticPackage, BasicArrayPackage, BasicFnPackage, BasicIteratorPackage, BasicMapPackage,
        BasicStringPackage, LogicPackage, MoreStringPackage, Package,
    },
};
use rules::{ActionRecord, ActionStatus, Dpu, HealthAlert, Snapshot, Value, fact_dictionary};
use types::ConfigVersion;

/// Guards of one pack for the interpreter.
pub(crate) struct Oracle {
    engine: Engine,
    asts: Vec<AST>,
}

type Answer<T> = Result<T, Box<EvalAltResult>>;

impl Oracle {
    /// Guards over the host `h`, with functions that they may call.
    pub(crate) fn new(functions: &str, guards: &[String]) -> Self {
        let engine = engine();
        let compile = |guard: &String| engine.compile(format!("{functions}\nfn guard(h) {{ {guard} }}")).unwrap();
        let asts = guards.iter().map(compile).collect();
        Self { engine, asts }
    }

    /// `yes`, `no`, or why there is no answer.
    pub(crate) fn answer(&self, guard: usize, host: &Snapshot) -> String {
        let host = Host(Arc::new(host.clone()));
        let answer = self.engine.call_fn::<Dynamic>(&mut Scope::new(), &self.asts[guard], "guard", (host,));
        match answer.map(|answer| answer.as_bool()) {
            Ok(Ok(true)) => "yes".to_owned(),
            Ok(Ok(false)) => "no".to_owned(),
            Ok(Err(kind)) => format!("the answer is {kind}"),
            Err(error) => match error.unwrap_inner() {
                // Of remainders rhai says the same whether the divisor is zero or the lowest number is divided by -1.
                EvalAltResult::ErrorArithmetic(text, _) if text.contains("zero") && !text.ends_with("% -1") => {
                    "division by zero".to_owned()
                }
                EvalAltResult::ErrorArithmetic(..) => "integer overflow".to_owned(),
                other => other.to_string(),
            },
        }
    }
}

#[derive(Clone)]
struct Host(Arc<Snapshot>);

#[derive(Clone)]
struct Dpus(Arc<Snapshot>);

#[derive(Clone)]
struct OneDpu(Arc<Snapshot>, usize);

#[derive(Clone)]
struct Area(Arc<Snapshot>, &'static str);

/// Alerts of a report, and whether a stored one is behind it.
#[derive(Clone)]
struct ReportValue(Vec<HealthAlert>, bool);

#[derive(Clone, Copy)]
struct Absent;

fn engine() -> Engine {
    let mut engine = Engine::new_raw();
    engine
        .set_max_expr_depths(1024, 256)
        .set_max_call_levels(64)
        .set_strict_variables(true)
        .set_optimization_level(OptimizationLevel::None)
        .set_fail_on_invalid_map_property(true);
    ArithmeticPackage::new().register_into_engine(&mut engine);
    LogicPackage::new().register_into_engine(&mut engine);
    BasicArrayPackage::new().register_into_engine(&mut engine);
    BasicMapPackage::new().register_into_engine(&mut engine);
    BasicIteratorPackage::new().register_into_engine(&mut engine);
    BasicStringPackage::new().register_into_engine(&mut engine);
    MoreStringPackage::new().register_into_engine(&mut engine);
    BasicFnPackage::new().register_into_engine(&mut engine);
    unshared(&mut engine);
    facts(&mut engine);
    dpus(&mut engine);
    lists(&mut engine);
    optional(&mut engine);
    reports(&mut engine);
    records(&mut engine);
    functions(&mut engine);
    engine
}

/// Hands out hosts and DPUs by value. A closure that uses one makes it a shared variable, and the call would hold its lock
/// while the closure reads it.
fn unshared(engine: &mut Engine) {
    #[allow(deprecated, reason = "the callback is marked as not yet stable; the version is pinned by the lock file")]
    engine.on_var(|name, _, context| {
        let Some(variable) = context.scope().get(name) else { return Ok(None) };
        let host = variable.read_lock::<Host>().map(|host| Dynamic::from(host.clone()));
        Ok(host.or_else(|| variable.read_lock::<OneDpu>().map(|dpu| Dynamic::from(dpu.clone()))))
    });
}

fn dynamic(value: Value<'_>) -> Dynamic {
    match value {
        // Guards of the property test read known facts only: what is unknown is tested by itself.
        Value::Absent | Value::Unknown => Dynamic::from(Absent),
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Text(text) => text.into(),
        Value::Version(version) => Dynamic::from(version),
        Value::Texts(texts) => texts.iter().map(|text| Dynamic::from(text.clone())).collect::<Vec<_>>().into(),
    }
}

fn facts(engine: &mut Engine) {
    for fact in fact_dictionary() {
        if fact.area == "dpu" {
            engine.register_get(fact.name, |dpu: &mut OneDpu| dynamic(fact.value(&dpu.0, dpu.0.dpus.get(dpu.1))));
            continue;
        }
        engine.register_get(fact.area, |host: &mut Host| Area(host.0.clone(), fact.area));
        // Several areas can have a fact of one name.
        engine.register_get(fact.name, |area: &mut Area| {
            let dictionary = fact_dictionary();
            let own = dictionary.iter().find(|own| own.area == area.1 && own.name == fact.name).unwrap();
            dynamic(own.value(&area.0, None))
        });
    }
}

fn dpus(engine: &mut Engine) {
    let fits = |ctx: &NativeCallContext, dpus: &Dpus, index: usize, closure: &FnPtr| {
        closure.call_within_context::<bool>(ctx, (OneDpu(dpus.0.clone(), index),))
    };
    engine
        .register_get("dpus", |host: &mut Host| Dpus(host.0.clone()))
        .register_fn("len", |dpus: &mut Dpus| i64::try_from(dpus.0.dpus.len()).unwrap())
        .register_fn("is_empty", |dpus: &mut Dpus| dpus.0.dpus.is_empty())
        .register_fn("any", move |ctx: NativeCallContext, dpus: &mut Dpus, closure: FnPtr| -> Answer<bool> {
            for index in 0..dpus.0.dpus.len() {
                if fits(&ctx, dpus, index, &closure)? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
        .register_fn("all", move |ctx: NativeCallContext, dpus: &mut Dpus, closure: FnPtr| -> Answer<bool> {
            for index in 0..dpus.0.dpus.len() {
                if !fits(&ctx, dpus, index, &closure)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .register_fn("count", move |ctx: NativeCallContext, dpus: &mut Dpus, closure: FnPtr| -> Answer<i64> {
            let mut count = 0_i64;
            for index in 0..dpus.0.dpus.len() {
                count += i64::from(fits(&ctx, dpus, index, &closure)?);
            }
            Ok(count)
        });
}

/// `all` is rhai's own; these are not.
fn lists(engine: &mut Engine) {
    engine
        .register_fn("any", |ctx: NativeCallContext, list: Array, closure: FnPtr| -> Answer<bool> {
            for item in list {
                if closure.call_within_context::<bool>(&ctx, (item,))? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
        .register_fn("count", |ctx: NativeCallContext, list: Array, closure: FnPtr| -> Answer<i64> {
            let mut count = 0_i64;
            for item in list {
                count += i64::from(closure.call_within_context::<bool>(&ctx, (item,))?);
            }
            Ok(count)
        })
        .register_fn("first", |list: Array| list.into_iter().next().unwrap_or_else(|| Dynamic::from(Absent)));
}

/// What absence means has to be said: it equals nothing.
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
    with!(i64 ImmutableString ConfigVersion);
    engine
        .register_get("known", |_: &mut Absent| false)
        .register_fn("==", |_: Absent, _: Absent| false)
        .register_fn("!=", |_: Absent, _: Absent| true)
        .register_fn("==", |a: ConfigVersion, b: ConfigVersion| a == b)
        .register_fn("!=", |a: ConfigVersion, b: ConfigVersion| a != b);
}

/// What `dpu_health` is made of.
fn of_dpu(dpu: &Dpu) -> ReportValue {
    if let Some(report) = &dpu.health.replace {
        return ReportValue(report.alerts.clone(), true);
    }
    let mut report = ReportValue(Vec::new(), false);
    let alert = |id: &str, class: &str| HealthAlert {
        id: id.to_owned(),
        classifications: vec![class.to_owned()],
        ..HealthAlert::default()
    };
    let mut agent = match &dpu.health.agent {
        Some(agent) => agent.alerts.clone(),
        None => vec![alert("Fan", "Stop")],
    };
    if dpu.reachable.known() == Some(&true) {
        agent.iter_mut().for_each(|alert| alert.classifications.clear());
    }
    report.0.extend(agent);
    report.1 |= dpu.health.agent.is_some();
    if !dpu.config_error.is_empty() {
        report.0.push(alert("Link", "Mild"));
    }
    for (source, merged) in &dpu.health.merges {
        if !source.starts_with("noise") {
            report.0.extend(merged.alerts.clone());
            report.1 = true;
        }
    }
    report
}

/// What `health` is made of.
fn of_host(host: &Snapshot) -> ReportValue {
    if let Some(report) = &host.health.replace {
        return ReportValue(report.alerts.clone(), true);
    }
    let mut report = ReportValue(Vec::new(), false);
    for of_dpu in host.dpus.iter().map(of_dpu) {
        report.0.extend(of_dpu.0);
        report.1 |= of_dpu.1;
    }
    for (source, merged) in &host.health.merges {
        if source.starts_with("mon") && host.instance.present {
            report.0.extend(merged.alerts.clone());
            report.1 = true;
        }
    }
    report
}

fn reports(engine: &mut Engine) {
    let has = |report: &ReportValue, probe: Option<&str>, class: Option<&str>| {
        report.0.iter().any(|alert| {
            probe.is_none_or(|probe| alert.id == probe)
                && class.is_none_or(|class| alert.classifications.iter().any(|known| known == class))
        })
    };
    engine
        .register_get("health", |host: &mut Host| of_host(&host.0))
        .register_get("dpu_health", |dpu: &mut OneDpu| of_dpu(&dpu.0.dpus[dpu.1]))
        .register_fn("has_class", move |report: &mut ReportValue, class: &str| has(report, None, Some(class)))
        .register_fn("has_probe", move |report: &mut ReportValue, probe: &str| has(report, Some(probe), None))
        .register_fn("has_alert", move |report: &mut ReportValue, probe: &str, class: &str| {
            has(report, Some(probe), Some(class))
        })
        .register_get("missing", |report: &mut ReportValue| !report.1)
        .register_get("alerts", |report: &mut ReportValue| i64::try_from(report.0.len()).unwrap());
}

/// Counters, notes and actions.
fn records(engine: &mut Engine) {
    let age = |host: &Snapshot, action: Option<&ActionRecord>| match action {
        Some(action) => i64::try_from((host.now - action.at) / 1_000_000).unwrap().into(),
        None => Dynamic::from(Absent),
    };
    engine
        .register_fn("action_age", move |host: &mut Host, name: &str| age(&host.0, host.0.state.actions.get(name)))
        .register_fn("action_age", move |dpu: &mut OneDpu, name: &str| age(&dpu.0, dpu.0.dpus[dpu.1].actions.get(name)))
        .register_fn("counter", |host: &mut Host, name: &str| host.0.state.counters.get(name).copied().unwrap_or(0))
        .register_fn("note", |host: &mut Host, name: &str| host.0.state.notes.get(name).cloned().unwrap_or_default())
        .register_fn("tries", |host: &mut Host, name: &str| host.0.state.actions.get(name).map_or(0, |one| one.tries));
    for (name, status) in
        [("done", ActionStatus::Done), ("failed", ActionStatus::Failed), ("running", ActionStatus::Running)]
    {
        let is = move |action: Option<&ActionRecord>| action.is_some_and(|action| action.status == status);
        engine
            .register_fn(name, move |host: &mut Host, name: &str| is(host.0.state.actions.get(name)))
            .register_fn(name, move |dpu: &mut OneDpu, name: &str| is(dpu.0.dpus[dpu.1].actions.get(name)));
    }
}

fn functions(engine: &mut Engine) {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    engine
        .register_fn("within", |path: &str, prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .register_fn("version_at_least", move |version: &str, least: &str| {
            !numbers(version).is_empty() && numbers(version) >= numbers(least)
        })
        .register_fn("minutes", |n: i64| n.saturating_mul(60))
        .register_fn("hours", |n: i64| n.saturating_mul(3600))
        .register_fn("timeout", |_: &str| 120_i64)
        .register_fn("limit", |_: &str| 3_i64);
}
