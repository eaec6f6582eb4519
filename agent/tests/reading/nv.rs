//! What `nv show` and `nv config` print.

use agent::parse::{
    NvAnswer, SystemVersion, link_states, mac_table, nv_answer, nv_bgp, nv_document, nv_revisions, nv_tables,
    system_version,
};

use super::case;

/// Path and values of every property in the first table.
fn properties(name: &str) -> Vec<(String, Vec<(String, String)>)> {
    let text = case(name);
    let tables = nv_tables(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    tables[0].properties().into_iter().map(|property| (property.path, pairs(&property.values))).collect()
}

fn values(name: &str, path: &str) -> Vec<(String, String)> {
    let all = properties(name);
    all.into_iter().find(|(found, _)| found == path).unwrap_or_else(|| panic!("{name}: no {path}")).1
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(column, value)| (column.to_owned(), value.to_owned())).collect()
}

#[test]
fn four_generations_of_one_table_say_the_same() {
    for (name, uptime, second) in [
        ("nv-bgp-uptime-with-days.txt", 104_906, ("p1_if", "connect")),
        ("nv-bgp-uptime-milliseconds.txt", 1987, ("p1_if", "established")),
        ("nv-bgp-uptime-clock.txt", 13_867, ("p1_if", "established")),
        ("nv-bgp-hostname-column.txt", 7519, ("192.0.2.67", "established")),
    ] {
        let neighbors = nv_bgp(&case(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(neighbors.len(), 2, "{name}");
        let first = &neighbors[0];
        assert_eq!((first.name.as_str(), first.remote_as, first.uptime_secs), ("p0_if", Some(64496), Some(uptime)));
        assert_eq!(first.state, "established");
        assert_eq!((neighbors[1].name.as_str(), neighbors[1].state.as_str()), second, "{name}");
        assert_eq!(first.families[0].name, "ipv4-unicast", "{name}");
    }
    let neighbors = nv_bgp(&case("nv-bgp-uptime-with-days.txt")).unwrap();
    let families: Vec<_> = neighbors[0].families.iter().map(|it| (it.name.as_str(), it.sent, it.received)).collect();
    assert_eq!(families, [("ipv4-unicast", Some(7), Some(3)), ("l2vpn-evpn", Some(54), Some(27))]);
    assert_eq!(neighbors[1].uptime_secs, None);
}

#[test]
fn columns_are_where_the_rulers_are() {
    assert_eq!(values("nv-show-operational-applied.txt", "build"), pairs(&[("operational", "Cumulus Linux 5.4.0")]));
    assert_eq!(values("nv-show-operational-applied.txt", "reboot"), []);
    assert_eq!(
        values("nv-show-operational-applied-pending.txt", "hostname"),
        pairs(&[("operational", "dpu-7"), ("applied", "dpu-7"), ("pending", "dpu-9")])
    );
    assert_eq!(values("nv-show-operational-applied-pending.txt", "location"), pairs(&[("pending", "row 4")]));
    assert_eq!(
        values("nv-show-applied-pending.txt", "route-advertise/default-gateway"),
        pairs(&[("applied", "off"), ("pending", "on")])
    );
    assert!(properties("nv-show-applied-pending.txt").iter().any(|(path, _)| path == "evi/[101]"));
    let described = values("nv-show-description-column.txt", "enable");
    assert_eq!(described[2].1, "Switch this feature 'on' or 'off'.  It stays 'off' unless you set it.");
    assert!(values("nv-show-description-column.txt", "policy-update-timer")[1].1.ends_with("..."));
    assert_eq!(values("nv-show-applied-only.txt", "enable"), pairs(&[("applied", "on")]));
    assert_eq!(
        properties("nv-show-single-leaf.txt"),
        [(String::new(), pairs(&[("operational", "up"), ("applied", "up")]))]
    );
    assert_eq!(
        values("nv-show-wide-value.txt", "oper-status-last-change"),
        pairs(&[("operational", "2031/02/09 11:48:03.915")])
    );
    assert_eq!(values("nv-show-wide-value.txt", "mtu"), pairs(&[("operational", "9216"), ("applied", "9216")]));
}

#[test]
fn nesting_is_by_indentation_and_brackets_repeat() {
    let name = "nv-show-interface-nested.txt";
    assert_eq!(values(name, "link/oper-status"), pairs(&[("operational", "down")]));
    assert_eq!(values(name, "link/state"), pairs(&[("operational", "down"), ("applied", "up")]));
    assert_eq!(values(name, "link/oper-status-last-change"), pairs(&[("operational", "Never")]));
    assert_eq!(values(name, "link/stats/in-bytes"), pairs(&[("operational", "41.37 KB")]));
    let all = properties(name);
    let of = |path: &str| all.iter().filter(|(found, _)| found == path).map(|(_, values)| values).collect::<Vec<_>>();
    let flags: Vec<_> = of("link/[flag]").into_iter().map(|values| values[0].1.as_str()).collect();
    assert_eq!(flags, ["broadcast", "multicast", "up"]);
    assert_eq!(of("ip/[address]").iter().map(|values| values.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(of("ip/[gateway]"), [&Vec::new()]);
    assert_eq!(of("ip/vrf"), [&pairs(&[("applied", "default")])]);
}

#[test]
fn titled_tables_stand_under_an_empty_one() {
    let text = case("nv-show-titled-subtable.txt");
    let tables = nv_tables(&text).unwrap();
    let seen: Vec<_> = tables.iter().map(|it| (it.title, it.rows.len(), it.columns.len())).collect();
    assert_eq!(seen, [(None, 0, 4), (Some("dynamic"), 2, 5), (Some("permanent"), 1, 6)]);
    let column = tables[1].column("lladdr").unwrap();
    assert_eq!(tables[1].rows[1].cells[column], Some("02:00:5e:10:00:08"));
    let column = tables[2].column("address-family").unwrap();
    assert_eq!(tables[2].rows[0].cells[column], Some("2"));
}

#[test]
fn rulers_may_be_cut_or_one_dash_wide() {
    for (text, columns, cells) in [
        ("Name   St…\n-----  --…\np0_if  up\n", vec!["Name", "St…"], vec![Some("p0_if"), Some("up")]),
        ("V  Name\n-  -----\n4  p0_if\n", vec!["V", "Name"], vec![Some("4"), Some("p0_if")]),
        ("V\n-\n4\n", vec!["V"], vec![Some("4")]),
    ] {
        let tables = nv_tables(text).unwrap();
        assert_eq!(
            (&tables[0].columns, &tables[0].rows[0].cells),
            (&columns.iter().map(|it| (*it).to_owned()).collect(), &cells)
        );
    }
}

#[test]
fn no_data_is_a_table_without_rows() {
    let text = "dynamic\n=======\nName   State\n-----  -----\np0_if  up\n\npermanent\n=========\nNo Data\n";
    let tables = nv_tables(text).unwrap();
    let seen: Vec<_> = tables.iter().map(|it| (it.title, it.columns.len(), it.rows.len())).collect();
    assert_eq!(seen, [(Some("dynamic"), 2, 1), (Some("permanent"), 0, 0)]);
    assert_eq!(nv_tables("No Data\n").unwrap(), []);
    assert_eq!(nv_answer("No Data\n"), NvAnswer::Empty);
}

#[test]
fn how_a_link_works_counts_more_than_how_it_is_configured() {
    for (name, state) in [("link-state-map.json", "up"), ("link-oper-status.json", "down")] {
        let links = link_states(&case(name)).unwrap();
        assert_eq!((links[0].name.as_str(), links[0].state.as_deref()), ("p0_if", Some(state)), "{name}");
    }
}

#[test]
fn three_ways_to_have_nothing_are_told_apart() {
    let texts = ["nv-item-missing.txt", "nv-not-running.txt", "nv-empty-object.json"].map(case);
    assert_eq!(nv_answer(&texts[0]), NvAnswer::Missing);
    assert_eq!(nv_answer(texts[0].trim_end().trim_end_matches('.')), NvAnswer::Missing);
    assert_eq!(nv_answer(&texts[1]), NvAnswer::Unreachable("Could not connect to nvued.".into()));
    assert_eq!(nv_answer(&texts[2]), NvAnswer::Empty);
    assert!(texts[..2].iter().all(|text| nv_tables(text).is_err()), "an error is no table");
}

#[test]
fn revisions_are_in_order() {
    let table = nv_revisions(&case("nv-config-revision.txt")).unwrap();
    let newest = table.iter().rfind(|revision| revision.is_applied()).unwrap();
    assert_eq!((newest.id.as_str(), newest.applied_at.as_deref()), ("2", Some("2031-03-12 14:20:55")));
    assert_eq!((table[2].state.as_str(), table[2].message.as_deref()), ("invalid", None));
    assert_eq!((table[3].id.as_str(), table[3].state.as_str(), table[3].applied_at.as_deref()), ("4", "pending", None));
    let json = nv_revisions(&case("nv-config-revision.json")).unwrap();
    let seen: Vec<_> = json.iter().map(|it| (it.id.as_str(), it.state.as_str())).collect();
    assert_eq!(seen, [("1", "applied_and_saved"), ("4", "confirm")]);
    let many = nv_revisions(r#"{"10": {"state": "pending"}, "9": {"state": "applied"}}"#).unwrap();
    assert_eq!(many.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["9", "10"]);
    // Old releases call them by user and time.
    let old = nv_revisions(
        r#"{"changeset/root/2031-04-07_08.00.00_AAAA": {"state": "pending"}, "applied": {"state": "applied"},
            "changeset/agent/2031-04-06_20.22.44_T2XP": {"state": "applied"}}"#,
    );
    let seen: Vec<_> = old.unwrap().into_iter().map(|it| (it.id, it.state)).collect();
    let wanted = [
        ("changeset/agent/2031-04-06_20.22.44_T2XP", "applied"),
        ("changeset/root/2031-04-07_08.00.00_AAAA", "pending"),
    ];
    assert_eq!(seen, wanted.map(|(id, state)| (id.to_owned(), state.to_owned())));
}

#[test]
fn the_header_takes_no_part_in_the_configuration() {
    let text = case("nv-config-show.yaml");
    for text in [text.clone(), text.replacen("- header:", "header:", 1)] {
        let document = nv_document(&text).unwrap();
        assert_eq!((document.version.as_deref(), document.revision.as_deref()), (Some("HBN 3.2.0"), Some("1.0")));
        assert_eq!(document.entries.len(), 1);
        let set = &document.entries[0].1;
        assert!(set["interface"].get("p0_if,p1_if").is_some());
        assert!(set["bridge"]["domain"]["br_default"]["vlan"].get("10").is_some(), "keys are text");
    }
    for (text, place, expected) in [
        ("- sets: {}", (1, 1), "header, set or unset"),
        ("\nheader:\n    rev-id: 1.0\n- set:\n    a: b\n- sets: {}\n", (6, 1), "header, set or unset"),
        ("- set: {}\n- word\n", (2, 1), "an entry with a name"),
        ("{}", (1, 1), "a YAML list of header, set and unset (a list, not map)"),
    ] {
        let fault = nv_document(text).unwrap_err();
        assert_eq!(((fault.line, fault.column), fault.expected.as_str()), (place, expected), "{text}");
    }
}

#[test]
fn the_release_stands_in_several_places_or_nowhere() {
    for (name, wanted) in [
        ("system-hbn.json", SystemVersion::Hbn("3.2.0".into())),
        ("system-cumulus.json", SystemVersion::Other("Cumulus Linux 5.4.0".into())),
        ("system-no-build.json", SystemVersion::Other("Cumulus Linux 5.16.0".into())),
    ] {
        assert_eq!(system_version(&case(name)).unwrap(), wanted, "{name}");
    }
    for (text, wanted) in [
        ("{}", SystemVersion::Unknown),
        (r#"{"build": " ", "image": 7}"#, SystemVersion::Unknown),
        (r#"{"product-name": "HBN", "product-release": "3.3.0"}"#, SystemVersion::Hbn("3.3.0".into())),
        (r#"{"image": {"build-id": "HBN 3.3.0"}}"#, SystemVersion::Hbn("3.3.0".into())),
        (r#"{"image": {"build-id": "5.16.0.0042"}}"#, SystemVersion::Other("5.16.0.0042".into())),
    ] {
        assert_eq!(system_version(text).unwrap(), wanted, "{text}");
    }
}

#[test]
fn the_keys_of_the_mac_table_mean_nothing() {
    let mut entries = mac_table(&case("mac-table.json")).unwrap();
    entries.sort_by_key(|entry| (entry.mac.clone(), entry.vlan));
    let seen: Vec<_> = entries.iter().map(|it| (it.mac.as_str(), it.vlan, it.entry_type.as_deref())).collect();
    assert_eq!(
        seen,
        [
            ("02:00:5e:10:00:21", Some(10), None),
            ("02:00:5e:10:00:21", Some(11), None),
            ("02:00:5e:10:00:22", None, Some("permanent")),
            ("02:00:5e:10:00:23", Some(10), None),
        ]
    );
}

#[test]
fn deep_texts_are_refused_at_once() {
    for text in [
        "[".repeat(200_000),
        "{".repeat(200_000),
        "- ".repeat(100_000),
        "- set:\n    a: ".to_owned() + &"[".repeat(200_000),
    ] {
        assert!(agent::parse::diff(&text).unwrap_err().contains("more than 64 levels"));
        assert!(nv_document(&text).is_err());
    }
    // What is long and not deep is read.
    let long: String = (0..20_000).map(|vlan| format!("      '{vlan}': {{}}\n")).collect();
    let text = format!("- set:\n    bridge:\n{long}");
    assert_eq!(agent::parse::diff(&text), Ok(agent::parse::Diff::Changes));
    assert_eq!(nv_document(&text).unwrap().entries.len(), 1);
}
