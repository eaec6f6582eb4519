//! Security groups: put, list, delete, attach; every rule is parsed here once.

use std::collections::HashSet;

use proto::{ConfigVersion, site};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tonic::Status;

use super::{SiteService, answer::from_store, vpcs::known};
use crate::{
    Timestamp,
    network::{SecurityGroupError, attach_security_group, delete_security_group, put_security_group},
    store::{SecurityGroup, SecurityRule, TrafficProtocol},
};

/// Rules that a group may have, ACL rules that they may become on a DPU, and bytes in a name.
const MOST_RULES: usize = 1_000;
const MOST_EXPANDED: u64 = 10_000;
const LONGEST_NAME: usize = 63;

impl SiteService {
    pub(super) async fn put_group(&self, request: site::SecurityGroup) -> Result<site::SecurityGroup, Status> {
        let now = Timestamp::now();
        let group = read(request, now)?;
        let mut tx = self.store.write().await.map_err(from_store)?;
        let group = put_security_group(&mut tx, group, now).await.map_err(from_group)?;
        self.commit_for_tenants(tx).await?;
        Ok(view(group))
    }

    pub(super) async fn groups(&self) -> Result<site::ListSecurityGroupsResponse, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let groups = tx.security_groups().await.map_err(from_store)?;
        Ok(site::ListSecurityGroupsResponse { groups: groups.into_iter().map(view).collect() })
    }

    pub(super) async fn remove_group(&self, request: site::DeleteSecurityGroupRequest) -> Result<(), Status> {
        let mut tx = self.store.write().await.map_err(from_store)?;
        delete_security_group(&mut tx, &request.name).await.map_err(from_group)?;
        tx.commit().await.map_err(from_store)
    }

    pub(super) async fn attach_group(&self, request: site::AttachSecurityGroupRequest) -> Result<(), Status> {
        let mut tx = self.store.write().await.map_err(from_store)?;
        let vpcs = tx.vpcs().await.map_err(from_store)?;
        let vpc = known(&vpcs, &request.vpc)?;
        let group = Some(request.group.as_str()).filter(|name| !name.is_empty());
        attach_security_group(&mut tx, vpc, group, Timestamp::now()).await.map_err(from_group)?;
        self.commit_for_tenants(tx).await
    }
}

fn from_group(error: SecurityGroupError) -> Status {
    match error {
        SecurityGroupError::Store(error) => from_store(error),
        SecurityGroupError::Unknown { .. } => Status::not_found(error.to_string()),
        SecurityGroupError::InUse { .. } => Status::failed_precondition(error.to_string()),
    }
}

fn read(group: site::SecurityGroup, now: Timestamp) -> Result<SecurityGroup, Status> {
    for (field, text) in [("name", &group.name), ("tenant_organization_id", &group.tenant_organization_id)] {
        if text.is_empty() || text.len() > LONGEST_NAME || text.chars().any(char::is_control) {
            return Err(invalid(field, format_args!("must have 1 to {LONGEST_NAME} bytes without control characters")));
        }
    }
    if group.rules.len() > MOST_RULES {
        return Err(invalid("rules", format_args!("more than {MOST_RULES}")));
    }
    let mut rules = Vec::with_capacity(group.rules.len());
    for (place, rule) in group.rules.into_iter().enumerate() {
        rules.push(read_rule(&format!("rules[{place}]"), place, rule)?);
    }
    let mut ids = HashSet::new();
    if let Some(twice) = rules.iter().find(|rule| !ids.insert(&rule.id)) {
        return Err(invalid("rules", format_args!("two have the id `{}`", twice.id)));
    }
    let count = |ports: Option<(u16, u16)>| ports.map_or(1, |(first, last)| u64::from(last - first) + 1);
    let expanded: u64 = rules.iter().map(|rule| count(rule.source_ports) * count(rule.destination_ports)).sum();
    if expanded > MOST_EXPANDED {
        return Err(invalid("rules", format_args!("become {expanded} rules of a DPU, more than {MOST_EXPANDED}")));
    }
    Ok(SecurityGroup {
        name: group.name,
        tenant: group.tenant_organization_id,
        version: ConfigVersion::first(now.micros()),
        stateful_egress: group.stateful_egress,
        rules,
        created_at: now,
    })
}

fn read_rule(at: &str, place: usize, rule: site::SecurityRule) -> Result<SecurityRule, Status> {
    let net = |field: &str, text: &str| -> Result<Option<ipnet::IpNet>, Status> {
        if text.is_empty() {
            return Ok(None);
        }
        let fault = |why: &str| invalid(&format!("{at}.{field}"), format_args!("`{}` {why}", text.escape_default()));
        let net: ipnet::IpNet = text.parse().map_err(|_| fault("is no CIDR prefix"))?;
        let of_family = matches!(net, ipnet::IpNet::V6(_)) == rule.ipv6;
        if of_family { Ok(Some(net.trunc())) } else { Err(fault("is not of the rule's family")) }
    };
    let protocol: TrafficProtocol = word(at, "protocol", &rule.protocol)?;
    if (protocol == TrafficProtocol::Icmp && rule.ipv6) || (protocol == TrafficProtocol::Icmp6 && !rule.ipv6) {
        return Err(invalid(&format!("{at}.protocol"), "is not of the rule's family"));
    }
    let ports = |field: &str, text: &str| -> Result<Option<(u16, u16)>, Status> {
        if text.is_empty() {
            return Ok(None);
        }
        let fault = |why: &str| invalid(&format!("{at}.{field}"), format_args!("`{}` {why}", text.escape_default()));
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            _ if !matches!(protocol, TrafficProtocol::Udp | TrafficProtocol::Tcp) => {
                Err(fault("makes sense for udp and tcp only"))
            }
            (Ok(first), Ok(last)) if first <= last => Ok(Some((first, last))),
            _ => Err(fault("is neither a port nor a range of them")),
        }
    };
    if rule.id.len() > LONGEST_NAME || rule.id.chars().any(char::is_control) {
        return Err(invalid(
            &format!("{at}.id"),
            format_args!("has more than {LONGEST_NAME} bytes or control characters"),
        ));
    }
    Ok(SecurityRule {
        direction: word(at, "direction", &rule.direction)?,
        action: word(at, "action", &rule.action)?,
        protocol,
        priority: rule.priority,
        ipv6: rule.ipv6,
        source: net("source", &rule.source)?,
        destination: net("destination", &rule.destination)?,
        source_ports: ports("source_ports", &rule.source_ports)?,
        destination_ports: ports("destination_ports", &rule.destination_ports)?,
        id: if rule.id.is_empty() { format!("rule-{}", place + 1) } else { rule.id },
    })
}

fn invalid(field: &str, fault: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("{field}: {fault}"))
}

/// A word of a set, as the store has it. What is not among them is answered with all that are.
fn word<T: DeserializeOwned>(at: &str, field: &str, text: &str) -> Result<T, Status> {
    serde_json::from_value(Value::String(text.to_owned())).map_err(|error| invalid(&format!("{at}.{field}"), error))
}

fn text<T: Serialize>(word: T) -> String {
    serde_json::to_value(word).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn view(group: SecurityGroup) -> site::SecurityGroup {
    let net = |net: Option<ipnet::IpNet>| net.map(|net| net.to_string()).unwrap_or_default();
    let ports = |ports: Option<(u16, u16)>| match ports {
        None => String::new(),
        Some((first, last)) if first == last => first.to_string(),
        Some((first, last)) => format!("{first}-{last}"),
    };
    let rule = |rule: SecurityRule| site::SecurityRule {
        id: rule.id,
        direction: text(rule.direction),
        action: text(rule.action),
        protocol: text(rule.protocol),
        priority: rule.priority,
        ipv6: rule.ipv6,
        source: net(rule.source),
        destination: net(rule.destination),
        source_ports: ports(rule.source_ports),
        destination_ports: ports(rule.destination_ports),
    };
    site::SecurityGroup {
        name: group.name,
        tenant_organization_id: group.tenant,
        stateful_egress: group.stateful_egress,
        rules: group.rules.into_iter().map(rule).collect(),
        version: group.version.to_string(),
    }
}
