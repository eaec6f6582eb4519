//! The configuration that a DPU is to run. A pure function of stored rows and the site's settings.

use std::net::IpAddr;

use ipnet::IpNet;
use proto::{common, forge};

use super::{Isolation, RouteTarget, RoutedVpcs, RoutingProfile, SiteNetwork, host_side, security::group_of};
use crate::store::{
    Dpu, Host, Instance, InstanceInterface, PortFunction, SecurityGroup, Virtualization, Vpc, VpcPrefix,
};

/// What one DPU's configuration is made from.
#[derive(Debug, Clone, Copy)]
pub struct DesiredInput<'a> {
    /// Settings of the site.
    pub site: &'a SiteNetwork,
    /// The host.
    pub host: &'a Host,
    /// The DPU.
    pub dpu: &'a Dpu,
    /// The DPU's loopback.
    pub loopback: IpAddr,
    /// Admin address of the host's interface behind the DPU.
    pub admin_address: IpAddr,
    /// The DPU's AS number, in a site with routed VPCs.
    pub asn: Option<u32>,
    /// The host's instance, if it has one.
    pub instance: Option<&'a Instance>,
    /// All VPCs.
    pub vpcs: &'a [Vpc],
    /// All security groups.
    pub groups: &'a [SecurityGroup],
}

/// The configuration that a DPU is to run. A DPU without an interface of the instance stays on the admin network.
#[must_use]
pub fn desired_config(input: DesiredInput<'_>) -> forge::ManagedHostNetworkConfigResponse {
    let DesiredInput { site, host, dpu, .. } = input;
    let tenant = input.instance.filter(|_| !host.use_admin_network).and_then(|instance| {
        let mut interfaces = instance.interfaces.iter().filter(|one| one.dpu_position == dpu.position).peekable();
        interfaces.peek().is_some().then(|| (instance, interfaces.collect::<Vec<_>>()))
    });
    let mut response = forge::ManagedHostNetworkConfigResponse {
        asn: site.asn,
        dhcp_servers: texts(&site.dhcp_servers),
        managed_host_config: Some(forge::ManagedHostNetworkConfig {
            loopback_ip: input.loopback.to_string(),
            quarantine_state: host.quarantine.as_ref().map(|quarantine| forge::ManagedHostQuarantineState {
                mode: forge::ManagedHostQuarantineMode::BlockAllTraffic as i32,
                reason: quarantine.reason.clone(),
            }),
        }),
        managed_host_config_version: host.network_version.to_string(),
        use_admin_network: true,
        admin_interface: Some(admin_interface(&input)),
        route_servers: texts(&site.route_servers),
        deny_prefixes: texts(&site.deny_prefixes),
        site_fabric_prefixes: texts(&site.site_fabric_prefixes),
        anycast_site_prefixes: texts(&site.anycast_site_prefixes),
        vpc_isolation_behavior: match site.isolation {
            Isolation::Mutual => forge::VpcIsolationBehaviorType::VpcIsolationMutual,
            Isolation::Open => forge::VpcIsolationBehaviorType::VpcIsolationOpen,
        } as i32,
        enable_dhcp: true,
        host_interface_id: Some(dpu.host_interface_id.clone()),
        min_dpu_functioning_links: site.min_dpu_functioning_links,
        is_primary_dpu: dpu.primary(),
        datacenter_asn: site.datacenter_asn,
        ..Default::default()
    };
    let mut virtualization = site.virtualization;
    if let Some((instance, interfaces)) = tenant {
        let vpc = interfaces.iter().find_map(|interface| input.vpcs.iter().find(|vpc| vpc.id == interface.vpc));
        response.use_admin_network = false;
        response.vni_device = "vxlan48".to_owned();
        response.tenant_interfaces =
            interfaces.iter().filter_map(|interface| tenant_interface(&input, instance, interface)).collect();
        let groups = response.tenant_interfaces.iter().filter_map(|one| one.network_security_group.as_ref());
        response.stateful_acls_enabled = groups.into_iter().any(|group| group.stateful_egress);
        response.instance_network_config_version = instance.network_version.to_string();
        response.instance_id = Some(instance.id.into());
        response.vpc_vni = vpc.map(|vpc| vpc.vni);
        virtualization = vpc.map_or(virtualization, |vpc| vpc.virtualization);
        response.instance = Some(forge::Instance {
            id: Some(instance.id.into()),
            machine_id: Some((&instance.host).into()),
            metadata: Some(instance.metadata.clone()),
            instance_type_id: instance.instance_type_id.clone(),
            config: Some(instance.config.clone()),
            network_config_version: instance.network_version.to_string(),
            config_version: instance.config_version.to_string(),
            ..Default::default()
        });
    }
    response.network_virtualization_type = Some(wire_virtualization(virtualization));
    if let (Virtualization::Fnn, Some(routed)) = (virtualization, &site.routed) {
        add_routing(&mut response, routed, input.asn);
    }
    response
}

/// What a routed DPU needs beyond its interfaces.
fn add_routing(response: &mut forge::ManagedHostNetworkConfigResponse, routed: &RoutedVpcs, asn: Option<u32>) {
    response.asn = asn.unwrap_or(response.asn);
    response.common_internal_route_target = routed.common_internal.map(wire_target);
    response.additional_route_target_imports = routed.additional_imports.iter().copied().map(wire_target).collect();
    response.tenant_host_asn = routed.tenant_host_asn;
    response.site_global_vpc_vni = routed.site_global_vpc_vni;
    response.bgp_leaf_session_password = routed.leaf_session_password.clone();
    response.routing_profile = Some(wire_profile(&routed.profile));
}

fn admin_interface(input: &DesiredInput<'_>) -> forge::FlatInterfaceConfig {
    let DesiredInput { site, admin_address, .. } = input;
    let admin = &site.admin;
    let routed = site.routed.as_ref().filter(|_| site.virtualization == Virtualization::Fnn);
    let own = IpNet::from(*admin_address).to_string();
    forge::FlatInterfaceConfig {
        function_type: forge::InterfaceFunctionType::Physical as i32,
        vlan_id: admin.vlan.into(),
        vni: admin.vni,
        gateway: with_length(admin.gateway, admin.prefix),
        ip: admin_address.to_string(),
        prefix: admin.prefix.to_string(),
        fqdn: format!("{}.{}", host_label(&input.host.name, input.dpu.position), site.domain),
        booturl: site.boot_url.clone(),
        vpc_prefixes: routed.iter().map(|_| own.clone()).collect(),
        interface_prefix: own,
        vpc_vni: admin.vpc_vni,
        is_l2_segment: true,
        svi_ip: routed.and(admin.svi).map(|svi| with_length(svi, admin.prefix)),
        vpc_routing_profile: routed.map(|routed| wire_profile(&routed.profile)),
        mtu: site.mtu,
        ..Default::default()
    }
}

/// None if the VPC is not among the input's, which the database's references rule out.
fn tenant_interface(
    input: &DesiredInput<'_>,
    instance: &Instance,
    interface: &InstanceInterface,
) -> Option<forge::FlatInterfaceConfig> {
    let vpc = input.vpcs.iter().find(|vpc| vpc.id == interface.vpc)?;
    let segment = vpc.prefixes.iter().find(|prefix| prefix.id == interface.prefix)?;
    let (function_type, virtual_function_id) = match interface.function {
        PortFunction::Physical => (forge::InterfaceFunctionType::Physical, None),
        PortFunction::Virtual(id) => (forge::InterfaceFunctionType::Virtual, Some(id)),
    };
    let side = host_side(vpc.virtualization, segment.prefix, interface.address);
    let routed = input.site.routed.as_ref().filter(|_| vpc.virtualization == Virtualization::Fnn);
    let ipv6 = segment.ipv6.zip(interface.ipv6).map(|(net, address)| forge::FlatInterfaceIpv6Config {
        ip: address.to_string(),
        interface_prefix: host_side(vpc.virtualization, net, address).gateway.to_string(),
        svi_ip: None,
    });
    let peers: Vec<&Vpc> = input.vpcs.iter().filter(|other| vpc.peers.contains(&other.id)).collect();
    Some(forge::FlatInterfaceConfig {
        function_type: function_type as i32,
        virtual_function_id,
        vlan_id: segment.vlan.into(),
        vni: segment.vni,
        gateway: side.gateway.to_string(),
        ip: interface.address.to_string(),
        prefix: side.prefix.to_string(),
        fqdn: tenant_fqdn(input.site, instance, interface),
        booturl: input.site.boot_url.clone(),
        interface_prefix: side.host.to_string(),
        vpc_vni: vpc.vni,
        tenant_vrf_loopback_ip: interface.vrf_loopback.map(|loopback| loopback.to_string()),
        vpc_routing_profile: routed.map(|routed| wire_profile(&routed.profile)),
        interface_routing_profile: interface.anycast_prefixes.as_ref().map(|prefixes| {
            forge::FlatInterfaceRoutingProfile { allowed_anycast_prefixes: prefixes.iter().map(wire_entry).collect() }
        }),
        vpc_prefixes: vpc.prefixes.iter().flat_map(VpcPrefix::nets).map(|net| net.to_string()).collect(),
        vpc_peer_prefixes: peers
            .iter()
            .flat_map(|peer| &peer.prefixes)
            .flat_map(VpcPrefix::nets)
            .map(|net| net.to_string())
            .collect(),
        vpc_peer_vnis: routed.iter().flat_map(|_| &peers).map(|peer| peer.vni).collect(),
        ipv6_interface_config: ipv6,
        is_l2_segment: vpc.virtualization == Virtualization::Etv,
        mtu: input.site.mtu,
        network_security_group: group_of(instance, vpc, input.groups),
        internal_uuid: Some(common::Uuid { value: interface.internal_uuid.to_string() }),
        ..Default::default()
    })
}

/// The tenant's host name on the host's first interface; names made from the address on the others, so that no two
/// interfaces share one.
fn tenant_fqdn(site: &SiteNetwork, instance: &Instance, interface: &InstanceInterface) -> String {
    let hostname = instance.config.tenant.as_ref().and_then(|tenant| tenant.hostname.as_deref());
    let first = instance.interfaces.first() == Some(interface);
    match hostname.filter(|name| first && !name.is_empty()) {
        Some(name) => format!("{name}.{}", site.domain),
        None => format!("{}.{}", interface.address.to_string().replace(['.', ':'], "-"), site.domain),
    }
}

fn host_label(name: &str, dpu_position: u32) -> String {
    if dpu_position == 0 { name.to_owned() } else { format!("{name}-{dpu_position}") }
}

fn wire_virtualization(virtualization: Virtualization) -> i32 {
    match virtualization {
        Virtualization::Etv => forge::VpcVirtualizationType::EthernetVirtualizer as i32,
        Virtualization::Fnn => forge::VpcVirtualizationType::Fnn as i32,
    }
}

fn wire_target(target: RouteTarget) -> common::RouteTarget {
    common::RouteTarget { asn: target.asn, vni: target.vni }
}

fn wire_entry(prefix: &IpNet) -> forge::PrefixFilterPolicyEntry {
    forge::PrefixFilterPolicyEntry { prefix: prefix.to_string() }
}

fn wire_profile(profile: &RoutingProfile) -> forge::RoutingProfile {
    forge::RoutingProfile {
        route_target_imports: profile.imports.iter().copied().map(wire_target).collect(),
        route_targets_on_exports: profile.exports.iter().copied().map(wire_target).collect(),
        leak_default_route_from_underlay: profile.leak_default_route,
        leak_tenant_host_routes_to_underlay: profile.leak_host_routes,
        tenant_leak_communities_accepted: profile.leak_communities,
        accepted_leaks_from_underlay: profile.accepted_leaks.iter().map(wire_entry).collect(),
        allowed_anycast_prefixes: profile.anycast_prefixes.iter().map(wire_entry).collect(),
    }
}

fn with_length(address: IpAddr, prefix: IpNet) -> String {
    format!("{address}/{}", prefix.prefix_len())
}

fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}
