//! What holds for every response: generated ones, with everything that can be in them.

use std::collections::{BTreeMap, BTreeSet};

use agent::{
    lint,
    render::{self, Dhcp, DhcpServer, DhcpSettings, Environment, NetworkConfig, RenderedFiles},
};
use ipnet::Ipv4Net;
use proptest::prelude::*;
use proto::forge::{
    FlatInterfaceConfig, FlatInterfaceNetworkSecurityGroupConfig, ManagedHostNetworkConfig,
    ManagedHostNetworkConfigResponse, ManagedHostQuarantineState, NetworkSecurityGroupRuleAttributes,
    PrefixFilterPolicyEntry, ResolvedNetworkSecurityGroupRule, RoutingProfile,
};
use serde_yaml::Value;

use super::{
    generated::{placed, response},
    responses::{TEMPLATES, names},
};

fn environment(server: DhcpServer) -> Environment {
    Environment {
        dhcp: DhcpSettings { server, provisioning_server: Some([10, 0, 0, 1].into()), ..Default::default() },
        ..Default::default()
    }
}

fn rendered(response: &ManagedHostNetworkConfigResponse, server: DhcpServer) -> RenderedFiles {
    let config = NetworkConfig::try_from(response).unwrap_or_else(|error| panic!("{error}"));
    render::files(&config, &environment(server), &TEMPLATES).unwrap_or_else(|error| panic!("{error}"))
}

/// Every scalar of a document with its path, as the YAML 1.2 reader sees it.
fn scalars(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Mapping(map) => {
            for (key, value) in map {
                let Value::String(key) = key else { panic!("{path} has a key that is no text: {key:?}") };
                scalars(&format!("{path}\n{key}"), value, found);
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| scalars(path, item, found)),
        Value::String(text) => {
            found.insert(path.into(), text.clone());
        }
        Value::Number(number) => {
            found.insert(path.into(), number.to_string());
        }
        other => panic!("{path} is {other:?}"),
    }
}

/// Whether a reader of YAML 1.1 takes a plain scalar for something else than a text or a whole decimal number. Written
/// from the types of yaml.org/type, with PyYAML's and Ruby's readings of base 60.
fn misread_by_yaml_1_1(plain: &str) -> bool {
    let lower = plain.to_ascii_lowercase();
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", ".nan", ".inf", "<<", "="];
    let digit = |text: &str| {
        text.chars().all(|character| character.is_ascii_digit() || "_.:eE+-xXabcdefABCDEF".contains(character))
    };
    let address = plain.parse::<std::net::Ipv4Addr>().is_ok();
    let whole = plain.bytes().all(|byte| byte.is_ascii_digit()) && !plain.starts_with('0') || plain == "0";
    words.contains(&lower.as_str())
        || (plain.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
            && digit(plain)
            && !whole
            && !address)
}

/// Goes through the rules that traffic meets on one side of a port, lists in the order of their names and rules in that of
/// their numbers, up to the one that denies everything. No permit may come before it, not for any protocol: what a host
/// still needs of its DPU is not there either, as ARP is no IP and DHCP's requests are answered before these lists.
fn until_all_is_denied(lists: &Value, port: &Value, attached: &str, family: &str, any: &str) -> Result<(), String> {
    let mut names = names(port);
    names.retain(|name| port[*name][attached].is_mapping() && lists[*name]["type"] == family);
    names.sort_unstable();
    for name in names {
        let mut rules: Vec<_> = lists[name]["rule"].as_mapping().into_iter().flatten().collect();
        rules.sort_by_key(|(number, _)| number.as_str().unwrap().parse::<u32>().unwrap());
        for (number, rule) in rules {
            if !rule["action"]["deny"].is_mapping() {
                return Err(format!("rule {number:?} of {name} permits"));
            }
            let matched: Value =
                serde_yaml::from_str(&format!("{{ip: {{source-ip: '{any}', dest-ip: '{any}'}}}}")).unwrap();
            if rule["match"] == matched {
                return Ok(());
            }
        }
    }
    Err("not everything is denied".into())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rendered_files_load_alike_everywhere_and_are_without_fault(response in response()) {
        let text = rendered(&response, DhcpServer::None).nvue;
        prop_assert_eq!(lint::check(&text), Ok(()));
        let document: Value = serde_yaml::from_str(&text).unwrap();
        scalars("", &document, &mut BTreeMap::new());
        for line in text.lines().skip(5) {
            let (key, value) = line.trim_start_matches([' ', '-']).split_once(':').map_or((line, ""), |(key, value)| (key, value.trim()));
            for plain in [key, value] {
                let quoted = plain.starts_with(['\'', '"']) || plain.ends_with(['\'', '"']);
                let structure = plain.is_empty() || plain == "{}";
                prop_assert!(quoted || structure || !misread_by_yaml_1_1(plain), "{}", line);
            }
        }
    }

    #[test]
    fn the_same_response_gives_the_same_bytes(response in response()) {
        let (once, again) = (rendered(&response, DhcpServer::Kea), rendered(&response.clone(), DhcpServer::Kea));
        prop_assert_eq!(once, again);
    }

    #[test]
    fn the_order_of_sets_does_not_matter(response in response()) {
        let mut other = response.clone();
        other.route_servers.reverse();
        let intercept = other.traffic_intercept_config.iter_mut().map(|intercept| &mut intercept.public_prefixes);
        [&mut other.deny_prefixes, &mut other.site_fabric_prefixes, &mut other.anycast_site_prefixes].into_iter().chain(intercept).for_each(|set| set.reverse());
        let rules = other.tenant_interfaces.iter_mut().filter_map(|port| port.network_security_group.as_mut()).flat_map(|group| &mut group.rules);
        for rule in rules.chain(&mut other.network_security_policy_overrides) {
            rule.src_prefixes.reverse();
            rule.dst_prefixes.reverse();
        }
        other.additional_route_target_imports.reverse();
        for port in &mut other.tenant_interfaces {
            port.vpc_peer_vnis.reverse();
            port.vpc_prefixes.reverse();
            port.vpc_peer_prefixes.reverse();
            port.interface_routing_profile.iter_mut().for_each(|profile| profile.allowed_anycast_prefixes.reverse());
        }
        for profile in other.routing_profile.iter_mut().chain(other.tenant_interfaces.iter_mut().filter_map(|port| port.vpc_routing_profile.as_mut())) {
            profile.route_target_imports.reverse();
            profile.route_targets_on_exports.reverse();
            profile.accepted_leaks_from_underlay.reverse();
            profile.allowed_anycast_prefixes.reverse();
        }
        prop_assert_eq!(rendered(&response, DhcpServer::Kea), rendered(&other, DhcpServer::Kea));
    }

    #[test]
    fn every_rule_of_every_list_is_there_once(response in response()) {
        let document: Value = serde_yaml::from_str(&rendered(&response, DhcpServer::None).nvue).unwrap();
        let acls = &document[1]["set"]["acl"];
        // Of what is denied, nothing is lost to another rule's number, in whichever list it is.
        let admin_etv = response.use_admin_network && !matches!(response.network_virtualization_type, Some(3..=5));
        if !admin_etv {
            let denied: BTreeSet<_> = acls["p0000_deny_prefixes_ipv4"]["rule"].as_mapping().into_iter().flatten()
                .filter(|(_, rule)| rule["action"]["deny"].is_mapping())
                .filter_map(|(_, rule)| rule["match"]["ip"]["dest-ip"].as_str()?.parse().ok()).collect();
            let wanted: BTreeSet<Ipv4Net> =
                response.deny_prefixes.iter().filter_map(|prefix| prefix.parse().ok()).map(|net: Ipv4Net| net.trunc()).collect();
            prop_assert_eq!(denied, wanted);
        }
    }

    #[test]
    fn a_quarantined_host_is_blocked_both_ways_on_every_port(mut response in response()) {
        response.managed_host_config.as_mut().unwrap().quarantine_state = Some(ManagedHostQuarantineState::default());
        let document: Value = serde_yaml::from_str(&rendered(&response, DhcpServer::None).nvue).unwrap();
        let set = &document[1]["set"];
        let expected = match (response.use_admin_network, response.is_primary_dpu) {
            (true, true) => 1,
            (true, false) => 0,
            (false, _) => response.tenant_interfaces.len(),
        };
        let mut ports = 0;
        for (name, port) in set["interface"].as_mapping().unwrap() {
            if !name.as_str().is_some_and(|name| name.starts_with("pf0hpf") || name.starts_with("pf0vf")) {
                continue;
            }
            ports += 1;
            for (family, any) in [("ipv4", "0.0.0.0/0"), ("ipv6", "::/0")] {
                for attached in ["inbound", "outbound"] {
                    let verdict = until_all_is_denied(&set["acl"], &port["acl"], attached, family, any);
                    prop_assert_eq!(verdict, Ok(()), "{:?} {} {}", name, attached, family);
                }
            }
        }
        prop_assert_eq!(ports, expected);
    }

    #[test]
    fn an_isolated_dpu_has_its_underlay_and_nothing_of_any_host(response in response()) {
        let config = NetworkConfig::try_from(&response).unwrap();
        let files = render::isolated(&environment(DhcpServer::Kea), Some(config.underlay()), &TEMPLATES).unwrap();
        prop_assert_eq!(lint::check(&files.nvue), Ok(()));
        let document: Value = serde_yaml::from_str(&files.nvue).unwrap();
        let set = &document[1]["set"];
        prop_assert_eq!(names(&set["vrf"]), ["default"]);
        prop_assert!(set.get("bridge").is_none() && set.get("nve").is_none() && set["vrf"]["default"]["router"].get("static").is_none());
        let bgp = &set["vrf"]["default"]["router"]["bgp"];
        let mut neighbors = names(&bgp["neighbor"]);
        neighbors.retain(|name| !response.route_servers.iter().any(|server| server == name));
        prop_assert_eq!(neighbors, ["p0_if", "p1_if"]);
        prop_assert_eq!(set["interface"]["lo"]["ip"]["address"]["10.254.0.1/32"].is_mapping(), true);
        for (name, port) in set["interface"].as_mapping().unwrap() {
            if name.as_str().is_some_and(|name| name.starts_with("pf0")) {
                prop_assert!(port["link"]["state"]["down"].is_mapping(), "{:?}", name);
                prop_assert!(port.get("bridge").is_none() && port.get("ip").is_none(), "{:?}", name);
            }
        }
        let port = &response.tenant_interfaces[0];
        for of_the_host in [&port.ip, &port.gateway, &port.prefix] {
            prop_assert!(!files.nvue.contains(of_the_host.as_str()), "{}", files.nvue);
        }
        prop_assert!(matches!(files.dhcp, Dhcp::Stop(_)));
    }

    #[test]
    fn hostile_texts_come_back_unchanged_or_are_refused_by_name(response in response(), text in ".{1,40}") {
        let mut with_password = response.clone();
        with_password.network_virtualization_type = Some(5);
        with_password.bgp_leaf_session_password = Some(text.clone());
        match NetworkConfig::try_from(&with_password) {
            Ok(config) => {
                let files = render::files(&config, &environment(DhcpServer::None), &TEMPLATES).unwrap();
                let document: Value = serde_yaml::from_str(&files.nvue).unwrap();
                let underlay = &document[1]["set"]["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"];
                prop_assert_eq!(underlay["password"].as_str(), Some(text.as_str()));
            }
            Err(error) => prop_assert_eq!(error.field, "bgp_leaf_session_password"),
        }
        let mut with_name = response;
        with_name.use_admin_network = false;
        with_name.tenant_interfaces[0].fqdn = text.clone();
        for server in [DhcpServer::Kea, DhcpServer::Dhcpd, DhcpServer::Nico] {
            match NetworkConfig::try_from(&with_name) {
                Ok(config) => {
                    let files = render::files(&config, &environment(server), &TEMPLATES).unwrap();
                    let dhcp = files.dhcp.files().unwrap();
                    let texts: String = dhcp.beside.iter().map(|file| file.text.as_str()).chain([dhcp.config.as_str()]).collect();
                    prop_assert!(texts.contains(&text), "{}", texts);
                }
                Err(error) => prop_assert_eq!(&error.field, "tenant_interfaces[0].fqdn"),
            }
        }
    }
}

#[test]
fn hostile_texts_come_back_unchanged_or_are_refused() {
    let base = ManagedHostNetworkConfigResponse {
        asn: 65_001,
        managed_host_config: Some(ManagedHostNetworkConfig { loopback_ip: "10.254.0.1".into(), ..Default::default() }),
        managed_host_config_version: "V1-T1".into(),
        tenant_interfaces: vec![placed(FlatInterfaceConfig { is_l2_segment: true, ..Default::default() }, 1, true)],
        vpc_isolation_behavior: 1,
        host_interface_id: Some("id".into()),
        ..Default::default()
    };
    for url in
        ["{{ x }}", "{%if%}", "a\"b", "a'b", "a\\b", "a,b", "#", "a: b", "a\nb", "é", "", "}", "http://x/$(y)", "%00"]
    {
        let mut response = base.clone();
        response.tenant_interfaces[0].booturl = Some(url.into());
        let config = match NetworkConfig::try_from(&response) {
            Ok(config) => config,
            Err(error) => {
                assert_eq!(error.field, "tenant_interfaces[0].booturl");
                assert!(url.contains([' ', '\n', 'é']), "{url}");
                continue;
            }
        };
        let dhcp = |server| render::files(&config, &environment(server), &TEMPLATES).unwrap().dhcp;
        let nico = dhcp(DhcpServer::Nico);
        let hosts: Value = serde_yaml::from_str(&nico.files().unwrap().beside[0].text).unwrap();
        let read = &hosts["host_ip_addresses"]["vlan101"]["booturl"];
        let kea: serde_json::Value = serde_json::from_str(&dhcp(DhcpServer::Kea).files().unwrap().config).unwrap();
        let option = &kea["Dhcp4"]["client-classes"][1]["option-data"][1]["data"];
        if url.is_empty() {
            assert!(read.is_null());
        } else {
            assert_eq!(read.as_str(), Some(url));
            assert_eq!(option.as_str(), Some(url.replace(',', "\\,").as_str()));
        }
    }
}

/// A DPU with sixteen ports in one VPC.
fn with_sixteen_ports(kind: i32, port: impl Fn(u32) -> FlatInterfaceConfig) -> ManagedHostNetworkConfigResponse {
    let placed = |position| {
        let port = FlatInterfaceConfig { vpc_vni: 90_000, is_l2_segment: true, ..port(position) };
        placed(port, position, position == 0)
    };
    ManagedHostNetworkConfigResponse {
        asn: 65_001,
        managed_host_config: Some(ManagedHostNetworkConfig { loopback_ip: "10.254.0.1".into(), ..Default::default() }),
        managed_host_config_version: "V1-T1".into(),
        tenant_interfaces: (0..16).map(placed).collect(),
        network_virtualization_type: Some(kind),
        vpc_isolation_behavior: 2,
        site_fabric_prefixes: vec!["10.0.0.0/8".into()],
        routing_profile: Some(RoutingProfile::default()),
        ..Default::default()
    }
}

/// Prefixes of a port: its own ones, or the same on each port.
fn prefixes(own: bool, position: u32, count: u32) -> Vec<String> {
    let first = 100 + if own { position } else { 0 };
    (0..count).map(|number| format!("{first}.{}.{}.0/24", number / 250, number % 250)).collect()
}

#[test]
fn sixteen_thousand_prefixes_are_permitted_in_bounded_size() {
    for (kind, own) in [(0, true), (5, true), (0, false), (5, false)] {
        let response = with_sixteen_ports(kind, |position| FlatInterfaceConfig {
            vpc_prefixes: prefixes(own, position, 1000),
            ..Default::default()
        });
        let text = rendered(&response, DhcpServer::None).nvue;
        let (permits, most_kib) = if own { (16_000, 2300) } else { (1000, 200) };
        assert!(text.len() < most_kib << 10, "{} bytes", text.len());
        let list = if kind == 0 { "p0010_vpc_isolation_ipv4" } else { "p0010_vpc_90000_isolation_ipv4" };
        let document: Value = serde_yaml::from_str(&text).unwrap();
        let rules = document[1]["set"]["acl"][list]["rule"].as_mapping().unwrap();
        let last = rules.iter().last().unwrap();
        assert_eq!(rules.len(), permits + 1);
        assert_eq!(last.0.as_str(), Some((permits + 10).to_string().as_str()));
        assert_eq!(last.1["match"]["ip"]["dest-ip"].as_str(), Some("10.0.0.0/8"));
        assert!(last.1["action"]["deny"].is_mapping());
    }
}

#[test]
fn too_many_rules_are_refused_by_the_largest_field() {
    let group = |position: u32, ports: u32| {
        let attributes = NetworkSecurityGroupRuleAttributes {
            direction: 2,
            protocol: 3,
            action: 2,
            dst_port_start: Some(1),
            dst_port_end: Some(ports),
            ..Default::default()
        };
        let any = || vec!["0.0.0.0/0".to_owned()];
        let rule =
            ResolvedNetworkSecurityGroupRule { rule: Some(attributes), src_prefixes: any(), dst_prefixes: any() };
        FlatInterfaceNetworkSecurityGroupConfig { id: position.to_string(), rules: vec![rule], ..Default::default() }
    };
    for kind in [0, 5] {
        let mut groups = with_sixteen_ports(kind, |position| FlatInterfaceConfig {
            network_security_group: Some(group(position, 9000)),
            ..Default::default()
        });
        let refusal = |response: &_| NetworkConfig::try_from(response).unwrap_err().to_string();
        assert_eq!(
            refusal(&groups),
            "tenant_interfaces[].network_security_group.rules come to 144000 of 144001 rules in access and prefix lists, more than 35000"
        );
        // A quarantine is not held up by them.
        groups.managed_host_config.as_mut().unwrap().quarantine_state = Some(ManagedHostQuarantineState::default());
        assert!(rendered(&groups, DhcpServer::None).nvue.len() < 100 << 10);

        let prefixes = with_sixteen_ports(kind, |position| FlatInterfaceConfig {
            vpc_prefixes: prefixes(true, position, 2500),
            ..Default::default()
        });
        let fault =
            "tenant_interfaces[].vpc_prefixes come to 40000 of 40001 rules in access and prefix lists, more than 35000";
        assert_eq!(refusal(&prefixes), fault);
    }
    let mut announced = with_sixteen_ports(5, |_| FlatInterfaceConfig::default());
    announced.anycast_site_prefixes = prefixes(false, 0, 2500);
    let refusal = |response: &_| NetworkConfig::try_from(response).unwrap_err().to_string();
    assert_eq!(
        refusal(&announced),
        "anycast_site_prefixes come to 40000 of 40001 rules in access and prefix lists, more than 35000"
    );
    let entries = prefixes(false, 0, 2500).into_iter().map(|prefix| PrefixFilterPolicyEntry { prefix });
    announced.anycast_site_prefixes.clear();
    announced.routing_profile.as_mut().unwrap().allowed_anycast_prefixes = entries.collect();
    assert!(refusal(&announced).starts_with("tenant_interfaces[].vpc_routing_profile come to 40000 of 40001 rules"));
}
