//! Every capture of real FRR is read, or refused for a stated reason; text and JSON of one moment agree.

use std::{collections::BTreeMap, fs};

use agent::parse::{BgpPeer, BgpSummary, BgpTable, Family, PeerState, bgp_json, bgp_text};

use super::{fixture, fixtures};

/// Captures of `show bgp … summary` by version: file, exit status.
fn summaries() -> Vec<(String, String, i32)> {
    let mut found = Vec::new();
    for version in fs::read_dir(fixtures().join("frr_live")).unwrap() {
        let version = version.unwrap();
        if !version.file_type().unwrap().is_dir() {
            continue;
        }
        let table = fs::read_to_string(version.path().join("CAPTURES.tsv")).unwrap();
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            // Some scenarios were not captured with every version.
            if cells[2].contains("summary") && version.path().join(cells[0]).exists() {
                let name = format!("frr_live/{}/{}", version.file_name().to_string_lossy(), cells[0]);
                found.push((name, cells[2].to_owned(), cells[3].parse().unwrap()));
            }
        }
    }
    found.sort();
    assert!(found.len() > 250, "{}", found.len());
    found
}

fn read(name: &str) -> BgpSummary {
    let text = fixture(name);
    let read = if name.ends_with(".json") { bgp_json(&text) } else { bgp_text(&text) };
    read.unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

#[test]
fn every_summary_is_read() {
    for (name, _, exit) in summaries() {
        // FRR 7 ends with 0 although a daemon is missing, and prints nothing.
        if exit == 0 && !fixture(&name).trim().is_empty() {
            let summary = read(&name);
            let said = !summary.tables.is_empty() || !summary.failed.is_empty() || !summary.notes.is_empty();
            let bare: String = fixture(&name).split_whitespace().collect();
            assert!(said || ["{}", r#"{"default":{}}"#].contains(&bare.as_str()), "{name} says nothing");
        } else if name.ends_with(".json") {
            assert!(bgp_json(&fixture(&name)).is_err(), "{name}");
        } else {
            assert!(bgp_text(&fixture(&name)).unwrap().tables.is_empty(), "{name}");
        }
    }
}

/// VRF, family and name of every session, and whether it is up: that of `summary failed` is not.
fn sessions(summary: &BgpSummary) -> BTreeMap<(&str, &Family, &str), bool> {
    // Where the JSON only counts the failed ones, it cannot be compared which they are.
    let up = |peer: &BgpPeer| !matches!(peer.state, PeerState::Down(_));
    let listed = summary.tables.iter().flat_map(|table| {
        table.peers.iter().map(move |peer| ((table.vrf.as_str(), &table.family, peer.name.as_str()), up(peer)))
    });
    let failed = summary.failed.iter().map(|it| ((it.vrf.as_str(), &it.family, it.name.as_str()), false));
    listed.chain(failed).collect()
}

/// How many sessions of each table are up without the family.
fn not_negotiated(summary: &BgpSummary) -> BTreeMap<(&str, &Family), usize> {
    let named = |table: &BgpTable| table.peers.iter().filter(|it| it.state == PeerState::NotNegotiated).count();
    let counted = summary
        .tables
        .iter()
        .map(|table| ((table.vrf.as_str(), &table.family), named(table) + table.unnamed_failures()));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Pairs of captures of one moment, as text and as JSON: they differ in their number and ending only.
fn moments() -> Vec<(String, String)> {
    let all = summaries();
    let moment = |name: &str| {
        let (folder, file) = name.rsplit_once('/').unwrap();
        let (_, what) = file.split_once('_').unwrap();
        let what = what.rsplit_once('.').unwrap().0;
        format!("{folder} {}", what.strip_suffix("_json").unwrap_or(what))
    };
    let texts = all.iter().filter(|(name, _, exit)| name.ends_with(".txt") && *exit == 0);
    let pairs = texts.filter_map(|(text, command, _)| {
        let json = |(name, json, _): &&(String, String, i32)| {
            *json == format!("{command} json") && moment(name) == moment(text)
        };
        Some((text.clone(), all.iter().find(json)?.0.clone()))
    });
    pairs.filter(|(text, _)| !fixture(text).trim().is_empty()).collect()
}

#[test]
fn text_and_json_of_one_moment_agree() {
    let moments = moments();
    assert!(moments.len() > 100, "{}", moments.len());
    for (text_name, json_name) in moments {
        let (mut text, mut json) = (read(&text_name), read(&json_name));
        // The text of one family does not always name the VRFs, but which is the default one.
        if text.tables.iter().any(|table| table.vrf.starts_with("vrf-id ")) {
            for table in text.tables.iter_mut().chain(&mut json.tables).filter(|table| table.vrf != "default") {
                table.vrf = "another".to_owned();
            }
        }
        assert_eq!(sessions(&text), sessions(&json), "{text_name}");
        if !text_name.contains("_failed") && !text_name.contains("_established") {
            assert_eq!(not_negotiated(&text), not_negotiated(&json), "{text_name}");
        }
    }
}

#[test]
fn a_view_is_no_part_of_the_vrf_before_it() {
    let vrfs = |name: &str| -> Vec<(String, String)> {
        let tables = read(&format!("frr_live/{name}")).tables.into_iter();
        tables.map(|mut table| (table.vrf, table.peers.remove(0).name)).collect()
    };
    let of = |vrf: &str, peer: &str| (vrf.to_owned(), peer.to_owned());
    let all = vrfs("frr-8.4.4/098_vrf_vrf_all_summary.txt");
    assert_eq!(all[3..], [of("vpc-1", "10.9.9.2"), of("lab", "10.8.8.2")]);
    // Neither title nor router line names them, and the view has the number of the default VRF.
    let unnamed = vrfs("frr-8.4.4/107_vrf_vrf_all_ipv4_unicast_summary.txt");
    assert_eq!(unnamed, [of("default", "p0_if"), of("vrf-id -1", "10.9.9.2"), of("vrf-id 0", "10.8.8.2")]);
    let tenant = vrfs("frr-8.4.4-nsvrf/007_vrfactive_vrf_all_ipv4_unicast_summary.txt");
    assert_eq!(tenant, [of("default", "p0_if"), of("vrf-id 1", "10.50.0.0")]);
}

#[test]
fn a_family_on_our_side_only_shows_in_text_and_json() {
    let text = read("frr_live/frr-8.4.4/086_ipv6_only_our_side.txt");
    let v6 = text.default_vrf(&Family::Ipv6Unicast).unwrap();
    assert!(v6.peers.iter().all(|peer| !peer.state.is_established()), "{v6:?}");
    let json = read("frr_live/frr-8.4.4/087_ipv6_only_our_side.json");
    let v6 = json.default_vrf(&Family::Ipv6Unicast).unwrap();
    assert!(v6.peers.iter().all(|peer| peer.state.is_established()));
    assert_eq!(v6.failed_peers, Some(2));
}

#[test]
fn outputs_that_other_projects_published_are_read() {
    for (name, tables, peers) in [
        ("008_frrexporter_show_bgp_vrf_all_ipv4_summary.json", 2, 5),
        ("012_sonic_ipv4_bgp_summary.json", 1, 24),
        ("015_sonic_ipv6_bgp_summary.json", 1, 24),
        ("017_sonic_no_bgp_neigh.json", 0, 0),
        ("030_metallb_v4.txt", 1, 3),
        ("031_metallb_v6_noblank.txt", 1, 3),
        ("033_metallb_unnumbered_node.txt", 2, 2),
        ("035_openperouter_handedited.txt", 1, 8),
        ("036_vyos_quagga_full_table.txt", 1, 3),
        ("038_sonic_vtysh_two_afis.txt", 2, 8),
        ("039_sonic_quagga.txt", 1, 2),
        ("043_sonic_mgmt_short.txt", 1, 1),
    ] {
        let summary = read(&format!("bgp/{name}"));
        let sessions: usize = summary.tables.iter().map(|table| table.peers.len()).sum();
        assert_eq!((summary.tables.len(), sessions), (tables, peers), "{name}");
    }
}
