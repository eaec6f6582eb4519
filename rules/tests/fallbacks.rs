//! The move after actions failed whose arms name a fallback state with `or_go`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers are called by tests alone")]

use std::collections::BTreeMap;

use rules::{Dpu, Fallback, LoadOptions, Snapshot, load_files};

const PACK: &str = r#"
initial("Init/Off");
action("redfish.restart_dpu");
action("redfish.power_on");
counter("tries").kept_in("Init");

dpu_state("Init/Off").sla(1)
    .go("Init/Done").when(|h, d| d.reachable).does("redfish.restart_dpu").or_go("Init/Broken")
    .wait("restarting").does("redfish.restart_dpu").count("tries").or_go("Init/Broken");
dpu_state("Init/Broken").sla(1)
    .host_go("Failed").when(|h, d| d.counter("tries") > 3)
    .wait("broken").does("redfish.restart_dpu").or_go("Failed");
dpu_state("Init/Done").barrier().sla(1)
    .go("Ready").does("redfish.power_on").or_go("Init/Off");
state("Ready").terminal().sla(0).wait("done");
state("Failed").terminal().sla(0).wait("failed");
"#;

/// The DPU's place, whether it is reachable, and what it has counted.
fn host(dpus: &[(&str, bool, i64)]) -> Snapshot {
    let dpu = |(number, (state, reachable, tries)): (usize, &(&str, bool, i64))| Dpu {
        id: format!("dpu{number}"),
        state: Some((*state).into()),
        reachable: (*reachable).into(),
        counters: BTreeMap::from([("tries".to_owned(), *tries)]),
        ..Dpu::default()
    };
    let mut host = Snapshot { dpus: dpus.iter().enumerate().map(dpu).collect(), ..Snapshot::default() };
    host.state.path = dpus[0].0.into();
    host
}

#[test]
fn a_dpu_falls_back_alone_to_dpu_states_else_with_its_host() {
    let rules = load_files([("pack.rhai".to_owned(), PACK.to_owned())], &LoadOptions::default()).unwrap();
    let off = host(&[("Init/Off", true, 0), ("Init/Off", false, 2)]);
    let broken = host(&[("Init/Broken", false, 1), ("Init/Broken", false, 1)]);
    let done = host(&[("Init/Done", true, 1), ("Init/Done", true, 1)]);
    let cases: [(&Snapshot, Option<usize>, &str, &str); 5] = [
        // The other one does what it was to do.
        (&off, Some(0), "Init/Broken", "Init/Off dpu0>Init/Broken{tries: 0} dpu1>stays{tries: 3}"),
        (&off, Some(1), "Init/Broken", "Init/Broken dpu0>Init/Done{tries: 0} dpu1>Init/Broken{tries: 3}"),
        (&broken, Some(1), "Failed", "Failed"),
        (&done, None, "Init/Off", "Init/Off dpu0>Init/Off{tries: 1} dpu1>Init/Off{tries: 1}"),
        (&done, None, "Failed", "Failed"),
    ];
    for (host, dpu, to, expected) in cases {
        let diversion = Fallback { dpu: dpu.map(|number| host.dpus[number].id.clone()), to: to.into() };
        let go = rules.fall_back(host, &rules.decision(host), &[diversion]);
        let steps = go.dpus.iter().map(|step| {
            let to = step.to.as_ref().map_or("stays", |to| to.as_str());
            let tries = step.counters.as_ref().map_or(0, |counters| counters["tries"]);
            format!(" {}>{to}{{tries: {tries}}}", step.dpu)
        });
        assert_eq!(format!("{}{}", go.to, steps.collect::<String>()), expected, "{dpu:?} to {to}");
        assert!(go.actions.is_empty());
    }
}
