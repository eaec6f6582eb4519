//! Rules of security groups and of the site's overrides, before they are expanded into ACL rules.

use std::fmt;

use proto::forge::{
    FlatInterfaceConfig, NetworkSecurityGroupRuleAction as WireAction,
    NetworkSecurityGroupRuleDirection as WireDirection, NetworkSecurityGroupRuleProtocol as WireProtocol,
    ResolvedNetworkSecurityGroupRule,
};

use super::{
    ConfigError, Prefix,
    field::{self, fault, prefixes},
    scope::Scope,
    size,
};

/// Most ACL rules that one set of rules may expand to.
const MAX_EXPANDED: u64 = 10_000;

/// Seen from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the host.
    Ingress,
    /// From the host.
    Egress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Any,
    Icmp,
    Udp,
    Tcp,
    Icmp6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Deny,
    Permit,
}

/// First and last of some ports, each of which is an ACL rule of its own; none: any port.
pub(crate) type PortRange = Option<(u16, u16)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecurityRule {
    pub(crate) direction: Direction,
    pub(crate) ipv6: bool,
    pub(crate) source_ports: PortRange,
    pub(crate) destination_ports: PortRange,
    pub(crate) protocol: Protocol,
    pub(crate) action: Action,
    pub(crate) priority: u32,
    /// Of the rule's family only.
    pub(crate) sources: Vec<Prefix>,
    /// Of the rule's family only.
    pub(crate) destinations: Vec<Prefix>,
}

impl SecurityRule {
    pub(super) fn expanded(&self) -> u64 {
        let ports = |ports: PortRange| ports.map_or(1, |(first, last)| u64::from(last - first) + 1);
        (self.sources.len() as u64)
            .saturating_mul(self.destinations.len() as u64)
            .saturating_mul(ports(self.source_ports))
            .saturating_mul(ports(self.destination_ports))
    }

    fn parse(at: impl fmt::Display, message: &ResolvedNetworkSecurityGroupRule) -> Result<Self, ConfigError> {
        let Some(rule) = &message.rule else {
            return Err(fault(format_args!("{at}.rule"), "is missing"));
        };
        // People know the rule by its id.
        let at = match rule.id.as_deref() {
            Some(id) => format!("{at} ({})", field::clipped(id)),
            None => at.to_string(),
        };
        let unknown = |field: &str, number: i32| {
            fault(format_args!("{at}.rule.{field}"), format_args!("is {number}, which has no meaning"))
        };
        let range = |field: &str, first: Option<u32>, last: Option<u32>| match (first, last) {
            (Some(first), Some(last)) => match (u16::try_from(first), u16::try_from(last)) {
                (Ok(first), Ok(last)) if first <= last => Ok(Some((first, last))),
                _ => Err(fault(
                    format_args!("{at}.rule.{field}"),
                    format_args!("is {first}-{last}, not a range of ports"),
                )),
            },
            _ => Ok(None),
        };
        // A packet of one family never matches a prefix of the other, so those change nothing.
        let of_family = |field: &str, texts: &[String]| {
            let mut read = prefixes(format_args!("{at}.{field}"), texts.iter().map(String::as_str))?;
            read.retain(|prefix| prefix.is_v4() != rule.ipv6);
            Ok::<_, ConfigError>(read)
        };
        Ok(Self {
            direction: match WireDirection::try_from(rule.direction) {
                Ok(WireDirection::NsgRuleDirectionIngress) => Direction::Ingress,
                Ok(WireDirection::NsgRuleDirectionEgress) => Direction::Egress,
                _ => return Err(unknown("direction", rule.direction)),
            },
            ipv6: rule.ipv6,
            source_ports: range("src_port_start", rule.src_port_start, rule.src_port_end)?,
            destination_ports: range("dst_port_start", rule.dst_port_start, rule.dst_port_end)?,
            protocol: match WireProtocol::try_from(rule.protocol) {
                Ok(WireProtocol::NsgRuleProtoAny) => Protocol::Any,
                Ok(WireProtocol::NsgRuleProtoIcmp) => Protocol::Icmp,
                Ok(WireProtocol::NsgRuleProtoUdp) => Protocol::Udp,
                Ok(WireProtocol::NsgRuleProtoTcp) => Protocol::Tcp,
                Ok(WireProtocol::NsgRuleProtoIcmp6) => Protocol::Icmp6,
                _ => return Err(unknown("protocol", rule.protocol)),
            },
            action: match WireAction::try_from(rule.action) {
                Ok(WireAction::NsgRuleActionDeny) => Action::Deny,
                Ok(WireAction::NsgRuleActionPermit) => Action::Permit,
                _ => return Err(unknown("action", rule.action)),
            },
            priority: rule.priority,
            sources: of_family("src_prefixes", &message.src_prefixes)?,
            destinations: of_family("dst_prefixes", &message.dst_prefixes)?,
        })
    }
}

/// Rules in the order of the message.
pub(super) fn rules(
    at: impl fmt::Display,
    messages: &[ResolvedNetworkSecurityGroupRule],
) -> Result<Vec<SecurityRule>, ConfigError> {
    let rules = messages
        .iter()
        .enumerate()
        .map(|(index, message)| SecurityRule::parse(format_args!("{at}[{index}]"), message))
        .collect::<Result<Vec<_>, _>>()?;
    let expanded = size::expanded(&rules);
    if expanded > MAX_EXPANDED {
        let most = format_args!("expand to {expanded} ACL rules, more than {MAX_EXPANDED}");
        return Err(fault(at, most));
    }
    Ok(rules)
}

/// A security group of a port; two are equal if they say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecurityGroup {
    pub(crate) id: String,
    pub(crate) stateful_egress: bool,
    pub(crate) rules: Vec<SecurityRule>,
}

impl SecurityGroup {
    /// The group of an interface, if it has one. Where groups decide nothing, one that cannot be read has no rules.
    pub(super) fn of_port(at: &str, message: &FlatInterfaceConfig, scope: Scope) -> Result<Option<Self>, ConfigError> {
        let Some(group) = &message.network_security_group else { return Ok(None) };
        let rules = match rules(format_args!("{at}.network_security_group.rules"), &group.rules) {
            Err(_) if !scope.groups_decide() => Vec::new(),
            rules => rules?,
        };
        Ok(Some(Self { id: group.id.clone(), stateful_egress: group.stateful_egress, rules }))
    }
}

/// The different groups of all interfaces, by id, so that numbers of groups do not depend on chance. Two interfaces
/// that have the same group with other rules have different groups here.
pub(super) fn distinct(groups: &[Option<SecurityGroup>]) -> Vec<SecurityGroup> {
    let mut distinct: Vec<SecurityGroup> = Vec::new();
    for group in groups.iter().flatten() {
        if !distinct.contains(group) {
            distinct.push(group.clone());
        }
    }
    distinct.sort_by(|one, other| one.id.cmp(&other.id));
    distinct
}

/// Leaves out the rules of groups that decide nothing, if there are too many.
pub(super) fn shorten(groups: &mut [SecurityGroup]) {
    if groups.iter().map(|group| size::expanded(&group.rules)).fold(0, u64::saturating_add) > MAX_EXPANDED {
        groups.iter_mut().for_each(|group| group.rules.clear());
    }
}
