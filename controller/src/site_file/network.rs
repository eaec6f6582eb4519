use std::{net::IpAddr, ops::RangeInclusive, str::FromStr};

use ipnet::IpNet;

use super::section::Section;
use crate::{
    network::{AdminSegment, Isolation, SiteNetwork},
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
    })
}

fn admin(section: &Section<'_>) -> Option<AdminSegment> {
    let Some(section) = section.section("admin") else {
        section.fault("admin", "is missing");
        return None;
    };
    section.only(&["prefix", "gateway", "vlan", "vni", "vpc_vni"]);
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
    Some(AdminSegment {
        prefix: prefix?,
        gateway: gateway?,
        vlan: vlan?,
        vni: section.value("vni").unwrap_or_default(),
        vpc_vni: section.value("vpc_vni").unwrap_or_default(),
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
