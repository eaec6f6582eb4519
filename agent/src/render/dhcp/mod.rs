//! The DHCP server's configuration: one address per port, for whoever asks on it.

mod kea;
mod networks;

use super::{Dhcp, DhcpFiles, DhcpServer, Environment, NetworkConfig, RenderError, Templates};

/// What the DHCP server is to do for a configuration.
pub(super) fn render(
    config: &NetworkConfig,
    environment: &Environment,
    templates: &Templates,
) -> Result<Dhcp, RenderError> {
    let serve = config.serves_dhcp();
    let files = match environment.dhcp.server {
        DhcpServer::None => return Ok(Dhcp::Unmanaged),
        _ if !serve => return stopped(environment, templates),
        DhcpServer::Kea | DhcpServer::Dhcpd | DhcpServer::Nico => {
            kea::render(&networks::networks(config, environment)?, environment, templates)?
        }
    };
    Ok(Dhcp::Serve(files))
}

/// A server that answers nobody.
pub(super) fn stopped(environment: &Environment, templates: &Templates) -> Result<Dhcp, RenderError> {
    match environment.dhcp.server {
        DhcpServer::None => Ok(Dhcp::Unmanaged),
        DhcpServer::Kea | DhcpServer::Dhcpd | DhcpServer::Nico => {
            Ok(Dhcp::Stop(kea::render(&[], environment, templates)?))
        }
    }
}

/// A configuration that is one file.
fn single(config: String) -> DhcpFiles {
    DhcpFiles { config, beside: Vec::new() }
}
