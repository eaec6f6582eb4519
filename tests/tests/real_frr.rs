//! The agent's BGP health against FRR: a DPU, two ToR switches and a route server in network namespaces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::time::Duration;

use proto::{
    forge::{DpuNetworkStatus, FlatInterfaceConfig, ManagedHostNetworkConfig, ManagedHostNetworkConfigResponse},
    health::HealthReport,
};
use testbed::{
    Binaries, block_until,
    real::{AgentProcess, AgentSetup, DPU_LOOPBACK, Fabric, Part, ROUTE_SERVER, ScriptedController, missing, parsed},
};

const PARTS: &[Part] = &[Part::Namespaces, Part::Frr];
const ALLOCATIONS: &str = "PreventAllocations";
const STATE_CHANGES: &str = "PreventHostStateChanges";
const REPORTED: Duration = Duration::from_secs(30);

/// A fabric whose DPU runs an agent that took a configuration and was told about the fabric's route server.
struct Site {
    agent: AgentProcess,
    controller: ScriptedController,
    fabric: Fabric,
}

impl Site {
    fn up() -> Self {
        let fabric = Fabric::up();
        let controller = ScriptedController::start();
        controller.wants(response());
        let programs = Binaries::ready(false).unwrap();
        let vtysh = fabric.dpu.vtysh_prefix();
        let setup = AgentSetup { controller: controller.url(), vtysh, ..AgentSetup::default() };
        let mut agent = AgentProcess::new(&fabric.lab, &programs, &setup);
        agent.start();
        Self { agent, controller, fabric }
    }

    /// Waits for a report with exactly these alerts, and holds `dpu-agent check` to the same.
    fn shows(&self, what: &str, alerts: &[(&str, &str, &[&str])]) -> DpuNetworkStatus {
        let wanted: Vec<_> = alerts.iter().map(|(id, target, classes)| alert(id, target, classes)).collect();
        let report = self.controller.wait_for_report(what, REPORTED, |report| {
            let health = report.and_then(|report| report.dpu_health.as_ref());
            let found = health.map(alerts_of).unwrap_or_else(|| vec![alert("no report", "", &[])]);
            if found == wanted { Ok(()) } else { Err(format!("{found:?}; the agent says:\n{}", self.agent.log())) }
        });
        let (checked, well) = self.agent.check();
        assert_eq!(alerts_of(&checked), wanted, "{what}: dpu-agent check");
        assert_eq!(well, wanted.is_empty(), "{what}: exit status of dpu-agent check");
        report
    }
}

type Alert = (String, String, Vec<String>);

fn alert(id: &str, target: &str, classifications: &[&str]) -> Alert {
    (id.into(), target.into(), classifications.iter().map(|&class| class.into()).collect())
}

fn alerts_of(report: &HealthReport) -> Vec<Alert> {
    let alerts = report.alerts.iter();
    let mut alerts: Vec<_> =
        alerts.map(|it| (it.id.clone(), it.target.clone().unwrap_or_default(), sorted(&it.classifications))).collect();
    alerts.sort();
    alerts
}

fn sorted(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    words.sort();
    words
}

fn succeeded(report: &HealthReport, id: &str, target: &str) -> bool {
    report.successes.iter().any(|it| it.id == id && it.target.as_deref().unwrap_or_default() == target)
}

/// An admin network, as a host has before any tenant.
fn response() -> ManagedHostNetworkConfigResponse {
    ManagedHostNetworkConfigResponse {
        asn: 4_259_912_557,
        managed_host_config: Some(ManagedHostNetworkConfig {
            loopback_ip: DPU_LOOPBACK.into(),
            ..ManagedHostNetworkConfig::default()
        }),
        managed_host_config_version: "V1-T1733950583707475".into(),
        use_admin_network: true,
        is_primary_dpu: true,
        admin_interface: Some(FlatInterfaceConfig {
            vlan_id: 14,
            gateway: "192.168.97.1/24".into(),
            ip: "192.168.97.49".into(),
            interface_prefix: "192.168.97.49/32".into(),
            prefix: "192.168.97.0/24".into(),
            fqdn: "host-49.example.com".into(),
            is_l2_segment: true,
            ..FlatInterfaceConfig::default()
        }),
        network_virtualization_type: Some(0),
        route_servers: vec![ROUTE_SERVER.into()],
        vpc_isolation_behavior: 2,
        host_interface_id: Some("3912c59c-8fc0-400d-b05f-7bf62405018f".into()),
        ..ManagedHostNetworkConfigResponse::default()
    }
}

#[test]
fn needs_frr_uplink_alerts_come_and_go_with_the_tors() {
    if missing(PARTS) {
        return;
    }
    let mut site = Site::up();
    let report = site.shows("all sessions up", &[]);
    assert_eq!(report.network_config_version.as_deref(), Some("V1-T1733950583707475"));
    let health = report.dpu_health.unwrap();
    for (id, target) in
        [("BgpPeeringTor", "p0_if"), ("BgpPeeringTor", "p1_if"), ("BgpPeeringRouteServer", ROUTE_SERVER)]
    {
        assert!(succeeded(&health, id, target), "{id} {target}: {:?}", health.successes);
    }

    // p0 carries the host's boot traffic: no new instance is placed here.
    site.fabric.lose_tor(0);
    site.shows("ToR 0 lost", &[("BgpPeeringTor", "p0_if", &[ALLOCATIONS])]);

    // Without both uplinks there is no way to the route server either, which says so once its hold time is over.
    site.fabric.lose_tor(1);
    site.fabric.wait_for("l2VpnEvpn", ROUTE_SERVER, |state| state != "Established");
    let critical: &[&str] = &[ALLOCATIONS, STATE_CHANGES];
    let lost = [
        ("BgpPeeringRouteServer", ROUTE_SERVER, critical),
        ("BgpPeeringTor", "p0_if", critical),
        ("BgpPeeringTor", "p1_if", critical),
    ];
    site.shows("both ToRs lost", &lost);

    // p1 alone missing is shown, but stops nothing.
    site.fabric.return_tor(0);
    site.fabric.wait_for("l2VpnEvpn", ROUTE_SERVER, |state| state == "Established");
    site.shows("ToR 0 back", &[("BgpPeeringTor", "p1_if", &[])]);

    site.fabric.return_tor(1);
    site.fabric.settle();
    site.shows("both ToRs back", &[]);
}

#[test]
fn needs_frr_strange_and_missing_peers_are_told_by_name() {
    if missing(PARTS) {
        return;
    }
    let site = Site::up();
    site.shows("all sessions up", &[]);
    let critical: &[&str] = &[ALLOCATIONS, STATE_CHANGES];

    site.fabric.configure_dpu(&[
        "neighbor 203.0.113.9 remote-as 65099",
        "address-family ipv4 unicast",
        "neighbor 203.0.113.9 activate",
    ]);
    site.shows("a stranger", &[("UnexpectedBgpPeer", "203.0.113.9", critical)]);
    site.fabric.configure_dpu(&["no neighbor 203.0.113.9"]);
    site.shows("the stranger gone", &[]);

    // An operator shut the session: nothing is down, and still there is no session.
    site.fabric.configure_dpu(&["neighbor p0_if shutdown"]);
    site.shows("p0 shut by hand", &[("BgpPeeringTor", "p0_if", &[ALLOCATIONS])]);
    site.fabric.configure_dpu(&["no neighbor p0_if shutdown"]);
    site.fabric.settle();
    site.shows("p0 back", &[]);

    site.fabric.configure_dpu(&[&format!("no neighbor {ROUTE_SERVER}")]);
    site.shows("no session with the route server", &[("BgpPeeringRouteServer", ROUTE_SERVER, critical)]);
}

#[test]
fn needs_frr_without_a_route_server_evpn_over_uplinks_counts() {
    if missing(PARTS) {
        return;
    }
    let site = Site::up();
    site.shows("all sessions up", &[]);
    site.controller.wants(ManagedHostNetworkConfigResponse {
        managed_host_config_version: "V2-T1733950583707476".into(),
        route_servers: Vec::new(),
        ..response()
    });
    let critical: &[&str] = &[ALLOCATIONS, STATE_CHANGES];
    let evpn = ["address-family l2vpn evpn", "neighbor p0_if activate", "neighbor p1_if activate"];
    // The route server is a stranger now, and EVPN does not run where it should.
    let alerts = [
        ("BgpPeeringTor", "p0_if", critical),
        ("BgpPeeringTor", "p1_if", critical),
        ("UnexpectedBgpPeer", ROUTE_SERVER, critical),
    ];
    site.shows("no EVPN on the uplinks", &alerts);

    site.fabric.configure_dpu(&[&format!("no neighbor {ROUTE_SERVER}")]);
    site.fabric.configure_dpu(&evpn);
    for tor in [0, 1] {
        site.fabric.configure_tor(tor, &["address-family l2vpn evpn", "neighbor swp1 activate"]);
    }
    site.shows("EVPN on both uplinks", &[]);

    site.fabric.configure_tor(0, &["address-family l2vpn evpn", "neighbor swp1 shutdown"]);
    site.shows("ToR 0 shut by hand", &[("BgpPeeringTor", "p0_if", &[ALLOCATIONS])]);

    // Up again, but without EVPN: FRR's JSON calls such a session Established.
    site.fabric.configure_tor(0, &["no neighbor swp1 shutdown"]);
    site.shows("ToR 0 back", &[]);
    site.fabric.configure_tor(0, &["address-family l2vpn evpn", "no neighbor swp1 activate"]);
    site.fabric.wait_for("ipv4Unicast", "p0_if", |s| s == "Established");
    site.shows("no EVPN on ToR 0", &[("BgpPeeringTor", "p0_if", &[ALLOCATIONS])]);
}

#[test]
fn needs_frr_without_a_bgp_daemon_sessions_are_unknown() {
    if missing(PARTS) {
        return;
    }
    let mut site = Site::up();
    site.shows("all sessions up", &[]);
    site.fabric.dpu.stop();
    site.shows("FRR gone", &[("BgpStats", "", &[ALLOCATIONS, STATE_CHANGES])]);
}

/// Family, peer and state of each session that a parser finds.
fn sessions(summary: &serde_json::Value) -> Vec<[String; 3]> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut sessions = Vec::new();
    for table in summary["tables"].as_array().unwrap() {
        for peer in table["peers"].as_array().unwrap() {
            sessions.push([text(&table["family"]), text(&peer["name"]), state(&peer["state"])]);
        }
    }
    sessions.sort();
    sessions
}

fn state(state: &serde_json::Value) -> String {
    state.as_str().map_or_else(|| state.to_string(), str::to_owned)
}

#[test]
fn needs_frr_text_and_json_of_one_router_read_the_same() {
    if missing(PARTS) {
        return;
    }
    let mut fabric = Fabric::up();
    let programs = Binaries::ready(false).unwrap();
    let both = |fabric: &Fabric| {
        let read = |kind: &str, command: &str| sessions(&parsed(&programs, kind, &fabric.dpu.vtysh(&[command])));
        // A session can change between the two commands, but not again and again.
        block_until("text and JSON agree", REPORTED, || {
            let (text, json) = (read("bgp-text", "show bgp summary"), read("bgp-json", "show bgp summary json"));
            if text == json { Ok(text) } else { Err(format!("{text:?}\n{json:?}")) }
        })
    };
    let up = |family: &str, peer: &str| [family.to_owned(), peer.to_owned(), "Established".to_owned()];
    let (p0, p1) = (up("ipv4Unicast", "p0_if"), up("ipv4Unicast", "p1_if"));
    let server = up("l2VpnEvpn", ROUTE_SERVER);
    assert_eq!(both(&fabric), [p0, p1.clone(), server.clone()]);

    fabric.lose_tor(0);
    let long = "neighbor p1_if description The second uplink of rack 7, patched over panel \"B 12\"";
    fabric.configure_dpu(&[long, "neighbor 203.0.113.9 remote-as 4294967295", "neighbor 203.0.113.9 shutdown"]);
    fabric.configure_dpu(&["address-family ipv4 unicast", "neighbor 203.0.113.9 activate"]);
    let all = both(&fabric);
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(all.contains(&p1) && all.contains(&server), "{all:?}");
    let down: Vec<&str> = all.iter().filter(|it| !it[2].contains("Established")).map(|it| it[1].as_str()).collect();
    assert_eq!(down, ["203.0.113.9", "p0_if"]);
}
