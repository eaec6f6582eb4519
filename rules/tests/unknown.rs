//! What nobody has told: a guard that needs it has no answer, and the host waits for it by name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of one test program")]

use proptest::prelude::*;
use rules::{
    Answer, ArmResult, Decision, Dpu, LoadOptions, Lockdown, Reported, RuleSet, Snapshot, Supplier, fact_dictionary,
    load_files,
};

const REST: &str = r#"
state("Gated").entry().no_sla().pass("open").go("End");
dpu_state("D").entry().no_sla().go("E").when(|h, d| d.reachable).wait("away");
dpu_state("E").terminal().no_sla().wait("there");
state("End").terminal().no_sla().wait("end");
"#;

fn pack(arms: &str) -> RuleSet {
    let gate = "gate(\"open\", |h| h.bmc.lockdown == \"disabled\").waits(\"locked\");";
    let text = format!("initial(\"S\");\n{gate}\nstate(\"S\").no_sla(){arms};\n{REST}");
    load_files([("pack.rhai".to_owned(), text)], &LoadOptions::default()).unwrap_or_else(|faults| panic!("{faults}"))
}

fn host() -> Snapshot {
    let mut host = Snapshot { id: "host".into(), now: 1_000_000_000, ..Snapshot::default() };
    host.state.path = "S".into();
    host
}

fn outcome(rules: &RuleSet, host: &Snapshot) -> String {
    match rules.decision(host) {
        Decision::Go(go) => format!("go {}", go.to),
        Decision::Wait(wait) => wait.reason.to_string(),
        Decision::Error(fault) => format!("error {}", fault.reason),
        Decision::Delete(_) => "delete".to_owned(),
    }
}

const LOCKDOWN: &str = "Waiting to be told `bmc.lockdown` by the BMC";

#[test]
fn a_host_waits_by_name_for_what_its_rules_need() {
    let cases: &[(&str, &str)] = &[
        // No later arm is tried on a guess.
        (".go(\"End\").when(|h| h.bmc.lockdown == \"enabled\").wait(\"no\")", LOCKDOWN),
        (".go(\"End\").when(|h| h.bmc.lockdown != \"enabled\").wait(\"no\")", LOCKDOWN),
        (".go(\"End\").when(|h| !(h.bmc.lockdown in [\"enabled\", \"partial\"])).wait(\"no\")", LOCKDOWN),
        (".pass(\"open\").go(\"End\")", LOCKDOWN),
        (".go(\"End\").when(|h| h.bmc.lockdown == \"enabled\" && h.host.quarantined).wait(\"no\")", "no"),
        (".go(\"End\").when(|h| h.host.quarantined && h.bmc.lockdown == \"enabled\").wait(\"no\")", "no"),
        (".go(\"End\").when(|h| h.bmc.lockdown == \"enabled\" || !h.host.quarantined).wait(\"no\")", "go End"),
        (".go(\"End\").when(|h| h.bmc.lockdown == \"enabled\" || h.host.quarantined).wait(\"no\")", LOCKDOWN),
        // The rule says itself what it means.
        (".go(\"End\").when(|h| h.bmc.lockdown.or(\"enabled\") == \"enabled\").wait(\"no\")", "go End"),
        (".go(\"End\").when(|h| h.bmc.lockdown.known).wait(\"no\")", "no"),
        (".go(\"End\").when(|h| h.bmc.reachable.or(false)).wait(\"no\")", "no"),
        (".go(\"End\").when(|h| h.firmware.power_drains_left.or(3) > 2).wait(\"no\")", "go End"),
        (
            ".go(\"End\").when(|h| h.bmc.bios_setup == \"yes\" && h.dpus.all(|d| d.reachable)).wait(\"no\")",
            "Waiting to be told `bmc.bios_setup` by the BMC, `dpu.reachable` of dpu1 by the BMC",
        ),
    ];
    let dpu = |name: &str, reachable: Reported<bool>| Dpu { id: name.into(), reachable, ..Dpu::default() };
    for (arms, expected) in cases {
        let mut host = host();
        host.dpus = vec![dpu("dpu0", true.into()), dpu("dpu1", Reported::Unknown)];
        assert_eq!(outcome(&pack(arms), &host), *expected, "{arms}");
    }
}

#[test]
fn what_was_told_ends_the_wait_and_the_trace_shows_it() {
    let rules = pack(".go(\"End\").when(|h| h.bmc.lockdown == \"enabled\").wait(\"no\")");
    let mut host = host();
    let explained = rules.explain(&host);
    assert_eq!(explained.arms.last().unwrap().result, ArmResult::Unknown);
    assert_eq!(explained.facts[0].value, "unknown");
    let Decision::Wait(wait) = explained.decision else { panic!("{:?}", explained.decision) };
    assert_eq!(wait.recheck_after, None, "time alone tells nothing");
    host.bmc.lockdown = Lockdown::Enabled.into();
    assert_eq!(outcome(&rules, &host), "go End");
}

#[test]
fn a_dpu_waits_alone() {
    let rules = pack(".go(\"End\").when(|h| h.host.quarantined).wait(\"no\")");
    let mut host = host();
    host.state.path = "D".into();
    let dpu = |name: &str, reachable: Reported<bool>| Dpu {
        id: name.into(),
        state: Some("D".into()),
        reachable,
        ..Dpu::default()
    };
    host.dpus = vec![dpu("dpu0", Reported::Unknown), dpu("dpu1", true.into())];
    let Decision::Go(go) = rules.decision(&host) else { panic!() };
    assert_eq!(go.dpus[0].reason.as_deref(), Some("Waiting to be told `dpu.reachable` of dpu0 by the BMC"));
    assert_eq!(go.dpus[1].to.as_ref().map(|to| to.as_str()), Some("E"));
}

#[test]
fn a_default_has_to_be_a_value_of_the_fact() {
    let arms = ".go(\"End\").when(|h| h.bmc.lockdown.or(\"ajar\") == \"enabled\").wait(\"no\")";
    let text =
        format!("initial(\"S\");\nstate(\"S\").no_sla(){arms};\nstate(\"End\").terminal().no_sla().wait(\"end\");\n");
    let faults = load_files([("pack.rhai".to_owned(), text)], &LoadOptions::default()).unwrap_err().to_string();
    assert!(faults.contains("`ajar`"), "{faults}");
}

/// Guards over three facts, each of which can be unknown.
fn guard() -> BoxedStrategy<String> {
    let leaf = prop::sample::select(vec![
        "h.bmc.bios_setup == \"yes\"",
        "h.bmc.boot_order_set != \"yes\"",
        "h.bmc.reachable",
        "h.dpus.any(|d| d.reachable)",
        "h.dpus.all(|d| d.bios_setup == \"yes\")",
        "h.host.quarantined",
        "h.bmc.reachable.or(true)",
        "h.bmc.bios_setup.known",
    ]);
    leaf.prop_map(str::to_owned)
        .prop_recursive(3, 12, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
                inner.prop_map(|a| format!("!({a})")),
            ]
        })
        .boxed()
}

fn told() -> impl Strategy<Value = Snapshot> {
    let fact = || prop::sample::select(vec![Reported::Unknown, Reported::Known(true), Reported::Known(false)]);
    let answer = |told: Reported<bool>| match told {
        Reported::Unknown => Reported::Unknown,
        Reported::Known(true) => Answer::Yes.into(),
        Reported::Known(false) => Answer::No.into(),
    };
    let dpu = (fact(), fact());
    (fact(), fact(), fact(), any::<bool>(), prop::collection::vec(dpu, 0..3)).prop_map(
        move |(setup, order, reachable, quarantined, dpus)| {
            let mut host = host();
            host.bmc.bios_setup = answer(setup);
            host.bmc.boot_order_set = answer(order);
            host.bmc.reachable = reachable;
            host.host.quarantined = quarantined;
            let dpu = |(reachable, setup)| Dpu { reachable, bios_setup: answer(setup), ..Dpu::default() };
            host.dpus = dpus.into_iter().map(dpu).collect();
            host
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// An answer that is given without a fact stays the same whatever the fact turns out to be: the rule did not guess.
    /// `.or` and `.known` are the rule's own word for what is unknown, so facts asked that way are left alone.
    #[test]
    fn no_answer_is_a_guess(guard in guard(), host in told(), later in told()) {
        prop_assume!(!guard.contains(".or(") && !guard.contains(".known"));
        let rules = pack(&format!(".go(\"End\").when(|h| {guard}).wait(\"no\")"));
        let before = outcome(&rules, &host);
        prop_assume!(!before.starts_with("Waiting"));
        let mut known = host.clone();
        fn learn<T: Clone>(fact: &mut Reported<T>, later: &Reported<T>) {
            if fact.known().is_none() {
                *fact = later.clone();
            }
        }
        learn(&mut known.bmc.bios_setup, &later.bmc.bios_setup);
        learn(&mut known.bmc.boot_order_set, &later.bmc.boot_order_set);
        learn(&mut known.bmc.reachable, &later.bmc.reachable);
        for (dpu, later) in known.dpus.iter_mut().zip(&later.dpus) {
            learn(&mut dpu.reachable, &later.reachable);
            learn(&mut dpu.bios_setup, &later.bios_setup);
        }
        prop_assert_eq!(&outcome(&rules, &known), &before, "{}", guard);
    }

    /// A guard and its negation have an answer for the same hosts, and opposite ones.
    #[test]
    fn negation_keeps_what_is_unknown(guard in guard(), host in told()) {
        let of = |guard: &str| outcome(&pack(&format!(".go(\"End\").when(|h| {guard}).wait(\"no\")")), &host);
        let (plain, negated) = (of(&guard), of(&format!("!({guard})")));
        let expected = match plain.as_str() {
            "no" => "go End",
            "go End" => "no",
            waiting => waiting,
        };
        prop_assert_eq!(&negated, expected);
    }
}

#[test]
fn what_others_tell_can_be_unknown() {
    let foreign = |fact: &&&rules::Fact| matches!(fact.supplier, Supplier::Bmc | Supplier::Service(_)) && !fact.derived;
    let dictionary = fact_dictionary();
    let taken_for_granted: Vec<String> = dictionary
        .iter()
        .filter(foreign)
        .filter(|fact| !fact.reported)
        .map(|fact| format!("{}.{}", fact.area, fact.name))
        .collect();
    assert_eq!(taken_for_granted, Vec::<String>::new());
}
