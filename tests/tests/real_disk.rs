//! An agent whose state directory is a real file system that runs full.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::{fs, time::Duration};

use proto::forge::{DpuNetworkStatus, FlatInterfaceConfig, ManagedHostNetworkConfigResponse};
use testbed::{
    Binaries,
    real::{AgentProcess, AgentSetup, Lab, Part, ScriptedController, SmallDisk, admin_answer, missing},
};

const REPORTED: Duration = Duration::from_secs(20);

fn admin(version: u64, vlan_id: u32) -> ManagedHostNetworkConfigResponse {
    let port = FlatInterfaceConfig {
        vlan_id,
        vni: 1_025_014,
        vpc_vni: 42,
        gateway: "192.168.97.1/24".into(),
        ip: "192.168.97.49".into(),
        interface_prefix: "192.168.97.49/32".into(),
        prefix: "192.168.97.0/24".into(),
        is_l2_segment: true,
        ..FlatInterfaceConfig::default()
    };
    admin_answer(version, port)
}

fn acknowledges(report: Option<&DpuNetworkStatus>, version: &str) -> bool {
    report.is_some_and(|report| {
        report.network_config_version.as_deref() == Some(version) && report.network_config_error.is_none()
    })
}

#[test]
fn needs_root_a_full_disk_is_told_while_it_is_full() {
    if missing(&[Part::Namespaces]) {
        return;
    }
    let lab = Lab::new(&[]);
    let controller = ScriptedController::start();
    let setup = AgentSetup { controller: controller.url(), ..AgentSetup::default() };
    let mut agent = AgentProcess::new(&lab, &Binaries::ready(false).unwrap(), &setup);
    let disk = SmallDisk::mount(&lab.path().join("agent/state"), "256k").unwrap();
    controller.wants(admin(1, 14));
    agent.start();
    let report = |what: &str, wanted: &dyn Fn(Option<&DpuNetworkStatus>) -> bool| {
        controller.wait_for_report(what, REPORTED, |report| {
            if wanted(report) { Ok(()) } else { Err(format!("{report:?}\nthe agent says:\n{}", agent.log())) }
        })
    };
    report("V1", &|report| acknowledges(report, "V1-T1733950583707475"));

    let ballast = disk.fill();
    controller.wants(admin(2, 15));
    let full = report("the full disk", &|report| {
        report.is_some_and(|report| report.network_config_error.as_ref().is_some_and(|why| why.contains("No space")))
    });
    let acknowledged = full.network_config_version.as_deref();
    assert_ne!(acknowledged, Some("V2-T1733950583707475"), "what cannot be recorded is not acknowledged");

    drop(ballast);
    report("V2", &|report| acknowledges(report, "V2-T1733950583707475"));
    let kept = fs::read(disk.path().join("intent.pb")).unwrap();
    assert!(kept.windows(20).any(|text| text == b"V2-T1733950583707475"), "a restart goes on with the second version");
}
