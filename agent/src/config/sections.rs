//! The sections of the configuration file and their defaults. `config.example.toml` shows each key.

use std::{net::Ipv4Addr, num::NonZeroU32, path::PathBuf, time::Duration};

use serde::Deserialize;

use super::{
    mac::MacAddress,
    read::{parsed, parsed_some, seconds, seconds_or_none},
    under,
};
use crate::render::{DhcpServer, HbnVersion};

/// Certificates, PEM files; read again whenever they change.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSection {
    /// Who may sign the controller's certificate.
    pub ca: Option<PathBuf>,
    /// This DPU's certificate.
    pub cert: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
    /// Name in the controller's certificate, where it is not the host in `controller`.
    pub domain: Option<String>,
    /// The controller is asked to renew the certificate.
    pub renew: bool,
}

/// Limits of one call.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RpcSection {
    /// Longest time to connect.
    #[serde(rename = "connect_timeout_secs", deserialize_with = "seconds")]
    pub connect_timeout: Duration,
    /// Longest time from request to answer.
    #[serde(rename = "call_timeout_secs", deserialize_with = "seconds")]
    pub call_timeout: Duration,
    /// Largest answer taken, in MiB.
    pub max_message_mib: u16,
}

/// Intervals and time limits of the loop, in seconds; fractions are allowed.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PeriodSection {
    /// From one pass to the next.
    #[serde(rename = "loop_secs", deserialize_with = "seconds")]
    pub pass: Duration,
    /// How long a changed configuration must run before it counts as healthy.
    #[serde(rename = "post_config_check_secs", deserialize_with = "seconds_or_none")]
    pub post_config_check: Duration,
    /// How many `NotFound` answers in a row isolate the DPU.
    pub isolate_after: NonZeroU32,
    /// Longest pause after failures of one and the same configuration.
    #[serde(rename = "longest_backoff_secs", deserialize_with = "seconds")]
    pub longest_backoff: Duration,
}

/// A command and its first arguments, for example `["crictl", "exec", "{container}", "nv"]`: the id of the running
/// container replaces `{container}`.
pub(crate) type CommandPrefix = Vec<String>;

/// HBN: its devices, its commands, its files.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HbnSection {
    /// Uplinks to the top-of-rack switches, p0 first; absent: p0 and p1, as this release of HBN calls them.
    pub uplinks: Option<Vec<String>>,
    /// HBN's interface towards the metadata service, or `none`; absent: pf0dpu1, as this release of HBN calls it.
    pub metadata_interface: Option<String>,
    /// Release of HBN, for example `2.3.0-doca2.8.0`; absent: it is looked up.
    #[serde(deserialize_with = "parsed_some")]
    pub version: Option<HbnVersion>,
    /// How to run `nv`.
    pub nv: CommandPrefix,
    /// NVUE's REST interface, to be used instead of `nv`.
    pub rest: Option<NvueRest>,
    /// How to run `vtysh`; empty: BGP is not checked.
    pub vtysh: CommandPrefix,
    /// How to run `supervisorctl` in HBN; empty: services are not checked.
    pub supervisorctl: CommandPrefix,
    /// How to run `bridge` in HBN; with `ip` it shows the host's MAC addresses. Empty: they are not reported.
    pub bridge: CommandPrefix,
    /// How to run `ip` in HBN, see `bridge`.
    pub ip: CommandPrefix,
    /// MAC address of the host's physical function, as the factory gave it.
    #[serde(deserialize_with = "parsed_some")]
    pub host_mac: Option<MacAddress>,
    /// Run after each change that NVUE applied, for example to restart `nl2doca`; empty: nothing.
    pub after_apply: CommandPrefix,
    /// Longest time for one command.
    #[serde(rename = "command_timeout_secs", deserialize_with = "seconds")]
    pub command_timeout: Duration,
    /// The configuration file, by the path that `nv` is told.
    pub nvue_file: PathBuf,
    /// Where the agent sees the root of HBN's file system: `/` unless HBN runs in a container.
    pub root_dir: PathBuf,
    /// Time within which the agent confirms a change; NVUE rolls back by itself if it does not. 0: apply at once.
    #[serde(rename = "confirm_secs", deserialize_with = "seconds_or_none")]
    pub confirm: Duration,
}

/// NVUE's REST interface.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvueRest {
    /// Where it is, for example `https://127.0.0.1:8765`.
    pub url: String,
    /// Name of a user who may change the configuration.
    pub user: String,
    /// File that holds the user's password.
    pub password_file: PathBuf,
    /// The certificate that NVUE shows, as PEM: no other is trusted. Not needed for `http://`.
    #[serde(default)]
    pub certificate: PathBuf,
}

/// The DHCP server for the host.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DhcpSection {
    /// Which one: `kea`, `dhcpd`, `nico` or `none`.
    #[serde(deserialize_with = "parsed")]
    pub server: DhcpServer,
    /// The server's configuration file.
    pub config_file: PathBuf,
    /// Checks a configuration file, whose path is added; empty: not checked.
    pub check: CommandPrefix,
    /// Makes the server read its file; empty: it notices by itself.
    pub reload: CommandPrefix,
    /// Stops the server; empty: it stops when its file is gone.
    pub stop: CommandPrefix,
    /// Exits with 0 while the server runs; empty: not checked.
    pub status: CommandPrefix,
    /// Name servers handed to the host.
    pub nameservers: Vec<Ipv4Addr>,
    /// Time servers handed to the host.
    pub ntp_servers: Vec<Ipv4Addr>,
    /// Server that the host boots from.
    pub provisioning_server: Option<Ipv4Addr>,
    /// Directory of Kea's hook libraries, as Kea sees it; absent: a host is known by its MAC address.
    pub kea_hooks: Option<String>,
    /// The file in which the server records the host's requests; absent: they are not reported, and Kea records none.
    pub requests_file: Option<PathBuf>,
}

/// Probes and what they need.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthSection {
    /// The probes to run; absent: all whose command is configured.
    pub probes: Option<Vec<ProbeFamily>>,
    /// Prints the file systems, for example `["df", "-HP"]`; empty: disks are not checked.
    pub df: CommandPrefix,
    /// How to run `crictl`, where HBN runs in a container; empty: it is not looked for.
    pub crictl: CommandPrefix,
    /// Name of HBN's container.
    pub container: String,
    /// Services that `supervisorctl` must show as running.
    pub services: Vec<String>,
    /// How to run `ifreload` in HBN; empty: the interfaces' configuration is not checked.
    pub ifreload: CommandPrefix,
    /// Files that must exist and hold something, by their path in HBN.
    pub files: Vec<PathBuf>,
    /// FRR's list of daemons, by its path in HBN; absent: it is not looked at.
    pub frr_daemons: Option<PathBuf>,
    /// Asks for the privilege level of the host; run by `dpu-agent check` only.
    pub mlxprivhost: CommandPrefix,
}

/// A family of probes that can be named in `health.probes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFamily {
    /// Sessions, from `vtysh`.
    Bgp,
    /// HBN's container, from `crictl`.
    Container,
    /// NVUE's REST interface.
    NvueApi,
    /// Services in HBN, from `supervisorctl`.
    Services,
    /// The interfaces' configuration, from `ifreload`.
    Ifreload,
    /// The DHCP server.
    Dhcp,
    /// Disk space, from `df`.
    Disk,
    /// Files that HBN needs.
    Files,
    /// The wait after a change, during which the DPU does not count as healthy.
    PostConfigCheck,
}

/// Where templates come from.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TemplatesSection {
    /// Directory whose files replace the built-in templates of the same name.
    pub dir: Option<PathBuf>,
}

/// What is logged, on standard error.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSection {
    /// For people or for programs.
    pub format: LogFormat,
    /// For example `info` or `info,agent=debug`.
    pub filter: String,
}

/// Form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One readable line.
    Text,
    /// One JSON object a line.
    Json,
}

impl HbnSection {
    /// The configuration file as the agent sees it.
    #[must_use]
    pub fn nvue_file_here(&self) -> PathBuf {
        under(&self.root_dir, &self.nvue_file)
    }
}

impl Default for TlsSection {
    fn default() -> Self {
        Self { ca: None, cert: None, key: None, domain: None, renew: true }
    }
}

impl Default for RpcSection {
    fn default() -> Self {
        Self { connect_timeout: Duration::from_secs(5), call_timeout: Duration::from_secs(10), max_message_mib: 32 }
    }
}

impl Default for PeriodSection {
    fn default() -> Self {
        Self {
            pass: Duration::from_secs(30),
            post_config_check: Duration::from_secs(30),
            isolate_after: NonZeroU32::MIN,
            longest_backoff: Duration::from_secs(300),
        }
    }
}

impl Default for HbnSection {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        Self {
            uplinks: None,
            metadata_interface: None,
            version: None,
            nv: words(&["nv"]),
            rest: None,
            vtysh: words(&["vtysh"]),
            supervisorctl: Vec::new(),
            bridge: Vec::new(),
            ip: Vec::new(),
            host_mac: None,
            after_apply: Vec::new(),
            command_timeout: Duration::from_secs(45),
            nvue_file: "/var/support/nvue_startup.yaml".into(),
            root_dir: "/".into(),
            confirm: Duration::from_secs(120),
        }
    }
}

impl Default for DhcpSection {
    fn default() -> Self {
        Self {
            server: DhcpServer::Kea,
            config_file: "/etc/kea/kea-dhcp4.conf".into(),
            check: Vec::new(),
            reload: Vec::new(),
            stop: Vec::new(),
            status: Vec::new(),
            nameservers: Vec::new(),
            ntp_servers: Vec::new(),
            provisioning_server: None,
            kea_hooks: None,
            requests_file: None,
        }
    }
}

impl Default for HealthSection {
    fn default() -> Self {
        Self {
            probes: None,
            df: Vec::new(),
            crictl: Vec::new(),
            container: "doca-hbn".into(),
            services: Vec::new(),
            ifreload: Vec::new(),
            files: Vec::new(),
            frr_daemons: None,
            mlxprivhost: Vec::new(),
        }
    }
}

impl Default for LogSection {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".into() }
    }
}
