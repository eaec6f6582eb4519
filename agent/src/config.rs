use std::{
    fmt,
    net::Ipv4Addr,
    num::NonZeroU32,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use proto::MachineId;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::render::{DhcpServer, DhcpSettings, Environment, HbnVersion};

/// What an operator tells one agent, from a TOML file. Unknown keys are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The site controller, `http://host:port` or `https://host:port`.
    pub controller: String,
    /// Id of this DPU.
    #[serde(deserialize_with = "parsed")]
    pub machine_id: MachineId,
    /// Directory of the marker, the last answer, `status.json` and what is applied.
    #[serde(default = "state_dir")]
    pub state_dir: PathBuf,
    /// Certificates for an `https://` controller.
    #[serde(default)]
    pub tls: Tls,
    /// How calls to the controller are bounded.
    #[serde(default)]
    pub rpc: Rpc,
    /// Times of the loop.
    #[serde(default)]
    pub period: Period,
    /// HBN and the commands that reach into it.
    #[serde(default)]
    pub hbn: Hbn,
    /// The DHCP server for the host.
    #[serde(default)]
    pub dhcp: Dhcp,
    /// What is checked.
    #[serde(default)]
    pub health: Health,
    /// Where templates come from.
    #[serde(default)]
    pub templates: Templates,
    /// What is logged.
    #[serde(default)]
    pub log: Log,
}

/// Certificates, PEM files; read again whenever they change.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// Who may sign the controller's certificate.
    pub ca: Option<PathBuf>,
    /// This DPU's certificate.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Name in the controller's certificate, where it is not the host in `controller`.
    pub domain: Option<String>,
}

/// Bounds of one call.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rpc {
    /// Longest time to connect.
    #[serde(rename = "connect_timeout_secs", deserialize_with = "seconds")]
    pub connect_timeout: Duration,
    /// Longest time from request to answer.
    #[serde(rename = "call_timeout_secs", deserialize_with = "seconds")]
    pub call_timeout: Duration,
    /// Largest answer taken, in MiB.
    pub max_message_mib: u16,
}

/// Times of the loop, in seconds; fractions are allowed.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Period {
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

/// A command and its first arguments, for example `["crictl", "exec", "ID", "nv"]`.
pub(crate) type CommandPrefix = Vec<String>;

/// HBN: its devices, its commands, its files.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hbn {
    /// Uplinks to the top-of-rack switches, p0 first.
    pub uplinks: Vec<String>,
    /// HBN's interface towards the metadata service, or `none`.
    pub metadata_interface: String,
    /// Release of HBN, for example `2.3.0-doca2.8.0`; absent: a current one.
    #[serde(deserialize_with = "parsed_some")]
    pub version: Option<HbnVersion>,
    /// How to run `nv`.
    pub nv: CommandPrefix,
    /// How to run `vtysh`; empty: BGP is not checked.
    pub vtysh: CommandPrefix,
    /// How to run `supervisorctl` in HBN; empty: services are not checked.
    pub supervisorctl: CommandPrefix,
    /// Run after each change that NVUE applied, for example to restart `nl2doca`; empty: nothing.
    pub after_apply: CommandPrefix,
    /// Longest time for one command.
    #[serde(rename = "command_timeout_secs", deserialize_with = "seconds")]
    pub command_timeout: Duration,
    /// The configuration file, by the path that `nv` is told.
    pub nvue_file: PathBuf,
    /// Where the root of HBN's file system is for the agent: `/` unless HBN runs in a container.
    pub root_dir: PathBuf,
    /// Time within which the agent confirms a change; NVUE rolls back by itself if it does not. 0: apply at once.
    #[serde(rename = "confirm_secs", deserialize_with = "seconds_or_none")]
    pub confirm: Duration,
}

/// The DHCP server for the host.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dhcp {
    /// Which one: `kea`, `dhcpd`, `nico` or `none`.
    #[serde(deserialize_with = "parsed")]
    pub server: DhcpServer,
    /// Its configuration file.
    pub config_file: PathBuf,
    /// Checks a configuration file, whose path is added; empty: not checked.
    pub check: CommandPrefix,
    /// Makes the server read its file; empty: it notices by itself.
    pub reload: CommandPrefix,
    /// Stops the server; empty: it stops when its file is gone.
    pub stop: CommandPrefix,
    /// Ends with 0 while the server runs; empty: not checked.
    pub status: CommandPrefix,
    /// Name servers handed to the host.
    pub nameservers: Vec<Ipv4Addr>,
    /// Time servers handed to the host.
    pub ntp_servers: Vec<Ipv4Addr>,
    /// Server that the host boots from.
    pub provisioning_server: Option<Ipv4Addr>,
}

/// What is checked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// The probes to run; absent: all whose command is configured.
    pub probes: Option<Vec<ProbeFamily>>,
    /// Prints the file systems, for example `["df", "-HP"]`; empty: disks are not checked.
    pub df: CommandPrefix,
    /// Services that `supervisorctl` must show as running.
    pub services: Vec<String>,
    /// Files that must exist and hold something, by their path in HBN.
    pub files: Vec<PathBuf>,
}

/// A family of probes that can be named in `health.probes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFamily {
    /// Sessions, from `vtysh`.
    Bgp,
    /// Services in HBN, from `supervisorctl`.
    Services,
    /// The DHCP server.
    Dhcp,
    /// Disk space, from `df`.
    Disk,
    /// Files that HBN needs.
    Files,
    /// The pause after a change.
    PostConfigCheck,
}

/// Where templates come from.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Templates {
    /// Directory whose files replace the built-in templates of the same name.
    pub dir: Option<PathBuf>,
}

/// What is logged, on standard error.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
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

/// Why a configuration file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFault {
    /// It could not be read.
    #[error("cannot read the configuration {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what this program expects.
    #[error("the configuration {path} is not usable: {fault}")]
    Content {
        /// The file.
        path: PathBuf,
        /// Where and why.
        fault: String,
    },
}

impl Settings {
    /// Reads and checks a TOML file.
    ///
    /// # Errors
    /// [`ConfigFault`] with the file and the place.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigFault::Read { path: path.into(), source })?;
        Self::parse(&text).map_err(|fault| ConfigFault::Content { path: path.into(), fault })
    }

    /// Reads and checks TOML text.
    ///
    /// # Errors
    /// The place and the reason, as text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let settings: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), String> {
        let fault = |text: &str| Err(text.to_owned());
        if !self.controller.starts_with("http://") && !self.controller.starts_with("https://") {
            return fault("`controller` must start with http:// or https://");
        }
        if self.tls.cert.is_some() != self.tls.key.is_some() {
            return fault("`tls.cert` and `tls.key` go together");
        }
        if self.period.pass < Duration::from_millis(50) {
            return fault("`period.loop_secs` must be at least 0.05");
        }
        if self.hbn.nv.is_empty() {
            return fault("`hbn.nv` must name a command, for example [\"nv\"]");
        }
        if self.hbn.uplinks.is_empty() {
            return fault("`hbn.uplinks` must name at least one uplink");
        }
        Ok(())
    }

    /// What rendering needs to know of this DPU.
    #[must_use]
    pub fn environment(&self) -> Environment {
        let Self { hbn, dhcp, .. } = self;
        Environment {
            uplinks: hbn.uplinks.clone(),
            metadata_interface: Some(hbn.metadata_interface.clone()).filter(|name| name != "none"),
            hbn_version: hbn.version.clone(),
            dhcp: DhcpSettings {
                server: dhcp.server,
                nameservers: dhcp.nameservers.clone(),
                ntp_servers: dhcp.ntp_servers.clone(),
                provisioning_server: dhcp.provisioning_server,
                ..DhcpSettings::default()
            },
        }
    }

    /// Whether probes of a family run: named in `health.probes`, or not listed there at all and configured.
    #[must_use]
    pub fn probes(&self, family: ProbeFamily) -> bool {
        let configured = match family {
            ProbeFamily::Bgp => !self.hbn.vtysh.is_empty(),
            ProbeFamily::Services => !self.hbn.supervisorctl.is_empty() && !self.health.services.is_empty(),
            ProbeFamily::Dhcp => self.dhcp.server != DhcpServer::None && !self.dhcp.status.is_empty(),
            ProbeFamily::Disk => !self.health.df.is_empty(),
            ProbeFamily::Files => !self.health.files.is_empty(),
            ProbeFamily::PostConfigCheck => true,
        };
        configured && self.health.probes.as_ref().is_none_or(|list| list.contains(&family))
    }
}

impl Hbn {
    /// The configuration file as the agent sees it.
    #[must_use]
    pub fn nvue_file_here(&self) -> PathBuf {
        under(&self.root_dir, &self.nvue_file)
    }
}

/// `path` of a system whose root is seen at `root`.
pub(crate) fn under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

impl Default for Rpc {
    fn default() -> Self {
        Self { connect_timeout: Duration::from_secs(5), call_timeout: Duration::from_secs(10), max_message_mib: 32 }
    }
}

impl Default for Period {
    fn default() -> Self {
        Self {
            pass: Duration::from_secs(30),
            post_config_check: Duration::from_secs(30),
            isolate_after: NonZeroU32::MIN,
            longest_backoff: Duration::from_secs(300),
        }
    }
}

impl Default for Hbn {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        Self {
            uplinks: words(&["p0_if", "p1_if"]),
            metadata_interface: "pf0dpu1_if".into(),
            version: None,
            nv: words(&["nv"]),
            vtysh: words(&["vtysh"]),
            supervisorctl: Vec::new(),
            after_apply: Vec::new(),
            command_timeout: Duration::from_secs(45),
            nvue_file: "/var/support/nvue_startup.yaml".into(),
            root_dir: "/".into(),
            confirm: Duration::ZERO,
        }
    }
}

impl Default for Dhcp {
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
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".into() }
    }
}

fn state_dir() -> PathBuf {
    "/var/lib/dpu-agent".into()
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

fn parsed_some<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    parsed(deserializer).map(Some)
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let time = seconds_or_none(deserializer)?;
    if time.is_zero() { Err(D::Error::custom("a time above 0 is needed, in seconds")) } else { Ok(time) }
}

fn seconds_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    const LONGEST: f64 = 86_400.0;
    let seconds = f64::deserialize(deserializer)?;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(D::Error::custom(format!("a time of 0 to {LONGEST} seconds is needed, not {seconds}")));
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../config.example.toml");
    const LEAST: &str = "controller = \"http://127.0.0.1:1\"\n\
        machine_id = \"fm100ds0123456789abcdefghijklmnopqrstuv0123456789abcdefghij\"\n";

    #[test]
    fn the_example_is_read_and_shows_the_defaults() {
        let example = Settings::parse(EXAMPLE).unwrap();
        let least = Settings::parse(LEAST).unwrap();
        assert_eq!(format!("{:?}", example.period), format!("{:?}", least.period));
        assert_eq!(format!("{:?}", example.rpc), format!("{:?}", least.rpc));
        assert_eq!(format!("{:?}", example.hbn), format!("{:?}", least.hbn));
        assert_eq!(format!("{:?}", example.log), format!("{:?}", least.log));
        assert_eq!(example.state_dir, least.state_dir);
        assert_eq!(example.dhcp.config_file, least.dhcp.config_file);
    }

    #[test]
    fn faults_name_the_place() {
        for (text, place) in [
            ("machine_id = \"x\"\ncontroller = \"http://x\"", "no machine id"),
            ("controller = \"http://x\"", "machine_id"),
            (&format!("{LEAST}colour = 1"), "colour"),
            (&format!("{LEAST}[hbn]\nnvue = 1"), "nvue"),
            (&format!("{LEAST}[period]\nloop_secs = 0"), "above 0"),
            (&format!("{LEAST}[period]\nloop_secs = 0.001"), "at least 0.05"),
            (&format!("{LEAST}[period]\nloop_secs = -1"), "0 to 86400"),
            (&format!("{LEAST}[period]\nisolate_after = 0"), "isolate_after"),
            (&format!("{LEAST}[dhcp]\nserver = \"dnsmasq\""), "dnsmasq"),
            (&format!("{LEAST}[tls]\ncert = \"a\""), "tls.key"),
            (&LEAST.replace("http://", "ftp://"), "http://"),
        ] {
            let fault = Settings::parse(text).unwrap_err();
            assert!(fault.contains(place), "{place}: {fault}");
        }
    }

    #[test]
    fn paths_of_hbn_are_seen_below_its_root() {
        let mut settings = Settings::parse(LEAST).unwrap();
        assert_eq!(settings.hbn.nvue_file_here(), Path::new("/var/support/nvue_startup.yaml"));
        settings.hbn.root_dir = "/var/lib/hbn".into();
        assert_eq!(settings.hbn.nvue_file_here(), Path::new("/var/lib/hbn/var/support/nvue_startup.yaml"));
    }

    #[test]
    fn probes_run_where_their_command_is_configured_and_nobody_says_otherwise() {
        let mut settings = Settings::parse(LEAST).unwrap();
        assert!(settings.probes(ProbeFamily::Bgp));
        assert!(!settings.probes(ProbeFamily::Disk));
        assert!(!settings.probes(ProbeFamily::Services));
        settings.health.df = vec!["df".into()];
        assert!(settings.probes(ProbeFamily::Disk));
        settings.health.probes = Some(vec![ProbeFamily::Disk]);
        assert!(!settings.probes(ProbeFamily::Bgp));
    }
}
