//! Limits that are never reached, records that never exist, and cycles of states are errors.

#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use rules::{LoadOptions, load_files};

const NAMES: &str = r#"
initial("A");
limit("most", 3);
action("act");
action("other");
state("End").terminal().no_sla().wait("end");
"#;

fn faults(rules: &str) -> Vec<String> {
    let files = [("names.rhai".to_owned(), NAMES.to_owned()), ("rules.rhai".to_owned(), rules.to_owned())];
    let faults = load_files(files, &LoadOptions::default()).map_or_else(|faults| faults.diagnostics, |_| Vec::new());
    faults.iter().map(ToString::to_string).collect()
}

fn assert_found(rules: &str, expected: &[&str]) {
    let found = faults(rules);
    for expected in expected {
        assert!(found.iter().any(|fault| fault.contains(expected)), "{rules}\nexpected {expected}\nfound {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{rules}\n{found:#?}");
}

/// A tries by C, C goes back.
fn loop_of(kept: &str, there: &str, back: &str) -> String {
    format!(
        "counter(\"n\").kept_in({kept});\n\
         state(\"A\").no_sla()\n.go(\"C\").when(|h| h.counter(\"n\") < limit(\"most\")){there}\n.go(\"End\");\n\
         state(\"C\").no_sla()\n.go(\"A\").when(|h| h.requests.retry){back}\n.wait(\"trying\");"
    )
}

#[test]
fn a_counter_that_never_reaches_its_limit_is_an_error() {
    for sound in [
        loop_of("[\"A\", \"C\"]", ".count(\"n\")", ""),
        loop_of("[\"A\", \"C\"]", "", ".count(\"n\")"),
        loop_of("[\"A\", \"C\"]", ".count(\"n\")", ".reset(\"n\")"),
    ] {
        assert_found(&sound, &[]);
    }
    assert_found(
        &loop_of("\"End\"", ".count(\"n\")", ""),
        &[
            "rules.rhai:3:2: counter `n` is not kept in `C`: each time it starts again (keep it there: `.kept_in([…, \"C\"])`)",
            "rules.rhai:3:10: counter `n` is always 0 in state `A` (keep it there: `.kept_in([…, \"A\"])`)",
        ],
    );
    assert_found(&loop_of("\"A\"", ".count(\"n\")", ""), &["rules.rhai:3:2: counter `n` is not kept in `C`"]);
    assert_found(&loop_of("\"A\"", "", ".count(\"n\")"), &["rules.rhai:6:2: counter `n` never exceeds 1"]);
    assert_found(&loop_of("\"C\"", ".count(\"n\")", ""), &["counter `n` is always 0", "counter `n` never exceeds 1"]);
    assert_found(
        &loop_of("[\"A\", \"C\"]", "", ""),
        &["rules.rhai:3:10: counter `n` is read, and never has a value (no arm counts it"],
    );
}

#[test]
fn a_counter_of_one_state_needs_not_be_kept() {
    assert_found(
        "counter(\"n\").kept_in([]);\n\
         state(\"A\").no_sla().wait(\"try\").when(|h| h.counter(\"n\") < limit(\"most\")).count(\"n\").does(\"act\").go(\"End\");",
        &[],
    );
    assert_found(
        "counter(\"n\").kept_in([]);\n\
         state(\"A\").no_sla().go(\"D\");\n\
         dpu_state(\"D\").no_sla().wait(\"try\").when(|h, d| d.counter(\"n\") < limit(\"most\")).count(\"n\").does(\"act\")\n\
         .host_go(\"End\").when(|h| h.dpus.all(|d| d.counter(\"n\") > 2)).wait(\"others\");",
        &[],
    );
}

#[test]
fn a_note_that_is_read_is_written() {
    let state = |said: &str| {
        format!(
            "note(\"from\", [\"a\"]).kept_in(\"End\");\nstate(\"A\").no_sla().go(\"C\"){said};\n\
             state(\"C\").no_sla().go(\"End\").when(|h| h.note(\"from\") == \"a\").wait(\"C\");"
        )
    };
    assert_found(&state(".note(\"from\", \"a\")"), &[]);
    let never = "rules.rhai:3:31: note `from` is read, and never has a value (no arm writes it";
    assert_found(&state(""), &[never]);
    assert_found(&state(".note(\"from\", \"\")"), &[never]);
}

#[test]
fn an_action_record_is_read_in_the_state_that_does_it() {
    let state = |does: &str| {
        format!(
            "state(\"A\").no_sla().wait(\"acting\").when(|h| !h.done(\"act\")).does(\"{does}\").go(\"C\");\n\
             state(\"C\").no_sla().go(\"End\").does(\"act\").does(\"other\");"
        )
    };
    assert_found(&state("act"), &[]);
    assert_found(
        &state("other"),
        &["rules.rhai:1:36: no arm of state `A` does `act` (results of actions end with the state"],
    );
    // A gate is asked in several states: it makes sense if it does in one.
    let gate = |c: &str| {
        format!(
            "gate(\"acted\", |h| h.done(\"act\") || h.requests.retry).waits(\"Acting\");\n\
             state(\"A\").no_sla().pass(\"acted\").go(\"C\");\nstate(\"C\").no_sla(){c}.pass(\"acted\").go(\"End\");"
        )
    };
    assert_found(&gate(".wait(\"acting\").when(|h| !h.done(\"act\")).does(\"act\")"), &[]);
    assert_found(&gate(""), &["rules.rhai:1:1: no arm of state `A` does `act`"]);
    // What is asked in another state only is not asked in this one.
    assert_found(
        "fn tried(h) { h.state.path == \"C\" && h.done(\"act\") }\n\
         state(\"A\").no_sla().wait(\"a\").when(|h| tried(h)).go(\"C\");\n\
         state(\"C\").no_sla().wait(\"c\").when(|h| !tried(h)).does(\"act\").go(\"End\");",
        &[],
    );
}

#[test]
fn states_that_never_hold_a_host_are_no_circle() {
    let round = |a: &str, b: &str| {
        format!(
            "counter(\"n\").kept_in([\"A\", \"B\"]);\nstate(\"A\").no_sla()\n.go(\"End\").when(|h| h.instance.present){a}\n.go(\"B\");\n\
             state(\"B\").no_sla()\n.go(\"End\").when(|h| h.requests.retry)\n.go(\"A\"){b};"
        )
    };
    assert_found(&round("", ""), &["rules.rhai:7:2: hosts loop forever: A -> B"]);
    assert_found(&round("", ".count(\"n\")"), &[]);
    assert_found(&round("", ".does(\"act\")"), &[]);
    assert_found(&round("\n.wait(\"a\").when(|h| h.requests.reset)", ""), &[]);
    assert_found(
        "state(\"A\").no_sla()\n.go(\"End\").when(|h| h.instance.present)\n.go(\"A\");",
        &["rules.rhai:3:2: hosts loop forever: A"],
    );
    assert_found(
        "state(\"A\").no_sla().wait(\"resting\").when(|h| h.state.elapsed < 60)\n.go(\"End\").when(|h| h.instance.present).go(\"A\");",
        &[],
    );
}

#[test]
fn a_rule_for_any_state_leads_out_of_where_it_applies() {
    let rule = |rule: &str| {
        format!(
            "any_state(\"r\").within(\"T\").{rule};\nstate(\"A\").no_sla().go(\"T/X\");\n\
             state(\"T/X\").no_sla().wait(\"x\").when(|h| h.bmc.reachable).go(\"T/Y\");\n\
             state(\"T/Y\").no_sla().go(\"End\");"
        )
    };
    assert_found(
        &rule("go(\"T/Y\").when(|h| h.requests.reset)"),
        &[
            "rules.rhai:1:28: in state `T/Y` this arm applies again: hosts loop forever (add `.except(\"T/Y\")` to the rule)",
        ],
    );
    assert_found(&rule("except(\"T/Y\").go(\"T/Y\").when(|h| h.requests.reset)"), &[]);
    assert_found(&rule("go(\"T/Y\").when(|h| h.requests.reset && h.state.path != \"T/Y\")"), &[]);
    assert_found(&rule("go(\"T/Y\").when(|h| h.requests.maintenance_since_state_change)"), &[]);
    assert_found(&rule("go(\"T/Y\").when(|h| h.requests.reset).does(\"act\")"), &[]);
}
