//! Security groups: which one an interface has, and what its DPU is told of it. An instance's own group stands in for that
//! of its interfaces' VPCs.

use proto::forge;

use super::renew::renew_networks;
use crate::{
    Timestamp,
    store::{
        Instance, SecurityGroup, SecurityRule, StoreError, TrafficAction, TrafficDirection, TrafficProtocol, Tx, Vpc,
    },
};

/// Why a security group cannot be stored or removed.
#[derive(Debug, thiserror::Error)]
pub enum SecurityGroupError {
    /// There is none for this tenant.
    #[error("tenant `{tenant}` has no security group `{name}`")]
    Unknown {
        /// Name that was asked for.
        name: String,
        /// Tenant that asked.
        tenant: String,
    },
    /// Somebody has it.
    #[error("security group `{name}` is that of {user}")]
    InUse {
        /// Its name.
        name: String,
        /// VPC or instance.
        user: String,
    },
    /// The database failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Name of the group that an instance asks for itself.
pub(super) fn own_group(instance: &Instance) -> Option<&str> {
    instance.config.network_security_group_id.as_deref().filter(|name| !name.is_empty())
}

/// The group of an instance's interface in a VPC, as its DPU is told.
pub(super) fn group_of(
    instance: &Instance,
    vpc: &Vpc,
    groups: &[SecurityGroup],
) -> Option<forge::FlatInterfaceNetworkSecurityGroupConfig> {
    let (name, source) = match own_group(instance) {
        Some(own) => (own, forge::NetworkSecurityGroupSource::NsgSourceInstance),
        None => (vpc.security_group.as_deref()?, forge::NetworkSecurityGroupSource::NsgSourceVpc),
    };
    let group = groups.iter().find(|group| group.name == name)?;
    Some(forge::FlatInterfaceNetworkSecurityGroupConfig {
        id: group.name.clone(),
        version: group.version.to_string(),
        source: source as i32,
        rules: group.rules.iter().map(resolved).collect(),
        stateful_egress: group.stateful_egress,
    })
}

fn resolved(rule: &SecurityRule) -> forge::ResolvedNetworkSecurityGroupRule {
    let anywhere = if rule.ipv6 { "::/0" } else { "0.0.0.0/0" };
    let text = |net: Option<ipnet::IpNet>| net.map_or_else(|| anywhere.to_owned(), |net| net.to_string());
    let (source, destination) = (text(rule.source), text(rule.destination));
    let first = |ports: Option<(u16, u16)>| ports.map(|(first, _)| first.into());
    let last = |ports: Option<(u16, u16)>| ports.map(|(_, last)| last.into());
    use forge::network_security_group_rule_attributes::{DestinationNet, SourceNet};
    forge::ResolvedNetworkSecurityGroupRule {
        rule: Some(forge::NetworkSecurityGroupRuleAttributes {
            id: Some(rule.id.clone()),
            direction: match rule.direction {
                TrafficDirection::Ingress => forge::NetworkSecurityGroupRuleDirection::NsgRuleDirectionIngress,
                TrafficDirection::Egress => forge::NetworkSecurityGroupRuleDirection::NsgRuleDirectionEgress,
            } as i32,
            ipv6: rule.ipv6,
            src_port_start: first(rule.source_ports),
            src_port_end: last(rule.source_ports),
            dst_port_start: first(rule.destination_ports),
            dst_port_end: last(rule.destination_ports),
            protocol: match rule.protocol {
                TrafficProtocol::Any => forge::NetworkSecurityGroupRuleProtocol::NsgRuleProtoAny,
                TrafficProtocol::Icmp => forge::NetworkSecurityGroupRuleProtocol::NsgRuleProtoIcmp,
                TrafficProtocol::Icmp6 => forge::NetworkSecurityGroupRuleProtocol::NsgRuleProtoIcmp6,
                TrafficProtocol::Udp => forge::NetworkSecurityGroupRuleProtocol::NsgRuleProtoUdp,
                TrafficProtocol::Tcp => forge::NetworkSecurityGroupRuleProtocol::NsgRuleProtoTcp,
            } as i32,
            action: match rule.action {
                TrafficAction::Permit => forge::NetworkSecurityGroupRuleAction::NsgRuleActionPermit,
                TrafficAction::Deny => forge::NetworkSecurityGroupRuleAction::NsgRuleActionDeny,
            } as i32,
            priority: rule.priority,
            source_net: Some(SourceNet::SrcPrefix(source.clone())),
            destination_net: Some(DestinationNet::DstPrefix(destination.clone())),
        }),
        src_prefixes: vec![source],
        dst_prefixes: vec![destination],
    }
}

/// The tenant has the group, if it asks for one.
///
/// # Errors
/// [`SecurityGroupError::Unknown`] if not.
pub async fn check_security_group(tx: &mut Tx, name: Option<&str>, tenant: &str) -> Result<(), SecurityGroupError> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(()) };
    let known = tx.security_groups().await?.into_iter().any(|group| group.name == name && group.tenant == tenant);
    let unknown = || SecurityGroupError::Unknown { name: name.chars().take(80).collect(), tenant: tenant.to_owned() };
    if known { Ok(()) } else { Err(unknown()) }
}

/// Makes a security group, or changes the rules of a known one of the same tenant; then its version rises, and with it
/// those of the networks of all instances that have it: their DPUs are to confirm it.
///
/// # Errors
/// If another tenant has the name, or the database fails.
pub async fn put_security_group(
    tx: &mut Tx,
    mut group: SecurityGroup,
    now: Timestamp,
) -> Result<SecurityGroup, SecurityGroupError> {
    let known = tx.security_groups().await?.into_iter().find(|known| known.name == group.name);
    let Some(known) = known else {
        tx.add_security_group(&group).await?;
        return Ok(group);
    };
    if known.tenant != group.tenant {
        return Err(StoreError::taken("security group", &group.name).into());
    }
    (group.version, group.created_at) = (known.version, known.created_at);
    if group == known {
        return Ok(known);
    }
    group.version = known.version.next(now.micros());
    tx.store_security_group(&group, known.version).await?;
    let vpcs = tx.vpcs().await?;
    renew_networks(tx, now, |instance| uses(instance, &vpcs, &group.name)).await?;
    Ok(group)
}

/// Gives a VPC a security group of its tenant, or none.
///
/// # Errors
/// If the tenant has no such group, or the database fails.
pub async fn attach_security_group(
    tx: &mut Tx,
    vpc: &Vpc,
    group: Option<&str>,
    now: Timestamp,
) -> Result<(), SecurityGroupError> {
    check_security_group(tx, group, &vpc.tenant).await?;
    if vpc.security_group.as_deref() == group {
        return Ok(());
    }
    tx.set_vpc_security_group(vpc.id, group).await?;
    let affected =
        |instance: &Instance| own_group(instance).is_none() && instance.interfaces.iter().any(|one| one.vpc == vpc.id);
    Ok(renew_networks(tx, now, affected).await?)
}

/// Removes a security group that nothing has.
///
/// # Errors
/// [`SecurityGroupError::InUse`] if something has it.
pub async fn delete_security_group(tx: &mut Tx, name: &str) -> Result<(), SecurityGroupError> {
    let in_use = |user: String| SecurityGroupError::InUse { name: name.to_owned(), user };
    if let Some(vpc) = tx.vpcs().await?.into_iter().find(|vpc| vpc.security_group.as_deref() == Some(name)) {
        return Err(in_use(format!("VPC `{}`", vpc.name)));
    }
    if let Some(instance) = tx.instances().await?.into_iter().find(|instance| own_group(instance) == Some(name)) {
        return Err(in_use(format!("instance {}", instance.id)));
    }
    Ok(tx.remove_security_group(name).await?)
}

fn uses(instance: &Instance, vpcs: &[Vpc], group: &str) -> bool {
    match own_group(instance) {
        Some(own) => own == group,
        None => {
            let has = |vpc: &&Vpc| vpc.security_group.as_deref() == Some(group);
            vpcs.iter().filter(has).any(|vpc| instance.interfaces.iter().any(|one| one.vpc == vpc.id))
        }
    }
}
