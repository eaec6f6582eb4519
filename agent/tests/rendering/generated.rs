//! Responses with everything that can be in them.

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

pub(crate) fn placed(mut port: FlatInterfaceConfig, position: u32, physical: bool) -> FlatInterfaceConfig {
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
    pub(crate) fn response()(
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
