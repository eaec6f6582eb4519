//! The graph of a pack, and the differences between two packs in words.
#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use rules::{LoadOptions, RuleSet, load_files};

const PACK: &str = r#"
initial("A");
timeout("pause", seconds(100));
limit("tries", 3);
action("restart");
action("report", #{ source: "text", urgent: "bool" });
failure_cause("Broken");
counter("tries").kept_in(["A", "B"]);
source("noise*");
report("health").with("host_merge").except("noise*");
no_sla_while(|h| h.host.never_locked);
gate("open", |h| broken(h) && h.instance.present).waits("Waiting for it");

state("A").sla(|h| if h.host.never_locked { 1 } else { timeout("pause") })
    .go("B").when(|h| h.requests.reset && h.counter("tries") < limit("tries"))
        .count("tries")
        .does("restart").ignoring_failure()
        .does("report", #{ source: "x", urgent: true }).or_go("Failed")
    .go("Failed").when(|h| h.requests.reset).cause("Broken")
    .pass("open")
    .wait("restarting").each_dpu(|h, d| !d.reachable).does("restart")
    .wait("nothing");

state("B").sla(1)
    .go("Gone").when(|h| h.requests.force_delete)
    .go("A");

state("Failed").no_sla()
    .go("A").when(|h| broken(h)).clears_failure()
    .wait("failed");

state("Gone").terminal().no_sla().delete();

fn broken(h) {
    if h.failure.cause == "Broken" { true } else { false }
}
"#;

fn load(rules: &str) -> RuleSet {
    load_files([("rules.rhai".to_owned(), rules.to_owned())], &LoadOptions::default())
        .map_err(|faults| faults.to_string())
        .unwrap()
}

/// The differences after these replacements in the pack.
fn changes(change: &[(&str, &str)]) -> Vec<String> {
    let mut text = PACK.to_owned();
    for (old, new) in change {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    rules::diff(&load(PACK), &load(&text)).iter().map(ToString::to_string).collect()
}

#[test]
fn what_changed_between_two_packs_is_said_in_words() {
    assert_eq!(
        changes(&[("seconds(100)", "minutes(3)"), ("wait(\"nothing\")", "wait(\"nothing at all\")")]),
        [
            "state A: no longer wait \"nothing\"; now wait \"nothing at all\"",
            "timeout pause: no longer 100 s; now 180 s"
        ]
    );
    assert_eq!(
        changes(&[("state(\"Gone\")", "state(\"Away\")"), (".go(\"Gone\")", ".go(\"Away\")")]),
        [
            "state B: no longer go Gone when |h| h.requests.force_delete; now go Away when |h| h.requests.force_delete",
            "state Gone is gone",
            "state Away is new",
        ]
    );
    assert_eq!(
        changes(&[("h.instance.present", "!h.instance.present")]),
        [
            "gate open: no longer open when |h| broken(h) && h.instance.present; now open when |h| broken(h) && !h.instance.present"
        ]
    );
}

#[test]
fn every_change_of_decisions_shows_in_the_diff() {
    for (old, new, said) in [
        ("urgent: true", "urgent: false", "state A: no longer go B"),
        (".ignoring_failure()", "", "state A: no longer go B"),
        (".or_go(\"Failed\")", ".or_go(\"B\")", "state A: no longer go B"),
        (".count(\"tries\")", ".count(\"tries\").reset(\"tries\")", "resets tries"),
        (".cause(\"Broken\")", "", "no longer go Failed when |h| h.requests.reset, records Broken"),
        (".clears_failure()", "", "clears the failure"),
        (".each_dpu(", ".first_dpu(", "now wait \"restarting\" when |h, d| !d.reachable doing restart on first DPU"),
        ("except(\"noise*\")", "only(\"noise*\")", "report health: no longer with host_merge except noise*"),
        ("[\"A\", \"B\"]", "[\"A\", \"B\", \"Gone\"]", "counter tries: no longer kept in [A, B]"),
        ("{ true } else { false }", "{ false } else { true }", "function broken: no longer fn broken(h)"),
        ("limit(\"tries\", 3)", "limit(\"tries\", 4)", "limit tries: no longer 3; now 4"),
        ("state(\"B\").sla(1)", "state(\"B\").sla(2)", "time limit 2 s"),
        ("initial(\"A\")", "initial(\"B\")", "initial state: B instead of A"),
        ("|h| h.host.never_locked)", "|h| h.host.paired)", "now do not count when |h| h.host.paired"),
    ] {
        let changes = changes(&[(old, new)]).join("; ");
        assert!(changes.contains(said), "{old} -> {new}: {changes}");
    }
    assert_eq!(changes(&[("initial", "// a comment\ninitial")]), [""; 0]);
    let (own, other) = (load(PACK), load(&format!("{PACK}\n")));
    assert_ne!(own.hash(), other.hash());
    assert_eq!(own.hash(), load(PACK).hash());
}

#[test]
fn the_graph_is_known_without_running_anything() {
    let graph = load(PACK).graph();
    let edges: Vec<(&str, &str)> = graph.edges().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(edges, [("A", "B"), ("A", "Failed"), ("A", "Failed"), ("B", "Gone"), ("B", "A"), ("Failed", "A")]);
    let [a, ..] = graph.states.as_slice() else { unreachable!() };
    assert!(a.sla_computed && a.sla_seconds.is_none());
    let first = &a.arms[0];
    assert_eq!(first.guards, ["|h| h.requests.reset && h.counter(\"tries\") < limit(\"tries\")"]);
    let actions: Vec<String> = first.actions.iter().map(ToString::to_string).collect();
    assert_eq!(
        actions,
        ["restart which may fail", "report (source: \"x\", urgent: true) and on failure goes to Failed"]
    );
    assert_eq!(first.records, ["counts tries"]);
    assert_eq!(a.arms[2].guards, ["|h| broken(h) && h.instance.present"], "a gate's name is no part of its guard");
    let drawn = graph.top("B").mermaid(|path| (path == "A").then_some(3));
    assert_eq!(
        drawn,
        "stateDiagram-v2\n    state \"A (3)\" as A\n    state \"B\" as B\n    state \"Gone\" as Gone\n    B --> Gone\n    B --> A\n"
    );
}
