//! What the agent learns from its DPU and its own configuration, not from the controller.

use std::{cmp::Ordering, fmt, net::Ipv4Addr, str::FromStr, time::Duration};

/// The DPU that files are rendered for. Names of interfaces follow the version of HBN, but for those given here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Uplinks in order; none: p0 and p1, as HBN calls them.
    pub uplinks: Option<Vec<String>>,
    /// HBN's side of the link to the metadata service.
    pub metadata_interface: MetadataInterface,
    /// Version of HBN; none is read as a current one.
    pub hbn_version: Option<HbnVersion>,
    /// The DHCP server on the DPU.
    pub dhcp: DhcpSettings,
}

/// HBN's side of the link to the metadata service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MetadataInterface {
    /// The usual one, pf0dpu1, as HBN calls it.
    #[default]
    Usual,
    /// A link with this name.
    Named(String),
    /// The DPU has no such link.
    Absent,
}

impl From<&str> for MetadataInterface {
    /// `none`, or a name.
    fn from(text: &str) -> Self {
        if text == "none" { Self::Absent } else { Self::Named(text.into()) }
    }
}

/// Endings of the names of HBN's ports: now, and before 2.3.0-doca2.8.0.
const PORT_SUFFIXES: [&str; 2] = ["if", "sf"];

fn usual_uplinks(suffix: &str) -> Vec<String> {
    ["p0", "p1"].map(|port| format!("{port}_{suffix}")).into()
}

impl Environment {
    /// Ending of the names of HBN's ports.
    pub(crate) fn port_suffix(&self) -> &'static str {
        let [current, former] = PORT_SUFFIXES;
        match &self.hbn_version {
            Some(version) if *version < HbnVersion::renamed_ports() => former,
            _ => current,
        }
    }

    /// Names of the uplinks, in order.
    #[must_use]
    pub fn uplinks(&self) -> Vec<String> {
        self.uplinks.clone().unwrap_or_else(|| usual_uplinks(self.port_suffix()))
    }

    /// Names that the uplinks have in one version of HBN or another.
    pub(crate) fn uplinks_of_any_version(&self) -> Vec<String> {
        self.uplinks.clone().unwrap_or_else(|| PORT_SUFFIXES.into_iter().flat_map(usual_uplinks).collect())
    }

    /// Name of HBN's side of the link to the metadata service.
    pub(crate) fn metadata_interface(&self) -> Option<String> {
        match &self.metadata_interface {
            MetadataInterface::Usual => Some(format!("pf0dpu1_{}", self.port_suffix())),
            MetadataInterface::Named(name) => Some(name.clone()),
            MetadataInterface::Absent => None,
        }
    }

    /// Name of the representor of the host's physical function.
    pub(crate) fn physical_port(&self) -> String {
        format!("pf0hpf_{}", self.port_suffix())
    }

    /// Name of the representor of one of the host's virtual functions.
    pub(crate) fn virtual_port(&self, function: u32) -> String {
        format!("pf0vf{function}_{}", self.port_suffix())
    }
}

/// Version of HBN, as in an image tag (`2.3.0-doca2.8.0`) or as NVUE says it (`HBN 3.2.0`).
///
/// Compared number by number, HBN's own numbers first, so 10.0.0 is newer than 2.3.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HbnVersion {
    hbn: Vec<u32>,
    doca: Vec<u32>,
}

/// A text that is not a version of HBN.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an HBN version: expected a form like 2.3.0-doca2.8.0 or HBN 3.2.0")]
pub struct HbnVersionError(String);

impl HbnVersion {
    /// The oldest version that files are written for.
    pub(crate) fn oldest() -> Self {
        Self { hbn: vec![2, 0, 0], doca: vec![2, 5, 0] }
    }

    /// The first version that names ports `..._if`.
    fn renamed_ports() -> Self {
        Self { hbn: vec![2, 3, 0], doca: vec![2, 8, 0] }
    }
}

impl FromStr for HbnVersion {
    type Err = HbnVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || HbnVersionError(text.chars().take(80).collect());
        let numbers = |part: &str| part.split('.').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>();
        let plain = text.trim();
        let plain = plain.strip_prefix("HBN").map_or(plain, str::trim_start);
        let (hbn, rest) = plain.split_once('-').unwrap_or((plain, ""));
        let doca = match rest.strip_prefix("doca") {
            Some(doca) => numbers(doca.split('-').next().unwrap_or_default()).ok_or_else(fault)?,
            None => Vec::new(),
        };
        Ok(Self { hbn: numbers(hbn).ok_or_else(fault)?, doca })
    }
}

impl fmt::Display for HbnVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        f.write_str(&dotted(&self.hbn))?;
        if self.doca.is_empty() { Ok(()) } else { write!(f, "-doca{}", dotted(&self.doca)) }
    }
}

impl PartialOrd for HbnVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        // A version without DOCA's part is not older than the same one with it: both are the same HBN.
        let doca =
            if self.doca.is_empty() || other.doca.is_empty() { Ordering::Equal } else { self.doca.cmp(&other.doca) };
        Some(self.hbn.cmp(&other.hbn).then(doca))
    }
}

/// Which DHCP server answers the host, and the options that the controller does not decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DhcpSettings {
    /// Which server runs on the DPU.
    pub server: DhcpServer,
    /// DNS servers offered to the host.
    pub nameservers: Vec<Ipv4Addr>,
    /// NTP servers offered to the host.
    pub ntp_servers: Vec<Ipv4Addr>,
    /// Server that hosts boot from: the `next-server`, and the source of the default boot file.
    pub provisioning_server: Option<Ipv4Addr>,
    /// Directory of Kea's hook libraries, as Kea sees it. With it a host is known by its port, without by its MAC address.
    pub kea_hooks: Option<String>,
    /// File that Kea writes its leases to; none: it keeps them in memory.
    pub kea_leases: Option<String>,
    /// How long an address is leased.
    pub lease: Duration,
    /// When a host asks to renew.
    pub renew: Duration,
    /// When a host asks anybody to renew.
    pub rebind: Duration,
}

/// A DHCP server that the agent can write the configuration of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DhcpServer {
    /// ISC Kea, `kea-dhcp4.conf`.
    #[default]
    Kea,
    /// ISC dhcpd, `dhcpd.conf`.
    Dhcpd,
    /// NICo's own server, which runs in HBN: `dhcp.yaml`, `host.yaml` and a file for supervisord.
    Nico,
    /// No server is managed here.
    None,
}

impl DhcpServer {
    /// The name that the server's configuration file usually has.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Kea => "kea-dhcp4.conf",
            Self::Dhcpd => "dhcpd.conf",
            Self::Nico => "dhcp.yaml",
            Self::None => "dhcp.none",
        }
    }
}

/// A text that names no DHCP server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a DHCP server: choose kea, dhcpd, nico or none")]
pub struct DhcpServerError(String);

impl FromStr for DhcpServer {
    type Err = DhcpServerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "kea" => Ok(Self::Kea),
            "dhcpd" => Ok(Self::Dhcpd),
            "nico" => Ok(Self::Nico),
            "none" => Ok(Self::None),
            other => Err(DhcpServerError(other.chars().take(40).collect())),
        }
    }
}

impl Default for DhcpSettings {
    fn default() -> Self {
        Self {
            server: DhcpServer::default(),
            nameservers: Vec::new(),
            ntp_servers: Vec::new(),
            provisioning_server: None,
            kea_hooks: None,
            kea_leases: None,
            lease: Duration::from_secs(604_800),
            renew: Duration::from_secs(3_600),
            rebind: Duration::from_secs(432_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> HbnVersion {
        text.parse().unwrap()
    }

    #[test]
    fn versions_compare_as_numbers() {
        for (older, newer) in [
            ("2.3.0-doca2.8.0", "10.0.0-doca3.0.0"),
            ("2.2.0-doca2.7.0", "2.3.0-doca2.8.0"),
            ("2.3.0-doca2.8.0", "2.3.0-doca2.10.0"),
            ("1.5.0-doca2.2.0", "HBN 3.2.0"),
            ("2.3", "2.3.1"),
        ] {
            assert!(version(older) < version(newer), "{older} {newer}");
            assert!(version(newer) >= version(older), "{older} {newer}");
        }
        assert!(version("HBN 2.3.0") >= version("2.3.0-doca2.8.0"));
        assert_eq!(version("HBN 2.3.0-doca2.8.0").to_string(), "2.3.0-doca2.8.0");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "latest", "2.x", "HBN", "2.3.0-docaX", "99999999999.0"] {
            assert!(text.parse::<HbnVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn port_names_follow_the_version() {
        let named = |text: &str| Environment { hbn_version: Some(version(text)), ..Default::default() }.physical_port();
        assert_eq!(named("2.2.0-doca2.7.0"), "pf0hpf_sf");
        assert_eq!(named("2.3.0-doca2.8.0"), "pf0hpf_if");
        assert_eq!(named("10.0.0-doca4.0.0"), "pf0hpf_if");
        assert_eq!(Environment::default().virtual_port(3), "pf0vf3_if");
    }
}
