//! NICo's own DHCP server: options for all hosts, options for this host, and its entry for supervisord.

use std::{collections::BTreeMap, net::Ipv4Addr};

use serde::Serialize;

use super::networks;
use crate::render::{
    ConfigFile, DhcpFiles, Environment, NetworkConfig, RenderError, Templates,
    config::{Port, Prefix},
};

const SUPERVISOR: &str = "default-forge-dhcp-server.conf";

#[derive(Serialize)]
struct NicoContext<'a> {
    serve: bool,
    hosts: Vec<NicoHost<'a>>,
    host_interface_id: &'a str,
    loopback: String,
    nameservers: &'a [Ipv4Addr],
    ntp_servers: &'a [Ipv4Addr],
    provisioning_server: Ipv4Addr,
    lease_secs: u64,
    renew_secs: u64,
    rebind_secs: u64,
}

#[derive(Serialize)]
struct NicoHost<'a> {
    interface: String,
    address: String,
    gateway: String,
    prefix: String,
    host_name: &'a str,
    boot_url: Option<&'a str>,
    mtu: Option<u16>,
}

pub(super) fn render(
    config: &NetworkConfig,
    environment: &Environment,
    templates: &Templates,
) -> Result<DhcpFiles, RenderError> {
    let settings = &environment.dhcp;
    let missing = |what: &str| RenderError::Dhcp(format!("{what} is missing: NICo's DHCP server needs it"));
    // A secondary DPU gets the same files as the primary one, but does not run the server.
    let ports = if config.serves_dhcp() { &config.ports[..] } else { config.admin.as_slice() };
    let context = NicoContext {
        serve: config.serves_dhcp(),
        hosts: hosts(config, environment, ports)?,
        host_interface_id: config.host_interface_id.as_deref().ok_or_else(|| missing("host_interface_id"))?,
        loopback: config.underlay.loopback.to_string(),
        nameservers: &settings.nameservers,
        ntp_servers: &settings.ntp_servers,
        provisioning_server: settings.provisioning_server.ok_or_else(|| missing("the provisioning server"))?,
        lease_secs: settings.lease.as_secs(),
        renew_secs: settings.renew.as_secs(),
        rebind_secs: settings.rebind.as_secs(),
    };
    Ok(DhcpFiles {
        config: templates.yaml("dhcp/nico/dhcp.yaml.j2", &context)?,
        beside: vec![
            ConfigFile { name: "host.yaml", text: templates.yaml("dhcp/nico/host.yaml.j2", &context)? },
            ConfigFile {
                name: SUPERVISOR,
                text: templates.render("dhcp/nico/default-forge-dhcp-server.conf.j2", &context)?,
            },
        ],
    })
}

/// Files with nothing in them: no program to run, no host to answer.
pub(super) fn stopped() -> DhcpFiles {
    let nothing = || "# No network is served.\n".to_owned();
    DhcpFiles {
        config: nothing(),
        beside: vec![
            ConfigFile { name: "host.yaml", text: nothing() },
            ConfigFile { name: SUPERVISOR, text: nothing() },
        ],
    }
}

/// The ports by interface, which is all that this server distinguishes them by.
fn hosts<'a>(
    config: &NetworkConfig,
    environment: &Environment,
    ports: &'a [Port],
) -> Result<Vec<NicoHost<'a>>, RenderError> {
    let mut hosts: Vec<NicoHost<'a>> = Vec::new();
    let mut seen = BTreeMap::new();
    for port in ports {
        let Some(address) = port.address else { continue };
        let interface = networks::interface(config, environment, port);
        if let Some(other) = seen.insert(interface.clone(), &port.field) {
            let fault = format!("{} has the interface `{interface}` of {other}", port.field);
            return Err(RenderError::Dhcp(format!("{fault}: NICo's DHCP server cannot tell them apart")));
        }
        hosts.push(NicoHost {
            interface,
            address: address.to_string(),
            gateway: port.gateway.address().to_string(),
            prefix: port.subnet.as_ref().map_or_else(|| port.gateway.net().to_string(), Prefix::to_string),
            host_name: port.host_name.as_deref().unwrap_or_default(),
            boot_url: port.boot_url.as_deref(),
            mtu: port.mtu,
        });
    }
    Ok(hosts)
}
