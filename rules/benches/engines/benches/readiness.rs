//! The readiness decision of `Assigned/WaitingForNetworkConfig`, over the same snapshots, by hand in Rust, by the shipped
//! rules, by Rego (regorus: interpreter and virtual machine) and by CEL: over the raw snapshot, and over facts that were
//! digested in Rust before. Each is first held against one snapshot for each outcome.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench stops where a test would")]

#[path = "../../by_hand.rs"]
mod by_hand;

use std::{
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use cel::{Context, Env, Program};
use regorus::{Engine, Rc, Value, languages::rego::compiler::Compiler, rvm::vm::RegoVM};
use rules::{Decision, LoadOptions, RuleSet, Snapshot, load_pack_with};
use serde_json::json;

const RULE: &str = "data.gate.decision";

/// Time that one contender has in one round.
const ROUND: Duration = Duration::from_millis(8);
const ROUNDS: u32 = 40;

const RULES: &str = "rules";
const TRACED: &str = "rules, with the trace kept";
const RAW: &str = "rego, virtual machine, raw snapshot";
const DIGESTED: &str = "rego, virtual machine, digested";
const DIGESTION: &str = "digestion of the facts";

fn pack(options: &LoadOptions) -> RuleSet {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../managed_host");
    let pack = std::env::var_os("RULES_PACK").map_or(pack, Into::into);
    load_pack_with(&pack, options).unwrap_or_else(|faults| panic!("{faults}"))
}

fn by_rules(rules: &RuleSet, host: &Snapshot) -> String {
    match rules.decide(host).decision {
        Decision::Go(_) => "go".to_owned(),
        Decision::Wait(wait) => wait.gate.unwrap().to_string(),
        other => panic!("{other:?}"),
    }
}

fn raw(host: &Snapshot) -> Value {
    Value::from_json_str(&serde_json::to_string(host).unwrap()).unwrap()
}

/// The facts as a policy without loops needs them.
fn digest(host: &Snapshot) -> serde_json::Value {
    json!({
        "deletion_requested": host.instance.deletion_requested,
        "network_outdated": by_hand::network_outdated(host),
        "other_nics_synced": host.host.other_nics_synced,
        "instance_outdated": by_hand::instance_outdated(host),
        "blocked": by_hand::blocked(host),
        "uplink_down": by_hand::uplink_down(host),
        "fabrics_synced": by_hand::fabrics_synced(host),
    })
}

fn engine(policy: &str) -> Engine {
    let mut engine = Engine::new();
    engine.add_policy("gate.rego".into(), policy.into()).unwrap();
    engine
}

fn machine(policy: &str) -> RegoVM {
    let entry: Rc<str> = RULE.into();
    let compiled = engine(policy).compile_with_entrypoint(&entry).unwrap();
    let mut machine = RegoVM::new();
    machine.load_program(Compiler::compile_from_policy(&compiled, &[RULE]).unwrap());
    machine
}

fn execute(machine: &mut RegoVM, input: &Value) -> String {
    machine.set_input(input.clone());
    machine.execute().unwrap().as_string().unwrap().to_string()
}

struct Cel {
    env: Arc<Env>,
    program: Program,
}

impl Cel {
    fn new(text: &str) -> Self {
        let env = Arc::new(Env::stdlib());
        let program = env.compile(text).unwrap();
        Self { env, program }
    }

    fn context(&self, name: &str, value: &impl serde::Serialize) -> Context<'static, 'static> {
        let mut context = Context::with_env(self.env.clone());
        context.add_variable_from_value(name, cel::to_value(value).unwrap());
        context
    }

    fn ask(&self, context: &Context<'_, '_>) -> String {
        match self.program.execute(context).unwrap() {
            cel::Value::String(text) => text.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

const RAW_REGO: &str = include_str!("gate.rego");
const DIGESTED_REGO: &str = include_str!("digested.rego");
const RAW_CEL: &str = include_str!("gate.cel");
const DIGESTED_CEL: &str = include_str!("digested.cel");

fn agree() {
    let rules = pack(&LoadOptions::default());
    let (raw_cel, digested_cel) = (Cel::new(RAW_CEL), Cel::new(DIGESTED_CEL));
    let (mut reused, mut reused_digested) = (machine(RAW_REGO), machine(DIGESTED_REGO));
    for (expected, host) in by_hand::outcomes() {
        let facts = Value::from_json_str(&digest(&host).to_string()).unwrap();
        let mut interpreter = engine(RAW_REGO);
        interpreter.set_input(raw(&host));
        let answers = [
            ("by hand", by_hand::gate(&host).to_owned()),
            ("rules", by_rules(&rules, &host)),
            ("rego, interpreted", interpreter.eval_rule(RULE.into()).unwrap().as_string().unwrap().to_string()),
            ("rego, fresh machine", execute(&mut machine(RAW_REGO), &raw(&host))),
            ("rego, used machine", execute(&mut reused, &raw(&host))),
            ("rego, digested", execute(&mut machine(DIGESTED_REGO), &facts)),
            ("rego, digested, used machine", execute(&mut reused_digested, &facts)),
            ("cel", raw_cel.ask(&raw_cel.context("h", &host))),
            ("cel, digested", digested_cel.ask(&digested_cel.context("f", &digest(&host)))),
        ];
        for (engine, answer) in &answers {
            assert_eq!(answer, expected, "{engine}");
        }
        println!("{} engines agree on {expected}", answers.len());
    }
}

/// One way to decide, measured.
struct Contender<'a> {
    name: &'static str,
    /// Decides so many times.
    run: Box<dyn FnMut(u32) + 'a>,
    /// Nanoseconds a decision, one value a round.
    rounds: Vec<f64>,
}

impl<'a> Contender<'a> {
    fn new<T>(name: &'static str, mut decide: impl FnMut() -> T + 'a) -> Self {
        let run = move |times| {
            for _ in 0..times {
                black_box(decide());
            }
        };
        Self { name, run: Box::new(run), rounds: Vec::new() }
    }

    fn time(&mut self, times: u32) -> Duration {
        let start = Instant::now();
        (self.run)(times);
        start.elapsed()
    }

    /// How often it decides in one round.
    fn times(&mut self) -> u32 {
        let mut times = 1;
        while self.time(times) < ROUND / 4 {
            times *= 2;
        }
        times * 4
    }

    fn nanos(&self) -> f64 {
        let mut rounds = self.rounds.clone();
        rounds.sort_by(f64::total_cmp);
        rounds.first().copied().unwrap_or_default()
    }
}

/// In turn, round by round, so that what else the machine does hits all alike.
fn measure(contenders: &mut [Contender<'_>]) {
    let times: Vec<u32> = contenders.iter_mut().map(Contender::times).collect();
    for _ in 0..ROUNDS {
        for (contender, times) in contenders.iter_mut().zip(&times) {
            let taken = contender.time(*times).as_nanos() as f64;
            contender.rounds.push(taken / f64::from(*times));
        }
    }
}

fn main() {
    agree();
    let host = by_hand::ready_host();
    let rules = pack(&LoadOptions::default());
    let (raw_facts, digested) = (raw(&host), digest(&host));
    let digested_facts = Value::from_json_str(&digested.to_string()).unwrap();
    let (mut interpreter, mut of_raw, mut of_digested) = (engine(RAW_REGO), machine(RAW_REGO), machine(DIGESTED_REGO));
    let (raw_cel, digested_cel) = (Cel::new(RAW_CEL), Cel::new(DIGESTED_CEL));
    let (raw_context, digested_context) = (raw_cel.context("h", &host), digested_cel.context("f", &digested));
    let mut contenders = [
        Contender::new("by hand in Rust", || by_hand::gate(black_box(&host))),
        Contender::new(RULES, || rules.decision(black_box(&host))),
        Contender::new(TRACED, || rules.decide(black_box(&host))),
        Contender::new(RAW, || {
            of_raw.set_input(raw_facts.clone());
            of_raw.execute().unwrap()
        }),
        Contender::new("rego, interpreter, raw snapshot", || {
            interpreter.set_input(raw_facts.clone());
            interpreter.eval_rule(RULE.into()).unwrap()
        }),
        Contender::new("cel, raw snapshot", || raw_cel.program.execute(&raw_context).unwrap()),
        Contender::new(DIGESTION, || digest(black_box(&host))),
        Contender::new(DIGESTED, || {
            of_digested.set_input(digested_facts.clone());
            of_digested.execute().unwrap()
        }),
        Contender::new("cel, digested facts", || digested_cel.program.execute(&digested_context).unwrap()),
    ];
    measure(&mut contenders);
    report(&contenders);
}

fn report(contenders: &[Contender<'_>]) {
    let nanos = |name| contenders.iter().find(|one| one.name == name).map_or(f64::NAN, Contender::nanos);
    let own = nanos(RULES);
    println!("\n{:36} {:>10} {:>14}", "a decision of", "µs", "times as long");
    for contender in contenders {
        println!("{:36} {:10.3} {:14.1}", contender.name, contender.nanos() / 1000.0, contender.nanos() / own);
    }
    let raw = nanos(RAW) / own;
    let digested = (nanos(DIGESTED) + nanos(DIGESTION)) / own;
    println!("\nrules against the Rego machine on the raw snapshot: {raw:.0} times as fast (at least 60)");
    println!("rules against it on digested facts, digestion counted: {digested:.1} times as fast (at least 8)");
    println!("with the trace: {:.2} times as long (at most 2)", nanos(TRACED) / own);
}
