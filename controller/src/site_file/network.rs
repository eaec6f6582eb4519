//! The `network` part of the site file: pools, prefixes and numbers that must not overlap.

use std::{net::IpAddr, ops::RangeInclusive, str::FromStr};

use ipnet::IpNet;

use super::{
    section::Section,
    single::{BootUrl, Domain, ipv4_prefix, range, within},
};
use crate::{
    network::{AdminSegment, Isolation, RoutedVpcs, RoutingProfile, SiteNetwork, is_host_address, overlap},
    store::Virtualization,
};

/// A VNI has 24 bits.
const HIGHEST_VNI: u32 = (1 << 24) - 1;
const HIGHEST_VLAN: u32 = 4094;
/// AS number 0 names nobody.
const ASNS: RangeInclusive<u32> = 1..=u32::MAX;
/// IPv6 needs 1280; ports of switches and DPUs carry 9216.
const MTUS: RangeInclusive<u32> = 1280..=9216;

impl FromStr for Isolation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "mutual" => Ok(Self::Mutual),
            "open" => Ok(Self::Open),
            _ => Err("expected mutual or open"),
        }
    }
}

/// None if something is missing or wrong, which is noted.
pub(super) fn read(section: &Section<'_>) -> Option<SiteNetwork> {
    section.only(&[
        "asn",
        "datacenter_asn",
        "loopback_prefix",
        "admin",
        "vni_pool",
        "vlan_pool",
        "route_servers",
        "deny_prefixes",
        "site_fabric_prefixes",
        "anycast_site_prefixes",
        "vpc_isolation",
        "virtualization",
        "min_dpu_functioning_links",
        "dhcp_servers",
        "boot_url",
        "domain",
        "mtu",
        "fnn",
    ]);
    let asn = within(section, "asn", section.required("asn"), ASNS);
    let loopbacks = ipv4_prefix(section, "loopback_prefix");
    let admin = admin(section);
    let vnis = range(section, "vni_pool", HIGHEST_VNI);
    let vlans = range(section, "vlan_pool", HIGHEST_VLAN);
    // Every field is read before the first that is missing ends it, so that all faults are found.
    let datacenter_asn = section.value("datacenter_asn").unwrap_or_default();
    let route_servers = section.list("route_servers");
    let deny_prefixes = section.list("deny_prefixes");
    let site_fabric_prefixes = section.list("site_fabric_prefixes");
    let anycast_site_prefixes = section.list("anycast_site_prefixes");
    let isolation = section.value("vpc_isolation").unwrap_or(Isolation::Mutual);
    let virtualization = section.value("virtualization").unwrap_or(Virtualization::Etv);
    let min_dpu_functioning_links = section.value("min_dpu_functioning_links");
    let dhcp_servers = section.list("dhcp_servers");
    let boot_url = section.value("boot_url").map(|BootUrl(url)| url);
    let domain = section.value("domain").map_or_else(|| "site.internal".to_owned(), |Domain(domain)| domain);
    let mtu = within(section, "mtu", section.value("mtu"), MTUS);
    let routed = section.section("fnn").and_then(|section| routed(&section));
    if virtualization == Virtualization::Fnn {
        if section.section("fnn").is_none() {
            section.fault("virtualization", "fnn needs the settings of `fnn`");
        }
        if admin.as_ref().is_some_and(|admin| admin.svi.is_none() || admin.vni == 0 || admin.vpc_vni == 0) {
            section.fault("admin", "needs vni, vpc_vni and svi if virtualization is fnn");
        }
    }
    check_prefixes(section, loopbacks, admin.as_ref(), routed.as_ref(), &route_servers);
    check_numbers(section, vnis.as_ref(), vlans.as_ref(), admin.as_ref(), routed.as_ref());
    Some(SiteNetwork {
        asn: asn?,
        datacenter_asn,
        loopbacks: loopbacks?,
        admin: admin?,
        vnis: vnis?,
        vlans: vlans?,
        route_servers,
        deny_prefixes,
        site_fabric_prefixes,
        anycast_site_prefixes,
        isolation,
        virtualization,
        min_dpu_functioning_links,
        dhcp_servers,
        boot_url,
        domain,
        mtu,
        routed,
    })
}

/// Notes prefixes that share addresses, which would be given out twice.
fn check_prefixes(
    section: &Section<'_>,
    loopbacks: Option<IpNet>,
    admin: Option<&AdminSegment>,
    routed: Option<&RoutedVpcs>,
    route_servers: &[IpAddr],
) {
    let admin = admin.map(|admin| admin.prefix);
    let vrf_loopbacks = routed.map(|routed| routed.vrf_loopbacks);
    let own = [("loopback_prefix", loopbacks), ("fnn.vrf_loopback_prefix", vrf_loopbacks)];
    for (key, prefix) in own.into_iter().filter_map(|(key, prefix)| Some((key, prefix?))) {
        if let Some(admin) = admin.filter(|admin| overlap(admin, &prefix)) {
            section.fault(key, format_args!("overlaps with the admin prefix {admin}"));
        }
        if let Some(server) = route_servers.iter().find(|server| prefix.contains(*server)) {
            section.fault(key, format_args!("has the address of the route server {server}"));
        }
    }
    if let (Some(loopbacks), Some(vrf_loopbacks)) = (loopbacks, vrf_loopbacks)
        && overlap(&loopbacks, &vrf_loopbacks)
    {
        section.fault("fnn.vrf_loopback_prefix", format_args!("overlaps with the loopback prefix {loopbacks}"));
    }
}

/// Notes numbers that stand for something else already.
fn check_numbers(
    section: &Section<'_>,
    vnis: Option<&RangeInclusive<u32>>,
    vlans: Option<&RangeInclusive<u32>>,
    admin: Option<&AdminSegment>,
    routed: Option<&RoutedVpcs>,
) {
    if let (Some(vlans), Some(admin)) = (vlans, admin)
        && vlans.contains(&admin.vlan.into())
    {
        section.fault("vlan_pool", format_args!("holds the admin VLAN {}", admin.vlan));
    }
    if let (Some(vnis), Some(admin)) = (vnis, admin)
        && (vnis.contains(&admin.vni) || vnis.contains(&admin.vpc_vni))
    {
        section.fault("vni_pool", "holds a VNI of the admin segment");
    }
    let Some(global) = routed.and_then(|routed| routed.site_global_vpc_vni) else { return };
    if vnis.is_some_and(|vnis| vnis.contains(&global)) {
        section.fault("fnn.site_global_vpc_vni", format_args!("{global} is in vni_pool"));
    }
    if admin.is_some_and(|admin| [admin.vni, admin.vpc_vni].contains(&global)) {
        section.fault("fnn.site_global_vpc_vni", format_args!("{global} is a VNI of the admin segment"));
    }
}

fn routed(section: &Section<'_>) -> Option<RoutedVpcs> {
    section.only(&[
        "asn_pool",
        "vrf_loopback_prefix",
        "common_internal_route_target",
        "additional_route_target_imports",
        "tenant_host_asn",
        "site_global_vpc_vni",
        "leaf_session_password",
        "routing_profile",
    ]);
    let asns = range(section, "asn_pool", u32::MAX);
    let loopbacks = ipv4_prefix(section, "vrf_loopback_prefix");
    let common_internal = section.value("common_internal_route_target");
    let additional_imports = section.list("additional_route_target_imports");
    let tenant_host_asn = within(section, "tenant_host_asn", section.value("tenant_host_asn"), ASNS);
    let site_global_vpc_vni = section.value("site_global_vpc_vni");
    let site_global_vpc_vni = within(section, "site_global_vpc_vni", site_global_vpc_vni, 1..=HIGHEST_VNI);
    let leaf_session_password = section.secret("leaf_session_password");
    let profile = section.section("routing_profile").map(|section| profile(&section)).unwrap_or_default();
    Some(RoutedVpcs {
        asns: asns?,
        vrf_loopbacks: loopbacks?,
        common_internal,
        additional_imports,
        tenant_host_asn,
        site_global_vpc_vni,
        leaf_session_password,
        profile,
    })
}

fn profile(section: &Section<'_>) -> RoutingProfile {
    section.only(&[
        "route_target_imports",
        "route_targets_on_exports",
        "leak_default_route_from_underlay",
        "leak_tenant_host_routes_to_underlay",
        "tenant_leak_communities_accepted",
        "accepted_leaks_from_underlay",
        "allowed_anycast_prefixes",
    ]);
    RoutingProfile {
        imports: section.list("route_target_imports"),
        exports: section.list("route_targets_on_exports"),
        leak_default_route: section.value("leak_default_route_from_underlay").unwrap_or_default(),
        leak_host_routes: section.value("leak_tenant_host_routes_to_underlay").unwrap_or_default(),
        leak_communities: section.value("tenant_leak_communities_accepted").unwrap_or_default(),
        accepted_leaks: section.list("accepted_leaks_from_underlay"),
        anycast_prefixes: section.list("allowed_anycast_prefixes"),
    }
}

fn admin(section: &Section<'_>) -> Option<AdminSegment> {
    let Some(section) = section.section("admin") else {
        section.fault("admin", "is missing");
        return None;
    };
    section.only(&["prefix", "gateway", "vlan", "vni", "vpc_vni", "svi"]);
    let prefix = ipv4_prefix(&section, "prefix");
    if prefix.is_some_and(|prefix| prefix.hosts().take(2).count() < 2) {
        section.fault("prefix", "is too small for a gateway and a host");
    }
    let gateway: Option<IpAddr> = section.value("gateway").or_else(|| prefix?.hosts().next());
    if let (Some(prefix), Some(gateway)) = (prefix, gateway) {
        if !prefix.contains(&gateway) {
            section.fault("gateway", format_args!("{gateway} is not in {prefix}"));
        } else if !is_host_address(prefix, gateway) {
            section.fault("gateway", format_args!("{gateway} is not one for hosts in {prefix}"));
        }
    }
    let vlan: Option<u16> = section.required("vlan");
    if vlan.is_some_and(|vlan| !(1..=HIGHEST_VLAN).contains(&vlan.into())) {
        section.fault("vlan", format_args!("must be 1 to {HIGHEST_VLAN}"));
    }
    let svi: Option<IpAddr> = section.value("svi");
    if svi.is_some() && (svi == gateway || prefix.zip(svi).is_some_and(|(prefix, svi)| !is_host_address(prefix, svi))) {
        section.fault("svi", "must be an address of the prefix beside the gateway's");
    }
    let vni = within(&section, "vni", section.value("vni"), 0..=HIGHEST_VNI).unwrap_or_default();
    let vpc_vni = within(&section, "vpc_vni", section.value("vpc_vni"), 0..=HIGHEST_VNI).unwrap_or_default();
    if vni != 0 && vni == vpc_vni {
        section.fault("vpc_vni", format_args!("{vni} is that of the segment, too"));
    }
    Some(AdminSegment { prefix: prefix?, gateway: gateway?, vlan: vlan?, vni, vpc_vni, svi })
}
