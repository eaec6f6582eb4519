//! BGP summaries in JSON.

use agent::parse::{BgpSummary, Family, PeerState, bgp_json};

use super::{case, fixture};

fn read(name: &str) -> BgpSummary {
    bgp_json(&case(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

/// VRF, family and names of the sessions of each table.
fn outline(summary: &BgpSummary) -> Vec<(&str, &Family, Vec<&str>)> {
    (summary.tables.iter())
        .map(|table| (table.vrf.as_str(), &table.family, table.peers.iter().map(|peer| peer.name.as_str()).collect()))
        .collect()
}

#[test]
fn an_absent_family_is_absent() {
    let summary = read("no-evpn-section.json");
    assert_eq!(outline(&summary), [("default", &Family::Ipv4Unicast, vec!["p0_if", "p1_if"])]);
    assert_eq!(summary.default_vrf(&Family::L2VpnEvpn), None);
}

#[test]
fn an_empty_object_is_an_empty_summary() {
    for name in ["empty-object.json", "empty-wildcard.json"] {
        assert_eq!(read(name), BgpSummary::default(), "{name}");
    }
}

#[test]
fn old_and_new_fields_are_read() {
    for (name, received) in [("old-field-set.json", 7), ("new-field-set.json", 1)] {
        let summary = read(name);
        assert_eq!(summary.tables[0].peers[0].received, Some(received), "{name}");
        assert!(summary.tables[0].peers[0].state.is_established(), "{name}");
    }
}

#[test]
fn as_numbers_may_be_numbers_or_texts() {
    let table = read("asn-types.json").tables.remove(0);
    assert_eq!(table.local_as, Some(4_200_000_001));
    let mut seen: Vec<_> = table.peers.iter().filter_map(|peer| peer.remote_as).collect();
    seen.sort_unstable();
    assert_eq!(seen[..2], [64497, 4_199_999_997]);
}

#[test]
fn only_the_bare_word_is_established() {
    let states: Vec<_> = read("state-strings.json").tables.remove(0).peers.into_iter().map(|it| it.state).collect();
    let down = |state: &str| PeerState::Down(state.into());
    assert_eq!(states, [down("Idle (Admin)"), down("Idle (PfxCt)"), down("Active")]);
    let text = case("state-strings.json").replace("Idle (Admin)", "Established (Policy)");
    assert_eq!(bgp_json(&text).unwrap().tables[0].peers[0].state, down("Established (Policy)"));
}

#[test]
fn a_session_belongs_to_its_vrf() {
    let summary = read("vrf-all-default-empty.json");
    assert_eq!(outline(&summary), [("vrf_blue", &Family::Ipv4Unicast, vec!["p0_if"])]);
    assert_eq!(summary.default_vrf(&Family::Ipv4Unicast), None);
}

#[test]
fn text_before_the_json_is_a_note() {
    let summary = read("noise-before-json.txt");
    assert_eq!(summary.notes, ["text before the JSON: :"]);
    assert_eq!(summary.tables.len(), 2);
    let fault = bgp_json("vtysh: not today").unwrap_err();
    assert_eq!((fault.expected.as_str(), fault.found.as_str()), ("a JSON object", "vtysh: not today"));
}

#[test]
fn a_cut_answer_is_a_fault_with_its_place_and_a_short_excerpt() {
    let fault = bgp_json(&case("truncated.json")).unwrap_err();
    let lines = case("truncated.json").lines().count();
    assert_eq!(fault.line, lines);
    assert!(fault.to_string().len() <= 400, "{fault}");
    let long = format!("{{\"ipv4Unicast\": {{\"peers\": {{\"{}", "ü".repeat(4000));
    assert!(bgp_json(&long).unwrap_err().found.len() <= 256);
}

#[test]
fn objects_in_a_row_are_all_read() {
    let summary = read("concatenated-objects.txt");
    let v4 = &Family::Ipv4Unicast;
    assert_eq!(outline(&summary), [("default", v4, vec!["p0_if"]), ("vrf_blue", v4, vec!["198.51.100.10"])]);
}

#[test]
fn the_mark_of_a_session_counts_more_than_the_sum() {
    let table = read("dynamic-count-zero.json").tables.remove(0);
    assert_eq!(table.dynamic_peers, Some(0));
    let dynamic: Vec<_> = table.peers.iter().filter(|it| it.dynamic).map(|it| it.name.as_str()).collect();
    assert_eq!(dynamic, ["198.51.100.9"]);
}

#[test]
fn a_link_local_session_goes_by_its_interface() {
    let summary = read("linklocal-peer.json");
    assert_eq!(outline(&summary)[0].2, ["p0_if", "p1_if"]);
}

#[test]
fn another_answer_is_a_fault_with_its_place() {
    let levels = "address families, or VRFs that hold them";
    for (text, place, expected) in [
        (r#"{"vrfs": {"default": {"vrfId": 0}}, "totalVrfs": 1}"#, (1, 3), levels),
        ("{\n  \"totalVrfs\": 1\n}", (2, 4), levels),
        ("{\"ipv4Unicast\": {\"peers\": {\n \"p0_if\": {}\n}}}", (2, 3), "a state of the BGP peer p0_if"),
        ("{\"ipv4Unicast\":\n{\"peers\": 7}}", (2, 11), "BGP sessions as JSON (BGP peers by name, not integer `7`)"),
        (
            "{\"ipv4Unicast\": {\"peers\": {\"p0_if\": {\"state\": \"Idle\",\n\"pfxRcd\": -1}}}}",
            (2, 12),
            "BGP sessions as JSON (a number from 0 on, not integer `-1`)",
        ),
        (
            r#"{"ipv4Unicast": []}"#,
            (1, 18),
            "BGP sessions as JSON (the table of an address family, not a list of length 0)",
        ),
        (
            r#"{"ipv4Unicast": {"peers": {"p0_if": 7}}}"#,
            (1, 37),
            "BGP sessions as JSON (a BGP session, not integer `7`)",
        ),
    ] {
        let fault = bgp_json(text).unwrap_err();
        assert_eq!(((fault.line, fault.column), fault.expected.as_str()), (place, expected), "{text}");
    }
    let fault = bgp_json(&case("mac-table.json")).unwrap_err();
    assert_eq!((fault.line, fault.expected.as_str(), fault.found.as_str()), (2, levels, "1"), "{fault}");
    assert!(bgp_json(&fixture("bgp/034_suzieq_evpn_vni_detail_dual_evpn_exit01.json")).is_err());
}

#[test]
fn a_warning_says_why_there_are_no_sessions() {
    for text in [r#"{"warning":"BGP instance not found"}"#, r#"{"default":{"warning":"BGP instance not found"}}"#] {
        let summary = bgp_json(text).unwrap();
        assert_eq!((summary.tables.len(), summary.notes), (0, vec!["BGP instance not found".to_owned()]), "{text}");
    }
}

#[test]
fn sessions_are_never_put_into_a_family_or_vrf_that_is_not_told() {
    let peers = r#""peers": {"p0_if": {"state": "Established"}}"#;
    let other = Family::Other("bgpLs".into());
    for (text, wanted) in [
        (format!(r#"{{"bgpLs": {{"vrfName": "default", {peers}}}}}"#), ("default", &other)),
        (format!(r#"{{"default": {{"bgpLs": {{{peers}}}}}}}"#), ("default", &other)),
        (format!(r#"{{"vpc-1": {{"bgpLs": {{{peers}}}}}}}"#), ("vpc-1", &other)),
        (format!(r#"{{"vpc-1": {{"vrfName": "vpc-1", {peers}}}}}"#), ("vpc-1", &Family::Ipv4Unicast)),
        (format!(r#"{{"default": {{"vrfName": "Default", {peers}}}}}"#), ("default", &Family::Ipv4Unicast)),
        (format!(r#"{{"default": {{{peers}}}}}"#), ("default", &Family::Ipv4Unicast)),
    ] {
        let summary = bgp_json(&text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(outline(&summary), [(wanted.0, wanted.1, vec!["p0_if"])], "{text}");
    }
    // Either a VRF or a family.
    let fault = bgp_json(&format!(r#"{{"bgpLs": {{{peers}}}}}"#)).unwrap_err();
    assert_eq!(fault.expected, "a known address family, or the vrfName of these sessions");
    assert_eq!((fault.line, fault.column), (1, 3));
}
