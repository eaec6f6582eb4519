//! What each state of the sessions comes to.

use std::{collections::BTreeSet, net::IpAddr};

use types::HealthAlert;

use super::*;
use crate::{
    parse::{bgp_json, bgp_text},
    render::TenantPeer,
};

/// What a DPU with two uplinks expects.
fn expected(route_servers: &[&str], tenants: &[&str]) -> Expectations {
    let address = |text: &&str| -> IpAddr { text.parse().unwrap() };
    Expectations {
        uplinks: vec!["p0_if".into(), "p1_if".into()],
        min_links: 2,
        evpn_on_uplinks: route_servers.is_empty(),
        route_servers: route_servers.iter().map(address).collect::<BTreeSet<_>>(),
        tenant_peers: tenants.iter().map(|it| TenantPeer { vrf: "default".into(), address: address(it) }).collect(),
        ..Expectations::default()
    }
}

fn fixture(name: &str) -> String {
    let path = format!("{}/../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn reading(name: &str) -> BgpReading {
    let text = fixture(name);
    let read = if text.trim_start().starts_with(['{', ':']) { bgp_json(&text) } else { bgp_text(&text) };
    match read {
        Ok(summary) => BgpReading::Summary(summary),
        Err(fault) => BgpReading::Unreadable(fault.to_string()),
    }
}

/// Alerts as `probe target severity`, with `-` for no classification, `a` for allocations, `c` for critical.
fn alerts(reading: &BgpReading, expected: &Expectations) -> Vec<String> {
    let mut findings = Findings::default();
    judge(reading, expected, &mut findings);
    let line = |alert: &HealthAlert| {
        let severity = ['-', 'a', 'c'][alert.classifications.len()];
        format!("{} {} {severity}", alert.id, alert.target.as_deref().unwrap_or("*"))
    };
    findings.report().alerts.iter().map(line).collect()
}

fn messages(reading: &BgpReading, expected: &Expectations) -> Vec<String> {
    let mut findings = Findings::default();
    judge(reading, expected, &mut findings);
    findings.report().alerts.iter().map(|alert| alert.message.clone()).collect()
}

#[test]
fn hbn_summaries_give_the_alerts_of_the_policy() {
    let both = ["BgpPeeringTor p0_if c", "BgpPeeringTor p1_if c"];
    for (name, route_servers, tenants, outcome) in [
        ("no_route_server_success", &[][..], &[][..], vec![]),
        ("no_route_server_failed_tor_peers", &[], &[], both.to_vec()),
        // p0 alone keeps new instances away.
        ("no_route_server_single_failed_tor_peer", &[], &[], vec!["BgpPeeringTor p0_if a"]),
        ("no_route_server_with_tenant_routes", &[], &["10.217.4.78"], vec![]),
        ("no_route_server_with_tenant_routes", &[], &[], vec!["UnexpectedBgpPeer 10.217.4.78 c"]),
        ("with_route_server_and_tenant_routes", &["10.217.126.67"], &["10.217.19.211"], vec![]),
        (
            "with_route_server_and_tenant_routes",
            &[],
            &["10.217.19.211"],
            [&both[..], &["UnexpectedBgpPeer 10.217.126.67 c"]].concat(),
        ),
        (
            "with_route_server_failed_all_peers",
            &["10.217.126.67"],
            &[],
            [&["BgpPeeringRouteServer 10.217.126.67 c"], &both[..]].concat(),
        ),
    ] {
        let reading = reading(&format!("bgp/hbn_bgp_summary_{name}.json"));
        assert_eq!(alerts(&reading, &expected(route_servers, tenants)), outcome, "{name} {route_servers:?}");
    }
}

#[test]
fn messages_name_the_session_and_what_is_wrong_once() {
    let idle = reading("bgp/hbn_bgp_summary_no_route_server_single_failed_tor_peer.json");
    assert_eq!(messages(&idle, &expected(&[], &[])), ["Session p0_if is not Established, but in state Idle"]);
    let tenant = reading("bgp/hbn_bgp_summary_no_route_server_with_tenant_routes.json");
    assert_eq!(
        messages(&tenant, &expected(&[], &[])),
        ["Unexpected BGP session referencing peer 10.217.4.78 was found in ipv4_unicast"]
    );
    let absent = reading("cases/empty-object.json");
    assert_eq!(messages(&absent, &expected(&[], &[]))[0], "Expected session for p0_if was not found in BGP peer data");
    let noneg = messages(&reading("cases/noneg-modern.txt"), &expected(&[], &[]));
    assert!(noneg[0].contains("the peer did not agree to this address family"), "{noneg:?}");
}

#[test]
fn known_troubles_give_one_alert_for_each_thing_that_is_wrong() {
    let both = ["BgpPeeringTor p0_if c", "BgpPeeringTor p1_if c"];
    let rs = &["192.0.2.67"][..];
    for (name, route_servers, outcome) in [
        ("hostname-in-neighbor.txt", rs, vec!["BgpPeeringTor p1_if -"]),
        ("both-uplinks-never.txt", &[], both.to_vec()),
        (
            "dynamic-neighbor.txt",
            &["192.0.2.1"],
            vec!["BgpPeeringRouteServer 192.0.2.1 c", "BgpStats * c", "UnexpectedBgpPeer 198.51.100.9 c"],
        ),
        ("no-instance.txt", rs, [&["BgpPeeringRouteServer 192.0.2.67 c"], &both[..], &["BgpStats * c"]].concat()),
        ("no-evpn-section.json", &[], both.to_vec()),
        ("no-evpn-section.json", rs, vec!["BgpPeeringRouteServer 192.0.2.67 c"]),
        ("empty-object.json", &[], both.to_vec()),
        ("vrf-all-default-empty.json", &[], [&both[..], &["UnexpectedBgpPeer p0_if c"]].concat()),
        ("truncated.json", &[], vec!["BgpStats * c"]),
        (
            "dynamic-count-zero.json",
            rs,
            vec!["BgpPeeringRouteServer 192.0.2.67 c", "BgpStats * c", "UnexpectedBgpPeer 198.51.100.9 c"],
        ),
        ("subfunction-names.json", &[], both.to_vec()),
        ("linklocal-peer.json", rs, vec!["BgpPeeringRouteServer 192.0.2.67 c"]),
        // The default VRF in capitals is the default VRF.
        ("old-field-set.json", rs, vec!["BgpPeeringRouteServer 192.0.2.67 c"]),
    ] {
        let reading = reading(&format!("cases/{name}"));
        assert_eq!(alerts(&reading, &expected(route_servers, &[])), outcome, "{name} {route_servers:?}");
    }
}

#[test]
fn the_older_names_are_healthy_where_they_are_expected() {
    let older = Expectations { uplinks: vec!["p0_sf".into(), "p1_sf".into()], ..expected(&[], &[]) };
    assert_eq!(alerts(&reading("cases/subfunction-names.json"), &older), Vec::<String>::new());
}

#[test]
fn sessions_that_cannot_be_read_are_unknown_not_down() {
    let reading = BgpReading::Unreadable("exit status: 1: Exiting: failed to connect to any daemons.".into());
    assert_eq!(alerts(&reading, &expected(&["192.0.2.67"], &[])), ["BgpStats * c"]);
    assert!(messages(&reading, &expected(&[], &[]))[0].contains("failed to connect to any daemons"));
}

#[test]
fn json_without_the_underlay_is_an_alert_that_says_why() {
    let tor = ["BgpPeeringTor p0_if c", "BgpPeeringTor p1_if c"];
    let up = r#""peers": {"p0_if": {"state": "Established"}, "p1_if": {"state": "Established"}}"#;
    let other = BgpReading::Summary(bgp_json(&format!(r#"{{"bgpLs": {{"vrfName": "default", {up}}}}}"#)).unwrap());
    assert_eq!(alerts(&other, &expected(&[], &[])), tor);
    let none = BgpReading::Summary(bgp_json(r#"{"warning": "BGP instance not found"}"#).unwrap());
    assert_eq!(alerts(&none, &expected(&[], &[])), [&tor[..], &["BgpStats * c"]].concat());
    assert_eq!(messages(&none, &expected(&[], &[]))[2], "FRR shows no BGP sessions: BGP instance not found");
}

#[test]
fn uplinks_and_the_number_that_must_work() {
    for line in fixture("cases/uplink-matrix.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let state = |up: &str| if up == "up" { "Established" } else { "Active" };
        let text = format!(
            r#"{{"ipv4Unicast": {{"peers": {{"p0_if": {{"state": "{}"}}, "p1_if": {{"state": "{}"}}}}}}}}"#,
            state(cells[1]),
            state(cells[2])
        );
        let expected =
            Expectations { min_links: cells[0].parse().unwrap(), evpn_on_uplinks: false, ..expected(&[], &[]) };
        let severity = match cells[4] {
            "PreventAllocations" => 'a',
            "PreventAllocations+PreventHostStateChanges" | "configuration error alert" => 'c',
            _ => '-',
        };
        let targets = cells[3].split(';').filter(|target| !target.is_empty());
        let outcome: Vec<String> = targets
            .map(|target| match target {
                "BgpStats" => format!("BgpStats * {severity}"),
                uplink => format!("BgpPeeringTor {uplink} {severity}"),
            })
            .collect();
        assert_eq!(alerts(&BgpReading::Summary(bgp_json(&text).unwrap()), &expected), outcome, "{line}");
    }
}

#[test]
fn route_servers_are_looked_at_one_by_one() {
    let text = r#"{
        "ipv4Unicast": {"peers": {"p0_if": {"state": "Established"}, "p1_if": {"state": "Established"}}},
        "l2VpnEvpn": {"peers": {
            "192.0.2.67": {"state": "Established"}, "192.0.2.68": {"state": "Idle"}, "198.51.100.9": {"state": "Established"}
        }}
    }"#;
    let reading = BgpReading::Summary(bgp_json(text).unwrap());
    assert_eq!(
        alerts(&reading, &expected(&["192.0.2.67", "192.0.2.68"], &[])),
        ["BgpPeeringRouteServer 192.0.2.68 c", "UnexpectedBgpPeer 198.51.100.9 c"]
    );
}

#[test]
fn a_family_that_nobody_agreed_to_is_shown_and_blocks_nothing() {
    for name in ["087_ipv6_only_our_side.json", "086_ipv6_only_our_side.txt"] {
        let reading = reading(&format!("frr_live/frr-8.4.4/{name}"));
        let expected = expected(&["10.217.0.1"], &[]);
        assert_eq!(alerts(&reading, &expected), ["BgpStats ipv6_unicast -"], "{name}");
    }
}

#[test]
fn a_session_without_a_policy_is_up_in_both_forms() {
    for version in ["7.5.1", "8.4.4", "10.3"] {
        for name in ["091_ebgp_requires_policy.txt", "092_ebgp_requires_policy.json"] {
            let reading = reading(&format!("frr_live/frr-{version}/{name}"));
            // The route server could not be reached over these uplinks.
            let outcome = ["BgpPeeringRouteServer 10.217.0.1 c"];
            assert_eq!(alerts(&reading, &expected(&["10.217.0.1"], &[])), outcome, "{version} {name}");
            let uplinks: Vec<String> = ["p0_if", "p1_if"].map(String::from).into();
            assert_eq!(established(&reading, &uplinks).len(), 2, "{version} {name}");
        }
    }
}

/// What the JSON tells of sessions that are all Established while so many of them failed.
fn counted(ipv4_failed: u32, evpn_failed: u32) -> BgpSummary {
    let table = |first: &str, second: &str, failed: u32| {
        format!(
            r#"{{"peers": {{"{first}": {{"state": "Established"}}, "{second}": {{"state": "Established"}}}}, "failedPeers": {failed}}}"#
        )
    };
    let (ipv4, evpn) = (table("p0_if", "p1_if", ipv4_failed), table("192.0.2.67", "192.0.2.68", evpn_failed));
    bgp_json(&format!(r#"{{"ipv4Unicast": {ipv4}, "l2VpnEvpn": {evpn}}}"#)).unwrap()
}

#[test]
fn failed_sessions_that_are_only_counted_are_an_alert() {
    let expected = expected(&["192.0.2.67", "192.0.2.68"], &[]);
    let silent = || BgpReading::Unreadable("exit status: 1".into());
    for (ipv4, evpn, outcome) in [
        (0, 0, vec![]),
        (1, 0, vec!["BgpStats ipv4_unicast c"]),
        (2, 0, vec!["BgpPeeringTor p0_if c", "BgpPeeringTor p1_if c"]),
        (0, 1, vec!["BgpStats l2_vpn_evpn c"]),
        (0, 2, vec!["BgpPeeringRouteServer 192.0.2.67 c", "BgpPeeringRouteServer 192.0.2.68 c"]),
    ] {
        let text = [silent(), BgpReading::Summary(bgp_text("no table\n").unwrap())];
        for text in text {
            let reading = named(counted(ipv4, evpn), text);
            assert_eq!(alerts(&reading, &expected), outcome, "{ipv4} {evpn}");
        }
    }
    let doubtful = named(counted(1, 0), silent());
    assert_eq!(
        messages(&doubtful, &expected),
        ["1 of 2 sessions that are Established failed in ipv4_unicast, which ones is not known: exit status: 1"]
    );
    let mut findings = Findings::default();
    judge(&doubtful, &expected, &mut findings);
    assert!(
        findings.report().successes.iter().all(|success| success.id != TOR),
        "a session that may have failed is not called good"
    );
    assert!(established(&doubtful, &expected.uplinks).is_empty());
}

#[test]
fn the_text_names_the_sessions_that_json_counts() {
    let text = "Neighbor V AS MsgRcvd MsgSent TblVer InQ OutQ Up/Down State/PfxRcd PfxSnt\n\
        p0_if 4 64496 900 901 9 0 0 01:15:00 1 3\np1_if 4 64497 900 901 9 0 0 01:15:00 NoNeg NoNeg\n";
    let reading = named(counted(1, 0), BgpReading::Summary(bgp_text(text).unwrap()));
    let expected = Expectations { evpn_on_uplinks: false, ..expected(&[], &[]) };
    assert_eq!(alerts(&reading, &expected), ["BgpPeeringTor p1_if -"]);
}

#[test]
fn real_frr_is_healthy_while_up_and_in_alert_while_not() {
    let servers = &["10.217.0.1"][..];
    for (name, outcome) in [
        ("006_up_bgp_summary.txt", vec![]),
        ("007_up_bgp_summary_json.json", vec![]),
        ("058_tor0_bgpd_stopped.txt", vec!["BgpPeeringTor p0_if a"]),
        ("059_tor0_bgpd_stopped.json", vec!["BgpPeeringTor p0_if a"]),
        (
            "063_all_peers_down.txt",
            vec!["BgpPeeringRouteServer 10.217.0.1 c", "BgpPeeringTor p0_if c", "BgpPeeringTor p1_if c"],
        ),
        (
            "064_all_peers_down.json",
            vec!["BgpPeeringRouteServer 10.217.0.1 c", "BgpPeeringTor p0_if c", "BgpPeeringTor p1_if c"],
        ),
    ] {
        for version in ["7.5.1", "8.4.4", "10.3"] {
            let reading = reading(&format!("frr_live/frr-{version}/{name}"));
            assert_eq!(alerts(&reading, &expected(servers, &[])), outcome, "{version} {name}");
        }
    }
}
