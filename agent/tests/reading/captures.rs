//! Every capture of real FRR is read, or refused for a stated reason; text and JSON of one moment agree.

use std::{collections::BTreeMap, fs};

use agent::parse::{BgpSummary, Family, bgp_json, bgp_text};

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

/// VRF, family and name of every session, with its state and prefixes.
fn sessions(summary: &BgpSummary) -> BTreeMap<(String, String, String), (bool, Option<u64>)> {
    let mut all = BTreeMap::new();
    for table in &summary.tables {
        for peer in &table.peers {
            let key = (table.vrf.clone(), table.family.name().to_owned(), peer.name.clone());
            all.insert(key, (peer.state.is_established(), peer.received));
        }
    }
    all
}

#[test]
fn text_and_json_of_one_moment_agree() {
    for (text, json) in [
        ("frr-7.5.1/006_up_bgp_summary.txt", "frr-7.5.1/007_up_bgp_summary_json.json"),
        ("frr-8.4.4/006_up_bgp_summary.txt", "frr-8.4.4/007_up_bgp_summary_json.json"),
        ("frr-10.3/006_up_bgp_summary.txt", "frr-10.3/007_up_bgp_summary_json.json"),
        ("frr-10.3/110_scale_200.txt", "frr-10.3/111_scale_200.json"),
        ("frr-8.4.4/110_scale_200.txt", "frr-8.4.4/111_scale_200.json"),
        ("frr-10.3/048_long_hostname.txt", "frr-10.3/049_long_hostname.json"),
        (
            "frr-8.4.4-nsvrf/001_vrfactive_vrf_all_summary.txt",
            "frr-8.4.4-nsvrf/002_vrfactive_vrf_all_summary_json.json",
        ),
        ("frr-10.3/098_vrf_vrf_all_summary.txt", "frr-10.3/099_vrf_vrf_all_summary_json.json"),
    ] {
        let (text, json) = (read(&format!("frr_live/{text}")), read(&format!("frr_live/{json}")));
        assert!(!sessions(&text).is_empty());
        let established = |summary: &BgpSummary| -> BTreeMap<_, _> {
            sessions(summary).into_iter().map(|(key, (up, _))| (key, up)).collect()
        };
        assert_eq!(established(&text), established(&json));
    }
}

#[test]
fn a_family_on_our_side_only_is_told_by_text_and_by_the_count_in_json() {
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
