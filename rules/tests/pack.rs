//! The shipped pack: it loads without a fault, its own tests pass, and they reach every arm.
#![allow(clippy::panic, reason = "helpers of one test program")]
#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use std::path::{Path, PathBuf};

fn pack() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("managed_host")
}

fn rules() -> rules::RuleSet {
    rules::load_pack(&pack()).map_err(|faults| faults.to_string()).unwrap()
}

#[test]
fn its_own_tests_pass_and_reach_every_arm() {
    let tests = rules::read_tests(&pack()).unwrap();
    let result = rules().run_tests(tests.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let failures: Vec<String> = result
        .cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}: {}", case.file, case.name, case.failure.as_ref()?)))
        .collect();
    assert!(result.cases.len() > 100, "only {} cases were read", result.cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let untested: Vec<String> =
        result.untested.iter().map(|arm| format!("{} {}: {}", arm.at, arm.state, arm.arm)).collect();
    assert!(untested.is_empty(), "no test reaches\n{}", untested.join("\n"));
}

#[test]
fn it_is_formatted_and_no_file_is_too_long_to_read() {
    let rules = rules();
    for (file, text) in rules.sources() {
        assert!(text.lines().count() <= 400, "{file} has {} lines", text.lines().count());
        let formatted = rules::format(text);
        let differs = text.lines().zip(formatted.lines()).position(|(was, is)| was != is);
        let differs = differs.map(|line| (line + 1, formatted.lines().nth(line).unwrap_or_default()));
        assert!(formatted == **text, "{file} is laid out otherwise, first in {differs:?}");
    }
}

/// What the arms of a state ask for, in order: top states of moves, gates, and `wait` or `fail`, each once.
fn asks(state: &str) -> Vec<String> {
    let graph = rules().graph();
    let state = graph.states.iter().find(|one| one.path == state).unwrap();
    let mut asked: Vec<String> = Vec::new();
    for arm in &state.arms {
        let top = arm.to.as_ref().map(|to| to.split('/').next().unwrap_or(to).to_owned());
        let one = top.or_else(|| arm.gate.clone()).unwrap_or_else(|| arm.verb.to_owned());
        if !asked.contains(&one) {
            asked.push(one);
        }
    }
    asked
}

#[test]
fn requests_to_a_ready_host_are_served_in_their_order() {
    let order = [
        "wait",
        "Maintenance",
        "Decommissioning",
        "PreAssignedMeasuring",
        "Assigned",
        "BootConfiguring",
        "BomValidating",
        "HostReprovision",
        "Validation",
        "DPUReprovision",
        "Measuring",
        "HostInit",
        "RotatingBmc",
        "RotatingHostUefi",
        "RotatingDpuUefi",
        "RotatingNicLockdown",
    ];
    assert_eq!(asks("Ready"), order);
}

#[test]
fn network_gates_are_passed_in_their_order() {
    let (synced, of_instance) = ("managed_host_config_synced", "instance_config_synced");
    let (health, uplink) = ("no_blocking_health", "primary_p0_ready");
    assert_eq!(
        asks("Assigned/WaitingForNetworkConfig"),
        ["Assigned", synced, "other_nics_synced", of_instance, health, uplink, "fabrics_synced"]
    );
    assert_eq!(asks("Assigned/WaitingForRebootToReady"), ["Assigned", health, uplink]);
    for update in ["WaitingForConfigSynced", "ReleaseOldResources"] {
        assert_eq!(asks(&format!("Assigned/NetworkConfigUpdate/{update}")), ["Assigned", synced, of_instance, health]);
    }
}
