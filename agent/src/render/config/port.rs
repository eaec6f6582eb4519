//! One port of a response.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use proto::forge::{FlatInterfaceConfig, InterfaceFunctionType};

use super::{
    ConfigError, Prefix, RoutingProfile,
    field::{fault, host_name, networks, number_some, option_text, parse_some},
    routing,
    scope::Scope,
};

/// Which of the host's functions a port is the other end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Function {
    Physical,
    Virtual(u32),
}

/// One port of the DPU towards the host.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    /// Where the message has it, for errors.
    pub(crate) field: String,
    pub(crate) function: Function,
    pub(crate) vlan: Option<u32>,
    pub(crate) vni: Option<u32>,
    pub(crate) vpc_vni: Option<u32>,
    pub(crate) gateway: Prefix,
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) route: Option<Prefix>,
    pub(crate) vpc_prefixes: Vec<Prefix>,
    pub(crate) peer_prefixes: Vec<Prefix>,
    pub(crate) peer_vnis: Vec<u32>,
    pub(crate) subnet: Option<Prefix>,
    pub(crate) host_name: Option<String>,
    pub(crate) boot_url: Option<String>,
    pub(crate) mtu: Option<u16>,
    pub(crate) svi: Option<Prefix>,
    pub(crate) vrf_loopback: Option<Ipv4Addr>,
    pub(crate) layer2: bool,
    pub(crate) ipv6: Option<PortIpv6>,
    pub(crate) vpc_profile: Option<RoutingProfile>,
    /// What the port may announce, narrower than its VPC.
    pub(crate) own_anycast: Option<Vec<Prefix>>,
    /// Position of its security group among those of the configuration.
    pub(crate) security_group: Option<usize>,
}

/// The IPv6 half of a dual-stack port.
#[derive(Debug, Clone)]
pub(crate) struct PortIpv6 {
    pub(crate) address: Option<Ipv6Addr>,
    pub(crate) gateway: Option<Prefix>,
    pub(crate) svi: Option<Prefix>,
}

const MAX_VLAN: u32 = 4094;
const MAX_VNI: u32 = (1 << 24) - 1;
const VNI: &str = "a VNI, 1 to 16777215";

impl Port {
    pub(super) fn parse(
        at: impl fmt::Display,
        message: &FlatInterfaceConfig,
        scope: Scope,
    ) -> Result<Self, ConfigError> {
        let in_family = |field: &str, text: &str, v4: bool, what: &str| {
            let read: Option<Prefix> = parse_some(format_args!("{at}.{field}"), text, what)?;
            match read {
                Some(prefix) if prefix.is_v4() != v4 => {
                    Err(fault(format_args!("{at}.{field}"), format_args!("is `{prefix}`, not {what}")))
                }
                other => Ok(other),
            }
        };
        let v4 = |field: &str, text: &str| in_family(field, text, true, "an IPv4 prefix");
        let v6 = |field: &str, text: &str| in_family(field, text, false, "an IPv6 prefix");
        let list =
            |field: &str, texts: &[String]| networks(format_args!("{at}.{field}"), texts.iter().map(String::as_str));
        let ipv6 = message.ipv6_interface_config.as_ref().map(|ipv6| {
            let field = "ipv6_interface_config";
            Ok(PortIpv6 {
                address: parse_some(format_args!("{at}.{field}.ip"), &ipv6.ip, "an IPv6 address")?,
                gateway: v6("ipv6_interface_config.interface_prefix", &ipv6.interface_prefix)?,
                svi: v6("ipv6_interface_config.svi_ip", ipv6.svi_ip.as_deref().unwrap_or_default())?,
            })
        });
        let peer_vnis = message.vpc_peer_vnis.iter().enumerate().map(|(index, vni)| {
            let field = format_args!("{at}.vpc_peer_vnis[{index}]").to_string();
            number_some(&field, *vni, MAX_VNI, VNI)?.ok_or_else(|| fault(&field, format_args!("is 0, not {VNI}")))
        });
        let mtu = message.mtu.map(|mtu| {
            u16::try_from(mtu)
                .ok()
                .filter(|mtu| *mtu >= 68)
                .ok_or_else(|| fault(format_args!("{at}.mtu"), format_args!("is {mtu}, not 68 to 65535")))
        });
        Ok(Self {
            field: at.to_string(),
            function: function(&at, message)?,
            vlan: number_some(format_args!("{at}.vlan_id"), message.vlan_id, MAX_VLAN, "a VLAN, 1 to 4094")?,
            vni: number_some(format_args!("{at}.vni"), message.vni, MAX_VNI, VNI)?,
            vpc_vni: number_some(format_args!("{at}.vpc_vni"), message.vpc_vni, MAX_VNI, VNI)?,
            gateway: v4("gateway", &message.gateway)?
                .ok_or_else(|| fault(format_args!("{at}.gateway"), "is missing: it must be an IPv4 prefix"))?,
            address: parse_some(format_args!("{at}.ip"), &message.ip, "an IPv4 address")?,
            route: v4("interface_prefix", &message.interface_prefix)?,
            vpc_prefixes: list("vpc_prefixes", scope.listed(&message.vpc_prefixes))?,
            peer_prefixes: list("vpc_peer_prefixes", scope.listed(&message.vpc_peer_prefixes))?,
            peer_vnis: peer_vnis.collect::<Result<_, _>>()?,
            subnet: v4("prefix", &message.prefix)?,
            host_name: host_name(format_args!("{at}.fqdn"), &message.fqdn)?,
            boot_url: option_text(format_args!("{at}.booturl"), message.booturl.as_deref().unwrap_or_default())?,
            mtu: mtu.transpose()?,
            svi: v4("svi_ip", message.svi_ip.as_deref().unwrap_or_default())?,
            vrf_loopback: match message.tenant_vrf_loopback_ip.as_deref() {
                Some(text) => parse_some(format_args!("{at}.tenant_vrf_loopback_ip"), text, "an IPv4 address")?,
                None => None,
            },
            layer2: message.is_l2_segment,
            ipv6: ipv6.transpose()?,
            vpc_profile: message
                .vpc_routing_profile
                .as_ref()
                .filter(|_| scope.is_fnn())
                .map(|profile| RoutingProfile::parse(format_args!("{at}.vpc_routing_profile"), profile))
                .transpose()?,
            own_anycast: message
                .interface_routing_profile
                .as_ref()
                .filter(|_| scope.is_fnn())
                .map(|profile| {
                    let field = format_args!("{at}.interface_routing_profile.allowed_anycast_prefixes").to_string();
                    routing::entries(field, &profile.allowed_anycast_prefixes)
                })
                .transpose()?,
            security_group: None,
        })
    }

    /// The addresses that BGP sessions of the host may come from.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let v6 = self.ipv6.as_ref().and_then(|ipv6| ipv6.address).map(IpAddr::from);
        self.address.map(IpAddr::from).into_iter().chain(v6)
    }
}

fn function(at: impl fmt::Display, message: &FlatInterfaceConfig) -> Result<Function, ConfigError> {
    match InterfaceFunctionType::try_from(message.function_type) {
        Ok(InterfaceFunctionType::Physical) => Ok(Function::Physical),
        Ok(InterfaceFunctionType::Virtual) => match message.virtual_function_id {
            // Device names hold 15 characters: `pf0vf` and `_if` leave seven.
            Some(function) if function <= 999 => Ok(Function::Virtual(function)),
            Some(function) => Err(fault(
                format_args!("{at}.virtual_function_id"),
                format_args!("is {function}, not a virtual function"),
            )),
            None => Err(fault(format_args!("{at}.virtual_function_id"), "is missing on a virtual function")),
        },
        Err(_) => Err(fault(
            format_args!("{at}.function_type"),
            format_args!("is {}, neither PHYSICAL (0) nor VIRTUAL (1)", message.function_type),
        )),
    }
}
