//! BGP summaries as text.

use agent::parse::{BgpPeer, BgpSummary, Family, PeerState, bgp_text};

use super::case;

fn read(name: &str) -> BgpSummary {
    bgp_text(&case(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

fn down(state: &str) -> PeerState {
    PeerState::Down(state.to_owned())
}

/// The sessions of the only, or the first, table.
fn peers(name: &str) -> Vec<BgpPeer> {
    read(name).tables.remove(0).peers
}

#[test]
fn the_host_name_is_no_part_of_the_name() {
    let summary = read("hostname-in-neighbor.txt");
    let seen: Vec<_> = (summary.tables.iter())
        .flat_map(|table| &table.peers)
        .map(|peer| (peer.name.as_str(), peer.hostname.as_deref(), peer.state.clone()))
        .collect();
    assert_eq!(
        seen,
        [
            ("p0_if", Some("tor-a1"), PeerState::Established),
            ("p1_if", None, down("Idle")),
            ("192.0.2.67", Some("rs-1.site-x.example"), PeerState::Established),
        ]
    );
    assert_eq!(summary.tables[0].local_as, Some(4_200_000_101));
    assert_eq!(summary.tables[1].family, Family::L2VpnEvpn);
    assert_eq!(summary.tables[1].peers[0].uptime_secs, Some((14 * 7 + 2) * 86_400 + 11 * 3600));
}

#[test]
fn a_family_not_negotiated_may_be_told_once_for_two_columns() {
    let summary = read("noneg-without-pfxsnt.txt");
    let seen: Vec<_> = (summary.tables.iter())
        .flat_map(|table| {
            table.peers.iter().map(|peer| (&table.family, peer.name.as_str(), &peer.state, peer.received, peer.sent))
        })
        .collect();
    assert_eq!(
        seen,
        [
            (&Family::Ipv4Unicast, "p0_if", &PeerState::Established, Some(5), Some(6)),
            (&Family::Ipv4Unicast, "p1_if", &PeerState::Established, Some(5), Some(6)),
            (&Family::Ipv6Unicast, "p0_if", &PeerState::NotNegotiated, None, None),
            (&Family::Ipv6Unicast, "p1_if", &PeerState::NotNegotiated, None, None),
            (&Family::L2VpnEvpn, "10.217.0.1", &PeerState::Established, Some(0), Some(2)),
        ]
    );
}

#[test]
fn an_as_number_of_zero_is_a_number() {
    let summary = read("both-uplinks-never.txt");
    assert_eq!(summary.tables.len(), 2);
    for peer in summary.tables.iter().flat_map(|table| &table.peers) {
        assert_eq!((peer.remote_as, &peer.state, peer.uptime_secs), (Some(0), &down("Idle"), None));
    }
}

#[test]
fn states_may_hold_a_blank() {
    let seen: Vec<_> = peers("idle-with-reason.txt")
        .into_iter()
        .map(|peer| (peer.name, peer.state, peer.received, peer.sent, peer.description))
        .collect();
    assert_eq!(
        seen,
        [
            ("p0_if".into(), down("Idle (Admin)"), None, Some(0), Some("uplink p0".into())),
            ("p1_if".into(), down("Idle (PfxCt)"), None, Some(0), None),
            ("192.0.2.67".into(), PeerState::Established, Some(12), Some(9), None),
        ]
    );
}

#[test]
fn up_without_the_family_is_a_state_of_its_own() {
    for name in ["noneg-modern.txt", "noneg-frr7.txt"] {
        let peers = peers(name);
        assert_eq!(peers[0].state, PeerState::NotNegotiated, "{name}");
        assert_eq!((&peers[1].state, peers[1].received), (&PeerState::Established, Some(2)), "{name}");
    }
}

#[test]
fn columns_are_found_by_their_header() {
    for (name, own, second) in [
        ("columns-frr7.0.txt", [None, None], "Active"),
        ("columns-pfxsnt-no-desc.txt", [None, None], "Active"),
        ("columns-wide.txt", [Some(64500), Some(64511)], "Connect"),
    ] {
        let peers = peers(name);
        assert_eq!(peers.len(), 2, "{name}");
        assert_eq!((peers[0].name.as_str(), peers[0].received), ("p0_if", Some(5210)), "{name}");
        assert_eq!((peers[1].name.as_str(), &peers[1].state), ("p1_if", &down(second)), "{name}");
        assert_eq!([peers[0].local_as, peers[1].local_as], own, "{name}");
        assert_eq!([peers[0].remote_as, peers[1].remote_as], [Some(64496), Some(64497)], "{name}");
    }
}

#[test]
fn a_description_is_free_text() {
    let seen: Vec<_> = peers("desc-column.txt").into_iter().map(|peer| (peer.state, peer.description)).collect();
    assert_eq!(
        seen,
        [
            (PeerState::Established, Some("to rack 7 port 12 10".into())),
            (down("Active"), Some("Established 1 3".into())),
            (PeerState::Established, Some("FRRouting/10.0.1-hbn".into())),
            (PeerState::Established, None),
            (PeerState::Established, None),
        ]
    );
}

#[test]
fn a_dynamic_neighbor_is_marked_and_its_trailer_is_no_neighbor() {
    let peers = peers("dynamic-neighbor.txt");
    let seen: Vec<_> = peers.iter().map(|peer| (peer.name.as_str(), peer.dynamic)).collect();
    assert_eq!(seen, [("p0_if", false), ("p1_if", false), ("198.51.100.9", true)]);
}

#[test]
fn every_form_of_the_time_is_read() {
    let seen: Vec<_> = peers("uptime-forms.txt").into_iter().map(|peer| peer.uptime_secs).collect();
    assert_eq!(seen, [None, Some(86_399), Some(600_900), Some(1_483_200), Some((365 + 84 + 3) * 86_400)]);
    let text = case("uptime-forms.txt").replace("6d22h55m", "sometime");
    let peer = bgp_text(&text).unwrap().tables.remove(0).peers.remove(2);
    assert_eq!((peer.uptime_secs, peer.uptime.as_str()), (None, "sometime"));
}

#[test]
fn no_table_is_an_empty_summary_that_says_why() {
    for (text, note) in [
        (case("no-instance.txt"), Some("% BGP instance not found")),
        (case("no-neighbors-new.txt"), Some("% No BGP neighbors found in VRF default")),
        (case("no-neighbors-old.txt"), Some("% No BGP neighbors found")),
        (case("no-neighbor-configured.txt"), Some("No IPv4 Unicast neighbor is configured")),
        (String::new(), None),
    ] {
        let summary = bgp_text(&text).unwrap();
        assert!(summary.tables.is_empty());
        assert_eq!(summary.notes.first().map(String::as_str), note);
    }
}

#[test]
fn the_vrf_is_found_in_each_of_its_three_places() {
    for name in ["vrf-all-instance-lines.txt", "vrf-all-parenthesised.txt", "vrf-all-inline.txt"] {
        let summary = read(name);
        let seen: Vec<_> = (summary.tables.iter())
            .map(|table| (table.vrf.as_str(), &table.family, table.peers[0].name.as_str(), &table.peers[0].state))
            .collect();
        let v4 = &Family::Ipv4Unicast;
        assert_eq!(
            seen,
            [("default", v4, "p0_if", &PeerState::Established), ("vrf_blue", v4, "198.51.100.10", &down("Active")),],
            "{name}"
        );
    }
}

#[test]
fn lines_before_the_table_are_skipped() {
    let peers = peers("preamble-lines.txt");
    assert_eq!(peers.len(), 2);
    assert_eq!(peers[1].state, down("OpenSent"));
}

#[test]
fn as_numbers_with_a_dot_may_touch_the_version() {
    let summary = read("asdot.txt");
    assert_eq!(summary.tables[0].local_as, Some(4_200_000_001));
    let seen: Vec<_> = summary.tables[0].peers.iter().map(|peer| peer.remote_as).collect();
    assert_eq!(seen, [Some(4_199_999_997), Some(65_546)]);
}

#[test]
fn failed_sessions_are_another_table() {
    let summary = read("summary-failed.txt");
    assert!(summary.tables.is_empty());
    let seen: Vec<_> = (summary.failed.iter())
        .map(|it| (it.name.as_str(), it.established_count, it.dropped_count, it.reset.as_str(), it.reason.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("p0_if", 1, 0, "00:05:00", "Waiting for peer OPEN"),
            ("p1_if", 0, 0, "never", "Address family not negotiated"),
        ]
    );
    assert_eq!(summary.failed[0].family, Family::Ipv6Unicast);
}

#[test]
fn a_long_name_may_stand_on_a_line_of_its_own() {
    let text = "Neighbor        V    AS MsgRcvd MsgSent   TblVer  InQ OutQ Up/Down  State/PfxRcd\n\
        2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa\n\
        \x20               4 64512      25      24        0    0    0 00:21:05        1\n\
        192.0.2.7       4             0       0        0    0    0 never    Active\n";
    let peers = bgp_text(text).unwrap().tables.remove(0).peers;
    assert_eq!(peers[0].name, "2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa");
    assert_eq!((peers[0].remote_as, peers[0].received), (Some(64512), Some(1)));
    assert_eq!((peers[1].remote_as, &peers[1].state), (None, &down("Active")), "an AS number may be missing");
}

#[test]
fn a_row_that_is_cut_behind_its_name_is_a_fault() {
    let good = case("columns-pfxsnt-no-desc.txt");
    let (start, _) = good.split_once("p1_if").unwrap();
    for end in ["p1_if", "p1_if\n", "p1_if\n\nTotal number of neighbors 2\n", "p1_if\nTotal number of neighbors 2\n"] {
        let fault = bgp_text(&format!("{start}{end}")).unwrap_err();
        let expected = "a neighbor and the rest of its row";
        assert_eq!((fault.line, fault.expected.as_str(), fault.found.as_str()), (11, expected, "p1_if"), "{end:?}");
    }
    let failed = "Neighbor EstdCnt DropCnt ResetTime Reason\np0_if\n";
    assert_eq!(bgp_text(failed).unwrap_err().line, 2);
}

#[test]
fn what_does_not_fit_is_a_fault_with_its_place() {
    let good = case("columns-pfxsnt-no-desc.txt");
    for (text, line, expected) in [
        (good.replace("00:00:00", "x"), 0, ""),
        (good.replace("PfxSnt", "Weight"), 9, "the columns of a BGP summary"),
        (good.replace("     5210       12", "     5210"), 10, "a number of prefixes sent"),
        (good.replace("p0_if           4 ", "p0_if           x "), 10, "the BGP version, one digit"),
        (good.replace("   28120       41    0    0", ""), 10, "the next counter of the session"),
        (good.replace("5210       12", "5210       12 more"), 10, "the end of the row"),
    ] {
        match bgp_text(&text) {
            Ok(_) => assert_eq!(line, 0, "{expected}"),
            Err(fault) => assert_eq!((fault.line, fault.expected.as_str()), (line, expected), "{fault}"),
        }
    }
}
