//! The configuration file: its sections, its defaults, and what makes it unusable. Every room may read [`Settings`].

mod mac;
mod read;
mod sections;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use proto::MachineId;
use serde::Deserialize;

use crate::render::{DhcpServer, DhcpSettings, Environment, MetadataInterface};

pub(crate) use mac::MacAddress;
use read::parsed;
pub use sections::LogFormat;
pub(crate) use sections::{CommandPrefix, DhcpSection, HbnSection, NvueRest, ProbeFamily, RpcSection, TlsSection};
use sections::{HealthSection, LogSection, PeriodSection, TemplatesSection};

/// Placeholder in a command for the id of HBN's container.
const CONTAINER: &str = "{container}";

/// The configuration of one agent, from a TOML file. Unknown keys are refused.
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
    pub tls: TlsSection,
    /// Limits of calls to the controller.
    #[serde(default)]
    pub rpc: RpcSection,
    /// Intervals and time limits of the loop.
    #[serde(default)]
    pub period: PeriodSection,
    /// HBN and the commands that reach into it.
    #[serde(default)]
    pub hbn: HbnSection,
    /// The DHCP server for the host.
    #[serde(default)]
    pub dhcp: DhcpSection,
    /// What is checked.
    #[serde(default)]
    pub health: HealthSection,
    /// Where templates come from.
    #[serde(default)]
    pub templates: TemplatesSection,
    /// What is logged.
    #[serde(default)]
    pub log: LogSection,
}

/// Why a configuration file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFault {
    /// It could not be read.
    #[error("cannot read the configuration {path}")]
    Read {
        /// The configuration file.
        path: PathBuf,
        /// The reason that the operating system gives.
        source: std::io::Error,
    },
    /// It is not what this program expects.
    #[error("the configuration {path} is not usable: {fault}")]
    Content {
        /// The configuration file.
        path: PathBuf,
        /// Where in the file, and why.
        fault: String,
    },
}

impl Settings {
    /// Reads and checks a TOML file.
    ///
    /// # Errors
    /// [`ConfigFault`] with the file and the place.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        let text = types::read_text(path, crate::MAX_FILE_BYTES)
            .map_err(|source| ConfigFault::Read { path: path.into(), source })?;
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
        // dhcpd exits with an error when it has no network to serve, which would look like a failure to stop it.
        if self.dhcp.server == DhcpServer::Dhcpd && !self.dhcp.reload.is_empty() && self.dhcp.stop.is_empty() {
            return fault("`dhcp.stop` must say how dhcpd is stopped, beside `dhcp.reload`");
        }
        if matches!(self.dhcp.server, DhcpServer::Dhcpd | DhcpServer::None) && self.dhcp.requests_file.is_some() {
            return fault(
                "`dhcp.requests_file` is for the servers kea and nico: dhcpd records nothing about fixed addresses",
            );
        }
        if self.names_container() && self.health.crictl.is_empty() {
            return fault("`health.crictl` must say how containers are listed, for commands with `{container}`");
        }
        if self.hbn.uplinks.as_ref().is_some_and(Vec::is_empty) {
            return fault("`hbn.uplinks` must name at least one uplink");
        }
        Ok(())
    }

    /// Whether a command contains the placeholder for the id of HBN's container.
    pub(crate) fn names_container(&self) -> bool {
        self.clone().commands().into_iter().flatten().any(|word| word.contains(CONTAINER))
    }

    /// The settings with the container's id in place of the placeholder.
    pub(crate) fn in_container(&self, id: &str) -> Self {
        let mut settings = self.clone();
        for word in settings.commands().into_iter().flatten() {
            *word = word.replace(CONTAINER, id);
        }
        settings
    }

    /// The commands that may contain the placeholder.
    fn commands(&mut self) -> [&mut CommandPrefix; 11] {
        let Self { hbn, dhcp, health, .. } = self;
        [
            &mut hbn.nv,
            &mut hbn.vtysh,
            &mut hbn.supervisorctl,
            &mut hbn.bridge,
            &mut hbn.ip,
            &mut hbn.after_apply,
            &mut health.ifreload,
            &mut dhcp.check,
            &mut dhcp.reload,
            &mut dhcp.stop,
            &mut dhcp.status,
        ]
    }

    /// What rendering needs to know of this DPU.
    #[must_use]
    pub fn environment(&self) -> Environment {
        let Self { hbn, dhcp, .. } = self;
        Environment {
            uplinks: hbn.uplinks.clone(),
            metadata_interface: hbn.metadata_interface.as_deref().map(MetadataInterface::from).unwrap_or_default(),
            hbn_version: hbn.version.clone(),
            dhcp: DhcpSettings {
                server: dhcp.server,
                nameservers: dhcp.nameservers.clone(),
                ntp_servers: dhcp.ntp_servers.clone(),
                provisioning_server: dhcp.provisioning_server,
                kea_hooks: dhcp.kea_hooks.clone(),
                kea_leases: dhcp.requests_file.as_ref().map(|file| file.display().to_string()),
                ..DhcpSettings::default()
            },
        }
    }

    /// Whether probes of a family run: named in `health.probes`, or not listed there at all and configured.
    #[must_use]
    pub fn probes(&self, family: ProbeFamily) -> bool {
        let configured = match family {
            ProbeFamily::Bgp => !self.hbn.vtysh.is_empty(),
            ProbeFamily::Container => !self.health.crictl.is_empty(),
            ProbeFamily::NvueApi => self.hbn.rest.is_some(),
            ProbeFamily::Ifreload => !self.health.ifreload.is_empty(),
            ProbeFamily::Services => !self.hbn.supervisorctl.is_empty() && !self.health.services.is_empty(),
            ProbeFamily::Dhcp => self.dhcp.server != DhcpServer::None && !self.dhcp.status.is_empty(),
            ProbeFamily::Disk => !self.health.df.is_empty(),
            ProbeFamily::Files => !self.health.files.is_empty(),
            ProbeFamily::PostConfigCheck => true,
        };
        configured && self.health.probes.as_ref().is_none_or(|list| list.contains(&family))
    }
}

/// Where the agent sees `path` of a system whose root directory is mounted at `root`.
pub(crate) fn under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn state_dir() -> PathBuf {
    "/var/lib/dpu-agent".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../../config.example.toml");
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
        assert_eq!(example.health.container, least.health.container);
        assert_eq!(example.state_dir, least.state_dir);
        assert_eq!(example.dhcp.config_file, least.dhcp.config_file);
    }

    #[test]
    fn the_example_has_every_key() {
        for section in ["", "tls", "rpc", "period", "hbn", "hbn.rest", "dhcp", "health", "templates", "log"] {
            let header = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
            // A key that is not there is answered with all that are.
            let fault = Settings::parse(&format!("{LEAST}{header}no_such_key = 1")).unwrap_err();
            let (_, known) = fault.split_once("expected ").unwrap();
            let keys: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
            assert!(!keys.is_empty(), "{fault}");
            let bare: Vec<&str> = EXAMPLE.lines().map(|line| line.trim_start_matches("# ")).collect();
            let start = bare.iter().position(|line| *line == header.trim_end()).unwrap();
            let body = || bare[start + 1..].iter().take_while(|line| !line.starts_with('['));
            for key in keys {
                let as_value = body().any(|line| line.starts_with(&format!("{key} = ")));
                let as_table = bare.contains(&format!("[{section}.{key}]").replace("[.", "[").as_str());
                assert!(as_value || as_table, "{section}.{key} is not in the example");
            }
        }
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
            (&format!("{LEAST}[dhcp]\nserver = \"dhcpd\"\nreload = [\"true\"]"), "dhcp.stop"),
            (&format!("{LEAST}[dhcp]\nserver = \"dhcpd\"\nrequests_file = \"/x\""), "dhcp.requests_file"),
            (&format!("{LEAST}[hbn]\nhost_mac = \"02:00\""), "not a MAC address"),
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
    fn probes_run_if_their_command_is_configured_and_listed() {
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
