//! The detour of traffic through a gateway on the DPU.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use proto::forge::TrafficInterceptConfig;

use super::{
    ConfigError, Prefix,
    field::{device_name, fault, networks, parse, parse_some},
};

/// Detour of traffic through a gateway on the DPU.
#[derive(Debug, Clone, Default)]
pub(crate) struct Intercept {
    /// Second tunnel end point of the DPU.
    pub(crate) vtep: Option<Ipv4Addr>,
    pub(crate) bridging: Option<Bridging>,
    /// Prefixes that the gateway may announce.
    pub(crate) public_prefixes: Vec<Prefix>,
}

/// The bridge between HBN and the gateway.
#[derive(Debug, Clone)]
pub(crate) struct Bridging {
    /// HBN's port on the bridge.
    pub(crate) port: String,
    /// First host of the bridge's network.
    pub(crate) bridge: Ipv4Addr,
    /// Second host with the network's length: HBN itself.
    pub(crate) own: String,
    /// Third host: the gateway.
    pub(crate) gateway: Ipv4Addr,
}

impl Intercept {
    pub(super) fn parse(message: &TrafficInterceptConfig, port_suffix_room: usize) -> Result<Self, ConfigError> {
        let at = "traffic_intercept_config";
        let vtep = message.additional_overlay_vtep_ip.as_deref().unwrap_or_default();
        let bridging = message.bridging.as_ref().map(|bridging| {
            let field = format!("{at}.bridging.internal_bridge_routing_prefix");
            let prefix: Prefix = parse(&field, &bridging.internal_bridge_routing_prefix, "an IPv4 prefix")?;
            let IpNet::V4(net) = prefix.net() else {
                return Err(fault(&field, format_args!("is `{prefix}`, not an IPv4 prefix")));
            };
            let mut hosts = net.hosts();
            let (Some(bridge), Some(own), Some(gateway)) = (hosts.next(), hosts.next(), hosts.next()) else {
                return Err(fault(&field, format_args!("is `{prefix}`, which has fewer than three hosts")));
            };
            let room = 15_usize.saturating_sub(port_suffix_room);
            Ok(Bridging {
                port: device_name(
                    format_args!("{at}.bridging.vf_intercept_bridge_sf"),
                    &bridging.vf_intercept_bridge_sf,
                    room,
                )?,
                bridge,
                own: format!("{own}/{}", net.prefix_len()),
                gateway,
            })
        });
        if !vtep.is_empty() && bridging.is_none() {
            let field = format_args!("{at}.bridging");
            return Err(fault(field, "is missing: additional_overlay_vtep_ip is reached through its bridge"));
        }
        Ok(Self {
            vtep: parse_some(format_args!("{at}.additional_overlay_vtep_ip"), vtep, "an IPv4 address")?,
            bridging: bridging.transpose()?,
            public_prefixes: networks(
                format_args!("{at}.public_prefixes"),
                message.public_prefixes.iter().map(String::as_str),
            )?,
        })
    }

    /// The gateway's address, if there is one.
    pub(crate) fn gateway(&self) -> Option<IpAddr> {
        self.bridging.as_ref().map(|bridging| bridging.gateway.into())
    }
}
