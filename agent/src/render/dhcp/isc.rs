//! ISC's servers, Kea and dhcpd: one file each, the same context in it.

use std::net::Ipv4Addr;

use serde::Serialize;

use super::networks::DhcpNetwork;
use crate::render::{DhcpFiles, DhcpServer, Environment, RenderError, Templates};

#[derive(Serialize)]
struct IscContext<'a> {
    networks: &'a [DhcpNetwork],
    nameservers: &'a [Ipv4Addr],
    ntp_servers: &'a [Ipv4Addr],
    provisioning_server: Option<Ipv4Addr>,
    kea_hooks: Option<&'a str>,
    kea_leases: Option<&'a str>,
    lease_secs: u64,
    renew_secs: u64,
    rebind_secs: u64,
}

/// The configuration file; without networks it is one that answers nobody.
pub(super) fn render(
    networks: &[DhcpNetwork],
    environment: &Environment,
    templates: &Templates,
) -> Result<DhcpFiles, RenderError> {
    let settings = &environment.dhcp;
    let context = IscContext {
        networks,
        nameservers: &settings.nameservers,
        ntp_servers: &settings.ntp_servers,
        provisioning_server: settings.provisioning_server,
        kea_hooks: settings.kea_hooks.as_deref(),
        kea_leases: settings.kea_leases.as_deref(),
        lease_secs: settings.lease.as_secs(),
        renew_secs: settings.renew.as_secs(),
        rebind_secs: settings.rebind.as_secs(),
    };
    let config = match settings.server {
        DhcpServer::Dhcpd => templates.render("dhcp/dhcpd.conf.j2", context)?,
        _ => templates.json("dhcp/kea-dhcp4.json.j2", context)?,
    };
    Ok(DhcpFiles { config, beside: Vec::new() })
}
