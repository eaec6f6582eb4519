//! All files for one configuration, what to expect once they are in use, and why there are none.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
    net::IpAddr,
};

use serde::{Deserialize, Serialize};

use super::{
    Acknowledgement, DhcpServer, Environment, HbnVersion, NetworkConfig, TemplateError, Templates, Underlay,
    config::{Network, Port, Virtualization},
    dhcp, nvue,
};

/// All that is written to a DPU for one configuration, and what to expect once it runs.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedFiles {
    /// NVUE's file, for `nv config replace`. May hold a password: never log it.
    pub nvue: String,
    /// What the DHCP server is to do.
    pub dhcp: Dhcp,
    /// What to report once both run; none for an isolated DPU, which has no version.
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
    /// Answer no host: stop the server. If somebody starts it all the same, Kea and dhcpd find no address in these files.
    /// Those of NICo's own server hold the host's address on a secondary DPU, but keep supervisord from starting it.
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
    /// What the file holds.
    pub text: String,
}

/// What a healthy DPU shows once a configuration runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TenantPeer {
    /// VRF it is configured in: `default`, or `vpc_<vni>`.
    pub vrf: String,
    /// Address of the host.
    pub address: IpAddr,
}

/// Why nothing could be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// HBN is older than what files are written for.
    #[error("HBN {version} is too old: files are written for {oldest} and later")]
    OldHbn {
        /// What it is.
        version: HbnVersion,
        /// What it should be at least.
        oldest: HbnVersion,
    },
    /// A template is at fault.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// More rules than a list has numbers.
    #[error("`{list}` has more rules than fit up to number {last}")]
    TooManyRules {
        /// Name of the list.
        list: String,
        /// Last number that a rule can have.
        last: u32,
    },
    /// The configuration has faults that NVUE would refuse, or accept and ignore.
    #[error("{}", listed(faults, *more))]
    Lint {
        /// The first faults, at least one, each with the statement that it comes from.
        faults: Vec<TemplateError>,
        /// How many there are beside these.
        more: usize,
    },
    /// The text of a configuration does not say what was meant.
    #[error("what {template} renders to reads back as another configuration")]
    ReadsOtherwise {
        /// The template that is at the root of it.
        template: String,
    },
    /// The DHCP server cannot do what the configuration asks for.
    #[error("{0}")]
    Dhcp(String),
}

fn listed(faults: &[TemplateError], more: usize) -> String {
    let mut all = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = write!(all, "; and {more} more");
    }
    all
}

impl RenderError {
    /// What can be said about a fault that occurs with this password and not with another.
    fn of_password(self) -> Self {
        let redact = |error: &mut TemplateError| {
            error.fault = "this bgp_leaf_session_password does not fit where the template puts it".into();
        };
        match self {
            Self::Template(mut error) => {
                redact(&mut error);
                Self::Template(error)
            }
            Self::Lint { mut faults, more } => {
                faults.iter_mut().for_each(redact);
                Self::Lint { faults, more }
            }
            // These hold nothing of a template's text.
            other @ (Self::OldHbn { .. } | Self::TooManyRules { .. } | Self::ReadsOtherwise { .. } | Self::Dhcp(_)) => {
                other
            }
        }
    }
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
    without_password(config.underlay(), |underlay| match underlay {
        None => all(config, environment, templates),
        Some(underlay) => all(&NetworkConfig { underlay, ..config.clone() }, environment, templates),
    })
}

fn all(config: &NetworkConfig, environment: &Environment, templates: &Templates) -> Result<RenderedFiles, RenderError> {
    let oldest = HbnVersion::oldest();
    if let Some(version) = environment.hbn_version.clone().filter(|version| *version < oldest) {
        return Err(RenderError::OldHbn { version, oldest });
    }
    let gateway = config.intercept.gateway();
    let peers = |port: &Port| {
        let vrf = match config.virtualization {
            Virtualization::Etv => "default".into(),
            Virtualization::Fnn => format!("vpc_{}", port.vpc_vni.unwrap_or_default()),
        };
        let addresses: Vec<IpAddr> = port.addresses().chain(gateway).collect();
        addresses.into_iter().map(move |address| TenantPeer { vrf: vrf.clone(), address })
    };
    let has_peers = config.virtualization == Virtualization::Fnn || config.network == Network::Tenant;
    let uplinks = environment.uplinks();
    Ok(RenderedFiles {
        nvue: nvue::render(config, environment, templates)?,
        dhcp: dhcp::render(config, environment, templates)?,
        acknowledge: Some(config.acknowledge.clone()),
        expected: Expectations {
            min_links: config.min_links.min(uplinks.len()),
            uplinks,
            evpn_on_uplinks: config.underlay.route_servers.is_empty(),
            route_servers: config.underlay.route_servers.clone(),
            tenant_peers: config.ports.iter().filter(|_| has_peers).flat_map(peers).collect(),
            dhcp_served: config.serves_dhcp() && environment.dhcp.server != DhcpServer::None,
            isolated: false,
        },
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
    let nvue = match underlay {
        None => nvue::isolated(environment, None, templates)?,
        Some(known) => without_password(known, |masked| {
            nvue::isolated(environment, Some(masked.as_ref().unwrap_or(known)), templates)
        })?,
    };
    Ok(RenderedFiles {
        nvue,
        dhcp: dhcp::stopped(environment, templates)?,
        acknowledge: None,
        expected: Expectations {
            uplinks: underlay.map(|_| environment.uplinks()).unwrap_or_default(),
            isolated: true,
            ..Expectations::default()
        },
    })
}

/// Renders, and reports a fault as it is with another password: a template can put the password anywhere and in any form, so
/// searching the text of a fault for it is not safe.
fn without_password<T>(
    underlay: &Underlay,
    render: impl Fn(Option<Underlay>) -> Result<T, RenderError>,
) -> Result<T, RenderError> {
    render(None).map_err(|fault| match underlay.masked() {
        None => fault,
        Some(masked) => render(Some(masked)).err().unwrap_or_else(|| fault.of_password()),
    })
}
