//! What holds for every response: generated ones, with everything that can be in them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use agent::{
    lint,
    render::{self, DhcpServer, DhcpSettings, Environment, NetworkConfig, RenderedFiles, Templates},
};
use ipnet::Ipv4Net;
use proptest::{collection::vec, option, prelude::*, sample::select};
use proto::{
    common::RouteTarget,
    forge::{
        FlatInterfaceConfig, FlatInterfaceIpv6Config, FlatInterfaceNetworkSecurityGroupConfig,
        FlatInterfaceRoutingProfile, ManagedHostNetworkConfig, ManagedHostNetworkConfigResponse,
        ManagedHostQuarantineState, NetworkSecurityGroupRuleAttributes, PrefixFilterPolicyEntry,
        ResolvedNetworkSecurityGroupRule, RoutingProfile, TrafficInterceptBridging, TrafficInterceptConfig,
    },
};
use serde_yaml::Value;

fn environment(server: DhcpServer) -> Environment {
    Environment {
        dhcp: DhcpSettings { server, provisioning_server: Some([10, 0, 0, 1].into()), ..Default::default() },
        ..Default::default()
    }
}

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::embedded().unwrap());

fn rendered(response: &ManagedHostNetworkConfigResponse, server: DhcpServer) -> RenderedFiles {
    let config = NetworkConfig::try_from(response).unwrap_or_else(|error| panic!("{error}"));
    render::files(&config, &environment(server), &TEMPLATES).unwrap_or_else(|error| panic!("{error}"))
}

fn prefix() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u8..224, any::<u8>(), any::<u8>(), 8_u8..=32)
            .prop_map(|(a, b, c, length)| format!("{a}.{b}.{c}.0/{length}")),
        (any::<u16>(), any::<u16>(), 16_u8..=128).prop_map(|(a, b, length)| format!("2001:{a:x}:{b:x}::/{length}")),
    ]
}

fn prefixes(most: usize) -> impl Strategy<Value = Vec<String>> {
    vec(prefix(), 0..most)
}

fn target() -> impl Strategy<Value = RouteTarget> {
    (1_u32..100_000, 1_u32..100_000).prop_map(|(asn, vni)| RouteTarget { asn, vni })
}

fn entries() -> impl Strategy<Value = Vec<PrefixFilterPolicyEntry>> {
    prefixes(4).prop_map(|list| list.into_iter().map(|prefix| PrefixFilterPolicyEntry { prefix }).collect())
}

prop_compose! {
    fn profile()(
        imports in vec(target(), 0..3),
        exports in vec(target(), 0..3),
        flags in any::<[bool; 3]>(),
        leaks in entries(),
        anycast in entries(),
    ) -> RoutingProfile {
        RoutingProfile {
            route_target_imports: imports,
            route_targets_on_exports: exports,
            leak_default_route_from_underlay: flags[0],
            leak_tenant_host_routes_to_underlay: flags[1],
            tenant_leak_communities_accepted: flags[2],
            accepted_leaks_from_underlay: leaks,
            allowed_anycast_prefixes: anycast,
        }
    }
}

fn ports() -> impl Strategy<Value = Option<(u32, u32)>> {
    option::of((1_u32..65_000, 0_u32..3).prop_map(|(first, more)| (first, first + more)))
}

prop_compose! {
    fn rule()(
        kind in (1_i32..=2, any::<bool>(), 1_i32..=5, 1_i32..=2, 0_u32..5),
        source_ports in ports(),
        destination_ports in ports(),
        sources in prefixes(3),
        destinations in prefixes(3),
    ) -> ResolvedNetworkSecurityGroupRule {
        let (direction, ipv6, protocol, action, priority) = kind;
        ResolvedNetworkSecurityGroupRule {
            rule: Some(NetworkSecurityGroupRuleAttributes {
                direction,
                ipv6,
                src_port_start: source_ports.map(|ports| ports.0),
                src_port_end: source_ports.map(|ports| ports.1),
                dst_port_start: destination_ports.map(|ports| ports.0),
                dst_port_end: destination_ports.map(|ports| ports.1),
                protocol,
                action,
                priority,
                ..Default::default()
            }),
            src_prefixes: sources,
            dst_prefixes: destinations,
        }
    }
}

prop_compose! {
    fn group()(id in select(vec!["a", "b", "c"]), stateful_egress in any::<bool>(), rules in vec(rule(), 0..4))
        -> FlatInterfaceNetworkSecurityGroupConfig
    {
        FlatInterfaceNetworkSecurityGroupConfig { id: id.into(), stateful_egress, rules, ..Default::default() }
    }
}

prop_compose! {
    /// A port; its place among the ports makes its function, VLAN, VNI and addresses its own.
    fn port()(
        layer2 in any::<bool>(),
        vpc in 0_u32..3,
        vpc_prefixes in prefixes(14),
        vpc_peer_prefixes in prefixes(4),
        vpc_peer_vnis in vec(1_u32..90_000, 0..3),
        dual_stack in any::<bool>(),
        own_anycast in option::of(entries()),
        loopback in any::<bool>(),
        group in option::of(group()),
        rest in (option::of(68_u32..70_000), option::of("[!-~]{1,40}"), "[a-z0-9]{1,20}(\\.[a-z0-9]{1,20}){0,3}"),
    ) -> FlatInterfaceConfig {
        FlatInterfaceConfig {
            vpc_vni: 90_000 + vpc,
            is_l2_segment: layer2,
            vpc_prefixes,
            vpc_peer_prefixes,
            vpc_peer_vnis,
            ipv6_interface_config: dual_stack.then(FlatInterfaceIpv6Config::default),
            interface_routing_profile: own_anycast
                .map(|allowed_anycast_prefixes| FlatInterfaceRoutingProfile { allowed_anycast_prefixes }),
            tenant_vrf_loopback_ip: loopback.then(|| format!("10.255.0.{vpc}")),
            network_security_group: group,
            mtu: rest.0.map(|mtu| mtu.min(65_535)),
            booturl: rest.1,
            fqdn: rest.2,
            ..Default::default()
        }
    }
}

fn placed(mut port: FlatInterfaceConfig, position: u32, physical: bool) -> FlatInterfaceConfig {
    port.function_type = i32::from(!physical);
    port.virtual_function_id = (!physical).then_some(position);
    port.vlan_id = 100 + position;
    port.vni = 1000 + position;
    port.gateway = format!("10.{position}.0.1/24");
    port.ip = format!("10.{position}.0.5");
    port.prefix = format!("10.{position}.0.0/24");
    port.interface_prefix = format!("10.{position}.0.5/32");
    port.svi_ip = Some(format!("10.{position}.0.2/24"));
    if let Some(ipv6) = &mut port.ipv6_interface_config {
        ipv6.ip = format!("2001:db8:{position:x}::5");
        ipv6.interface_prefix = format!("2001:db8:{position:x}::1/64");
        ipv6.svi_ip = Some(format!("2001:db8:{position:x}::2/64"));
    }
    port
}

fn intercept() -> impl Strategy<Value = TrafficInterceptConfig> {
    (any::<bool>(), any::<bool>(), prefixes(3)).prop_map(|(vtep, bridging, public_prefixes)| TrafficInterceptConfig {
        // The route to the second end point goes through the bridge.
        additional_overlay_vtep_ip: (vtep && bridging).then(|| "10.254.0.9".into()),
        bridging: bridging.then(|| TrafficInterceptBridging {
            internal_bridge_routing_prefix: "10.254.1.0/29".into(),
            vf_intercept_bridge_sf: "pf0dpu5".into(),
            ..Default::default()
        }),
        public_prefixes,
        ..Default::default()
    })
}

prop_compose! {
    fn response()(
        flags in any::<[bool; 6]>(),
        kind in select(vec![None, Some(0), Some(2), Some(3), Some(4), Some(5)]),
        tenant in vec(port(), 1..5),
        admin in port(),
        lists in [prefixes(5), prefixes(5), prefixes(5)],
        route_servers in vec((1_u8..250).prop_map(|last| format!("172.16.0.{last}")), 0..4),
        overrides in vec(rule(), 0..4),
        intercept in option::of(intercept()),
        site_profile in profile(),
        vpc_profiles in vec(option::of(profile()), 3),
        rest in (option::of(target()), vec(target(), 0..3), option::of(1_u32..100_000), option::of("[ -~]{1,30}")),
    ) -> ManagedHostNetworkConfigResponse {
        let tenant = tenant.into_iter().enumerate().map(|(index, mut port)| {
            port.vpc_routing_profile = vpc_profiles[usize::try_from(port.vpc_vni - 90_000).unwrap()].clone();
            placed(port, u32::try_from(index).unwrap(), index == 0)
        });
        let [deny, fabric, anycast] = lists;
        let (common, additional, tenant_asn, password) = rest;
        ManagedHostNetworkConfigResponse {
            asn: 65_001,
            managed_host_config: Some(ManagedHostNetworkConfig {
                loopback_ip: "10.254.0.1".into(),
                quarantine_state: flags[0].then(ManagedHostQuarantineState::default),
            }),
            managed_host_config_version: "V1-T1".into(),
            use_admin_network: flags[1],
            is_primary_dpu: flags[2],
            admin_interface: Some(placed(admin, 200, true)),
            tenant_interfaces: tenant.collect(),
            network_virtualization_type: kind,
            route_servers,
            deny_prefixes: deny,
            site_fabric_prefixes: fabric,
            anycast_site_prefixes: anycast,
            vpc_isolation_behavior: 1 + i32::from(flags[3]),
            stateful_acls_enabled: flags[4],
            host_interface_id: Some("60cef902-9779-4666-8362-c9bb4b37185f".into()),
            datacenter_asn: 11_414,
            common_internal_route_target: common,
            additional_route_target_imports: additional,
            network_security_policy_overrides: overrides,
            traffic_intercept_config: intercept,
            routing_profile: Some(site_profile),
            tenant_host_asn: tenant_asn,
            bgp_leaf_session_password: password,
            ..Default::default()
        }
    }
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
        other.additional_route_target_imports.reverse();
        for port in &mut other.tenant_interfaces {
            port.vpc_peer_vnis.reverse();
        }
        for profile in other.routing_profile.iter_mut().chain(other.tenant_interfaces.iter_mut().filter_map(|port| port.vpc_routing_profile.as_mut())) {
            profile.route_target_imports.reverse();
            profile.route_targets_on_exports.reverse();
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
                for (side, attached) in [("egress", "inbound"), ("ingress", "outbound")] {
                    let list = format!("p0004_security_policy_override_{family}_host_{side}");
                    prop_assert!(port["acl"][&list][attached].is_mapping(), "{:?} {}", name, list);
                    let rules = set["acl"][&list]["rule"].as_mapping().unwrap();
                    prop_assert_eq!(rules.len(), 1);
                    let rule = &rules["2000"];
                    prop_assert!(rule["action"]["deny"].is_mapping());
                    prop_assert_eq!(rule["match"]["ip"]["source-ip"].as_str(), Some(any));
                    prop_assert_eq!(rule["match"]["ip"]["dest-ip"].as_str(), Some(any));
                    prop_assert!(rule["match"]["ip"].get("protocol").is_none());
                }
            }
        }
        prop_assert_eq!(ports, expected);
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
fn hostile_boot_urls_and_ids_come_back_unchanged_or_are_refused_by_name() {
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

#[test]
fn a_thousand_prefixes_on_each_of_sixteen_ports_are_all_permitted_in_bounded_size() {
    let all: Vec<String> = (0..1000).map(|number| format!("10.{}.{}.0/24", 100 + number / 250, number % 250)).collect();
    for kind in [0, 5] {
        let ports = (0..16).map(|position| {
            let port = FlatInterfaceConfig {
                vpc_vni: 90_000,
                is_l2_segment: true,
                vpc_prefixes: all.clone(),
                ..Default::default()
            };
            placed(port, position, position == 0)
        });
        let response = ManagedHostNetworkConfigResponse {
            asn: 65_001,
            managed_host_config: Some(ManagedHostNetworkConfig {
                loopback_ip: "10.254.0.1".into(),
                ..Default::default()
            }),
            managed_host_config_version: "V1-T1".into(),
            tenant_interfaces: ports.collect(),
            network_virtualization_type: Some(kind),
            vpc_isolation_behavior: 2,
            site_fabric_prefixes: vec!["10.0.0.0/8".into()],
            routing_profile: Some(RoutingProfile::default()),
            ..Default::default()
        };
        let text = rendered(&response, DhcpServer::None).nvue;
        assert!(text.len() < 1 << 20, "{} bytes", text.len());
        let document: Value = serde_yaml::from_str(&text).unwrap();
        let list = if kind == 0 { "p0010_vpc_isolation_ipv4" } else { "p0010_vpc_90000_isolation_ipv4" };
        let rules = document[1]["set"]["acl"][list]["rule"].as_mapping().unwrap();
        let last = rules.iter().last().unwrap();
        assert_eq!(rules.len(), 1001);
        assert_eq!((last.0.as_str(), last.1["match"]["ip"]["dest-ip"].as_str()), (Some("1010"), Some("10.0.0.0/8")));
        assert!(last.1["action"]["deny"].is_mapping());
    }
}
