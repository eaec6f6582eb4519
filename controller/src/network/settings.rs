use std::{net::IpAddr, ops::RangeInclusive};

use ipnet::IpNet;

use crate::store::Virtualization;

/// Settings of the site that every DPU's configuration rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// Network of hosts without a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// Whether VPCs are closed to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Closed both ways.
    Mutual,
    /// Open.
    Open,
}
