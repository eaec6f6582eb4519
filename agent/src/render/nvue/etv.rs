//! ETV: the host's networks are bridges in the default VRF.

use serde::Serialize;

use super::{
    Base, METADATA_ADDRESS, Metadata, PrefixRule,
    acl::{self, Acl, IpFamily, Peer, PortPermits},
    base, gateways,
    numbers::Numbers,
    port_index, port_name, prefix_rules,
    security::{self, Attached},
    svi_name, text,
};
use crate::render::{
    Environment, NetworkConfig, RenderError, Templates,
    config::{Direction, Network},
};

#[derive(Serialize)]
struct Etv<'a> {
    #[serde(flatten)]
    base: Base<'a>,
    tenant: bool,
    ports: Vec<EtvPort>,
    host_peers: Vec<String>,
    anycast: Vec<PrefixRule>,
    kept_interfaces: Vec<KeptInterface>,
    after_kept_interfaces: u32,
    acls: Vec<Acl>,
}

#[derive(Serialize)]
struct EtvPort {
    name: String,
    vlan: u32,
    svi: String,
    vni: Option<u32>,
    gateways: Vec<String>,
    route: Option<String>,
    inbound: Vec<String>,
    outbound: Vec<String>,
}

#[derive(Serialize)]
struct KeptInterface {
    number: u32,
    interface: String,
}

pub(super) fn render(
    config: &NetworkConfig,
    environment: &Environment,
    templates: &Templates,
) -> Result<String, RenderError> {
    let tenant = config.network == Network::Tenant;
    let metadata = environment.metadata_interface();
    let metadata = metadata.map(|interface| Metadata { interface, address: METADATA_ADDRESS, vrf: None });
    let lists = lists(config)?;
    let mut kept = Numbers::new("FORGE_TO_UNDERLAY", 1, 65534);
    let mut kept_interfaces = Vec::new();
    let mut ports = Vec::new();
    for (position, port) in config.ports.iter().enumerate() {
        // A parsed ETV port always has a VLAN.
        let vlan = port.vlan.unwrap_or_default();
        let svi = svi_name(vlan);
        let number = kept.from(port_index(position)).take()?;
        kept_interfaces.push(KeptInterface { number, interface: svi.clone() });
        let mut attached = Attached::default();
        for (direction, acl) in &lists {
            attached.add(*direction, acl);
        }
        ports.push(EtvPort {
            name: port_name(port, environment),
            vlan,
            svi,
            vni: config.bridged_vni(port),
            gateways: gateways(port),
            route: port.route.as_ref().map(|route| route.cidr(None)),
            inbound: attached.inbound,
            outbound: attached.outbound,
        });
    }
    let gateway = config.intercept.gateway();
    let host_peers = config.ports.iter().filter_map(|port| port.address.map(Into::into)).chain(gateway);
    let context = Etv {
        base: base(config, environment, metadata)?,
        tenant,
        ports,
        host_peers: host_peers.map(|address| address.to_string()).collect(),
        anycast: prefix_rules("dpu_from_instance", &config.anycast_site_prefixes, true, 1000, false)?,
        kept_interfaces,
        after_kept_interfaces: kept.from(1000).take()?,
        acls: lists.into_iter().map(|(_, acl)| acl).collect(),
    };
    text(templates, "nvue/etv.nv.j2", context)
}

/// All lists; each is attached to every port.
fn lists(config: &NetworkConfig) -> Result<Vec<(Direction, Acl)>, RenderError> {
    if config.network.is_admin() {
        // The admin network is the site's own and needs no lists, but a quarantined host is cut off everywhere.
        return if config.quarantined { security::overrides(config) } else { Ok(Vec::new()) };
    }
    let mut lists = Vec::new();
    let mut from_host = |acl: Option<Acl>| lists.extend(acl.map(|acl| (Direction::Egress, acl)));
    // Security groups say themselves what is permitted, and a quarantine permits nothing: the list of denies comes first.
    let own_networks: Vec<PortPermits<'_>> = if config.security_groups.is_empty() && !config.quarantined {
        let ports = config.ports.iter().enumerate();
        ports.map(|(position, port)| (port_index(position), port.vpc_prefixes.iter().collect())).collect()
    } else {
        Vec::new()
    };
    from_host(acl::to_prefixes(
        "p0000_deny_prefixes_ipv4".into(),
        IpFamily::V4,
        &own_networks,
        &config.deny_prefixes,
        config.site_fabric_prefixes.len(),
    )?);
    from_host(Some(acl::no_dhcp_flood("drop_dhcp_flood_over_overlay")));
    if config.isolation && config.security_groups.is_empty() {
        from_host(acl::to_prefixes(
            "p0010_vpc_isolation_ipv4".into(),
            IpFamily::V4,
            &own_networks,
            &config.site_fabric_prefixes,
            0,
        )?);
    }
    let peers = || config.ports.iter().flat_map(|port| &port.peer_prefixes);
    from_host(acl::peers("p0009_vpc_peer_egress_from_host".into(), IpFamily::V4, Peer::Destination, peers())?);
    let to_host = acl::peers("p0009_vpc_peer_ingress_to_host".into(), IpFamily::V4, Peer::Source, peers())?;
    lists.extend(to_host.map(|acl| (Direction::Ingress, acl)));
    lists.extend(security::overrides(config)?);
    lists.extend(security::merged(config)?);
    Ok(lists)
}
