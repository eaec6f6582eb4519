//! Access lists and their rules, as no pair of response and tree shows them.

use proto::forge::{
    FlatInterfaceNetworkSecurityGroupConfig, ManagedHostNetworkConfigResponse, ManagedHostQuarantineState,
    NetworkSecurityGroupRuleAttributes, ResolvedNetworkSecurityGroupRule,
};
use serde_yaml::Value;

use super::responses::{names, response, settings};

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
fn a_quarantined_etv_tenant_has_no_permit_before_its_list() {
    let mut response = response("nvue_startup");
    let list = "p0000_deny_prefixes_ipv4";
    let denies = [(1001, "deny", "192.0.2.0/24".to_owned()), (1002, "deny", "198.51.100.0/24".to_owned())];
    assert_eq!(rules(&settings(&response), list)[4..], denies);
    response.managed_host_config.as_mut().unwrap().quarantine_state = Some(ManagedHostQuarantineState::default());
    assert_eq!(rules(&settings(&response), list), denies);
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
fn the_rules_of_127_ports_stay_below_the_final_rule() {
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
fn two_groups_of_an_etv_host_are_one_list_by_priority() {
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
fn peers_of_all_ports_count_and_only_known_lists_attach() {
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
