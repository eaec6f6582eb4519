//! Redundant conditions are errors: constant ones, and those that earlier arms imply.

use rules::{LoadOptions, load_files};

const NAMES: &str = r#"
initial("A");
timeout("pause", minutes(2));
limit("feature", 0);
action("act");
gate("present", |h| h.instance.present).waits("Waiting for an instance");
report("health").with("host_merge");
state("B").terminal().no_sla().wait("B");
"#;

fn faults(rules: &str) -> Vec<String> {
    let files = [("names.rhai".to_owned(), NAMES.to_owned()), ("rules.rhai".to_owned(), rules.to_owned())];
    let faults = load_files(files, &LoadOptions::default()).map_or_else(|faults| faults.diagnostics, |_| Vec::new());
    faults.iter().map(ToString::to_string).filter(|fault| !fault.contains("no state passes gate")).collect()
}

/// A state A with these arms before its last, with the error at the mark; no mark for no error.
fn assert_arms(arms: &str, expected: &str) {
    let before = arms.split('¶').next().unwrap_or_default();
    let (line, column) = (before.lines().count(), before.lines().last().map_or(0, |line| line.chars().count()) + 1);
    let found = faults(&format!("state(\"A\").no_sla()\n{}\n.go(\"B\");", arms.replace('¶', "")));
    match expected {
        "" => assert!(found.is_empty(), "{arms}: {found:#?}"),
        expected => {
            let expected = format!("rules.rhai:{}:{column}: {expected}", line + 1);
            assert!(
                found.len() == 1 && found[0].starts_with(&expected),
                "{arms}\nexpected {expected}\nfound {found:#?}"
            );
        }
    }
}

#[test]
fn a_constant_condition_is_an_error() {
    for (guard, expected) in [
        ("|h| true", "this condition holds for every host (remove it, or use a fact)"),
        ("|h| h.instance.present && false", "this condition holds for no host"),
        ("|h| !h.instance.present || 3 > 2", "this condition holds for every host"),
        ("|h| \"on\" in [\"on\", \"off\"]", "this condition holds for every host"),
        ("|h| { let on = \"o\" + \"n\"; on.len() == 3 }", "this condition holds for no host"),
        ("|h| minutes(1) > seconds(59)", "this condition holds for every host"),
        ("|h| h.instance.present == true", ""),
        // A site can set these.
        ("|h| limit(\"feature\") > 0", ""),
        ("|h| timeout(\"pause\") > 60 && true", ""),
    ] {
        let mark = if expected.is_empty() { "" } else { "¶" };
        assert_arms(&format!(".go(\"B\").{mark}when({guard})"), expected);
    }
    assert_arms(".go(\"B\").when(|h| h.bmc.power ¶= \"on\")", "`=` assigns, and a guard assigns nothing (write `==`");
    for (rules, expected) in [
        ("gate(\"open\", |h| 1 == 1).waits(\"x\");", "this condition holds for every host"),
        ("report(\"r\").with(\"host_merge\").when(|h| false);", "this condition holds for no host"),
        ("no_sla_while(|h| true);", "this condition holds for every host"),
        ("tenant_sees(\"Ready\", |h| true);", "this condition holds for every host"),
    ] {
        let found = faults(&format!("{rules}\nstate(\"A\").no_sla().go(\"B\");"));
        assert!(found.len() == 1 && found[0].contains(expected), "{rules}: {found:#?}");
    }
}

#[test]
fn selecting_all_dpus_is_no_constant_condition() {
    assert_arms(".wait(\"x\").when(|h| h.bmc.reachable).each_dpu(|h, d| true).does(\"act\")", "");
}

#[test]
fn a_condition_implied_by_earlier_arms_is_an_error() {
    let always = "this condition always holds here, because of the arm at rules.rhai:2:2 (remove it)";
    let never = "this condition never holds here, because of the arm at rules.rhai:2:2 (remove the arm, or move it up)";
    for (arms, expected) in [
        (".wait(\"x\").when(|h| h.bmc.reachable)\n.go(\"B\").¶when(|h| !h.bmc.reachable)", always),
        (".wait(\"x\").unless(|h| h.bmc.reachable)\n.go(\"B\").¶when(|h| h.bmc.reachable)", always),
        (".wait(\"x\").when(|h| h.bmc.reachable)\n.go(\"B\").¶when(|h| h.bmc.reachable && h.instance.present)", never),
        (".wait(\"x\").when(|h| h.state.elapsed < 60)\n.go(\"B\").¶when(|h| h.state.elapsed >= 60)", always),
        (".wait(\"x\").when(|h| h.state.elapsed <= 60)\n.go(\"B\").¶when(|h| 60 < h.state.elapsed)", always),
        (
            ".wait(\"x\").when(|h| h.bmc.reachable || h.instance.present)\n.go(\"B\").¶when(|h| !h.bmc.reachable)",
            always,
        ),
        (".wait(\"x\").when(|h| h.bmc.reachable && h.instance.present)\n.go(\"B\").when(|h| !h.bmc.reachable)", ""),
        (".pass(\"present\")\n.go(\"B\").¶when(|h| h.instance.present)", always),
        (
            ".pass(\"present\")\n.go(\"B\").when(|h| h.bmc.reachable)\n.¶pass(\"present\")",
            "this gate is always open here",
        ),
        (".pass(\"present\").when(|h| h.bmc.reachable)\n.go(\"B\").when(|h| h.instance.present)", ""),
        (".wait(\"x\").when(|h| !h.instance.present)\n.pass(\"present\")", ""),
        (
            ".wait(\"x\").when(|h| h.bmc.reachable).each_dpu(|h, d| d.primary)\n.go(\"B\").when(|h| !h.bmc.reachable)",
            "",
        ),
        (
            ".wait(\"x\").when(|h| h.state.elapsed < timeout(\"pause\"))\n.go(\"B\").when(|h| h.state.elapsed >= 120)",
            "",
        ),
    ] {
        assert_arms(arms, expected);
    }
}

#[test]
fn steps_are_judged_over_all_states_that_take_them() {
    let steps = "steps(\"s\").wait(\"up\").when(|h| h.bmc.reachable);\n";
    let state =
        |name: &str, first: &str| format!("state(\"{name}\").entry().no_sla(){first}.steps(\"s\").go(\"B\");\n");
    let settled = ".wait(\"down\").when(|h| !h.bmc.reachable)";
    assert_eq!(faults(&format!("{steps}{}{}", state("A", settled), state("C", ""))), [""; 0]);
    let found = faults(&format!("{steps}{}{}", state("A", settled), state("C", settled)));
    assert!(
        found.len() == 1 && found[0].starts_with("rules.rhai:1:23: this condition always holds here"),
        "{found:#?}"
    );
}
