//! States that DPUs pass one by one, and barriers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers are called by tests alone")]

mod small;

use std::collections::BTreeMap;

use rules::{Decision, FailureChange, RuleSet, Snapshot};
use small::{host, load, outcome};

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
        dpu.reachable = true.into();
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
fn a_dpu_in_an_aside_state_blocks_no_barrier() {
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
fn all_dpus_or_only_the_selected_ones_enter_a_dpu_state() {
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
    one.dpus[0].reachable = false.into();
    one.dpus[0].counters.insert("checks".into(), 1);
    let Decision::Wait(wait) = rules.decide(&one).decision else { panic!() };
    assert_eq!(wait.dpus[0].counters, Some(BTreeMap::from([("checks".to_owned(), 2)])));
    assert_eq!(wait.dpus[0].actions[0].dpus, ["dpu0"]);
    one.dpus[0].counters.insert("checks".into(), 2);
    let Decision::Go(go) = rules.decide(&one).decision else { panic!() };
    assert_eq!(go.to.as_str(), "Failed");
    assert_eq!(go.failure, FailureChange::Set { cause: "Discovery".into(), dpu: Some("dpu0".into()) });
    one.dpus[0].counters.clear();
    one.dpus[0].reachable = true.into();
    one.dpus[0].booted_at = Some(one.now);
    let Decision::Go(go) = rules.decide(&one).decision else { panic!() };
    assert_eq!(go.dpus[0].counters, Some(BTreeMap::from([("checks".to_owned(), 1)])));
    assert_eq!(go.dpus[0].notes, Some(BTreeMap::from([("path".to_owned(), "long".to_owned())])));
}

#[test]
fn a_host_without_dpus_passes_by_arms_for_the_host() {
    assert_eq!(outcome(&dpu_rules(), &host("Init/Off", 0)), "go Done");
}
