//! Small packs of one file, and hosts to try them on.
#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use rules::{Decision, Dpu, LoadOptions, RuleSet, Snapshot, load_files};

pub(crate) fn load(rules: &str) -> RuleSet {
    load_files([("rules.rhai".to_owned(), rules.to_owned())], &LoadOptions::default())
        .map_err(|faults| faults.to_string())
        .unwrap()
}

pub(crate) fn host(path: &str, dpus: usize) -> Snapshot {
    let mut host = Snapshot { id: "host".into(), now: 1_000_000_000_000, ..Snapshot::default() };
    host.state.path = path.into();
    host.state.since = host.now - 60_000_000;
    host.host.associated_dpus = i64::try_from(dpus).unwrap();
    host.dpus = (0..dpus).map(|n| Dpu { id: format!("dpu{n}"), name: format!("dpu{n}"), ..Dpu::default() }).collect();
    host
}

/// In short: `go X dpu0>Y`, `wait: reason`, `error: reason`, `delete`.
pub(crate) fn outcome(rules: &RuleSet, host: &Snapshot) -> String {
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
