//! `dpu-agent render`: the files for a response, without a DPU. It is how templates are written and tried.

use std::{
    fs, io,
    io::{IsTerminal as _, Read as _, Write as _},
    net::Ipv4Addr,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use agent::{
    Settings,
    render::{
        self, Dhcp, DhcpServer, DhcpSettings, Environment, HbnVersion, MetadataInterface, NetworkConfig, RenderedFiles,
        Templates,
    },
};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use proto::forge::ManagedHostNetworkConfigResponse;

/// Print or write the files for a response of the controller, without touching the DPU. Defaults come from the
/// configuration given, or are those of an empty one.
#[derive(Debug, Args)]
pub(crate) struct Render {
    /// ManagedHostNetworkConfigResponse as JSON, with the names of the .proto and enums as numbers; `-` is standard input.
    #[arg(value_name = "FILE.json", required_unless_present_any = ["isolated", "save_templates"])]
    response: Option<PathBuf>,
    /// Only one of the files, on standard output exactly as it would be written.
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// Directory to write the files to, instead of standard output.
    #[arg(long, value_name = "DIR", conflicts_with = "only")]
    out: Option<PathBuf>,
    /// An uplink; may be repeated [default: p0 and p1, as this version of HBN calls them].
    #[arg(long = "uplink", value_name = "NAME")]
    uplinks: Vec<String>,
    /// HBN's side of the link to the metadata service, or `none` [default: pf0dpu1, as this version of
    /// HBN calls it].
    #[arg(long, value_name = "NAME|none")]
    metadata_interface: Option<String>,
    /// Version of HBN, for example 2.4.0-doca2.9.0; a current one if not given.
    #[arg(long, value_name = "VERSION")]
    hbn_version: Option<HbnVersion>,
    /// Directory of templates; those that it lacks are the built-in ones.
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Write the built-in templates to this directory, to start one's own from.
    #[arg(long, value_name = "DIR", exclusive = true)]
    save_templates: Option<PathBuf>,
    /// The files of a DPU that the site does not know; the response, if given, says which underlay to keep.
    #[arg(long)]
    isolated: bool,
    /// DHCP server to write for: kea, dhcpd, nico or none [default: kea].
    #[arg(long, value_name = "SERVER")]
    dhcp_server: Option<DhcpServer>,
    /// DNS server for the host; may be repeated.
    #[arg(long = "nameserver", value_name = "ADDRESS")]
    nameservers: Vec<Ipv4Addr>,
    /// NTP server for the host; may be repeated.
    #[arg(long = "ntp-server", value_name = "ADDRESS")]
    ntp_servers: Vec<Ipv4Addr>,
    /// Server that the host boots from.
    #[arg(long, value_name = "ADDRESS")]
    provisioning_server: Option<Ipv4Addr>,
    /// Directory of Kea's hook libraries, which let it know a host by its port; without it: by its MAC address.
    #[arg(long, value_name = "DIR")]
    kea_hooks: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Nvue,
    Dhcp,
}

impl Render {
    pub(crate) fn run(self, settings: Option<&Settings>) -> anyhow::Result<ExitCode> {
        if let Some(dir) = &self.save_templates {
            for (name, text) in Templates::shipped() {
                write(dir, name, text)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let environment = self.environment(settings);
        let files = self.render(&environment, settings)?;
        let files = named(&files, environment.dhcp.server);
        match &self.out {
            Some(dir) => {
                for (_, name, text) in files {
                    write(dir, name, text)?;
                }
            }
            None => self.print(&files).context("cannot print the files")?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The DPU as the configuration describes it, changed by the options.
    fn environment(&self, settings: Option<&Settings>) -> Environment {
        let base = settings.map(Settings::environment).unwrap_or_default();
        let list = |given: &Vec<Ipv4Addr>, base| if given.is_empty() { base } else { given.clone() };
        let metadata = self.metadata_interface.as_deref().map(MetadataInterface::from);
        let server = self.dhcp_server.unwrap_or(base.dhcp.server);
        Environment {
            uplinks: if self.uplinks.is_empty() { base.uplinks } else { Some(self.uplinks.clone()) },
            metadata_interface: metadata.unwrap_or(base.metadata_interface),
            hbn_version: self.hbn_version.clone().or(base.hbn_version),
            dhcp: DhcpSettings {
                // NVUE's file alone must not fail for a network that DHCP cannot serve.
                server: if self.only == Some(Only::Nvue) { DhcpServer::None } else { server },
                nameservers: list(&self.nameservers, base.dhcp.nameservers),
                ntp_servers: list(&self.ntp_servers, base.dhcp.ntp_servers),
                provisioning_server: self.provisioning_server.or(base.dhcp.provisioning_server),
                kea_hooks: self.kea_hooks.clone().or(base.dhcp.kea_hooks),
                ..base.dhcp
            },
        }
    }

    fn render(&self, environment: &Environment, settings: Option<&Settings>) -> anyhow::Result<RenderedFiles> {
        let dir = self.templates.as_ref().or(settings.and_then(|settings| settings.templates.dir.as_ref()));
        let templates = match dir {
            Some(dir) => {
                let templates = Templates::from_dir(dir)?;
                for (file, name) in templates.names_not_given() {
                    let who = "which templates are not given; only one that includes it can define it";
                    eprintln!("note: template {file} names `{name}`, {who}");
                }
                templates
            }
            None => Templates::embedded()?,
        };
        let config = self.response.as_deref().map(read).transpose()?;
        let files = match (self.isolated, &config) {
            (false, Some(config)) => render::files(config, environment, &templates)?,
            (true, config) => render::isolated(environment, config.as_ref().map(NetworkConfig::underlay), &templates)?,
            (false, None) => bail!("no response is given"),
        };
        Ok(files)
    }

    fn print(&self, files: &[(Only, &str, &str)]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let mut shown: Vec<_> = files.to_vec();
        if let Some(only) = self.only {
            shown.retain(|(kind, _, _)| *kind == only);
        }
        let alone = self.only.is_some() && shown.len() == 1;
        for (_, name, text) in shown {
            if !alone {
                writeln!(out, "# ==> {name}")?;
            }
            match out.is_terminal() {
                true => out.write_all(types::printable(text).as_bytes())?,
                false => out.write_all(text.as_bytes())?,
            }
        }
        out.flush()
    }
}

/// All files with the names that they are written under.
fn named(files: &RenderedFiles, server: DhcpServer) -> Vec<(Only, &'static str, &str)> {
    let mut named = vec![(Only::Nvue, "nvue_startup.yaml", files.nvue.as_str())];
    if let Dhcp::Serve(dhcp) | Dhcp::Stop(dhcp) = &files.dhcp {
        named.push((Only::Dhcp, server.file_name(), &dhcp.config));
        named.extend(dhcp.beside.iter().map(|file| (Only::Dhcp, file.name, file.text.as_str())));
    }
    named
}

/// Reads a response.
fn read(path: &Path) -> anyhow::Result<NetworkConfig> {
    let text = match path.to_str() {
        Some("-") => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => types::read_text(path, agent::MAX_FILE_BYTES),
    };
    let name = if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
    let text = text.with_context(|| format!("cannot read {name}"))?;
    let response: ManagedHostNetworkConfigResponse =
        serde_json::from_str(&text).with_context(|| format!("{name} is not a response"))?;
    NetworkConfig::try_from(&response).with_context(|| format!("{name} cannot be rendered"))
}

/// Writes a file that only its owner reads.
fn write(dir: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = dir.join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    // It may hold the password of BGP sessions.
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}
