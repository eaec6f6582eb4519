//! The DHCP server's file of last requests.

use agent::parse::{dhcp_timestamps, kea_leases};

#[test]
fn a_lease_tells_when_the_host_asked_unless_its_line_is_not_whole() {
    for (line, asked_at) in [
        ("198.51.100.49,02:00:5e:10:00:21,,604800,1932604800,1,0,0,host-7,0,,0", Some(1_932_000_000)),
        (
            "198.51.100.49,02:00:5e:10:00:21,01:02:00:5e:10:00:21,1,1932000001,1,1,1,a&#x2cb,0,{ },0",
            Some(1_932_000_000),
        ),
        // Kea took it back: the length is none, the end is when the host asked.
        ("198.51.100.49,,,0,1932000000,1,0,0,,2,,0", Some(1_932_000_000)),
        ("198.51.100.49,02:00:5e:10:00:21,,4294967295,6226967295,1,0,0,,0,,0", Some(1_932_000_000)),
        ("198.51.100.49,02:00:5e:10:00:21,,604800,1932604800", None),
        ("198.51.100.49,02:00:5e:10:00:21,,604800,19326", None),
        ("198.51.100.49,02:00:5e:10:00:21", None),
        ("198.51.100.49,02:00:5e:10:00:21,,604800,7,1,0,0,,0,,0", None),
        ("198.51.100.499,02:00:5e:10:00:21,,604800,1932604800,1,0,0,,0,,0", None),
        ("2001:db8::1,02:00:5e:10:00:21,,604800,1932604800,1,0,0,,0,,0", None),
        ("198.51.100.49,02:00:5e:10:00:21,,604800,99999999999999999999,1,0,0,,0,,0", None),
        (
            "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context",
            None,
        ),
        ("", None),
    ] {
        let leases = kea_leases(&format!("\n{line}"));
        assert_eq!(leases.first().map(|lease| lease.asked_at), asked_at, "{line}");
        assert!(leases.iter().all(|lease| lease.address.to_string() == "198.51.100.49"), "{line}");
    }
}

#[test]
fn the_other_lines_count_where_one_is_damaged() {
    let text = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id\n\
        198.51.100.49,02:00:5e:10:00:21,,3600,1932003600,1,0,0,,0,,0\n\
        198.51.100.49,02:00:5e198.51.100.50,02:00:5e:10:00:22,,3600,1932003700,1,0,0,,0,,0\n\
        198.51.100.50,02:00:5e:10:00:22,,3600,1932003800,1,0,0,,0,,0\r\n198.51.100.50,02";
    let leases: Vec<_> = kea_leases(text).into_iter().map(|it| (it.address.to_string(), it.asked_at)).collect();
    assert_eq!(leases, [("198.51.100.49".into(), 1_932_000_000), ("198.51.100.50".into(), 1_932_000_200)]);
}

#[test]
fn times_are_read_in_any_zone_and_left_out_where_they_are_none() {
    let text = r#"{"timestamps": {
        "a": "2031-03-22T18:40:00Z", "b": "2031-03-22T20:40:00.25+02:00", "c": "yesterday", "d": ""
    }}"#;
    let times: Vec<_> = dhcp_timestamps(text).unwrap().into_iter().collect();
    assert_eq!(times, [("a".into(), 1_931_971_200), ("b".into(), 1_931_971_200)]);
    for text in ["", "{}", "{\"timestamps\": {\"a\": \"2031-03-22T18", "{\"timestamps\": {\"a\": 1}}"] {
        assert!(dhcp_timestamps(text).is_err(), "{text}");
    }
}
