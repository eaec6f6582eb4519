//! `sitectl security-group`.

use std::path::{Path, PathBuf};

use proto::site::{
    AttachSecurityGroupRequest, DeleteSecurityGroupRequest, ListSecurityGroupsRequest, SecurityGroup, SecurityRule,
};
use serde::Deserialize;

use crate::{
    connect::Controller,
    failure::Failure,
    output::{Format, table},
};

#[derive(clap::Subcommand)]
pub(crate) enum SecurityGroupCommand {
    /// Makes a security group, or changes its rules; the DPUs of instances that have it are to confirm it
    Put {
        /// Name of the group
        name: String,
        /// Organization that owns it
        #[arg(long)]
        tenant: String,
        /// YAML file: `stateful_egress`, and `rules` with direction, action, protocol, and if wanted priority, ipv6, source,
        /// destination, source_ports, destination_ports, id
        #[arg(long)]
        file: PathBuf,
    },
    /// Every security group with its rules
    List,
    /// Gives all interfaces in a VPC a security group, but those of instances that have one of their own
    Attach {
        /// Name of the group
        name: String,
        /// Id or name of the VPC
        #[arg(long)]
        vpc: String,
    },
    /// Takes the security group off a VPC
    Detach {
        /// Id or name of the VPC
        #[arg(long)]
        vpc: String,
    },
    /// Deletes a security group that no VPC and no instance has
    Delete {
        /// Name of the group
        name: String,
    },
}

/// A group as its file gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupFile {
    #[serde(default)]
    stateful_egress: bool,
    rules: Vec<RuleEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    #[serde(default)]
    id: String,
    direction: String,
    action: String,
    protocol: String,
    #[serde(default)]
    priority: u32,
    #[serde(default)]
    ipv6: bool,
    #[serde(default)]
    source: String,
    #[serde(default)]
    destination: String,
    #[serde(default)]
    source_ports: Ports,
    #[serde(default)]
    destination_ports: Ports,
}

/// One port as a number, or some as `80-90`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Ports {
    One(u16),
    Some(String),
}

impl Default for Ports {
    fn default() -> Self {
        Self::Some(String::new())
    }
}

impl Ports {
    fn text(self) -> String {
        match self {
            Self::One(port) => port.to_string(),
            Self::Some(ports) => ports,
        }
    }
}

impl GroupFile {
    fn read(path: &Path) -> Result<Self, Failure> {
        let fault = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
        let text = types::read_text(path, 16 << 20).map_err(|error| fault(&error))?;
        if types::nesting(&text) > types::MOST_LEVELS {
            return Err(fault(&format_args!("is nested deeper than {} levels", types::MOST_LEVELS)));
        }
        serde_yaml::from_str(&text).map_err(|error| fault(&error))
    }

    fn group(self, name: String, tenant_organization_id: String) -> SecurityGroup {
        let rule = |rule: RuleEntry| SecurityRule {
            id: rule.id,
            direction: rule.direction,
            action: rule.action,
            protocol: rule.protocol,
            priority: rule.priority,
            ipv6: rule.ipv6,
            source: rule.source,
            destination: rule.destination,
            source_ports: rule.source_ports.text(),
            destination_ports: rule.destination_ports.text(),
        };
        SecurityGroup {
            name,
            tenant_organization_id,
            stateful_egress: self.stateful_egress,
            rules: self.rules.into_iter().map(rule).collect(),
            version: String::new(),
        }
    }
}

pub(crate) async fn run(
    command: SecurityGroupCommand,
    mut controller: Controller,
    format: Format,
) -> Result<String, Failure> {
    let failure = controller.failure();
    let site = &mut controller.site;
    let done = |text: String| format.answer(&serde_json::json!({}), |_| text);
    match command {
        SecurityGroupCommand::Put { name, tenant, file } => {
            let group = GroupFile::read(&file)?.group(name, tenant);
            let group = site.put_security_group(group).await.map_err(failure)?.into_inner();
            format.answer(&group, |group| list(std::slice::from_ref(group)))
        }
        SecurityGroupCommand::List => {
            let answer = site.list_security_groups(ListSecurityGroupsRequest {}).await.map_err(failure)?.into_inner();
            format.answer(&answer, |answer| list(&answer.groups))
        }
        SecurityGroupCommand::Attach { name, vpc } => {
            let text = format!("VPC {vpc} has security group {name}");
            site.attach_security_group(AttachSecurityGroupRequest { vpc, group: name }).await.map_err(failure)?;
            done(text)
        }
        SecurityGroupCommand::Detach { vpc } => {
            let text = format!("VPC {vpc} has no security group");
            let request = AttachSecurityGroupRequest { vpc, group: String::new() };
            site.attach_security_group(request).await.map_err(failure)?;
            done(text)
        }
        SecurityGroupCommand::Delete { name } => {
            let text = format!("{name} is deleted");
            site.delete_security_group(DeleteSecurityGroupRequest { name }).await.map_err(failure)?;
            done(text)
        }
    }
}

fn list(groups: &[SecurityGroup]) -> String {
    let end = |net: &str, ports: &str| {
        let net = if net.is_empty() { "anywhere" } else { net };
        if ports.is_empty() { net.to_owned() } else { format!("{net} port {ports}") }
    };
    let row = |group: &SecurityGroup, rule: &SecurityRule| {
        [
            group.name.clone(),
            group.tenant_organization_id.clone(),
            group.version.split('-').next().unwrap_or_default().to_owned(),
            rule.id.clone(),
            format!("{} {} {}", rule.action, rule.direction, rule.protocol),
            end(&rule.source, &rule.source_ports),
            end(&rule.destination, &rule.destination_ports),
        ]
    };
    let rows = groups.iter().flat_map(|group| group.rules.iter().map(move |rule| row(group, rule)));
    let head = ["GROUP", "TENANT", "VERSION", "RULE", "WHAT", "FROM", "TO"];
    table(head, rows.collect(), "no security groups with rules")
}
