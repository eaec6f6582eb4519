//! Malicious or broken packs: bounded in time and memory, with an error that names the place.

use std::time::{Duration, Instant};

use rules::{Decision, FaultKind, LoadOptions, Snapshot, load_files};

const END: &str = "initial(\"A\");\nstate(\"B\").terminal().no_sla().wait(\"end\");\n";

fn load(rules: &str) -> Result<rules::RuleSet, rules::LoadError> {
    load_files([("rules.rhai".to_owned(), format!("{END}{rules}"))], &LoadOptions::default())
}

#[test]
fn scripts_that_do_not_end_are_stopped_and_named() {
    let cases = [
        ("loop { }", "more than 100000 steps"),
        ("let s = \"x\"; loop { s += s; }", "too large"),
        ("let a = []; loop { a.push(1); }", ""),
        ("let m = #{}; let i = 0; loop { m[`k${i}`] = i; i += 1; }", ""),
        ("fn f(n) { f(n + 1) }\nf(0);", "Stack overflow"),
        ("while true { state(\"S\"); }", ""),
    ];
    for (script, expected) in cases {
        let started = Instant::now();
        let faults = load(script).unwrap_err().to_string();
        assert!(started.elapsed() < Duration::from_secs(5), "{script} took {:?}", started.elapsed());
        assert!(faults.contains("rules.rhai:"), "{script}: {faults}");
        assert!(faults.contains(expected), "{script}: {faults}");
    }
}

#[test]
fn functions_that_reach_outside_do_not_exist() {
    for script in [
        "eval(\"1\");",
        "import \"other\" as o;",
        "print(\"x\");",
        "debug(\"x\");",
        "sleep(1);",
        "timestamp();",
        "rand();",
        "open_file(\"/etc/passwd\");",
        "let f = Fn(\"state\"); f.call(\"X\");",
    ] {
        let faults = load(script).unwrap_err().to_string();
        assert!(faults.contains("rules.rhai:"), "{script}: {faults}");
    }
}

#[test]
fn a_deep_expression_is_refused_a_long_chain_of_arms_is_not() {
    for depth in [1100, 20_000] {
        let deep = format!("let x = {}1{};", "(".repeat(depth), ")".repeat(depth));
        let faults = load(&deep).unwrap_err().to_string();
        assert!(faults.contains("rules.rhai:3:") && faults.contains("complexity"), "{faults}");
    }
    let arms = (0..400).map(|n| format!("    .wait(\"{n}\").when(|h| h.bmc.boss_job == \"{n}\")\n"));
    let long = format!("state(\"A\").sla(1)\n{}    .go(\"B\");", arms.collect::<String>());
    assert!(load(&long).is_ok(), "{}", load(&long).unwrap_err());
}

#[test]
fn large_files_and_packs_are_refused_before_parsing() {
    let long = [("long.rhai".to_owned(), "// x\n".repeat(200_000))];
    let faults = load_files(long, &LoadOptions::default()).unwrap_err().to_string();
    assert!(faults.contains("long.rhai: the file has more than 524288 bytes"), "{faults}");
    let many = (0..300).map(|n| (format!("{n}.rhai"), String::new()));
    let faults = load_files(many, &LoadOptions::default()).unwrap_err().to_string();
    assert!(faults.contains("the pack: it has more than 200 files"), "{faults}");
}

#[test]
fn a_guard_that_would_not_end_is_refused_where_it_stands() {
    let faults = load(
        "state(\"A\").sla(1)
            .pass(\"endless\").when(|h| h.instance.present)
            .go(\"B\");
        gate(\"endless\", |h| { let n = 0; while n >= 0 { n += 1; if n > 1000000 { n = 0; } } h.instance.present })
            .waits(\"Waiting for ever\");",
    )
    .unwrap_err()
    .to_string();
    assert!(faults.starts_with("rules.rhai:6:42: a guard has no loops"), "{faults}");
}

#[test]
fn a_guard_cannot_use_up_the_stack() {
    // As deep as the limits allow, in every direction at once.
    let nested = |inner: &str| format!("{}{inner}{}", "(1 + ".repeat(12), ")".repeat(12));
    let functions: String =
        (0..7).map(|n| format!("fn f{n}(h) {{ let x = 0; {} }}\n", nested(&format!("f{}(h)", n + 1)))).collect();
    let text = |again: &str| {
        format!(
            "{functions}fn f7(h) {{ let x = 1; x }}\nfn again(h) {{ let x = 1; again(h) }}\n
        state(\"A\").sla(1).go(\"B\").when(|h| {{ let x = 1; f0(h) > h.dpus.len() }}){again}.wait(\"x\");"
        )
    };
    let rules = load(&text("")).unwrap();
    let mut host = Snapshot::default();
    host.state.path = "A".into();
    let decision = rules.decide(&host).decision;
    assert!(matches!(decision, Decision::Go(_) | Decision::Error(_)), "{decision:?}");
    let faults = load(&text(".go(\"B\").when(|h| { let x = 1; again(h) })")).unwrap_err().to_string();
    assert!(faults.contains("functions call each other too deeply (rules have no recursion)"), "{faults}");
}

#[test]
fn a_guard_that_is_too_deep_is_refused_and_a_long_one_is_not() {
    let returns = |n: usize| "if h.bmc.reachable { return true; } ".repeat(n);
    let cases = |n: usize| (0..n).map(|case| format!("{case} => h.bmc.reachable, ")).collect::<String>();
    let lets = (0..4000).map(|n| format!("let x{n} = {n}; ")).collect::<String>();
    for (guard, expected) in [
        (format!("{}h.instance.present", returns(200)), None),
        (format!("{}h.instance.present", returns(3000)), Some("more than 256 deep")),
        (format!("switch h.host.associated_dpus {{ {} _ => false }}", cases(200)), None),
        (format!("switch h.host.associated_dpus {{ {} _ => false }}", cases(2000)), Some("more than 256 deep")),
        (format!("{lets} h.host.associated_dpus == x3999"), None),
    ] {
        let loaded = load(&format!("state(\"A\").sla(1).go(\"B\").when(|h| {{ {guard} }}).wait(\"x\");"));
        match (loaded, expected) {
            (Ok(rules), None) => {
                let mut host = Snapshot::default();
                host.state.path = "A".into();
                assert!(matches!(rules.decide(&host).decision, Decision::Wait(_)));
            }
            (Err(faults), Some(expected)) => assert!(faults.to_string().contains(expected), "{faults}"),
            (Ok(_), Some(expected)) => panic!("{expected}"),
            (Err(faults), None) => panic!("{faults}"),
        }
    }
}

#[test]
fn errors_at_run_time_keep_the_host_where_it_is_and_say_where() {
    let cases = [
        ("|h| 1 / h.instance.generated_segments > 0", "division by zero"),
        ("|h| h.instance.generated_segments % h.instance.extension_services == 0", "division by zero"),
        ("|h| 9223372036854775807 + h.host.associated_dpus > 0", "integer overflow"),
        ("|h| { let q = 1; q / h.instance.generated_segments > 0 }", "division by zero"),
        ("|h| { let q = 1 / h.instance.generated_segments; h.bmc.reachable }", "division by zero"),
    ];
    for (guard, expected) in cases {
        let text = format!("state(\"A\").sla(1).go(\"B\").when({guard}).wait(\"x\");");
        let rules = load(&text).unwrap_or_else(|faults| panic!("{guard}: {faults}"));
        let mut host = Snapshot { id: "host1".into(), ..Snapshot::default() };
        host.state.path = "A".into();
        host.host.associated_dpus = 1;
        let Decision::Error(fault) = rules.decide(&host).decision else { panic!("{guard}") };
        assert_eq!(fault.kind, FaultKind::Guard, "{guard}");
        assert!(fault.reason.contains("rules.rhai:3") && fault.reason.contains("host1"), "{guard}: {}", fault.reason);
        assert!(fault.reason.contains(expected), "{guard}: {}", fault.reason);
        let explained = rules.explain(&host);
        assert!(explained.arms[0].error.is_some(), "{guard}: {explained:?}");
    }
}

#[test]
fn whole_numbers_divide_to_whole_numbers() {
    let rules =
        load("state(\"A\").sla(1).go(\"B\").when(|h| { let n = h.host.associated_dpus; 1 / n == 0 && 7 / n == 3 && -7 / n == -3 }).wait(\"x\");").unwrap();
    let mut host = Snapshot::default();
    host.state.path = "A".into();
    host.host.associated_dpus = 2;
    assert!(matches!(rules.decide(&host).decision, Decision::Go(_)));
}

#[test]
fn a_switch_with_a_guard_and_a_range_answers_right() {
    let rules = load(
        "fn size(n, ok) { switch n { 5 if ok => \"five\", 0..10 => \"small\", _ => \"other\" } }
        state(\"A\").sla(1)
            .go(\"B\").when(|h| size(h.host.associated_dpus, h.instance.present) == \"five\")
            .fail(\"small\").when(|h| size(h.host.associated_dpus, h.instance.present) == \"small\")
            .wait(\"other\");",
    )
    .unwrap();
    let outcome = |dpus, ok| {
        let mut host = Snapshot::default();
        host.state.path = "A".into();
        host.host.associated_dpus = dpus;
        host.instance.present = ok;
        match rules.decide(&host).decision {
            Decision::Go(_) => "five",
            Decision::Error(_) => "small",
            _ => "other",
        }
    };
    assert_eq!(
        [outcome(5, true), outcome(5, false), outcome(7, false), outcome(12, true)],
        ["five", "small", "small", "other"]
    );
}

#[test]
fn a_state_that_the_rules_lack_is_an_error_of_that_host() {
    let rules = load("state(\"A\").sla(1).go(\"B\");").unwrap();
    let mut host = Snapshot::default();
    host.state.path = "Gone".into();
    let Decision::Error(fault) = rules.decide(&host).decision else { panic!() };
    assert_eq!(fault.kind, FaultKind::UnknownState);
    assert!(fault.reason.contains("`Gone`"));
}

#[test]
fn a_function_that_cannot_answer_with_a_truth_is_refused() {
    for (guard, expected) in [
        ("|h| { let x = h.host.associated_dpus; x }", "expected true or false, found a number"),
        ("|h| { let x = \"true\"; x }", "expected true or false, found a text"),
        ("|h| { let x = 1; }", "an empty block has no value"),
        ("|h| { let age = h.host.scout_age; age < 3 }", "expected a number, found `scout_age`, which can be absent"),
        ("|h| { throw \"no\" }", "a guard cannot throw"),
        ("|h| { let x = []; x[h.instance.generated_segments] }", "a guard cannot index a list"),
        ("|h| { let list = [3, 1, 2]; list.sort(|a, b| 1); list.len() == 3 && 2 in list }", "`sort` is not supported"),
    ] {
        let text = format!("state(\"A\").sla(1).go(\"B\").when({guard}).wait(\"x\");");
        let faults = load(&text).unwrap_err().to_string();
        assert!(faults.starts_with("rules.rhai:3:") && faults.contains(expected), "{guard}: {faults}");
    }
}

#[test]
fn what_a_file_itself_calls_is_known_to_its_guards() {
    let rules = load(
        "for n in 0..3 { limit(`limit_${n}`, n); }
        state(\"A\").sla(1).go(\"B\").when(|h| { let n = limit(\"limit_2\"); h.host.associated_dpus > n }).wait(\"x\");",
    )
    .unwrap();
    let mut host = Snapshot::default();
    host.state.path = "A".into();
    for (dpus, moves) in [(2, false), (3, true), (1, false)] {
        host.host.associated_dpus = dpus;
        assert_eq!(matches!(rules.decide(&host).decision, Decision::Go(_)), moves, "{dpus}");
    }
}
