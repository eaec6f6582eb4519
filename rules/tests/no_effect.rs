//! Declarations without effect, or that cannot mean what they say, are errors.

#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use rules::{LoadOptions, load_files};

const NAMES: &str = r#"
initial("A");
limit("most", 3);
classification("PreventAllocations");
probe("HeartbeatTimeout");
source("scout");
source("hardware-health.*");
failure_cause("Broken");
action("act");
action("report", #{ source: "source", probe: "probe", classes: "classifications", kind: ["retry", "reset"] });
counter("tries").kept_in("A");
note("mode", ["fast", "slow"]).kept_in("A");
gate("present", |h| h.instance.present).waits("Waiting for an instance");
"#;

/// Errors of a pack of the names and `rules`, without those about gates that only this text does not use.
fn faults(rules: &str) -> Vec<String> {
    let files = [("names.rhai".to_owned(), NAMES.to_owned()), ("rules.rhai".to_owned(), rules.to_owned())];
    let faults = load_files(files, &LoadOptions::default()).map_or_else(|faults| faults.diagnostics, |_| Vec::new());
    faults.iter().map(ToString::to_string).filter(|fault| !fault.contains("no state passes gate")).collect()
}

/// A state A with these arms before its last, and states to go to.
fn arms(arms: &str) -> Vec<String> {
    faults(&format!(
        "state(\"A\").no_sla()\n{arms}\n.go(\"B\").when(|h| h.instance.present).go(\"D\").when(|h| h.requests.decommission).wait(\"A\");\n\
         state(\"B\").terminal().no_sla().wait(\"B\");\n\
         dpu_state(\"D\").no_sla().host_go(\"B\").when(|h| h.requests.reset).wait(\"D\");"
    ))
}

fn assert_found(found: &[String], expected: &str) {
    assert!(found.iter().any(|fault| fault.contains(expected)), "expected {expected}\nfound {found:#?}");
}

#[test]
fn names_in_the_arguments_of_actions_are_checked() {
    let does = |arguments: &str| {
        let all = [
            ("source", "\"scout\""),
            ("probe", "\"HeartbeatTimeout\""),
            ("classes", "[\"PreventAllocations\"]"),
            ("kind", "\"retry\""),
        ];
        let given = all.iter().filter(|(name, _)| !arguments.starts_with(name));
        let given = given.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ");
        arms(&format!(".go(\"B\").when(|h| h.requests.retry)\n.does(\"report\", #{{ {given}, {arguments} }})"))
    };
    assert_eq!(does("kind: \"reset\""), [""; 0]);
    for (argument, expected) in [
        (
            "probe: \"HeartbeatTimeot\"",
            "rules.rhai:3:2: unknown probe `HeartbeatTimeot` (did you mean `HeartbeatTimeout`?)",
        ),
        (
            "classes: [\"PreventAllocations\", \"PreventAlocations\"]",
            "rules.rhai:3:2: unknown classification `PreventAlocations` (did you mean `PreventAllocations`?)",
        ),
        ("kind: \"rety\"", "rules.rhai:3:2: unknown kind `rety` (did you mean `retry`?)"),
        ("kind: \"else\"", "rules.rhai:3:2: unknown kind `else` (known are retry, reset)"),
        ("source: \"scuot\"", "rules.rhai:3:2: unknown health source `scuot` (did you mean `scout`?)"),
        ("probe: 3", "argument `probe` has another type than the action declares (pass the id of a probe)"),
        ("kind: [\"retry\"]", "argument `kind` has another type than the action declares (pass one of retry, reset)"),
    ] {
        let found = does(argument);
        assert_found(&found, expected);
        assert_eq!(found.len(), 1, "{found:#?}");
    }
}

#[test]
fn sources_of_health_reports_are_checked() {
    let report = |part: &str| {
        let report = format!("report(\"health\").with(\"host_merge\"){part};\n");
        faults(&(report + "state(\"A\").no_sla().go(\"B\");state(\"B\").terminal().no_sla().wait(\"end\");"))
    };
    assert_eq!(report(".only(\"hardware-health.*\")"), [""; 0]);
    assert_eq!(
        report(".only(\"hardwrae-health.*\")"),
        ["rules.rhai:1:37: unknown health source `hardwrae-health.*` (did you mean `hardware-health.*`?)"]
    );
    assert_eq!(
        report(".except(\"scout\").except(\"else\")"),
        ["rules.rhai:1:53: unknown health source `else` (declare it with `source(\"else\")`)"]
    );
}

#[test]
fn a_modifier_without_effect_on_its_arm_is_an_error() {
    let when = ".when(|h| h.requests.reset)";
    let cases = [
        (".wait(\"y\")¶.cause(\"Broken\")", "`cause` does nothing after `wait`"),
        (".wait(\"y\")¶.clears_failure()", "`clears_failure` does nothing after `wait`"),
        (".wait(\"y\")¶.note(\"mode\", \"fast\")", "`note` does nothing after `wait`"),
        (".fail(\"y\")¶.count(\"tries\")", "`count` does nothing after `fail`"),
        (".fail(\"y\")¶.does(\"act\")", "`does` does nothing after `fail`"),
        (".fail(\"y\")¶.reset(\"tries\")", "`reset` does nothing after `fail`"),
        (".pass(\"present\")¶.does(\"act\")", "`does` does nothing after `pass`"),
        (".pass(\"present\")¶.count(\"tries\")", "`count` does nothing after `pass`"),
        (".delete()¶.count(\"tries\")", "`count` does nothing after `delete`"),
        (".wait(\"y\")¶.for_dpus(|h, d| d.reachable)", "`for_dpus` does nothing after `wait`"),
        (
            ".go(\"B\")¶.for_dpus(|h, d| d.reachable)",
            "`for_dpus` selects the DPUs that enter a state, and this is a state of the host",
        ),
        ("¶.host_go(\"B\")", "`host_go` is for `dpu_state`"),
    ];
    for (arm, expected) in cases {
        let arm = arm.replacen(")¶", &format!("){when}\n¶"), 1);
        let (line, column) = (2 + arm[..arm.find('¶').unwrap()].lines().count().saturating_sub(1), 2);
        let line = if arm.contains("\n¶") { line + 1 } else { line };
        let arm = arm.replace('¶', "");
        let arm = if arm.contains(".when") { arm } else { arm + when };
        let found = arms(&arm);
        assert_found(&found, &format!("rules.rhai:{line}:{column}: {expected}"));
        assert_eq!(found.len(), 1, "{arm}: {found:#?}");
    }
    assert_eq!(arms(".go(\"D\").when(|h| h.requests.reset).for_dpus(|h, d| d.reachable)"), [""; 0]);
    assert_eq!(
        arms(".wait(\"y\").when(|h| h.requests.reset && h.counter(\"tries\") < 3).count(\"tries\").does(\"act\")"),
        [""; 0]
    );
}

#[test]
fn steps_take_no_modifier_but_when() {
    let steps = "steps(\"help\").wait(\"helping\").when(|h| h.requests.reset).does(\"act\");\n";
    let state = |said: &str| {
        faults(&format!(
            "{steps}state(\"A\").no_sla().steps(\"help\"){said}.go(\"B\");\nstate(\"B\").terminal().no_sla().wait(\"end\");"
        ))
    };
    assert_eq!(state(".when(|h| h.requests.retry)"), [""; 0]);
    assert_found(&state(".does(\"act\")"), "rules.rhai:2:35: `does` does nothing after `steps`");
    assert_found(&state(".each_dpu(|h, d| d.reachable)"), "`each_dpu` or `first_dpu` does nothing after `steps`");
}

#[test]
fn a_dpu_that_moves_alone_changes_no_record_of_the_host() {
    let dpu = |arm: &str| {
        faults(&format!(
            "state(\"A\").no_sla().go(\"D\");\ndpu_state(\"D\").no_sla().{arm}.when(|h, d| d.reachable).host_go(\"B\");\n\
             dpu_state(\"E\").no_sla().host_go(\"B\");\nstate(\"B\").terminal().no_sla().wait(\"end\");"
        ))
    };
    assert_eq!(dpu("go(\"E\")"), [""; 0]);
    assert_found(
        &dpu("go(\"E\").cause(\"Broken\")"),
        "a DPU that moves on its own does not change the recorded failure",
    );
    assert_found(&dpu("go(\"E\").for_dpus(|h, d| d.primary)"), "`for_dpus` does nothing here");
}

#[test]
fn contradictory_attributes_of_a_state_are_errors() {
    let end = "state(\"B\").terminal().no_sla().wait(\"end\");";
    for (rules, expected) in [
        ("state(\"A\").barrier().no_sla().go(\"B\");", "rules.rhai:1:12: `barrier` is for states of DPUs"),
        ("state(\"A\").aside().no_sla().go(\"B\");", "rules.rhai:1:12: `aside` is for states of DPUs"),
        ("state(\"A\").no_sla().sla(4).go(\"B\");", "rules.rhai:1:21: the state has a time limit already"),
        ("state(\"A\").sla(minutes(-30)).go(\"B\");", "rules.rhai:1:1: the time limit of state `A` is below zero"),
        (
            "state(\"A\").no_sla().legacy().entry().deprecated().go(\"B\");",
            "`deprecated` and an earlier verb of the state exclude",
        ),
        (
            "state(\"A\").no_sla().go(\"T\");state(\"T\").terminal().no_sla().go(\"B\");",
            "state `T` is terminal, and an arm leaves it",
        ),
        ("state(\"A\").no_sla().go(\"B\");timeout(\"t\", -5);", "rules.rhai:1:29: timeout `t` is below zero"),
        (
            "state(\"A\").no_sla().wait(\" \").when(|h| h.requests.reset).go(\"B\");",
            "rules.rhai:1:21: the reason is empty",
        ),
        (
            "state(\"A\").no_sla().go(\"B\");gate(\"g\", |h| true).waits(\"\");",
            "gate `g` does not say what it waits for",
        ),
        (
            "state(\"A\").no_sla().go(\"B\");gate(\"g\", |h| true).waits(\"a\").waits(\"b\");",
            "the gate has a reason already",
        ),
        (
            "state(\"A\").no_sla().go(\"A//b \");state(\"A//b \").no_sla().go(\"B\");",
            "`A//b ` is not a path of a state",
        ),
        (
            "state(\"A\").no_sla().go(\"B\").when(|h| h.state.path.starts_with(\"AA\")).wait(\"x\");",
            "no possible value begins with `AA`",
        ),
        (
            "state(\"A\").no_sla().go(\"B\").when(|h| h.bmc.power.starts_with(\"onn\")).wait(\"x\");",
            "no possible value begins with `onn` (did you mean `on`?)",
        ),
        (
            "state(\"A\").no_sla().go(\"B\");fn f(h) { h.instnace.present }",
            "unknown fact `instnace` (did you mean `instance`?)",
        ),
        ("state(\"A\").no_sla().go(\"B\");\n  fn minutes(n) { n }", "rules.rhai:2:3: `minutes` is a verb"),
        ("state(\"A\").no_sla().go(\"B\");fn has_class(r, c) { r == c }", "`has_class` is a verb"),
    ] {
        assert_found(&faults(&format!("{rules}\n{end}")), expected);
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_rules() {
    let rules = "initial(\"A\");state(\"A\").no_sla().go(\"B\");state(\"B\").terminal().no_sla().wait(\"end\");";
    let load = |text: String| load_files([("a.rhai".to_owned(), text)], &LoadOptions::default()).unwrap();
    assert_eq!(load(format!("\u{feff}{rules}")).hash(), load(rules.to_owned()).hash());
}

#[test]
fn a_time_in_a_test_has_to_be_a_number_of_seconds() {
    let rules = "initial(\"A\");state(\"A\").no_sla().wait(\"young\").when(|h| h.state.elapsed < minutes(10)).go(\"B\");\
                 state(\"B\").terminal().no_sla().wait(\"end\");";
    let rules = load_files([("a.rhai".to_owned(), rules.to_owned())], &LoadOptions::default()).unwrap();
    let run = |case: &str| {
        let text =
            format!("base: {{ state.path: A }}\ndpus: 1\ncases: [{{ name: case, {case}, expect: {{ wait: young }} }}]");
        rules.run_tests([("t.yaml", text.as_str())]).cases.remove(0).failure
    };
    assert_eq!(run("facts: { state.elapsed: 599 }"), None);
    for (facts, name, value) in [
        ("facts: { state.elapsed: \"599999\" }", "state.elapsed", "'599999'"),
        ("facts: { state.elapsed: 6000.5 }", "state.elapsed", "6000.5"),
        ("facts: { state.elapsed: -7 }", "state.elapsed", "-7"),
        ("dpu0: { elapsed: ten }", "dpu0.elapsed", "ten"),
        ("facts: { bmc.power_request_age: -1 }", "bmc.power_request_age", "-1"),
    ] {
        let expected = format!("`{name}` is a whole number of seconds, not {value}");
        assert_eq!(run(facts), Some(expected), "{facts}");
    }
}

#[test]
fn arms_of_steps_that_no_test_reaches_are_listed_once() {
    let rules = "initial(\"A\");steps(\"s\").wait(\"one\").when(|h| h.requests.reset).wait(\"two\").when(|h| h.requests.retry);\n\
                 state(\"A\").no_sla().steps(\"s\").go(\"B\");state(\"B\").no_sla().steps(\"s\").go(\"C\");\n\
                 state(\"C\").terminal().no_sla().wait(\"end\");";
    let rules = load_files([("a.rhai".to_owned(), rules.to_owned())], &LoadOptions::default()).unwrap();
    let untested = rules.run_tests([]).untested;
    let arms: Vec<_> = untested.iter().map(|arm| format!("{} {}", arm.at, arm.arm)).collect();
    assert_eq!(arms, ["a.rhai:1 wait", "a.rhai:1 wait", "a.rhai:2 go B", "a.rhai:2 go C", "a.rhai:3 wait"]);
}

#[test]
fn a_failing_guard_is_named_by_place_and_facts_by_area() {
    let rules = "initial(\"A\");\nstate(\"A\").no_sla().go(\"B\").when(|h| { let x = 1; h.bmc.reachable && x / h.host.associated_dpus == 1 }).wait(\"x\");\n\
                 state(\"B\").terminal().no_sla().wait(\"end\");";
    let rules = load_files([("a.rhai".to_owned(), rules.to_owned())], &LoadOptions::default()).unwrap();
    let mut host = rules::Snapshot::default();
    host.state.path = "A".into();
    host.bmc.reachable = true.into();
    let rules::Decision::Error(fault) = rules.decision(&host) else { unreachable!() };
    assert!(fault.reason.starts_with("the guard at a.rhai:2:29 failed"), "{}", fault.reason);
    assert_eq!(rules.reads(&"A".into()), ["bmc.reachable", "host.associated_dpus"]);
}

#[test]
fn a_verb_with_a_wrong_argument_is_the_only_fault_of_its_state() {
    assert_eq!(
        faults("state(\"A\").sla(\"30\").go(\"B\");")
            .iter()
            .map(|fault| fault.contains("`sla` does not take"))
            .collect::<Vec<_>>(),
        [true]
    );
}
