//! The DHCP server's configuration: one address per port, given to whichever host asks on it.

mod isc;
mod networks;
mod nico;

use super::{Dhcp, DhcpServer, Environment, NetworkConfig, RenderError, Templates};

/// What the DHCP server is to do for a configuration.
pub(super) fn render(
    config: &NetworkConfig,
    environment: &Environment,
    templates: &Templates,
) -> Result<Dhcp, RenderError> {
    let files = match environment.dhcp.server {
        DhcpServer::None => return Ok(Dhcp::Unmanaged),
        DhcpServer::Nico => nico::render(config, environment, templates)?,
        DhcpServer::Kea | DhcpServer::Dhcpd if !config.serves_dhcp() => isc::render(&[], environment, templates)?,
        DhcpServer::Kea | DhcpServer::Dhcpd => {
            isc::render(&networks::networks(config, environment)?, environment, templates)?
        }
    };
    Ok(if config.serves_dhcp() { Dhcp::Serve(files) } else { Dhcp::Stop(files) })
}

/// A server that answers nobody.
pub(super) fn stopped(environment: &Environment, templates: &Templates) -> Result<Dhcp, RenderError> {
    match environment.dhcp.server {
        DhcpServer::None => Ok(Dhcp::Unmanaged),
        DhcpServer::Nico => Ok(Dhcp::Stop(nico::stopped())),
        DhcpServer::Kea | DhcpServer::Dhcpd => Ok(Dhcp::Stop(isc::render(&[], environment, templates)?)),
    }
}
