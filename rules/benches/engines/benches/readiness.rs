//! The readiness decision of `Assigned/WaitingForNetworkConfig`, over the same snapshots, by hand in Rust, by the shipped
//! rules, by Rego (regorus: interpreter and virtual machine) and by CEL: over the raw snapshot, and over facts that were
//! digested in Rust before. Each is first held against one snapshot for each outcome.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench stops where a test would")]

#[path = "../../by_hand.rs"]
mod by_hand;

use std::{path::Path, sync::Arc};

use cel::{Context, Env, Program};
use divan::{Bencher, black_box};
use regorus::{Engine, Rc, Value, languages::rego::compiler::Compiler, rvm::vm::RegoVM};
use rules::{Decision, RuleSet, Snapshot, load_pack};
use serde_json::json;

const RULE: &str = "data.gate.decision";

fn main() {
    agree();
    divan::main();
}

fn pack() -> RuleSet {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../managed_host");
    load_pack(&std::env::var_os("RULES_PACK").map_or(pack, Into::into)).unwrap_or_else(|faults| panic!("{faults}"))
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
        "fabrics_synced": host.instance.infiniband_synced && host.instance.nvlink_synced,
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
    let rules = pack();
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
        for (engine, answer) in answers {
            let verdict = if answer == expected { "right" } else { "WRONG" };
            println!("{expected:28} {engine:28} {answer:28} {verdict}");
        }
    }
}

#[divan::bench(sample_size = 1000)]
fn by_hand_in_rust(bencher: Bencher) {
    let host = by_hand::ready_host();
    bencher.bench_local(|| by_hand::gate(black_box(&host)));
}

#[divan::bench(sample_size = 1000)]
fn rules_without_trace(bencher: Bencher) {
    let (rules, host) = (pack(), by_hand::ready_host());
    bencher.bench_local(|| rules.decision(black_box(&host)));
}

#[divan::bench(sample_size = 1000)]
fn rules_with_trace(bencher: Bencher) {
    let (rules, host) = (pack(), by_hand::ready_host());
    bencher.bench_local(|| rules.decide(black_box(&host)));
}

#[divan::bench(sample_size = 100)]
fn rego_raw_interpreter(bencher: Bencher) {
    let (mut engine, input) = (engine(RAW_REGO), raw(&by_hand::ready_host()));
    bencher.bench_local(|| {
        engine.set_input(input.clone());
        engine.eval_rule(RULE.into()).unwrap()
    });
}

#[divan::bench(sample_size = 100)]
fn rego_raw_machine(bencher: Bencher) {
    let (mut machine, input) = (machine(RAW_REGO), raw(&by_hand::ready_host()));
    bencher.bench_local(|| {
        machine.set_input(input.clone());
        machine.execute().unwrap()
    });
}

#[divan::bench(sample_size = 100)]
fn rego_digested_machine(bencher: Bencher) {
    let (mut machine, facts) = (machine(DIGESTED_REGO), digest(&by_hand::ready_host()).to_string());
    let facts = Value::from_json_str(&facts).unwrap();
    bencher.bench_local(|| {
        machine.set_input(facts.clone());
        machine.execute().unwrap()
    });
}

#[divan::bench(sample_size = 100)]
fn digestion(bencher: Bencher) {
    let host = by_hand::ready_host();
    bencher.bench_local(|| digest(black_box(&host)));
}

#[divan::bench(sample_size = 100)]
fn cel_raw(bencher: Bencher) {
    let cel = Cel::new(RAW_CEL);
    let context = cel.context("h", &by_hand::ready_host());
    bencher.bench_local(|| cel.program.execute(&context).unwrap());
}

#[divan::bench(sample_size = 100)]
fn cel_digested(bencher: Bencher) {
    let cel = Cel::new(DIGESTED_CEL);
    let context = cel.context("f", &digest(&by_hand::ready_host()));
    bencher.bench_local(|| cel.program.execute(&context).unwrap());
}
