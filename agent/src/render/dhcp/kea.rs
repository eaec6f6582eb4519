use std::net::Ipv4Addr;

use serde::Serialize;

use super::{networks::Network, single};
use crate::render::{DhcpFiles, Environment, RenderError, TemplateError, Templates};

const TEMPLATE: &str = "dhcp/kea-dhcp4.json.j2";

#[derive(Serialize)]
struct Kea<'a> {
    networks: &'a [Network],
    interfaces: Vec<&'a str>,
    nameservers: &'a [Ipv4Addr],
    ntp_servers: &'a [Ipv4Addr],
    provisioning_server: Option<Ipv4Addr>,
    lease_secs: u64,
    renew_secs: u64,
    rebind_secs: u64,
}

/// `kea-dhcp4.conf`; without networks it is one that answers nobody.
pub(super) fn render(
    networks: &[Network],
    environment: &Environment,
    templates: &Templates,
) -> Result<DhcpFiles, RenderError> {
    let settings = &environment.dhcp;
    let text = templates.render(
        TEMPLATE,
        Kea {
            networks,
            interfaces: networks.iter().map(|network| network.interface.as_str()).collect(),
            nameservers: &settings.nameservers,
            ntp_servers: &settings.ntp_servers,
            provisioning_server: settings.provisioning_server,
            lease_secs: settings.lease.as_secs(),
            renew_secs: settings.renew.as_secs(),
            rebind_secs: settings.rebind.as_secs(),
        },
    )?;
    // Kea reads comments and trailing commas; this does not, so that what is written is plain JSON.
    let tree: serde_json::Value = serde_json::from_str(&text).map_err(|error| TemplateError {
        file: TEMPLATE.into(),
        line: 0,
        fault: format!("does not render to JSON: {error}"),
    })?;
    Ok(single(format!("{tree:#}\n")))
}
