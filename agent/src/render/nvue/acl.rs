//! Access lists: prefixes and security rules become numbered rules.

use std::collections::BTreeSet;

use serde::Serialize;

use super::numbers::Numbers;
use crate::render::{
    RenderError,
    config::{Action, Direction, Prefix, Protocol, SecurityGroup, SecurityRule},
};

/// Where denies of prefixes stand, and where security rules stand.
const DENIES_FROM: u32 = 1000;
const SECURITY_FROM: u32 = 2000;
/// The catch-all at the end of a list.
const CATCH_ALL: u32 = 65535;
const LAST: u32 = CATCH_ALL - 1;
/// How many permits a port can have before they run into the next port's numbers.
const PORT_BLOCK: usize = 10;

/// One access list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Acl {
    pub(super) name: String,
    pub(super) family: &'static str,
    pub(super) rules: Vec<AclRule>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct AclRule {
    number: u32,
    action: &'static str,
    in_software: bool,
    conntrack: &'static [&'static str],
    protocol: Option<&'static str>,
    source: Option<String>,
    source_port: Option<u16>,
    destination: Option<String>,
    destination_port: Option<u16>,
}

/// A protocol family, with the names that lists and NVUE give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IpFamily {
    V4,
    V6,
}

impl IpFamily {
    pub(super) const BOTH: [Self; 2] = [Self::V4, Self::V6];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        }
    }

    pub(super) fn has(self, prefix: &Prefix) -> bool {
        prefix.is_v4() == (self == Self::V4)
    }
}

/// The permits of a port: the number they start at, and what they permit.
pub(super) type PortPermits<'a> = (u32, Vec<&'a Prefix>);

/// Permits to the ports' own prefixes, then denies of others; none if nothing is denied.
///
/// `denies_after` moves the denies' numbers, for lists that share their numbers with another.
pub(super) fn to_prefixes(
    name: String,
    family: IpFamily,
    permits: &[PortPermits<'_>],
    denies: &[Prefix],
    denies_after: usize,
) -> Result<Option<Acl>, RenderError> {
    let denies: Vec<_> = denies.iter().filter(|prefix| family.has(prefix)).collect();
    if denies.is_empty() {
        return Ok(None);
    }
    let mut numbers = Numbers::new(&name, 1, LAST);
    let mut rules = Vec::new();
    for (from, prefix) in in_blocks(family, permits) {
        rules.push(AclRule {
            number: numbers.from(from).take()?,
            action: "permit",
            destination: Some(prefix.to_string()),
            ..Default::default()
        });
    }
    numbers.from(DENIES_FROM.saturating_add(u32::try_from(denies_after).unwrap_or(u32::MAX)));
    for prefix in denies {
        rules.push(AclRule {
            number: numbers.take()?,
            action: "deny",
            destination: Some(prefix.to_string()),
            ..Default::default()
        });
    }
    Ok(Some(Acl { name, family: family.name(), rules }))
}

/// Each permit with the number that it asks for. Where a port has more prefixes than its block has numbers, blocks mean
/// nothing any more, and each prefix is permitted once for all ports: real VPCs have hundreds, the same on each port.
fn in_blocks<'a>(family: IpFamily, permits: &'a [PortPermits<'a>]) -> Vec<(u32, &'a Prefix)> {
    let of_family = |(from, prefixes): &'a PortPermits<'a>| {
        let from = *from;
        prefixes.iter().copied().filter(move |prefix| family.has(prefix)).map(move |prefix| (from, prefix))
    };
    if permits.iter().all(|port| of_family(port).count() <= PORT_BLOCK) {
        return permits.iter().flat_map(of_family).collect();
    }
    let mut seen = BTreeSet::new();
    let first = permits.first().map_or(1, |(from, _)| *from);
    permits
        .iter()
        .flat_map(of_family)
        .filter(|(_, prefix)| seen.insert(prefix.net()))
        .map(|(_, p)| (first, p))
        .collect()
}

/// Which end of the traffic a list of peers looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    Destination,
    Source,
}

/// Permits to or from prefixes of peers, each once; none if there are none of the family.
pub(super) fn peers<'a>(
    name: String,
    family: IpFamily,
    peer: Peer,
    prefixes: impl IntoIterator<Item = &'a Prefix>,
) -> Result<Option<Acl>, RenderError> {
    let mut seen = BTreeSet::new();
    let mut numbers = Numbers::new(&name, 1, LAST);
    let mut rules = Vec::new();
    for prefix in prefixes.into_iter().filter(|prefix| family.has(prefix)) {
        if seen.insert(prefix.net()) {
            let (source, destination) = match peer {
                Peer::Source => (Some(prefix.to_string()), None),
                Peer::Destination => (None, Some(prefix.to_string())),
            };
            let number = numbers.take()?;
            rules.push(AclRule { number, action: "permit", source, destination, ..Default::default() });
        }
    }
    Ok((!rules.is_empty()).then_some(Acl { name, family: family.name(), rules }))
}

/// Keeps a host's DHCP requests off the overlay: the DPU answers them itself.
pub(super) fn no_dhcp_flood(name: &str) -> Acl {
    let rule = AclRule {
        number: 10,
        action: "deny",
        in_software: true,
        protocol: Some("udp"),
        source_port: Some(68),
        destination: Some("255.255.255.255".into()),
        destination_port: Some(67),
        ..Default::default()
    };
    Acl { name: name.into(), family: IpFamily::V4.name(), rules: vec![rule] }
}

/// Everything denied, both ways and in both families: a quarantined host.
pub(super) fn quarantine(name: impl Fn(Direction, IpFamily) -> String) -> Result<Vec<(Direction, Acl)>, RenderError> {
    each_side(|direction, family| {
        let any = match family {
            IpFamily::V4 => "0.0.0.0/0",
            IpFamily::V6 => "::/0",
        };
        let rule = AclRule {
            number: SECURITY_FROM,
            action: "deny",
            source: Some(any.into()),
            destination: Some(any.into()),
            ..Default::default()
        };
        Ok(Some(Acl { name: name(direction, family), family: family.name(), rules: vec![rule] }))
    })
}

/// The site's own rules, which come before those of tenants and let all else pass on to them.
pub(super) fn overrides(
    rules: &[SecurityRule],
    name: impl Fn(Direction, IpFamily) -> String,
) -> Result<Vec<(Direction, Acl)>, RenderError> {
    each_side(|direction, family| {
        let name = name(direction, family);
        let rules = expand(&name, rules.iter().map(|rule| (rule, false)), direction, family, LAST)?;
        Ok((!rules.is_empty()).then_some(Acl { name, family: family.name(), rules }))
    })
}

/// The rules of security groups, with everything else denied. `stateful` is the site's switch.
pub(super) fn security(
    groups: &[&SecurityGroup],
    stateful: bool,
    name: impl Fn(Direction, IpFamily) -> String,
) -> Result<Vec<(Direction, Acl)>, RenderError> {
    let answers = stateful && groups.iter().any(|group| group.stateful_egress);
    each_side(|direction, family| {
        let name = name(direction, family);
        let all = groups
            .iter()
            .flat_map(|group| group.rules.iter().map(move |rule| (rule, stateful && group.stateful_egress)));
        let mut rules = expand(&name, all, direction, family, LAST - 3)?;
        if answers && (direction, family) == (Direction::Ingress, IpFamily::V4) {
            for (number, protocol) in [(LAST - 2, "tcp"), (LAST - 1, "udp"), (LAST, "icmp")] {
                rules.push(AclRule {
                    number,
                    action: "permit",
                    protocol: Some(protocol),
                    conntrack: &["established"],
                    ..Default::default()
                });
            }
        }
        rules.push(AclRule { number: CATCH_ALL, action: "deny", ..Default::default() });
        Ok(Some(Acl { name, family: family.name(), rules }))
    })
}

/// One list per direction and family, where there is one.
fn each_side(
    mut list: impl FnMut(Direction, IpFamily) -> Result<Option<Acl>, RenderError>,
) -> Result<Vec<(Direction, Acl)>, RenderError> {
    let mut lists = Vec::new();
    for direction in [Direction::Egress, Direction::Ingress] {
        for family in IpFamily::BOTH {
            lists.extend(list(direction, family)?.map(|acl| (direction, acl)));
        }
    }
    Ok(lists)
}

/// Each rule becomes one rule per pair of prefixes and pair of ports, by priority.
fn expand<'a>(
    list: &str,
    rules: impl IntoIterator<Item = (&'a SecurityRule, bool)>,
    direction: Direction,
    family: IpFamily,
    last: u32,
) -> Result<Vec<AclRule>, RenderError> {
    let applies = |rule: &SecurityRule| rule.direction == direction && rule.ipv6 == (family == IpFamily::V6);
    let mut rules: Vec<_> = rules.into_iter().filter(|(rule, _)| applies(rule)).collect();
    rules.sort_by_key(|(rule, _)| rule.priority);
    let mut numbers = Numbers::new(list, SECURITY_FROM, last);
    let mut expanded = Vec::new();
    for (rule, stateful) in rules {
        for source in &rule.sources {
            for destination in &rule.destinations {
                for source_port in ports(rule.source_ports) {
                    for destination_port in ports(rule.destination_ports) {
                        expanded.push(AclRule {
                            number: numbers.take()?,
                            action: match rule.action {
                                Action::Deny => "deny",
                                Action::Permit => "permit",
                            },
                            in_software: false,
                            conntrack: conntrack(rule, stateful),
                            protocol: protocol(rule.protocol),
                            source: Some(source.to_string()),
                            source_port,
                            destination: Some(destination.to_string()),
                            destination_port,
                        });
                    }
                }
            }
        }
    }
    Ok(expanded)
}

/// The ports of a range, or one rule without any.
fn ports(range: Option<(u16, u16)>) -> impl Iterator<Item = Option<u16>> {
    let one = range.is_none().then_some(None);
    let (first, last) = range.unwrap_or((1, 0));
    one.into_iter().chain((first..=last).map(Some))
}

/// Connections that a host opens are tracked so that answers come back.
fn conntrack(rule: &SecurityRule, stateful: bool) -> &'static [&'static str] {
    let tracked = matches!(rule.protocol, Protocol::Tcp | Protocol::Udp)
        && rule.destination_ports.is_some()
        && rule.source_ports.is_none();
    if stateful && tracked && rule.direction == Direction::Egress && !rule.ipv6 { &["new", "established"] } else { &[] }
}

fn protocol(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::Any => None,
        Protocol::Icmp => Some("icmp"),
        Protocol::Udp => Some("udp"),
        Protocol::Tcp => Some("tcp"),
        Protocol::Icmp6 => Some("icmpv6"),
    }
}
