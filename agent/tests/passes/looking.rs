//! What is known of a DPU after a restart, and what people are shown of it.

use std::{fs, time::Duration};

use agent::Agent;
use proto::forge::ManagedHostNetworkConfigResponse;
use types::{HealthAlert, HealthReport};

use super::{
    authority::Authority,
    controller::{Controller, admin},
    dpu::{Dpu, running},
};

fn with_route_server(version: u64, octet: u8) -> ManagedHostNetworkConfigResponse {
    ManagedHostNetworkConfigResponse { route_servers: vec!["192.0.2.250".into()], ..admin(version, octet) }
}

/// BGP as FRR shows it where EVPN goes to a route server.
fn sessions(dpu: &Dpu, route_server: &str) {
    let table = |peers: String| format!("{{\"vrfName\": \"default\", \"peers\": {{{peers}}}}}");
    let up = |name: &str, state: &str| format!("\"{name}\": {{\"state\": \"{state}\"}}");
    let ipv4 = table([up("p0_if", "Established"), up("p1_if", "Established")].join(", "));
    let evpn = table(up("192.0.2.250", route_server));
    dpu.write("bgp.json", &format!("{{\"ipv4Unicast\": {ipv4}, \"l2VpnEvpn\": {evpn}}}"));
}

fn alerts(report: &HealthReport) -> Vec<String> {
    let name = |HealthAlert { id, target, .. }: &HealthAlert| match target {
        Some(target) => format!("{id} {target}"),
        None => id.clone(),
    };
    report.alerts.iter().map(name).collect()
}

fn told(controller: &Controller) -> Vec<String> {
    controller.told().dpu_health.unwrap().alerts.into_iter().map(|it| format!("{} {}", it.id, it.target())).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn what_runs_is_checked_by_its_own_measure_also_by_an_agent_that_could_not_change_it() {
    let (controller, uri) = Controller::start().await;
    let dpu = Dpu::new(&uri);
    controller.says(with_route_server(1, 11));
    sessions(&dpu, "Established");
    assert!(dpu.agent().pass().await.healthy, "{:?}", told(&controller));
    controller.says(with_route_server(2, 12));
    dpu.write("on-replace", "echo 'Error: no'; exit 1");
    let mut agent = dpu.agent();
    agent.pass().await;
    assert_eq!(told(&controller), ["NetworkConfig "]);
    let look = || async { Agent::look(agent::Settings::parse(&dpu.settings_text()).unwrap()).await };
    assert_eq!(alerts(&look().await), ["NetworkConfig"], "people hear what the agent could not do");
    sessions(&dpu, "Active");
    agent.pass().await;
    assert_eq!(told(&controller), ["BgpPeeringRouteServer 192.0.2.250", "NetworkConfig "]);
    assert_eq!(alerts(&look().await), ["BgpPeeringRouteServer 192.0.2.250", "NetworkConfig"]);
}

#[tokio::test(flavor = "current_thread")]
async fn looking_at_a_dpu_leaves_no_trace_and_sees_its_certificate() {
    let dpu = Dpu::new("https://127.0.0.1:1");
    let (cert, key) = Authority::new().issue_until("dpu", 2020);
    dpu.write("cert.pem", &cert);
    dpu.write("key.pem", &key);
    let tls = |name: &str| format!("{name} = \"{}/{name}.pem\"\n", dpu.path().display());
    let text = format!("{}\n[tls]\n{}{}", dpu.settings_text(), tls("cert"), tls("key"));
    let before = fs::read_dir(dpu.path()).unwrap().count();
    let report = Agent::look(agent::Settings::parse(&text).unwrap()).await;
    assert_eq!(alerts(&report), ["ClientCertificate"]);
    let made = fs::read_dir(dpu.path()).unwrap().count() - before;
    assert_eq!(made, 1, "what the stand-in for vtysh writes down, and no state directory");
}

#[tokio::test(flavor = "current_thread")]
async fn the_pause_after_a_change_outlasts_a_restart_and_a_clock_that_was_set_back_unless_nobody_wants_it() {
    let (controller, dpu, agent) = running().await;
    drop(agent);
    let pausing = |probes: Option<&str>| {
        let text = dpu.settings_text().replace("post_config_check_secs = 0", "post_config_check_secs = 30");
        let probes = probes.map_or(String::new(), |probes| format!("[health]\nprobes = [{probes}]\n"));
        Agent::new(agent::Settings::parse(&format!("{text}{probes}")).unwrap()).unwrap()
    };
    let later = std::time::SystemTime::now() + Duration::from_secs(3600);
    let marker = dpu.read("state/applied/marker.json").unwrap();
    let mut marker: serde_json::Value = serde_json::from_str(&marker).unwrap();
    marker["since"] = prost_types::Timestamp::from(later).to_string().into();
    dpu.write("state/applied/marker.json", &marker.to_string());
    pausing(None).pass().await;
    assert_eq!(told(&controller), ["PostConfigCheckWait "]);
    pausing(Some("\"bgp\", \"post_config_check\"")).pass().await;
    assert_eq!(told(&controller), ["PostConfigCheckWait "]);
    pausing(Some("\"bgp\"")).pass().await;
    assert_eq!(told(&controller), [""; 0]);
}
