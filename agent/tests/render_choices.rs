//! Choices of rendering that no pair of response and tree shows; most are deliberate differences from NICo.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::{fs, path::Path, sync::LazyLock};

use agent::render::{
    self, DhcpServer, DhcpSettings, Environment, Expectations, NetworkConfig, RenderedFiles, Templates, TenantPeer,
};
use proto::forge::{
    FlatInterfaceNetworkSecurityGroupConfig, Instance, ManagedHostNetworkConfigResponse, ManagedHostQuarantineState,
    NetworkSecurityGroupRuleAttributes, ResolvedNetworkSecurityGroupRule,
};
use serde_yaml::Value;

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::embedded().unwrap());

fn response(name: &str) -> ManagedHostNetworkConfigResponse {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/nvue").join(format!("{name}.input.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn environment() -> Environment {
    Environment { dhcp: DhcpSettings { server: DhcpServer::None, ..Default::default() }, ..Default::default() }
}

fn files(response: &ManagedHostNetworkConfigResponse) -> RenderedFiles {
    let config = NetworkConfig::try_from(response).unwrap_or_else(|error| panic!("{error}"));
    render::files(&config, &environment(), &TEMPLATES).unwrap_or_else(|error| panic!("{error}"))
}

fn settings(response: &ManagedHostNetworkConfigResponse) -> Value {
    let document: Value = serde_yaml::from_str(&files(response).nvue).unwrap();
    document[1]["set"].clone()
}

fn refusal(response: &ManagedHostNetworkConfigResponse) -> String {
    NetworkConfig::try_from(response).unwrap_err().to_string()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_mapping().map(|map| map.keys().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// Number, action and destination of each rule of a list.
fn rules(settings: &Value, list: &str) -> Vec<(u32, &'static str, String)> {
    let rules = settings["acl"][list]["rule"].as_mapping().unwrap_or_else(|| panic!("no list {list}"));
    let rule = |(number, rule): (&Value, &Value)| {
        let action = if rule["action"]["permit"].is_mapping() { "permit" } else { "deny" };
        let destination = rule["match"]["ip"]["dest-ip"].as_str().unwrap_or_default();
        (number.as_str().unwrap().parse().unwrap(), action, destination.to_owned())
    };
    rules.iter().map(rule).collect()
}

fn deny(priority: u32, destination: &str) -> ResolvedNetworkSecurityGroupRule {
    ResolvedNetworkSecurityGroupRule {
        rule: Some(NetworkSecurityGroupRuleAttributes {
            direction: 2,
            protocol: 1,
            action: 1,
            priority,
            ..Default::default()
        }),
        src_prefixes: vec!["0.0.0.0/0".into()],
        dst_prefixes: vec![destination.into()],
    }
}

fn group(id: &str, rules: Vec<ResolvedNetworkSecurityGroupRule>) -> Option<FlatInterfaceNetworkSecurityGroupConfig> {
    Some(FlatInterfaceNetworkSecurityGroupConfig { id: id.into(), rules, ..Default::default() })
}

#[test]
fn deprecated_types_of_fnn_are_fnn_in_every_respect() {
    let mut response = response("admin_fnn_primary");
    response.network_virtualization_type = Some(5);
    let fnn = files(&response);
    for number in [3, 4] {
        response.network_virtualization_type = Some(number);
        assert_eq!(files(&response), fnn);
    }
}

#[test]
fn a_quarantined_host_on_the_admin_network_of_etv_is_blocked() {
    let mut response = response("admin_etv_primary");
    assert!(settings(&response).get("acl").is_none());
    response.managed_host_config.as_mut().unwrap().quarantine_state = Some(ManagedHostQuarantineState::default());
    let settings = settings(&response);
    let lists = [
        "p0004_security_policy_override_ipv4_host_egress",
        "p0004_security_policy_override_ipv4_host_ingress",
        "p0004_security_policy_override_ipv6_host_egress",
        "p0004_security_policy_override_ipv6_host_ingress",
    ];
    assert_eq!(names(&settings["acl"]), lists);
    assert_eq!(names(&settings["interface"]["pf0hpf_if"]["acl"]), lists);
    assert_eq!(rules(&settings, lists[0]), [(2000, "deny", "0.0.0.0/0".into())]);
    assert_eq!(rules(&settings, lists[3]), [(2000, "deny", "::/0".into())]);
}

#[test]
fn the_secondary_dpu_of_an_etv_admin_network_has_nothing_of_the_host() {
    let mut response = response("admin_etv_primary");
    response.is_primary_dpu = false;
    let files = files(&response);
    assert_eq!(
        files.expected,
        Expectations {
            uplinks: vec!["p0_if".into(), "p1_if".into()],
            min_links: 2,
            route_servers: ["192.168.126.5", "192.168.126.11", "192.168.126.12"].map(|ip| ip.parse().unwrap()).into(),
            ..Expectations::default()
        }
    );
    let settings = settings(&response);
    assert_eq!(names(&settings["interface"]), ["lo", "p0_if", "p1_if", "pf0dpu1_if"]);
    let router = &settings["vrf"]["default"]["router"];
    assert!(router.get("static").is_none());
    assert_eq!(names(&router["bgp"]["address-family"]["ipv4-unicast"]["network"]), ["192.168.96.36/32"]);
}

#[test]
fn the_eleventh_prefix_of_a_port_takes_no_number_of_the_next_port() {
    let mut response = response("nvue_startup");
    let many = |from: u8, to: u8| (from..to).map(|number| format!("10.9.{number}.0/24")).collect::<Vec<_>>();
    response.tenant_interfaces[0].vpc_prefixes = many(0, 10);
    response.tenant_interfaces[1].vpc_prefixes = many(8, 12);
    let numbers = |response: &ManagedHostNetworkConfigResponse| {
        let settings = settings(response);
        let numbers = |list| rules(&settings, list).iter().map(|rule| rule.0).collect::<Vec<_>>();
        (numbers("p0010_vpc_isolation_ipv4"), numbers("p0000_deny_prefixes_ipv4"))
    };
    let in_blocks: Vec<u32> = (10..24).chain([1000]).collect();
    assert_eq!(numbers(&response).0, in_blocks);
    // One more, and each prefix is permitted once.
    response.tenant_interfaces[0].vpc_prefixes = many(0, 11);
    let once: Vec<u32> = (10..22).chain([1000]).collect();
    assert_eq!(numbers(&response).0, once);
    assert_eq!(numbers(&response).1, (10..22).chain([1001, 1002]).collect::<Vec<u32>>());
    // So many that denies move on too.
    let mut all = Vec::new();
    for high in 0..5 {
        all.extend((0..250).map(|low| format!("10.{}.{low}.0/24", 100 + high)));
    }
    response.tenant_interfaces[0].vpc_prefixes = all;
    response.tenant_interfaces[1].vpc_prefixes = Vec::new();
    assert_eq!(numbers(&response).0, (10..=1260).collect::<Vec<u32>>());
    assert_eq!(numbers(&response).1, (10..=1261).collect::<Vec<u32>>());
}

#[test]
fn a_hundred_and_twenty_seven_ports_do_not_reach_the_number_of_the_final_rule() {
    let mut response = response("nvue_startup");
    let port = response.tenant_interfaces[0].clone();
    response.tenant_interfaces = (0..127)
        .map(|number| {
            let mut port = port.clone();
            port.virtual_function_id = Some(number);
            port.vlan_id = 500 + number;
            port.vni = 5000 + number;
            port
        })
        .collect();
    let settings = settings(&response);
    let map = &settings["router"]["policy"]["route-map"]["FORGE_TO_UNDERLAY"]["rule"];
    let numbers: Vec<u32> = names(map).iter().map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers.len(), 128);
    let last = map[numbers.last().unwrap().to_string()].clone();
    assert!(last["action"]["permit"].is_mapping() && last.get("match").is_none());
}

#[test]
fn the_rules_of_two_groups_of_an_etv_host_are_one_list_by_priority() {
    let mut response = response("nvue_startup");
    response.tenant_interfaces[0].network_security_group =
        group("b", vec![deny(20, "2.0.0.0/8"), deny(10, "1.0.0.0/8")]);
    response.tenant_interfaces[1].network_security_group = group("a", vec![deny(15, "3.0.0.0/8")]);
    let list = "p0005_security_group_ipv4_in";
    let expected = [
        (2000, "deny", "1.0.0.0/8".to_owned()),
        (2001, "deny", "3.0.0.0/8".to_owned()),
        (2002, "deny", "2.0.0.0/8".to_owned()),
        (65535, "deny", String::new()),
    ];
    assert_eq!(rules(&settings(&response), list), expected);
    response.tenant_interfaces.swap(0, 1);
    assert_eq!(rules(&settings(&response), list), expected);
}

#[test]
fn groups_of_fnn_are_numbered_by_id_and_attached_to_their_ports() {
    let mut response = response("nvue_startup_fnn_classic");
    response.tenant_interfaces[0].network_security_group = group("b", vec![deny(1, "1.0.0.0/8")]);
    response.tenant_interfaces[1].network_security_group = group("a", vec![deny(1, "2.0.0.0/8")]);
    let settings = settings(&response);
    let first = |number: u32| rules(&settings, &format!("p0005_{number}_security_group_ipv4_host_egress"))[0].2.clone();
    assert_eq!((first(0), first(1)), ("2.0.0.0/8".into(), "1.0.0.0/8".into()));
    let attached = |port: &str| -> Vec<String> {
        let lists = names(&settings["interface"][port]["acl"]);
        lists.into_iter().filter(|name| name.starts_with("p0005")).map(|name| name[..7].to_owned()).collect()
    };
    assert_eq!(attached("pf0vf0_if"), ["p0005_1"; 4]);
    assert_eq!(attached("pf0hpf_if"), ["p0005_0"; 4]);
}

#[test]
fn one_group_with_different_rules_on_two_ports_is_two_groups() {
    let mut response = response("nvue_startup_fnn_classic");
    response.tenant_interfaces[0].network_security_group = group("a", vec![deny(1, "1.0.0.0/8")]);
    response.tenant_interfaces[1].network_security_group = group("a", vec![deny(1, "2.0.0.0/8")]);
    let settings = settings(&response);
    let lists = settings["acl"].as_mapping().unwrap().keys().filter(|name| name.as_str().unwrap().starts_with("p0005"));
    assert_eq!(lists.count(), 8);
}

#[test]
fn peers_of_all_ports_of_a_vpc_count_and_only_lists_that_exist_are_attached() {
    let mut response = response("nvue_startup_fnn_classic");
    let vpc_vni = response.tenant_interfaces[0].vpc_vni;
    response.tenant_interfaces[1].vpc_vni = vpc_vni;
    response.tenant_interfaces[0].vpc_peer_prefixes = Vec::new();
    response.tenant_interfaces[1].vpc_peer_prefixes =
        vec!["2001:db8::/32".into(), "10.1.0.0/16".into(), "10.1.0.0/16".into()];
    let settings = settings(&response);
    let list = format!("p0009_vpc_{vpc_vni}_peer_egress_from_host");
    assert_eq!(rules(&settings, &list), [(1, "permit", "10.1.0.0/16".into())]);
    assert_eq!(rules(&settings, &format!("{list}_ipv6")), [(1, "permit", "2001:db8::/32".into())]);
    for port in ["pf0vf0_if", "pf0hpf_if"] {
        assert!(settings["interface"][port]["acl"][&list]["inbound"].is_mapping());
    }
    response.tenant_interfaces[1].vpc_peer_prefixes = vec!["2001:db8::/32".into()];
    let settings = self::settings(&response);
    assert!(settings["acl"].get(&list).is_none());
    assert!(settings["interface"]["pf0vf0_if"]["acl"].get(&list).is_none());
}

#[test]
fn a_network_that_is_there_twice_is_one_rule_without_host_bits() {
    let mut response = response("nvue_startup");
    response.deny_prefixes = ["192.0.2.7/24", "192.0.2.0/24", "192.0.2.0/24", "198.51.100.1"].map(str::to_owned).into();
    let denies: Vec<_> = rules(&settings(&response), "p0000_deny_prefixes_ipv4").split_off(4);
    assert_eq!(denies, [(1001, "deny", "192.0.2.0/24".into()), (1002, "deny", "198.51.100.1".into())]);
}

#[test]
fn texts_that_yaml_takes_for_something_else_stay_texts() {
    let mut response = response("nvue_startup_fnn_with_leaks");
    for password in ["0x1e3", "on", "null", "1e10", "uplink: p0 # spare", "64500:100", "02:00:00:00:00:10", "~", "12"] {
        response.bgp_leaf_session_password = Some(password.into());
        let underlay = &settings(&response)["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"];
        assert_eq!(underlay["password"], password);
    }
}

#[test]
fn an_override_expands_by_ports_and_prefixes_of_its_family() {
    let mut response = response("admin_fnn_primary");
    let mut rule = deny(1, "1.0.0.0/8");
    rule.dst_prefixes.push("2001:db8::/32".into());
    let attributes = rule.rule.as_mut().unwrap();
    attributes.protocol = 3;
    (attributes.dst_port_start, attributes.dst_port_end) = (Some(53), Some(54));
    attributes.src_port_start = Some(9);
    response.network_security_policy_overrides = vec![rule];
    let settings = settings(&response);
    let list = "p0004_security_policy_override_ipv4_host_egress";
    assert_eq!(rules(&settings, list), [(2000, "deny", "1.0.0.0/8".into()), (2001, "deny", "1.0.0.0/8".into())]);
    let matched = &settings["acl"][list]["rule"]["2001"]["match"]["ip"];
    assert_eq!(names(&matched["dest-port"]), ["54"]);
    assert!(matched.get("source-port").is_none());
    assert_eq!(matched["protocol"], "udp");
}

#[test]
fn icmp_of_ipv6_has_the_name_that_nvue_knows() {
    let mut response = response("admin_fnn_primary");
    let mut rule = deny(1, "2001:db8::/32");
    rule.src_prefixes = vec!["::/0".into()];
    let attributes = rule.rule.as_mut().unwrap();
    (attributes.ipv6, attributes.protocol) = (true, 5);
    response.network_security_policy_overrides = vec![rule];
    let list = "p0004_security_policy_override_ipv6_host_egress";
    assert_eq!(settings(&response)["acl"][list]["rule"]["2000"]["match"]["ip"]["protocol"], "icmpv6");
}

#[test]
fn ports_are_named_by_the_version_of_hbn() {
    let config = NetworkConfig::try_from(&response("nvue_startup")).unwrap();
    for (version, names_ports) in
        [("2.2.0-doca2.7.0", "pf0vf0_sf"), ("2.3.0-doca2.8.0", "pf0vf0_if"), ("10.0.0-doca3.0.0", "pf0vf0_if")]
    {
        let environment = Environment { hbn_version: Some(version.parse().unwrap()), ..environment() };
        let text = render::files(&config, &environment, &TEMPLATES).unwrap().nvue;
        assert!(text.contains(&format!("      {names_ports}:\n")), "{version}");
    }
}

#[test]
fn what_health_is_to_expect_follows_the_configuration() {
    let mut response = response("nvue_startup_fnn_with_leaks");
    response.min_dpu_functioning_links = Some(1);
    let peer = |vrf: &str, address: &str| TenantPeer { vrf: vrf.into(), address: address.parse().unwrap() };
    assert_eq!(
        files(&response).expected,
        Expectations {
            uplinks: vec!["p0_if".into(), "p1_if".into()],
            min_links: 1,
            evpn_on_uplinks: false,
            route_servers: ["172.43.0.1", "172.43.0.2"].map(|ip| ip.parse().unwrap()).into(),
            tenant_peers: [
                peer("vpc_1025186", "10.10.10.3"),
                peer("vpc_1025186", "10.217.5.162"),
                peer("vpc_1025197", "10.10.10.3"),
                peer("vpc_1025197", "10.217.5.170"),
            ]
            .into(),
            dhcp_served: false,
            isolated: false,
        }
    );
    let isolated = render::isolated(&environment(), None, &TEMPLATES).unwrap();
    assert_eq!(isolated.expected, Expectations { isolated: true, ..Expectations::default() });
    assert_eq!(isolated.acknowledge, None);
}

#[test]
fn of_two_instance_versions_the_older_is_acknowledged() {
    let mut response = response("docs_example_etv");
    let acknowledged = |response: &ManagedHostNetworkConfigResponse| {
        let known = files(response).acknowledge.unwrap();
        (known.managed_host.to_string(), known.instance_network.map(|version| version.to_string()), known.instance_id)
    };
    let id = Some("b4c38910-9319-4bee-ac04-10cabb569a4c".to_owned());
    let host = "V3-T1733950583707475".to_owned();
    let own = "V1-T1733950572461281".to_owned();
    assert_eq!(acknowledged(&response), (host.clone(), Some(own.clone()), id.clone()));
    for (embedded, expected) in [
        ("V1-T1733950572461200", "V1-T1733950572461200".to_owned()),
        ("V2-T1733950572461999", own.clone()),
        ("nonsense", own.clone()),
        ("", own.clone()),
    ] {
        response.instance = Some(Instance { network_config_version: embedded.into(), ..Default::default() });
        assert_eq!(acknowledged(&response), (host.clone(), Some(expected), id.clone()));
    }
    response.instance_network_config_version = String::new();
    assert_eq!(acknowledged(&response).1, None);
}

#[test]
fn responses_that_would_configure_something_else_are_refused_by_name() {
    type Change = fn(&mut ManagedHostNetworkConfigResponse);
    let cases: [(&str, Change, &str); 12] = [
        ("nvue_startup", |r| r.asn = 0, "asn is missing"),
        ("nvue_startup", |r| r.tenant_interfaces.clear(), "tenant_interfaces is empty on a tenant network"),
        (
            "nvue_startup",
            |r| r.deny_prefixes[1] = "198.51.100.0/33".into(),
            "deny_prefixes[1] is \"198.51.100.0/33\", not an IP prefix",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[0].virtual_function_id = None,
            "tenant_interfaces[0].virtual_function_id is missing on a virtual function",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[0].function_type = 0,
            "tenant_interfaces[1].function_type names a function that an earlier interface has already",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[1].vlan_id = 0,
            "tenant_interfaces[1].vlan_id is missing on a bridged port",
        ),
        (
            "nvue_startup",
            |r| r.network_security_policy_overrides[0].rule.as_mut().unwrap().action = 0,
            "network_security_policy_overrides[0] (anything).rule.action is 0, which has no meaning",
        ),
        (
            "nvue_startup",
            |r| r.network_security_policy_overrides[0].rule.as_mut().unwrap().dst_port_end = Some(79),
            "network_security_policy_overrides[0] (anything).rule.dst_port_start is 80-79, not a range of ports",
        ),
        (
            "nvue_startup",
            |r| r.network_security_policy_overrides[0].rule.as_mut().unwrap().dst_port_end = Some(65_535),
            "network_security_policy_overrides expand to 130912 ACL rules, more than 10000",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| r.tenant_interfaces[0].svi_ip = None,
            "tenant_interfaces[0].svi_ip is missing on a layer 2 port of an FNN network",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| {
                r.routing_profile = None;
                r.tenant_interfaces[1].vpc_routing_profile = None;
            },
            "tenant_interfaces[1].vpc_routing_profile is missing, and the site has no routing_profile either",
        ),
        (
            "nvue_startup",
            |r| {
                r.traffic_intercept_config.as_mut().unwrap().bridging.as_mut().unwrap().internal_bridge_routing_prefix =
                    "10.0.0.0/30".into()
            },
            "traffic_intercept_config.bridging.internal_bridge_routing_prefix is `10.0.0.0/30`, which has fewer than three hosts",
        ),
    ];
    for (name, change, expected) in cases {
        let mut response = response(name);
        change(&mut response);
        assert_eq!(refusal(&response), expected);
    }
}

#[test]
fn a_password_is_in_the_file_and_nowhere_else() {
    let mut response = response("nvue_startup_fnn_with_leaks");
    response.bgp_leaf_session_password = Some("s3cret: #x".into());
    let config = NetworkConfig::try_from(&response).unwrap();
    let files = render::files(&config, &environment(), &TEMPLATES).unwrap();
    assert!(files.nvue.contains("password: 's3cret: #x'"));
    assert!(!format!("{config:?}{files:?}").contains("s3cret"));
    response.bgp_leaf_session_password = Some("s3cret\n".into());
    assert_eq!(refusal(&response), "bgp_leaf_session_password has a control character");
}
