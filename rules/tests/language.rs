//! What the verbs of the rule language mean, in one small pack.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers are called by tests alone")]

mod small;

use std::collections::BTreeMap;

use rules::{ActionRecord, ActionStatus, Argument, Decision, FailureChange, OnFailure, Snapshot};
use small::{host, load, outcome};

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
fn the_first_arm_that_applies_decides() {
    let rules = load(HOST_STATES);
    let mut h = host("A", 2);
    h.dpus.iter_mut().for_each(|dpu| dpu.reachable = true.into());
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
    h.dpus.iter_mut().for_each(|dpu| dpu.reachable = false.into());
    let Decision::Wait(wait) = rules.decide(&h).decision else { panic!() };
    assert_eq!(wait.actions[0].dpus, ["dpu0", "dpu1", "dpu2"]);
    h.dpus.iter_mut().for_each(|dpu| dpu.reachable = true.into());
    h.dpus[1].config_error = "x".into();
    h.dpus[2].config_error = "y".into();
    let Decision::Wait(wait) = rules.decide(&h).decision else { panic!() };
    assert_eq!((&*wait.reason, wait.actions[0].dpus.as_slice()), ("one DPU restarts", ["dpu1".to_owned()].as_slice()));
}

#[test]
fn a_move_carries_actions_counters_notes_and_on_failure() {
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
fn failures_are_cleared_and_records_deleted_only_by_rules() {
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
    after.bmc.bios_job = "7".to_owned().into();
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
