//! Real DHCP servers that an agent writes the configuration of, and a real client in place of the host.

use std::{
    collections::BTreeMap,
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::Duration,
};

use super::{Lab, parts};
use crate::block_until;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A DHCP server that the agent writes the configuration of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// ISC Kea.
    Kea,
    /// ISC dhcpd.
    Dhcpd,
}

impl ServerKind {
    /// The name by which the agent's configuration knows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kea => "kea",
            Self::Dhcpd => "dhcpd",
        }
    }

    /// The server's own check of a configuration file, without the file, to be run on the DPU.
    #[must_use]
    pub fn check(self) -> &'static [&'static str] {
        match self {
            Self::Kea => &["kea-dhcp4", "-t"],
            Self::Dhcpd => &["dhcpd", "-t", "-cf"],
        }
    }

    /// The directory of Kea's hook libraries, where Debian's package puts them.
    #[must_use]
    pub fn hooks(self) -> Option<String> {
        (self == Self::Kea).then(|| format!("/usr/lib/{}-linux-gnu/kea/hooks", std::env::consts::ARCH))
    }

    fn program(self) -> PathBuf {
        let name = self.check()[0];
        parts::program(name).unwrap_or_else(|| PathBuf::from(name))
    }

    /// What the server's own check says against a file.
    ///
    /// # Errors
    /// What it printed, if it refuses the file.
    pub fn refuses(self, lab: &Lab, node: &str, file: &Path) -> Result<(), String> {
        let mut command = lab.command(node, self.program());
        let locks = lab.subdirectory("locks");
        command.env("KEA_PIDFILE_DIR", &locks).env("KEA_LOCKFILE_DIR", &locks);
        let done = command.args(&self.check()[1..]).arg(file).output().map_err(|error| error.to_string())?;
        let said = [done.stdout, done.stderr].concat();
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
    }
}

/// The server as a service of a lab's DPU: commands that start, stop and look at it, for the agent to run.
#[derive(Debug)]
pub struct DhcpService {
    kind: ServerKind,
    directory: PathBuf,
}

impl DhcpService {
    /// Sets the service up on a node; it does not run yet.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn install(lab: &Lab, node: &str, kind: ServerKind) -> Self {
        let directory = lab.subdirectory(&format!("{}-{node}", kind.name()));
        let place = directory.display();
        let (arguments, reload, ready, reloaded) = match kind {
            ServerKind::Kea => {
                (format!("-c {place}/config"), "hang-up", "DHCP4_STARTED", "DHCP4_DYNAMIC_RECONFIGURATION_SUCCESS")
            }
            // Debian's dhcpd gives up root unless told otherwise, and could not write here then.
            ServerKind::Dhcpd => (
                format!("-4 -f -d --no-pid -user root -group root -cf {place}/config -lf {place}/leases"),
                "restart",
                "Server starting service",
                "",
            ),
        };
        let script = format!(
            "#!/bin/sh\nplace='{place}'\nnamespace='{namespace}'\nprogram='{program}'\narguments='{arguments}'\ncheck='{check}'\n\
             reload='{reload}'\nready='{ready}'\nreloaded='{reloaded}'\n{body}",
            namespace = lab.namespace(node),
            program = kind.program().display(),
            check = kind.check()[1..].join(" "),
            body = include_str!("service.sh"),
        );
        let file = directory.join("service");
        write_script(&file, &script);
        Self { kind, directory }
    }

    /// The section `[dhcp]` of an agent that manages this service and hands out these name and time servers and the
    /// boot server.
    #[must_use]
    pub fn section(&self, nameservers: &[&str], ntp_servers: &[&str], provisioning_server: &str) -> String {
        let script = self.directory.join("service").display().to_string();
        let command = |verb: &str| format!("{verb} = [{script:?}, {verb:?}]\n");
        let commands: String = ["check", "reload", "stop", "status"].map(command).concat();
        let hooks = self.kind.hooks().map(|directory| format!("kea_hooks = {directory:?}\n")).unwrap_or_default();
        let leases = match self.kind {
            ServerKind::Kea => {
                format!("requests_file = {:?}\n", self.directory.join("leases.csv").display().to_string())
            }
            ServerKind::Dhcpd => String::new(),
        };
        format!(
            "server = {:?}\nconfig_file = {:?}\n{commands}nameservers = {nameservers:?}\nntp_servers = {ntp_servers:?}\n\
             provisioning_server = {provisioning_server:?}\n{hooks}{leases}",
            self.kind.name(),
            self.config_file().display().to_string(),
        )
    }

    /// The server's configuration file.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.directory.join("config")
    }

    /// What the server has printed since it was last started.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }
}

fn write_script(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    std::fs::set_permissions(file, Permissions::from_mode(0o755)).expect("permissions");
}

/// The DHCP client of a host: `udhcpc` on one of its interfaces.
#[derive(Debug, Clone)]
pub struct HostClient<'lab> {
    lab: &'lab Lab,
    node: &'lab str,
    interface: &'lab str,
    vendor_class: Option<&'lab str>,
    client_id: Option<&'lab str>,
}

/// What a host was told, by `udhcpc`'s names: `ip`, `subnet`, `router`, `dns`, `ntpsrv`, `mtu`, `hostname`, `bootfile`...
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease(BTreeMap<String, String>);

impl Lease {
    /// A value, empty if the host was told none.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

impl<'lab> HostClient<'lab> {
    /// A client on an interface of a node.
    #[must_use]
    pub fn new(lab: &'lab Lab, node: &'lab str, interface: &'lab str) -> Self {
        Self { lab, node, interface, vendor_class: None, client_id: None }
    }

    /// The same client as firmware that boots: it says this vendor class.
    #[must_use]
    pub fn with_vendor_class(self, class: &'lab str) -> Self {
        Self { vendor_class: Some(class), ..self }
    }

    /// The same client with this client id, in hex; firmware and operating system of one host have different ones.
    #[must_use]
    pub fn with_client_id(self, id: &'lab str) -> Self {
        Self { client_id: Some(id), ..self }
    }

    /// Asks for an address until it has one; none if nobody answers for ten seconds.
    ///
    /// # Panics
    /// If the client does not run.
    #[must_use]
    pub fn ask(&self) -> Option<Lease> {
        self.try_to_ask(10)
    }

    /// Whether two requests, a second apart, stay without answer.
    ///
    /// # Panics
    /// If the client does not run.
    #[must_use]
    pub fn hears_nothing(&self) -> bool {
        self.try_to_ask(2).is_none()
    }

    /// Takes an address, uses it, and asks its server after a while to go on with it, as an operating system does.
    ///
    /// # Panics
    /// If the client is not told an address, or not to go on with it.
    #[must_use]
    pub fn renews(&self, after: Duration) -> Lease {
        let (bound, renewed) = (self.told("bound"), self.told("renew"));
        let mut command = self.client();
        command.args(["-t", "10"]);
        let mut client = self.lab.start(self.node, "udhcpc", command);
        let told = |file: &Path| read_lease(file).ok_or_else(|| client.log());
        let lease = block_until("an address", PATIENCE, || told(&bound));
        self.lab.ip(self.node, &format!("addr add {}/{} dev {}", lease.get("ip"), lease.get("mask"), self.interface));
        sleep(after);
        client.signal("USR1").expect("a client that runs");
        let lease = block_until("the address once more", PATIENCE, || told(&renewed));
        client.block_stop();
        self.lab.ip(self.node, &format!("addr flush dev {} scope global", self.interface));
        lease
    }

    fn try_to_ask(&self, times: u8) -> Option<Lease> {
        let mut command = self.client();
        command.args(["-q", "-n", "-t", &times.to_string()]);
        let done = command.output().expect("the DHCP client runs");
        if done.status.success() { read_lease(&self.told("bound")) } else { None }
    }

    /// The file of what the client was told at an event.
    fn told(&self, event: &str) -> PathBuf {
        self.lab.path().join(format!("{}-{}.{event}", self.node, self.interface))
    }

    fn client(&self) -> Command {
        let script = self.lab.path().join("lease.sh");
        // A `env` of busybox or coreutils: one `name=value` a line, and no value here has several.
        write_script(&script, "#!/bin/sh\nenv >\"$TOLD.$1.new\" && mv \"$TOLD.$1.new\" \"$TOLD.$1\"\n");
        for event in ["bound", "renew"] {
            let _ = std::fs::remove_file(self.told(event));
        }
        let program = parts::program("udhcpc").unwrap_or_else(|| PathBuf::from("udhcpc"));
        let mut command = self.lab.command(self.node, program);
        command
            .env("TOLD", self.lab.path().join(format!("{}-{}", self.node, self.interface)))
            .args(["-f", "-T", "1", "-i", self.interface, "-s"])
            .arg(script);
        for option in ["mtu", "ntpsrv", "hostname", "domain", "bootfile", "tftp", "58", "59"] {
            command.args(["-O", option]);
        }
        if let Some(class) = self.vendor_class {
            command.args(["-V", class]);
        }
        if let Some(id) = self.client_id {
            command.arg("-C").args(["-x", &format!("0x3d:{id}")]);
        }
        command
    }
}

fn read_lease(file: &Path) -> Option<Lease> {
    let text = std::fs::read_to_string(file).ok()?;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Some(Lease(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
}
