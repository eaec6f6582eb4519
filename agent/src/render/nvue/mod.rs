//! NVUE's file: the values that its templates get, and the text that they render to.

mod acl;
mod etv;
mod fnn;
mod isolated;
mod numbers;
mod security;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Serialize;

use super::{
    Environment, NetworkConfig, RenderError, TemplateError, Templates, Underlay,
    config::{Function, Port, Prefix, Virtualization},
    marks::TemplateLine,
    statements,
};
use crate::lint::{self, Fault, Node};

pub(super) use isolated::isolated;

/// The address of the metadata service's gateway, on HBN's side of the link to it.
const METADATA_ADDRESS: &str = "169.254.169.253/30";
/// Ports are numbered in tens, so that a rule's number shows its port.
const PORT_STEP: usize = 10;

/// NVUE's file for a configuration.
pub(super) fn render(
    config: &NetworkConfig,
    environment: &Environment,
    templates: &Templates,
) -> Result<String, RenderError> {
    match config.virtualization {
        Virtualization::Etv => etv::render(config, environment, templates),
        Virtualization::Fnn => fnn::render(config, environment, templates),
    }
}

/// Renders a template to statements and those to NVUE's text, which must read back as what was meant and be without
/// fault.
fn text(templates: &Templates, template: &str, context: impl Serialize) -> Result<String, RenderError> {
    let statements = templates.render(template, context)?;
    let root = statements::read(&statements).map_err(|error| {
        let fault = error.to_string();
        located(template, error.place, fault)
    })?;
    let (meant, text) = (fingerprint(&root), document(&root));
    // The tree of a large configuration takes much of the memory that the agent may use, so there is one at a time.
    drop(root);
    match lint::read(&text) {
        Ok(read) if fingerprint(&read) == meant => Ok(text),
        Ok(_) => Err(RenderError::ReadsOtherwise { template: template.into() }),
        Err(error) => {
            let shown = error.faults.iter().take(lint::SHOWN);
            let fault =
                |fault: &Fault| located(template, statements::place(&statements, &fault.path), fault.to_string());
            let more = error.faults.len().saturating_sub(lint::SHOWN);
            Err(RenderError::Lint { faults: shown.map(fault).collect(), more })
        }
    }
}

fn fingerprint(root: &Node) -> u64 {
    let mut hash = DefaultHasher::new();
    root.hash(&mut hash);
    hash.finish()
}

/// A fault where it comes from, or else in the template that is at the root of it.
fn located(root: &str, place: Option<TemplateLine>, fault: String) -> TemplateError {
    let (file, line) = place.map_or((root.into(), 0), |place| (place.template, place.line));
    TemplateError { file, line, fault }
}

/// The file that `nv config replace` reads: a header, and all settings.
fn document(root: &Node) -> String {
    let mut text = String::from(
        "- header:\n    model: VX\n    nvue-api-version: nvue_v1\n    rev-id: 1.0\n    version: Cumulus Linux 5.6.0\n- set:\n",
    );
    root.write_yaml(&mut text, 2);
    text
}

/// What all networks have.
#[derive(Serialize)]
struct Base<'a> {
    asn: u32,
    loopback: String,
    uplinks: Vec<String>,
    metadata: Option<Metadata>,
    intercept: InterceptView,
    route_servers: Vec<String>,
    evpn_on_uplinks: bool,
    stateful_acls: bool,
    password: Option<&'a str>,
    tenant_asn: String,
}

#[derive(Serialize)]
struct Metadata {
    interface: String,
    address: &'static str,
    vrf: Option<String>,
}

#[derive(Serialize)]
struct InterceptView {
    vtep: Option<String>,
    bridge: Option<String>,
    bridging: Option<BridgingView>,
    accepted: Vec<PrefixRule>,
    accepted_ipv6: Vec<PrefixRule>,
}

#[derive(Serialize)]
struct BridgingView {
    port: String,
    own: String,
    gateway: String,
}

/// A numbered prefix of a prefix list.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct PrefixRule {
    number: u32,
    prefix: String,
    /// Only this prefix, no longer ones in it.
    exact: bool,
}

/// The parts of a configuration that both kinds of networks render alike.
fn base<'a>(
    config: &'a NetworkConfig,
    environment: &'a Environment,
    metadata: Option<Metadata>,
) -> Result<Base<'a>, RenderError> {
    let Underlay { asn, loopback, route_servers, password, .. } = &config.underlay;
    let intercept = &config.intercept;
    let public = |v4| prefix_rules("traffic intercept", &intercept.public_prefixes, v4, 1, true);
    Ok(Base {
        asn: *asn,
        loopback: loopback.to_string(),
        uplinks: environment.uplinks(),
        metadata,
        intercept: InterceptView {
            vtep: intercept.vtep.map(|vtep| vtep.to_string()),
            bridge: intercept.bridging.as_ref().map(|bridging| bridging.bridge.to_string()),
            bridging: intercept.bridging.as_ref().map(|bridging| BridgingView {
                port: format!("{}_{}", bridging.port, environment.port_suffix()),
                own: bridging.own.clone(),
                gateway: bridging.gateway.to_string(),
            }),
            accepted: public(true)?,
            accepted_ipv6: public(false)?,
        },
        route_servers: route_servers.iter().map(ToString::to_string).collect(),
        evpn_on_uplinks: route_servers.is_empty(),
        stateful_acls: config.stateful_acls && config.security_groups.iter().any(|group| group.stateful_egress),
        password: password.as_ref().map(|password| password.reveal()),
        tenant_asn: config.tenant_asn.map_or_else(|| "external".into(), |asn| asn.to_string()),
    })
}

/// Numbers the prefixes of one family.
fn prefix_rules<'a>(
    list: &str,
    prefixes: impl IntoIterator<Item = &'a Prefix>,
    v4: bool,
    first: u32,
    exact: bool,
) -> Result<Vec<PrefixRule>, RenderError> {
    let mut numbers = numbers::Numbers::new(list, first, 65533);
    let of_family = prefixes.into_iter().filter(|prefix| prefix.is_v4() == v4);
    of_family.map(|prefix| Ok(PrefixRule { number: numbers.take()?, prefix: prefix.cidr(None), exact })).collect()
}

/// HBN's name of a port.
pub(super) fn port_name(port: &Port, environment: &Environment) -> String {
    match port.function {
        Function::Physical => environment.physical_port(),
        Function::Virtual(function) => environment.virtual_port(function),
    }
}

/// Name of the interface that a bridged port's network ends at.
pub(super) fn svi_name(vlan: u32) -> String {
    format!("vlan{vlan}")
}

/// The gateway addresses of a port, IPv6 behind IPv4.
fn gateways(port: &Port) -> Vec<String> {
    let length = port.subnet.as_ref().and_then(Prefix::length);
    let v6 = port.ipv6.as_ref().and_then(|ipv6| ipv6.gateway.as_ref());
    std::iter::once(port.gateway.cidr(length)).chain(v6.map(|gateway| gateway.cidr(None))).collect()
}

/// The number that a port's rules start at.
fn port_index(position: usize) -> u32 {
    u32::try_from((position + 1) * PORT_STEP).unwrap_or(u32::MAX)
}
