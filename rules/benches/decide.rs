//! How fast the shipped pack decides. Each way of deciding is first held against the pack's tests' expectations or
//! against the others: a fast engine can be a wrong one.
//!
//! `cargo bench -p rules`; `RULES_PACK=DIR` measures another pack.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench stops where a test would")]

mod by_hand;

use std::{collections::BTreeMap, path::Path};

use divan::{Bencher, black_box, counter::ItemsCount};
use rules::{Decision, RuleSet, Snapshot, load_pack, read_tests, test_snapshots};

fn main() {
    agree();
    divan::main();
}

fn pack() -> std::path::PathBuf {
    match std::env::var_os("RULES_PACK") {
        Some(directory) => directory.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("managed_host"),
    }
}

fn rules() -> RuleSet {
    load_pack(&pack()).unwrap_or_else(|faults| panic!("{faults}"))
}

/// One snapshot for each case of the pack's tests: all its states, mixed.
fn mix() -> Vec<Snapshot> {
    let tests = read_tests(&pack()).unwrap();
    let tests: BTreeMap<&str, &str> = tests.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    test_snapshots(tests).unwrap().into_iter().map(|(_, snapshot)| snapshot).collect()
}

/// The ways agree on every outcome, and with and without the trace on the whole mix.
fn agree() {
    let rules = rules();
    for (name, snapshot) in by_hand::outcomes() {
        let decision = rules.decide(&snapshot).decision;
        assert_eq!(decision, rules.decision(&snapshot), "{name}");
        let gate = match &decision {
            Decision::Go(_) => "go",
            Decision::Wait(wait) => wait.gate.as_deref().unwrap_or("wait"),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(gate, name);
        assert_eq!(by_hand::gate(&snapshot), gate, "{name}, by hand");
    }
    for snapshot in mix() {
        assert_eq!(rules.decide(&snapshot).decision, rules.decision(&snapshot), "{snapshot:?}");
    }
}

/// `Assigned/WaitingForNetworkConfig` of a host that is ready: every gate is asked.
mod readiness_of_a_ready_host {
    use super::*;

    #[divan::bench(sample_size = 2000)]
    fn by_hand(bencher: Bencher) {
        let host = by_hand::ready_host();
        bencher.bench_local(|| by_hand::gate(black_box(&host)));
    }

    #[divan::bench(sample_size = 2000)]
    fn rules_untraced(bencher: Bencher) {
        let (rules, host) = (rules(), by_hand::ready_host());
        bencher.bench_local(|| rules.decision(black_box(&host)));
    }

    #[divan::bench(sample_size = 2000)]
    fn rules_with_trace(bencher: Bencher) {
        let (rules, host) = (rules(), by_hand::ready_host());
        bencher.bench_local(|| rules.decide(black_box(&host)));
    }

    #[divan::bench(sample_size = 50)]
    fn explained(bencher: Bencher) {
        let (rules, host) = (rules(), by_hand::ready_host());
        bencher.bench_local(|| rules.explain(black_box(&host)));
    }
}

/// The same with one reason to wait each.
#[divan::bench(args = ["managed_host_config_synced", "instance_config_synced", "no_blocking_health", "primary_p0_ready"], sample_size = 2000)]
fn readiness_of_a_waiting_host(bencher: Bencher, gate: &str) {
    let rules = rules();
    let host = by_hand::outcomes().into_iter().find(|(name, _)| *name == gate).unwrap().1;
    bencher.bench_local(|| rules.decide(black_box(&host)));
}

/// Hosts in all states of the pack, on one core.
#[divan::bench]
fn decisions_over_all_states(bencher: Bencher) {
    let (rules, mix) = (rules(), mix());
    bencher.counter(ItemsCount::new(mix.len())).bench_local(|| {
        for host in &mix {
            black_box(rules.decide(black_box(host)));
        }
    });
}

/// A host that nothing happened to, half a minute later.
#[divan::bench]
fn nothing_has_changed(bencher: Bencher) {
    let (rules, host) = (rules(), by_hand::ready_host());
    let mut later = host.clone();
    later.now += 30_000_000;
    bencher.bench_local(|| rules.sees_no_change(black_box(&host), black_box(&later)));
}

/// Read, run, lower and check the whole pack.
#[divan::bench(sample_count = 20)]
fn load_the_pack() -> RuleSet {
    rules()
}
