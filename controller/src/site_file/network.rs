use std::{net::IpAddr, ops::RangeInclusive, str::FromStr};

use ipnet::IpNet;

use super::section::Section;
use crate::{
    network::{AdminSegment, Isolation, RoutedVpcs, RoutingProfile, SiteNetwork},
    store::Virtualization,
};

/// A VNI has 24 bits.
const HIGHEST_VNI: u32 = (1 << 24) - 1;
const HIGHEST_VLAN: u32 = 4094;

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
    let asn = section.required("asn");
    let loopbacks = section.required("loopback_prefix").and_then(|prefix| whole(section, "loopback_prefix", prefix));
    let admin = admin(section);
    let vnis = range(section, "vni_pool", HIGHEST_VNI);
    let vlans = range(section, "vlan_pool", HIGHEST_VLAN);
    if let (Some(loopbacks), Some(admin)) = (&loopbacks, &admin)
        && (admin.prefix.contains(loopbacks) || loopbacks.contains(&admin.prefix))
    {
        section.fault("loopback_prefix", format_args!("overlaps with the admin prefix {}", admin.prefix));
    }
    if let (Some(vlans), Some(admin)) = (&vlans, &admin)
        && vlans.contains(&admin.vlan.into())
    {
        section.fault("vlan_pool", format_args!("holds the admin VLAN {}", admin.vlan));
    }
    if let (Some(vnis), Some(admin)) = (&vnis, &admin)
        && (vnis.contains(&admin.vni) || vnis.contains(&admin.vpc_vni))
    {
        section.fault("vni_pool", "holds a VNI of the admin segment");
    }
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
    let boot_url = section.value("boot_url");
    let domain = section.value("domain").unwrap_or_else(|| "site.internal".to_owned());
    let mtu = section.value("mtu");
    let routed = section.section("fnn").and_then(|section| routed(&section));
    if virtualization == Virtualization::Fnn {
        if section.section("fnn").is_none() {
            section.fault("virtualization", "fnn needs the settings of `fnn`");
        }
        if admin.as_ref().is_some_and(|admin| admin.svi.is_none() || admin.vni == 0 || admin.vpc_vni == 0) {
            section.fault("admin", "needs vni, vpc_vni and svi if virtualization is fnn");
        }
    }
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
    let loopbacks = section.required("vrf_loopback_prefix");
    let loopbacks = loopbacks.and_then(|prefix| whole(section, "vrf_loopback_prefix", prefix));
    let common_internal = section.value("common_internal_route_target");
    let additional_imports = section.list("additional_route_target_imports");
    let tenant_host_asn = section.value("tenant_host_asn");
    let site_global_vpc_vni = section.value("site_global_vpc_vni");
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
    let prefix = section.required("prefix").and_then(|prefix| whole(&section, "prefix", prefix));
    let gateway: Option<IpAddr> = section.value("gateway").or_else(|| prefix?.hosts().next());
    if let (Some(prefix), Some(gateway)) = (prefix, gateway)
        && !prefix.contains(&gateway)
    {
        section.fault("gateway", format_args!("{gateway} is not in {prefix}"));
    }
    let vlan: Option<u16> = section.required("vlan");
    if vlan.is_some_and(|vlan| !(1..=HIGHEST_VLAN).contains(&vlan.into())) {
        section.fault("vlan", format_args!("must be 1 to {HIGHEST_VLAN}"));
    }
    let svi: Option<IpAddr> = section.value("svi");
    if svi.is_some_and(|svi| prefix.is_some_and(|prefix: IpNet| !prefix.contains(&svi)) || Some(svi) == gateway) {
        section.fault("svi", "must be an address of the prefix beside the gateway's");
    }
    Some(AdminSegment {
        prefix: prefix?,
        gateway: gateway?,
        vlan: vlan?,
        vni: section.value("vni").unwrap_or_default(),
        vpc_vni: section.value("vpc_vni").unwrap_or_default(),
        svi,
    })
}

/// A prefix without bits beyond its length.
fn whole(section: &Section<'_>, key: &str, prefix: IpNet) -> Option<IpNet> {
    if prefix.trunc() == prefix {
        return Some(prefix);
    }
    section.fault(key, format_args!("{prefix} has bits beyond its length: did you mean {}?", prefix.trunc()));
    None
}

fn range(section: &Section<'_>, key: &str, highest: u32) -> Option<RangeInclusive<u32>> {
    let Some(pool) = section.section(key) else {
        section.fault(key, "is missing: give first and last");
        return None;
    };
    pool.only(&["first", "last"]);
    let (first, last) = (pool.required("first")?, pool.required("last")?);
    if first == 0 || first > last || last > highest {
        section.fault(key, format_args!("{first}-{last} is no range within 1-{highest}"));
        return None;
    }
    Some(first..=last)
}
