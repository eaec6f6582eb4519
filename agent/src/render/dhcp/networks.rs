//! The networks that the host is behind, as a DHCP server sees them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use ipnet::{IpNet, Ipv4Net};
use serde::Serialize;

use crate::render::{
    Environment, NetworkConfig, RenderError,
    config::{Port, Prefix, Virtualization},
    nvue::{port_name, svi_name},
};

/// What hosts get where the controller names no MTU.
const DEFAULT_MTU: u16 = 1500;

/// One interface of the DPU and what hosts behind it get.
#[derive(Debug, Clone, Serialize)]
pub(super) struct DhcpNetwork {
    /// Number of the network in the configuration, from 1.
    pub(super) id: usize,
    pub(super) interface: String,
    pub(super) subnet: Ipv4Net,
    /// First address of the subnet.
    pub(super) network: Ipv4Addr,
    pub(super) netmask: Ipv4Addr,
    pub(super) broadcast: Ipv4Addr,
    /// One, unless several ports share the interface.
    pub(super) hosts: Vec<Host>,
    pub(super) gateway: Ipv4Addr,
    pub(super) boot: Vec<Boot>,
    /// Bytes of option 43 in hex: who the host is, for its boot loader.
    pub(super) vendor_options: Option<Vec<String>>,
}

/// What goes with an address.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Host {
    pub(super) address: Ipv4Addr,
    pub(super) name: Option<String>,
    pub(super) mtu: u16,
}

/// What an HTTP boot client loads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Boot {
    /// Architecture numbers of the client that this is for, five digits each; empty means all.
    pub(super) architectures: &'static [&'static str],
    /// Name of the architecture.
    pub(super) name: &'static str,
    pub(super) url: String,
}

/// The interface that a host's requests on a port arrive at.
pub(super) fn interface(config: &NetworkConfig, environment: &Environment, port: &Port) -> String {
    match port.vlan {
        Some(vlan) if config.virtualization == Virtualization::Etv || port.layer2 => svi_name(vlan),
        _ => port_name(port, environment),
    }
}

/// All networks, in the order of the ports.
pub(super) fn networks(config: &NetworkConfig, environment: &Environment) -> Result<Vec<DhcpNetwork>, RenderError> {
    let mut networks: Vec<DhcpNetwork> = Vec::new();
    let mut by_interface = BTreeMap::new();
    let mut subnets = BTreeSet::new();
    for port in &config.ports {
        let Some(address) = port.address else { continue };
        let interface = interface(config, environment, port);
        let subnet = subnet(port, address)?;
        let host = Host { address, name: port.host_name.clone(), mtu: port.mtu.unwrap_or(DEFAULT_MTU) };
        match by_interface.get(&interface).and_then(|index: &usize| networks.get_mut(*index)) {
            Some(network) if network.subnet == subnet => network.hosts.push(host),
            Some(network) => {
                let fault = format!("`{interface}` would serve both {} and {subnet}", network.subnet);
                return Err(RenderError::Dhcp(format!("{}.prefix: {fault}", port.field)));
            }
            // Both would have the gateway's address, and neither Kea nor dhcpd listens at one address on two interfaces.
            None if !subnets.insert(subnet) => {
                let fault = format!("another interface than `{interface}` serves {subnet} already");
                return Err(RenderError::Dhcp(format!("{}.prefix: {fault}", port.field)));
            }
            None => {
                by_interface.insert(interface.clone(), networks.len());
                networks.push(DhcpNetwork {
                    id: networks.len() + 1,
                    interface,
                    subnet,
                    network: subnet.network(),
                    netmask: subnet.netmask(),
                    broadcast: subnet.broadcast(),
                    hosts: vec![host],
                    // A parsed gateway is always IPv4.
                    gateway: port.gateway.v4().unwrap_or(Ipv4Addr::UNSPECIFIED),
                    boot: boot(port, environment),
                    vendor_options: config.host_interface_id.as_deref().and_then(vendor_options),
                });
            }
        }
    }
    Ok(networks)
}

/// The network that a port's address is in: that of `prefix`, or that of the gateway where `prefix` is narrower.
fn subnet(port: &Port, address: Ipv4Addr) -> Result<Ipv4Net, RenderError> {
    let length = port.subnet.as_ref().and_then(Prefix::length).or(port.gateway.length());
    let of = |prefix: &Prefix| match (prefix.cidr(length).parse::<IpNet>(), prefix.is_v4()) {
        (Ok(IpNet::V4(net)), true) => Some(net.trunc()),
        _ => None,
    };
    let candidates = port.subnet.iter().chain(std::iter::once(&port.gateway));
    candidates.filter_map(of).find(|net| net.contains(&address)).ok_or_else(|| {
        RenderError::Dhcp(format!(
            "{}.ip: {address} is neither in the interface's prefix nor in its gateway's",
            port.field
        ))
    })
}

/// What the host boots over HTTP: its own URL, or the site's boot loader for its architecture.
fn boot(port: &Port, environment: &Environment) -> Vec<Boot> {
    if let Some(url) = &port.boot_url {
        return vec![Boot { architectures: &[], name: "any", url: url.clone() }];
    }
    let Some(server) = environment.dhcp.provisioning_server else { return Vec::new() };
    let loader = |architectures, name| Boot {
        architectures,
        name,
        url: format!("http://{server}:8080/public/blobs/internal/{name}/ipxe.efi"),
    };
    vec![loader(&["00007", "00016"], "x86_64"), loader(&["00011", "00019"], "aarch64")]
}

/// PXE discovery control "ask nobody else" (6), then the id of the host's interface (70).
fn vendor_options(id: &str) -> Option<Vec<String>> {
    let length = u8::try_from(id.len()).ok()?;
    let bytes = [6, 4, 0, 0, 0, 8, 70, length].into_iter().chain(id.bytes());
    Some(bytes.map(|byte| format!("{byte:02x}")).collect())
}
