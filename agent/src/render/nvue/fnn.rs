//! FNN: each VPC of the host is a VRF.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Base, METADATA_ADDRESS, Metadata, PrefixRule,
    acl::{self, Acl, IpFamily, Peer, PortPermits},
    base, gateways, port_index, port_name, prefix_rules,
    security::{self, Attached},
    svi_name, text,
};
use crate::render::{
    Environment, NetworkConfig, RenderError, Templates,
    config::{Direction, Function, Network, Port, Prefix, RouteTarget, RoutingProfile},
};

#[derive(Serialize)]
struct Fnn<'a> {
    #[serde(flatten)]
    base: Base<'a>,
    ports: Vec<FnnPort>,
    vrfs: Vec<Vrf>,
    leaked_gateways: Vec<String>,
    acls: Vec<Acl>,
}

#[derive(Serialize)]
struct FnnPort {
    name: String,
    vrf: String,
    /// VRF and index: what the port's policies are called by.
    policy: String,
    layer2: bool,
    vlan: Option<u32>,
    vni: Option<u32>,
    svi: Option<String>,
    svi_addresses: Vec<String>,
    gateways: Vec<String>,
    gateway_mac: Option<String>,
    leak_communities: bool,
    accepted: Vec<PrefixRule>,
    accepted_ipv6: Vec<PrefixRule>,
    inbound: Vec<String>,
    outbound: Vec<String>,
}

#[derive(Serialize)]
struct Vrf {
    name: String,
    vni: u32,
    loopback: Option<String>,
    routes: Vec<Route>,
    leaks: Vec<PrefixRule>,
    leaks_ipv6: Vec<PrefixRule>,
    peers: Vec<HostPeer>,
    exports: Vec<String>,
    imports: Vec<String>,
}

#[derive(Serialize)]
struct Route {
    prefix: String,
    interface: String,
}

#[derive(Serialize)]
struct HostPeer {
    address: String,
    policy: String,
}

/// The ports of one VPC, in the order of the message, with their positions in it.
struct Vpc<'a> {
    vni: u32,
    name: String,
    ports: Vec<(usize, &'a Port)>,
    profile: RoutingProfile,
}

pub(super) fn render(
    config: &NetworkConfig,
    environment: &Environment,
    templates: &Templates,
) -> Result<String, RenderError> {
    let vpcs = vpcs(config);
    let physical = config.ports.iter().find(|port| port.function == Function::Physical);
    let metadata = environment.metadata_interface().zip(physical).map(|(interface, port)| Metadata {
        interface,
        address: METADATA_ADDRESS,
        vrf: Some(vrf_name(port)),
    });
    let mut acls = shared_lists(config)?;
    let mut ports = Vec::new();
    for (position, port) in config.ports.iter().enumerate() {
        let mut attached = Attached::default();
        for list in acls.iter().filter(|list| list.on(port)) {
            attached.add(list.direction, &list.acl);
        }
        ports.push(port_view(config, environment, position, port, attached)?);
    }
    for vpc in &vpcs {
        for list in vpc_lists(config, vpc)? {
            for (position, _) in &vpc.ports {
                if let Some(port) = ports.get_mut(*position) {
                    match list.direction {
                        Direction::Egress => port.inbound.push(list.acl.name.clone()),
                        Direction::Ingress => port.outbound.push(list.acl.name.clone()),
                    }
                }
            }
            acls.push(list);
        }
    }
    let leaked = config.ports.iter().filter(|port| config.profile_of(port).is_some_and(|known| known.leak_host_routes));
    let context = Fnn {
        base: base(config, environment, metadata)?,
        ports,
        vrfs: vpcs.iter().map(|vpc| vrf(config, vpc)).collect::<Result<_, _>>()?,
        leaked_gateways: leaked.flat_map(|port| gateways(port).into_iter().take(1)).collect(),
        acls: acls.into_iter().map(|list| list.acl).collect(),
    };
    text(templates, "nvue/fnn.nv.j2", context)
}

fn vrf_name(port: &Port) -> String {
    format!("vpc_{}", port.vpc_vni.unwrap_or_default())
}

fn policy_name(position: usize, port: &Port) -> String {
    format!("{}_if_{}", vrf_name(port), port_index(position))
}

/// The VPCs of the ports, by VNI.
fn vpcs(config: &NetworkConfig) -> Vec<Vpc<'_>> {
    let mut vpcs: BTreeMap<u32, Vpc<'_>> = BTreeMap::new();
    for (position, port) in config.ports.iter().enumerate() {
        let vni = port.vpc_vni.unwrap_or_default();
        let vpc = vpcs.entry(vni).or_insert_with(|| Vpc {
            vni,
            name: vrf_name(port),
            ports: Vec::new(),
            profile: config.profile_of(port).cloned().unwrap_or_default(),
        });
        vpc.ports.push((position, port));
    }
    vpcs.into_values().collect()
}

fn port_view(
    config: &NetworkConfig,
    environment: &Environment,
    position: usize,
    port: &Port,
    attached: Attached,
) -> Result<FnnPort, RenderError> {
    let profile = config.profile_of(port);
    let v6 = port.ipv6.as_ref();
    let svi_length = port.gateway.length().or(port.subnet.as_ref().and_then(Prefix::length));
    let svi_addresses = port.svi.iter().map(|svi| svi.cidr(svi_length));
    let svi_v6 = v6.and_then(|v6| v6.svi.as_ref().map(|svi| svi.cidr(v6.gateway.as_ref().and_then(Prefix::length))));
    let policy = policy_name(position, port);
    Ok(FnnPort {
        name: port_name(port, environment),
        vrf: vrf_name(port),
        layer2: port.layer2,
        vlan: port.vlan,
        vni: port.vni,
        svi: port.vlan.map(svi_name),
        svi_addresses: svi_addresses.chain(svi_v6).collect(),
        gateways: gateways(port),
        gateway_mac: port.vni.map(gateway_mac),
        leak_communities: profile.is_some_and(|profile| profile.leak_communities),
        accepted: accepted(config, port, &policy, true)?,
        accepted_ipv6: accepted(config, port, &policy, false)?,
        policy,
        inbound: attached.inbound,
        outbound: attached.outbound,
    })
}

/// The gateway's MAC address: the same on every DPU of the network, since it is made of the VNI, two decimal digits a byte.
fn gateway_mac(vni: u32) -> String {
    let digits = format!("{vni:012}");
    let pairs = digits.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).into_owned());
    pairs.collect::<Vec<_>>().join(":")
}

/// What a host may announce on a port: what its VPC allows, or the part of it that the port is allowed; IPv4 falls
/// back to the site's anycast prefixes where the VPC says nothing.
fn accepted(config: &NetworkConfig, port: &Port, policy: &str, v4: bool) -> Result<Vec<PrefixRule>, RenderError> {
    let allowed = config.profile_of(port).map_or(&[][..], |profile| &profile.anycast);
    if v4 && !allowed.iter().any(Prefix::is_v4) {
        return prefix_rules(policy, &config.anycast_site_prefixes, true, 1000, false);
    }
    match &port.own_anycast {
        Some(own) => {
            let within = own.iter().filter(|prefix| allowed.iter().any(|allowed| allowed.contains(prefix)));
            prefix_rules(policy, within, v4, 1, false)
        }
        None => prefix_rules(policy, allowed, v4, 1, false),
    }
}

fn vrf(config: &NetworkConfig, vpc: &Vpc<'_>) -> Result<Vrf, RenderError> {
    let admin = config.network != Network::Tenant;
    let own = RouteTarget { asn: config.datacenter_asn, number: vpc.vni };
    let peers = vpc.ports.iter().flat_map(|(_, port)| &port.peer_vnis);
    let peers = peers.map(|vni| RouteTarget { asn: config.datacenter_asn, number: *vni });
    let exports = std::iter::once(own).chain(config.common_internal_route_target).chain(vpc.profile.exports.clone());
    let imports = std::iter::once(own)
        .chain(peers)
        .chain(vpc.profile.imports.clone())
        .chain(config.additional_imports.iter().copied());
    let routes = vpc.ports.iter().filter(|_| admin).filter_map(|(_, port)| {
        let (route, vlan) = (port.route.as_ref()?, port.vlan?);
        Some(Route { prefix: route.cidr(None), interface: svi_name(vlan) })
    });
    Ok(Vrf {
        name: vpc.name.clone(),
        vni: config.site_global_vpc_vni.unwrap_or(vpc.vni),
        loopback: vpc.ports.iter().find_map(|(_, port)| port.vrf_loopback).map(|loopback| loopback.to_string()),
        routes: routes.collect(),
        leaks: leaks(vpc, true)?,
        leaks_ipv6: leaks(vpc, false)?,
        peers: vpc
            .ports
            .iter()
            .flat_map(|(position, port)| {
                let policy = policy_name(*position, port);
                port.addresses().map(move |address| HostPeer { address: address.to_string(), policy: policy.clone() })
            })
            .collect(),
        exports: exports.map(|target| target.to_string()).collect(),
        imports: imports.map(|target| target.to_string()).collect(),
    })
}

/// What a VPC takes from the underlay.
fn leaks(vpc: &Vpc<'_>, v4: bool) -> Result<Vec<PrefixRule>, RenderError> {
    let mut rules = prefix_rules(&vpc.name, &vpc.profile.accepted_leaks, v4, 1, false)?;
    if vpc.profile.leak_default_route {
        let prefix = if v4 { "0.0.0.0/0" } else { "::/0" };
        rules.push(PrefixRule { number: 65534, prefix: prefix.into(), exact: true });
    }
    Ok(rules)
}

/// A list and the ports that it is attached to.
struct List {
    direction: Direction,
    acl: Acl,
    on: On,
}

enum On {
    Every,
    Layer2,
    /// Ports of this security group.
    Group(usize),
    /// Ports of one VPC, attached where the VPC is known.
    Vpc,
}

impl List {
    fn on(&self, port: &Port) -> bool {
        match self.on {
            On::Every => true,
            On::Layer2 => port.layer2,
            On::Group(number) => port.security_group == Some(number),
            On::Vpc => false,
        }
    }
}

/// The lists that do not belong to a VPC.
fn shared_lists(config: &NetworkConfig) -> Result<Vec<List>, RenderError> {
    let flood = acl::no_dhcp_flood("dhcp_flood_prevention");
    let mut lists = vec![List { direction: Direction::Egress, acl: flood, on: On::Layer2 }];
    for family in IpFamily::BOTH {
        let name = format!("p0000_deny_prefixes_{}", family.name());
        let offset = config.site_fabric_prefixes.len();
        let denies = acl::to_prefixes(name, family, &[], &config.deny_prefixes, offset)?;
        lists.extend(denies.map(|acl| List { direction: Direction::Egress, acl, on: On::Every }));
    }
    let overrides = security::overrides(config)?;
    lists.extend(overrides.into_iter().map(|(direction, acl)| List { direction, acl, on: On::Every }));
    for (number, group) in config.security_groups.iter().enumerate() {
        let group = security::group(config, number, group)?;
        lists.extend(group.into_iter().map(|(direction, acl)| List { direction, acl, on: On::Group(number) }));
    }
    Ok(lists)
}

/// The lists of one VPC.
fn vpc_lists(config: &NetworkConfig, vpc: &Vpc<'_>) -> Result<Vec<List>, RenderError> {
    let permits: Vec<PortPermits<'_>> =
        vpc.ports.iter().map(|(position, port)| (port_index(*position), port.vpc_prefixes.iter().collect())).collect();
    let mut lists = Vec::new();
    let mut add = |direction, acl: Option<Acl>| lists.extend(acl.map(|acl| List { direction, acl, on: On::Vpc }));
    for family in IpFamily::BOTH {
        let suffix = match family {
            IpFamily::V4 => "",
            IpFamily::V6 => "_ipv6",
        };
        let name = |what: &str| format!("p0009_{}_peer_{what}{suffix}", vpc.name);
        let peers = || vpc.ports.iter().flat_map(|(_, port)| &port.peer_prefixes);
        add(Direction::Egress, acl::peers(name("egress_from_host"), family, Peer::Destination, peers())?);
        add(Direction::Ingress, acl::peers(name("ingress_to_host"), family, Peer::Source, peers())?);
        if config.isolation {
            let name = format!("p0010_{}_isolation_{}", vpc.name, family.name());
            add(Direction::Egress, acl::to_prefixes(name, family, &permits, &config.site_fabric_prefixes, 0)?);
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_gateway_mac_is_the_vni_in_decimal() {
        assert_eq!(super::gateway_mac(1_025_196), "00:00:01:02:51:96");
        assert_eq!(super::gateway_mac(1_637_817), "00:00:01:63:78:17");
        assert_eq!(super::gateway_mac(16_777_215), "00:00:16:77:72:15");
    }
}
