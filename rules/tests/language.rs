//! What the verbs of the rule language mean, one small pack each.

#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use std::collections::BTreeMap;

use rules::{
    ActionRecord, ActionStatus, Alert, Argument, Decision, Dpu, FailureChange, HealthReport, LoadOptions, OnFailure,
    RuleSet, Snapshot, load_files,
};

fn load(rules: &str) -> RuleSet {
    load_files([("rules.rhai".to_owned(), rules.to_owned())], &LoadOptions::default())
        .map_err(|faults| faults.to_string())
        .unwrap()
}

fn host(path: &str, dpus: usize) -> Snapshot {
    let mut host = Snapshot { id: "host".into(), now: 1_000_000_000_000, ..Snapshot::default() };
    host.state.path = path.into();
    host.state.since = host.now - 60_000_000;
    host.host.associated_dpus = i64::try_from(dpus).unwrap();
    host.dpus = (0..dpus).map(|n| Dpu { id: format!("dpu{n}"), name: format!("dpu{n}"), ..Dpu::default() }).collect();
    host
}

/// In short: `go X dpu0>Y`, `wait: reason`, `error: reason`, `delete`.
fn outcome(rules: &RuleSet, host: &Snapshot) -> String {
    let steps = |steps: &[rules::DpuStep]| {
        let moves = steps.iter().filter_map(|step| step.to.as_ref().map(|to| format!(" {}>{to}", step.dpu)));
        moves.collect::<String>()
    };
    match rules.decide(host).decision {
        Decision::Go(go) => format!("go {}{}", go.to, steps(&go.dpus)),
        Decision::Wait(wait) => format!("wait: {}{}", wait.reason, steps(&wait.dpus)),
        Decision::Error(fault) => format!("error: {}", fault.reason),
        Decision::Delete(_) => "delete".to_owned(),
    }
}

const DPU_STATES: &str = r#"
initial("Init/Off");
action("redfish.restart_dpu");
failure_cause("Discovery");
counter("checks").kept_in("Init");
note("path", ["long"]).kept_in("Init");

dpu_state("Init/Off").sla(1)
    .host_go("Done").when(|h| h.dpus.is_empty())
    .host_go("Failed").when(|h, d| d.counter("checks") >= 2).cause("Discovery")
    .go("Init/On").when(|h, d| d.booted_since_state_change).count("checks").note("path", "long")
    .wait("restarting").when(|h, d| !d.reachable).does("redfish.restart_dpu").count("checks")
    .wait("booting");

dpu_state("Init/On").sla(1)
    .go("Init/Aligned");

dpu_state("Init/Aligned").barrier().sla(1)
    .go("Done").when(|h| h.dpus.all(|d| d.primary || d.state == "Init/Aligned" || d.state == "Init/NotMeant"));
    
dpu_state("Init/NotMeant").aside().no_sla().wait("not meant");

state("Done").terminal().no_sla().wait("done");
state("Failed").waits_for_operator().no_sla().wait("failed");
state("Start").entry().no_sla()
    .go("Init/Off").for_dpus(|h, d| d.reprovision_requested).others("Init/NotMeant");
"#;

fn dpu_rules() -> RuleSet {
    load(&DPU_STATES.replace(".go(\"Done\").when(|h| h.dpus.all(|d| d.primary || d.state == \"Init/Aligned\" || d.state == \"Init/NotMeant\"));", ".go(\"Done\");"))
}

fn at(host: &mut Snapshot, states: &[&str]) {
    for (dpu, state) in host.dpus.iter_mut().zip(states) {
        dpu.state = Some((*state).into());
        dpu.reachable = true;
    }
}

#[test]
fn dpus_move_one_by_one_and_the_host_shows_the_least_advanced() {
    let rules = dpu_rules();
    let mut two = host("Init/Off", 2);
    at(&mut two, &["Init/Off", "Init/Off"]);
    assert_eq!(outcome(&rules, &two), "wait: booting");
    two.dpus[1].booted_at = Some(two.now);
    assert_eq!(outcome(&rules, &two), "go Init/Off dpu1>Init/On");
    at(&mut two, &["Init/Off", "Init/On"]);
    two.dpus[1].booted_at = None;
    assert_eq!(outcome(&rules, &two), "go Init/Off dpu1>Init/Aligned");
    two.dpus[0].booted_at = Some(two.now);
    assert_eq!(outcome(&rules, &two), "go Init/On dpu0>Init/On dpu1>Init/Aligned");
}

#[test]
fn a_barrier_waits_for_everybody_and_names_who_is_missing() {
    let rules = dpu_rules();
    let mut three = host("Init/Off", 3);
    at(&mut three, &["Init/Aligned", "Init/Off", "Init/Off"]);
    let Decision::Wait(wait) = rules.decide(&three).decision else { panic!() };
    let of_first = wait.dpus.iter().find(|step| step.dpu == "dpu0").unwrap().reason.clone().unwrap();
    assert_eq!(&*of_first, "waiting for the other DPUs: dpu1 in Init/Off, dpu2 in Init/Off");
    assert_eq!(&*wait.reason, "booting");
    three.state.path = "Init/Aligned".into();
    at(&mut three, &["Init/Aligned", "Init/Aligned", "Init/Aligned"]);
    assert_eq!(outcome(&rules, &three), "go Done");
}

#[test]
fn a_dpu_that_takes_no_part_holds_nobody_up() {
    let rules = dpu_rules();
    let mut two = host("Init/Aligned", 2);
    at(&mut two, &["Init/Aligned", "Init/NotMeant"]);
    assert_eq!(outcome(&rules, &two), "go Done");
    let mut two = host("Init/Off", 2);
    at(&mut two, &["Init/Off", "Init/NotMeant"]);
    two.dpus[0].booted_at = Some(two.now);
    assert_eq!(outcome(&rules, &two), "go Init/On dpu0>Init/On");
}

#[test]
fn entering_a_dpu_state_takes_all_dpus_along_or_only_those_that_are_meant() {
    let rules = dpu_rules();
    let mut two = host("Start", 2);
    two.dpus[1].reprovision_requested = true;
    assert_eq!(outcome(&rules, &two), "go Init/Off dpu0>Init/NotMeant dpu1>Init/Off");
}

#[test]
fn counters_and_notes_of_a_dpu_live_as_long_as_they_are_kept() {
    let rules = dpu_rules();
    let mut one = host("Init/Off", 1);
    at(&mut one, &["Init/Off"]);
    one.dpus[0].reachable = false;
    one.dpus[0].counters.insert("checks".into(), 1);
    let Decision::Wait(wait) = rules.decide(&one).decision else { panic!() };
    assert_eq!(wait.dpus[0].counters, Some(BTreeMap::from([("checks".to_owned(), 2)])));
    assert_eq!(wait.dpus[0].actions[0].dpus, ["dpu0"]);
    one.dpus[0].counters.insert("checks".into(), 2);
    let Decision::Go(go) = rules.decide(&one).decision else { panic!() };
    assert_eq!(go.to.as_str(), "Failed");
    assert_eq!(go.failure, FailureChange::Set { cause: "Discovery".into(), dpu: Some("dpu0".into()) });
    one.dpus[0].counters.clear();
    one.dpus[0].reachable = true;
    one.dpus[0].booted_at = Some(one.now);
    let Decision::Go(go) = rules.decide(&one).decision else { panic!() };
    assert_eq!(go.dpus[0].counters, Some(BTreeMap::from([("checks".to_owned(), 1)])));
    assert_eq!(go.dpus[0].notes, Some(BTreeMap::from([("path".to_owned(), "long".to_owned())])));
}

#[test]
fn a_host_without_dpus_passes_by_arms_for_the_host() {
    assert_eq!(outcome(&dpu_rules(), &host("Init/Off", 0)), "go Done");
}

const HOST_STATES: &str = r#"
initial("A");
timeout("pause", seconds(100));
limit("tries", 3);
action("redfish.force_restart");
action("redfish.restart_dpu");
action("health.put_report", #{ source: "text", urgent: "bool", after: "int", classes: "texts" });
failure_cause("Broken");
counter("tries").kept_in(["A", "Retry"]);
note("came_from", ["A"]).kept_in("Retry");

state("A").sla(|h| if h.counter("tries") > 1 { 0 } else { timeout("pause") })
    .go("Retry").when(|h| h.requests.reset && h.counter("tries") < limit("tries"))
        .count("tries").note("came_from", "A")
        .does("redfish.force_restart").ignoring_failure()
        .does("health.put_report", #{ source: "x", urgent: true, after: minutes(1), classes: ["C"] }).or_go("Failed")
    .go("Failed").when(|h| h.requests.reset).cause("Broken")
    .wait("some DPU restarts").each_dpu(|h, d| !d.reachable).does("redfish.restart_dpu")
    .wait("one DPU restarts").first_dpu(|h, d| d.config_error != "").does("redfish.restart_dpu")
    .wait("paused").when(|h| h.state.elapsed < timeout("pause"))
    .fail("in maintenance").when(|h| h.requests.maintenance)
    .wait("restarting").when(|h| !h.done("redfish.force_restart")).does("redfish.force_restart")
    .go("Retry").unless(|h| h.failed("redfish.restart_dpu") || h.tries("redfish.restart_dpu") > 2)
    .wait("resting").when(|h| h.action_age("redfish.restart_dpu").or(0) < 10)
    .wait("nothing");

state("Retry").sla(1)
    .go("Gone").when(|h| h.note("came_from") == "" && h.requests.force_delete)
    .go("A");

state("Failed").no_sla()
    .go("A").when(|h| h.failure.age.or(0) > days(1)).clears_failure()
    .wait("failed");

state("Gone").terminal().no_sla().delete();
"#;

#[test]
fn arms_are_read_top_to_bottom_and_the_first_that_applies_decides() {
    let rules = load(HOST_STATES);
    let mut h = host("A", 2);
    h.dpus.iter_mut().for_each(|dpu| dpu.reachable = true);
    assert_eq!(outcome(&rules, &h), "wait: paused");
    h.state.since = h.now - 100_000_000;
    assert_eq!(outcome(&rules, &h), "wait: restarting");
    h.requests.maintenance = true;
    assert_eq!(outcome(&rules, &h), "error: in maintenance");
    h.requests.maintenance = false;
    let done = ActionRecord { status: ActionStatus::Done, tries: 1, at: h.now, error: String::new() };
    h.state.actions.insert("redfish.force_restart".into(), done.clone());
    assert_eq!(outcome(&rules, &h), "go Retry");
    h.state.actions.insert("redfish.restart_dpu".into(), ActionRecord { status: ActionStatus::Failed, ..done.clone() });
    assert_eq!(outcome(&rules, &h), "wait: resting");
    h.state.actions.insert("redfish.restart_dpu".into(), ActionRecord { tries: 3, at: h.now - 10_000_000, ..done });
    assert_eq!(outcome(&rules, &h), "wait: nothing");
}

#[test]
fn an_arm_can_choose_the_dpus_that_its_actions_are_for() {
    let rules = load(HOST_STATES);
    let mut h = host("A", 3);
    let Decision::Wait(wait) = rules.decide(&h).decision else { panic!() };
    assert_eq!(wait.actions[0].dpus, ["dpu0", "dpu1", "dpu2"]);
    h.dpus.iter_mut().for_each(|dpu| dpu.reachable = true);
    h.dpus[1].config_error = "x".into();
    h.dpus[2].config_error = "y".into();
    let Decision::Wait(wait) = rules.decide(&h).decision else { panic!() };
    assert_eq!((&*wait.reason, wait.actions[0].dpus.as_slice()), ("one DPU restarts", ["dpu1".to_owned()].as_slice()));
}

#[test]
fn a_move_carries_actions_arguments_counters_notes_and_what_to_do_on_failure() {
    let rules = load(HOST_STATES);
    let mut h = host("A", 0);
    h.requests.reset = true;
    h.state.counters = BTreeMap::from([("tries".to_owned(), 2)]);
    let Decision::Go(go) = rules.decide(&h).decision else { panic!() };
    assert_eq!(go.to.as_str(), "Retry");
    assert_eq!(go.counters, BTreeMap::from([("tries".to_owned(), 3)]));
    assert_eq!(go.notes, BTreeMap::from([("came_from".to_owned(), "A".to_owned())]));
    assert_eq!(go.actions[0].on_failure, OnFailure::Ignore);
    assert_eq!(go.actions[1].on_failure, OnFailure::Go("Failed".into()));
    assert_eq!(go.actions[1].args["after"], Argument::Int(60));
    assert_eq!(go.actions[1].args["classes"], Argument::Texts(vec!["C".into()]));

    h.state.counters.insert("tries".to_owned(), 3);
    let Decision::Go(go) = rules.decide(&h).decision else { panic!() };
    assert_eq!(go.to.as_str(), "Failed");
    assert_eq!(go.failure, FailureChange::Set { cause: "Broken".into(), dpu: None });
    assert_eq!(go.counters, BTreeMap::new(), "a counter ends with the first move out of its states");
}

#[test]
fn failures_are_cleared_and_records_deleted_only_where_the_rules_say_so() {
    let rules = load(HOST_STATES);
    let mut h = host("Failed", 0);
    h.failure.cause = "Broken".into();
    h.failure.at = h.now - 86_400_000_000;
    assert_eq!(outcome(&rules, &h), "wait: failed");
    h.now += 1_000_000;
    let Decision::Go(go) = rules.decide(&h).decision else { panic!() };
    assert_eq!(go.failure, FailureChange::Clear);
    assert_eq!(outcome(&rules, &host("Gone", 0)), "delete");
}

#[test]
fn a_time_limit_can_depend_on_the_host() {
    let rules = load(HOST_STATES);
    let mut h = host("A", 0);
    assert_eq!(rules.sla(&h), Some(100));
    h.state.counters.insert("tries".into(), 2);
    assert_eq!(rules.sla(&h), Some(0));
    assert!(rules.explain(&h).above_sla);
    assert_eq!(rules.sla(&host("Failed", 0)), None);
}

#[test]
fn a_waiting_host_is_looked_at_again_when_a_time_guard_flips() {
    let rules = load(HOST_STATES);
    let mut h = host("A", 0);
    let wait = |h: &Snapshot| match rules.decide(h).decision {
        Decision::Wait(wait) => (wait.reason.to_string(), wait.recheck_after),
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(&h), ("paused".to_owned(), Some(40)));
    h.now += 39_900_000;
    assert_eq!(wait(&h), ("paused".to_owned(), Some(1)));
    h.now += 100_000;
    assert_eq!(wait(&h).0, "restarting");
    let mut failed = host("Failed", 0);
    assert_eq!(wait(&failed), ("failed".to_owned(), None), "nothing on record can grow old");
    failed.failure.cause = "Broken".into();
    failed.failure.at = failed.now - 86_000_000_000;
    assert_eq!(wait(&failed), ("failed".to_owned(), Some(401)));
}

#[test]
fn only_what_a_state_reads_can_change_its_decision() {
    let rules = load(HOST_STATES);
    let before = host("Retry", 1);
    let mut after = before.clone();
    after.now += 30_000_000;
    after.dpus[0].observed_at = Some(after.now);
    after.bmc.bios_job = "7".into();
    assert!(rules.sees_no_change(&before, &after));
    after.requests.force_delete = true;
    assert!(!rules.sees_no_change(&before, &after));
    assert_eq!(rules.reads(&"Retry".into()), ["requests.force_delete"]);

    let failed = host("Failed", 0);
    let mut older = failed.clone();
    older.now += 3_600_000_000;
    assert!(rules.sees_no_change(&failed, &older), "time alone is no change: the moment it matters is known");
    older.failure.cause = "Broken".into();
    older.failure.at = older.now;
    assert!(!rules.sees_no_change(&failed, &older));
}

const REPORTS: &str = r#"
initial("A");
classification("Stop");
classification("Mild");
probe("Link");
probe("Heartbeat");
dpu_report("dpu_health")
    .replaced_by("dpu_replace")
    .with("dpu_agent").or_alert("Heartbeat", ["Stop"], "no report")
        .unclassified_when(|h, d| d.reprovision_requested)
    .alert("Link", ["Mild"], "made up").when(|h, d| d.config_error != "")
    .with("dpu_merge").except("noise.*");
report("health")
    .replaced_by("host_replace")
    .with_dpus("dpu_health").when(|h, d| d.primary)
    .with("host_merge").only("monitor.*")
    .with("rack_merge");
state("A").no_sla()
    .wait("stop").when(|h| h.health.has_class("Stop"))
    .wait("link").when(|h| h.health.has_alert("Link", "Mild"))
    .wait("missing").when(|h| h.health.missing)
    .wait("alerts").when(|h| h.health.alerts > 1)
    .wait("second").when(|h| h.dpus.any(|d| !d.primary && d.dpu_health.has_probe("Link")))
    .go("B");
state("B").terminal().no_sla().wait("end");
"#;

fn report(alerts: &[(&str, &[&str])]) -> HealthReport {
    let alerts = alerts.iter().map(|(id, classes)| Alert {
        id: (*id).to_owned(),
        message: format!("{id} is bad"),
        classifications: classes.iter().map(|class| (*class).to_owned()).collect(),
        ..Alert::default()
    });
    HealthReport { alerts: alerts.collect(), ..HealthReport::default() }
}

#[test]
fn reports_are_put_together_as_the_pack_says() {
    let rules = load(REPORTS);
    let mut h = host("A", 2);
    h.dpus[0].primary = true;
    assert_eq!(outcome(&rules, &h), "wait: stop", "a missing agent report stands for an alert");
    h.dpus[0].reprovision_requested = true;
    assert_eq!(outcome(&rules, &h), "wait: missing", "its classification does not count, and nothing is stored");
    h.dpus[0].reprovision_requested = false;
    h.dpus[0].health.agent = Some(report(&[]));
    assert_eq!(outcome(&rules, &h), "go B", "the other DPU is not looked at");
    h.dpus[0].config_error = "x".into();
    assert_eq!(outcome(&rules, &h), "wait: link");
    h.dpus[0].health.replace = Some(report(&[]));
    assert_eq!(outcome(&rules, &h), "go B", "a DPU's replacing report hides its others");
    h.dpus[0].health.replace = None;
    h.dpus[0].config_error.clear();
    h.dpus[0].health.merges.insert("noise.fan".into(), report(&[("Link", &["Stop"])]));
    assert_eq!(outcome(&rules, &h), "go B", "an excepted source is not looked at");
    h.dpus[0].health.merges.insert("operator".into(), report(&[("Link", &[]), ("Heartbeat", &[])]));
    assert_eq!(outcome(&rules, &h), "wait: alerts");
    h.health.merges.insert("other".into(), report(&[("Link", &["Stop"])]));
    assert_eq!(outcome(&rules, &h), "wait: alerts", "only monitors are merged");
    h.health.merges.insert("monitor.fan".into(), report(&[("Link", &["Stop"])]));
    assert_eq!(outcome(&rules, &h), "wait: stop");
    h.health.replace = Some(report(&[("Link", &["Mild"])]));
    assert_eq!(outcome(&rules, &h), "wait: link", "the host's replacing report is the whole report");
    h.health.replace = Some(report(&[]));
    h.dpus[1].health.agent = Some(report(&[("Link", &[])]));
    assert_eq!(outcome(&rules, &h), "wait: second");
}

#[test]
fn two_alerts_of_one_probe_and_target_become_one() {
    let rules = load(REPORTS);
    let mut h = host("A", 1);
    h.dpus[0].primary = true;
    let mut agent = report(&[("Link", &["Stop"])]);
    agent.observed_at = Some(20);
    agent.alerts[0].target = Some("p0".into());
    agent.alerts[0].in_alert_since = Some(7);
    agent.successes = vec![
        rules::Success { id: "Heartbeat".into(), target: None },
        rules::Success { id: "Link".into(), target: Some("p0".into()) },
    ];
    let mut operator = report(&[("Link", &["Mild", "Stop"]), ("Link", &[])]);
    operator.observed_at = Some(10);
    operator.alerts[0].target = Some("p0".into());
    operator.alerts[0].message = "seen".into();
    operator.alerts[0].in_alert_since = Some(5);
    h.dpus[0].health.agent = Some(agent);
    h.dpus[0].health.merges.insert("operator".into(), operator);
    let merged = rules.health_report("health", &h, None).unwrap();
    assert_eq!((merged.source.as_str(), merged.observed_at), ("health", Some(10)));
    assert_eq!(merged.successes, [rules::Success { id: "Heartbeat".into(), target: None }]);
    assert_eq!(merged.alerts.len(), 2, "two targets of one probe stay two alerts");
    let p0 = &merged.alerts[1];
    assert_eq!((p0.message.as_str(), p0.in_alert_since), ("Link is bad\nseen", Some(5)));
    assert_eq!(p0.classifications, ["Mild", "Stop"]);
    assert_eq!(rules.health_report("dpu_health", &h, Some(0)).unwrap().alerts.len(), 2);
    assert!(rules.health_report("none", &h, None).is_none());
}

#[test]
fn an_explanation_names_alerts_with_their_dpu_source_and_time() {
    let rules = load(REPORTS);
    let mut h = host("A", 2);
    h.dpus[0].primary = true;
    let mut agent = report(&[("Link", &["Stop"])]);
    agent.source = "agent".into();
    agent.alerts[0].in_alert_since = Some(5);
    h.dpus[0].health.agent = Some(agent);
    let explained = rules.explain(&h);
    assert_eq!(explained.alerts.len(), 1);
    let alert = &explained.alerts[0];
    assert_eq!(
        (alert.probe.as_str(), alert.dpu.as_deref(), alert.source.as_str(), alert.since),
        ("Link", Some("dpu0"), "agent", Some(5))
    );
    assert_eq!(explained.facts[0].name, "health(Stop)");
    assert_eq!(explained.facts[0].value, "Link of dpu0");
    assert_eq!(explained.arms[0].at, "rules.rhai:19");
}

#[test]
fn rules_for_any_state_come_first_in_the_states_they_are_for() {
    let rules = load(
        r#"
        initial("Top/A");
        any_state("maintenance").within("Top").except("Top/B").wait("maintenance").when(|h| h.requests.maintenance);
        any_state("reset").fail("reset").when(|h| h.requests.reset);
        steps("common").wait("instance").when(|h| h.instance.present);
        state("Top/A").no_sla().steps("common").go("Top/B");
        state("Top/B").no_sla().steps("common").when(|h| h.requests.decommission).go("Topmost");
        state("Topmost").terminal().no_sla().wait("end");
        "#,
    );
    let with = |path: &str, change: fn(&mut Snapshot)| {
        let mut h = host(path, 0);
        change(&mut h);
        outcome(&rules, &h)
    };
    assert_eq!(with("Top/A", |h| (h.requests.maintenance, h.requests.reset) = (true, true)), "wait: maintenance");
    assert_eq!(with("Top/B", |h| (h.requests.maintenance, h.requests.reset) = (true, true)), "error: reset");
    assert_eq!(with("Topmost", |h| h.requests.maintenance = true), "wait: end");
    assert_eq!(with("Top/A", |h| h.instance.present = true), "wait: instance");
    assert_eq!(
        with("Top/B", |h| h.instance.present = true),
        "go Topmost",
        "the steps have a condition of their own here"
    );
    assert_eq!(with("Top/B", |h| (h.instance.present, h.requests.decommission) = (true, true)), "wait: instance");
}

#[test]
fn what_changed_between_two_packs_is_said_in_words() {
    let old = load(HOST_STATES);
    let new = load(
        &HOST_STATES
            .replace("timeout(\"pause\", seconds(100))", "timeout(\"pause\", minutes(3))")
            .replace(".wait(\"nothing\")", ".wait(\"nothing at all\")")
            .replace("state(\"Gone\")", "state(\"Away\")")
            .replace(".go(\"Gone\")", ".go(\"Away\")"),
    );
    let changes: Vec<String> = rules::diff(&old, &new).iter().map(ToString::to_string).collect();
    assert_eq!(
        changes,
        [
            "state A: no longer wait \"nothing\"; now wait \"nothing at all\"",
            "state Gone is gone",
            "state Retry: no longer go Gone when |h| h.note(\"came_from\") == \"\" && h.requests.force_delete; now go Away when |h| h.note(\"came_from\") == \"\" && h.requests.force_delete",
            "state Away is new",
            "timeout pause: no longer 100 s; now 180 s",
        ]
    );
    assert_eq!(rules::diff(&old, &old), []);
    assert_ne!(old.hash(), new.hash());
    assert_eq!(old.hash(), load(HOST_STATES).hash());
}

#[test]
fn the_graph_is_known_without_running_anything() {
    let graph = load(HOST_STATES).graph();
    let edges: Vec<(&str, &str)> = graph.edges().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(
        edges,
        [
            ("A", "Retry"),
            ("A", "Failed"),
            ("A", "Failed"),
            ("A", "Retry"),
            ("Retry", "Gone"),
            ("Retry", "A"),
            ("Failed", "A")
        ]
    );
    let first = &graph.states[0].arms[0];
    assert_eq!(first.guards, ["|h| h.requests.reset && h.counter(\"tries\") < limit(\"tries\")"]);
    assert_eq!(first.actions, ["redfish.force_restart", "health.put_report"]);
    let drawn = graph.top("Retry").mermaid(|path| (path == "A").then_some(3));
    assert_eq!(
        drawn,
        "stateDiagram-v2\n    state \"A (3)\" as A\n    state \"Gone\" as Gone\n    state \"Retry\" as Retry\n    Retry --> Gone\n    Retry --> A\n"
    );
}
