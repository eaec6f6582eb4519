//! The site's network settings, as the site file gives them.

use std::{fmt, net::IpAddr, ops::RangeInclusive, str::FromStr};

use ipnet::IpNet;
use serde::Serialize;

use crate::store::Virtualization;

/// Settings of the site that every DPU's configuration rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteNetwork {
    /// BGP AS number of the DPUs.
    pub asn: u32,
    /// Left half of the route targets of routed VPCs; 0 if there are none.
    pub datacenter_asn: u32,
    /// Where DPU loopbacks come from.
    pub loopbacks: IpNet,
    /// Network of hosts without a tenant.
    pub admin: AdminSegment,
    /// VNIs for segments and VPCs.
    pub vnis: RangeInclusive<u32>,
    /// VLAN ids for segments.
    pub vlans: RangeInclusive<u32>,
    /// EVPN route servers; none means that the top-of-rack switches carry EVPN.
    pub route_servers: Vec<IpAddr>,
    /// Prefixes that tenants never reach.
    pub deny_prefixes: Vec<IpNet>,
    /// Prefixes of the site's fabric, which isolation closes to other VPCs.
    pub site_fabric_prefixes: Vec<IpNet>,
    /// Prefixes that hosts may announce themselves.
    pub anycast_site_prefixes: Vec<IpNet>,
    /// Whether VPCs are closed to each other.
    pub isolation: Isolation,
    /// How a VPC is realised unless it says otherwise.
    pub virtualization: Virtualization,
    /// Uplinks that a DPU needs; none leaves it to the agent.
    pub min_dpu_functioning_links: Option<u32>,
    /// DHCP servers of the site, for agents that relay.
    pub dhcp_servers: Vec<IpAddr>,
    /// What hosts boot from, if not what the agent says.
    pub boot_url: Option<String>,
    /// Domain of host names.
    pub domain: String,
    /// MTU of host interfaces.
    pub mtu: Option<u32>,
    /// What routed VPCs need; none if the site has no routed VPCs.
    pub routed: Option<RoutedVpcs>,
}

/// What routed VPCs (FNN) need beyond bridged ones.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct RoutedVpcs {
    /// AS numbers of the DPUs, one each.
    pub asns: RangeInclusive<u32>,
    /// Where the loopbacks of DPUs in the VPCs' routing tables come from.
    pub vrf_loopbacks: IpNet,
    /// Route target that every VPC exports to.
    pub common_internal: Option<RouteTarget>,
    /// Route targets that every VPC imports.
    pub additional_imports: Vec<RouteTarget>,
    /// AS number of tenants' hosts; any if none.
    pub tenant_host_asn: Option<u32>,
    /// VNI of all VPCs towards EVPN, in place of their own.
    pub site_global_vpc_vni: Option<u32>,
    /// Password of the BGP sessions with the leaf switches. Never printed.
    pub leaf_session_password: Option<String>,
    /// Which routes enter and leave VPCs.
    pub profile: RoutingProfile,
}

impl fmt::Debug for RoutedVpcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutedVpcs")
            .field("asns", &self.asns)
            .field("vrf_loopbacks", &self.vrf_loopbacks)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

/// Which routes enter and leave VPCs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RoutingProfile {
    /// Route targets to import.
    pub imports: Vec<RouteTarget>,
    /// Route targets to export to.
    pub exports: Vec<RouteTarget>,
    /// The underlay's default route is let in.
    pub leak_default_route: bool,
    /// Routes of hosts are let out to the underlay.
    pub leak_host_routes: bool,
    /// Tenants may ask for leaks by BGP community.
    pub leak_communities: bool,
    /// Routes of the underlay that are let in.
    pub accepted_leaks: Vec<IpNet>,
    /// What hosts may announce.
    pub anycast_prefixes: Vec<IpNet>,
}

/// A BGP route target, `<asn>:<vni>` as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RouteTarget {
    /// AS number.
    pub asn: u32,
    /// VNI.
    pub vni: u32,
}

impl FromStr for RouteTarget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':').map(|(asn, vni)| (asn.parse(), vni.parse()));
        match parts {
            Some((Ok(asn), Ok(vni))) => Ok(Self { asn, vni }),
            _ => Err("expected ASN:VNI"),
        }
    }
}

/// Network of hosts without a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdminSegment {
    /// Its addresses.
    pub prefix: IpNet,
    /// Address of the gateway within it.
    pub gateway: IpAddr,
    /// VLAN id.
    pub vlan: u16,
    /// Layer-2 VNI; 0 for none.
    pub vni: u32,
    /// VNI of its routing table; 0 for none.
    pub vpc_vni: u32,
    /// The DPUs' own address in it, beside the gateway's; for a site whose admin network is routed.
    pub svi: Option<IpAddr>,
}

/// Whether VPCs are closed to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Isolation {
    /// Closed both ways.
    Mutual,
    /// Open.
    Open,
}
