use std::{
    collections::BTreeMap,
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{Lab, Process, parts, until};

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

    /// What the server's own check says against a file.
    ///
    /// # Errors
    /// What it printed, if it refuses the file.
    pub fn refuses(self, lab: &Lab, node: &str, file: &Path) -> Result<(), String> {
        let mut command = on_private_files(self, lab, node);
        let done = command.args(&self.check()[1..]).arg(file).output().map_err(|error| error.to_string())?;
        let said = [done.stdout, done.stderr].concat();
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
    }
}

/// The server, running on a node of a lab.
#[derive(Debug)]
pub struct DhcpServer {
    process: Process,
}

impl DhcpServer {
    /// Starts the server on a configuration file; it answers on the interfaces that the file names.
    ///
    /// # Panics
    /// If it does not start or does not come to listen.
    #[must_use]
    pub fn start(lab: &Lab, node: &str, kind: ServerKind, file: &Path) -> Self {
        let mut command = on_private_files(kind, lab, node);
        let ready = match kind {
            ServerKind::Kea => {
                command.arg("-c").arg(file);
                "DHCP4_STARTED"
            }
            ServerKind::Dhcpd => {
                let leases = lab.path().join(format!("dhcpd-{node}.leases"));
                std::fs::write(&leases, "").expect("a file in the lab's directory");
                // Debian's dhcpd gives up root unless told otherwise, and could not write here then.
                command.args(["-4", "-f", "-d", "--no-pid", "-user", "root", "-group", "root"]);
                command.arg("-cf").arg(file).arg("-lf").arg(leases);
                "Server starting service."
            }
        };
        let log = lab.path().join(format!("{node}-{}.log", kind.name()));
        let _ = std::fs::remove_file(&log);
        let mut process = lab.start(node, kind.name(), &mut command);
        until(&format!("{} on {node} listens", kind.name()), Duration::from_secs(10), || {
            process.must_run();
            let said = process.log();
            if said.contains(ready) { Ok(()) } else { Err(said) }
        });
        Self { process }
    }

    /// What it has printed so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Stops it.
    pub fn stop(self) {
        self.process.stop();
    }
}

/// The server's program on a node, with its locks below the lab's directory.
fn on_private_files(kind: ServerKind, lab: &Lab, node: &str) -> Command {
    let program = kind.check()[0];
    let path = parts::program(program).unwrap_or_else(|| PathBuf::from(program));
    let mut command = lab.command(node, path);
    let locks = lab.subdirectory(&format!("kea-{node}"));
    command.env("KEA_PIDFILE_DIR", &locks).env("KEA_LOCKFILE_DIR", &locks);
    command
}

/// The DHCP client of a host: `udhcpc` on one of its interfaces.
#[derive(Debug, Clone)]
pub struct HostClient<'lab> {
    lab: &'lab Lab,
    node: &'lab str,
    interface: &'lab str,
    vendor_class: Option<&'lab str>,
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
        Self { lab, node, interface, vendor_class: None }
    }

    /// The same client as firmware that boots: it says this vendor class.
    #[must_use]
    pub fn with_vendor_class(self, class: &'lab str) -> Self {
        Self { vendor_class: Some(class), ..self }
    }

    /// Asks for an address, three times within three seconds; none if nobody answers.
    ///
    /// # Panics
    /// If the client does not run.
    #[must_use]
    pub fn ask(&self) -> Option<Lease> {
        let told = self.lab.path().join(format!("{}-{}.lease", self.node, self.interface));
        let script = self.lab.path().join("lease.sh");
        // A `env` of busybox or coreutils: one `name=value` a line, and no value here has several.
        std::fs::write(&script, "#!/bin/sh\n[ \"$1\" = bound ] && env >\"$TOLD\"\nexit 0\n").expect("a script");
        std::fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("permissions");
        let _ = std::fs::remove_file(&told);
        let program = parts::program("udhcpc").unwrap_or_else(|| PathBuf::from("udhcpc"));
        let mut command = self.lab.command(self.node, program);
        command
            .env("TOLD", &told)
            .args(["-f", "-q", "-n", "-t", "3", "-T", "1", "-i", self.interface, "-s"])
            .arg(script);
        for option in ["mtu", "ntpsrv", "hostname", "domain", "bootfile", "tftp"] {
            command.args(["-O", option]);
        }
        if let Some(class) = self.vendor_class {
            command.args(["-V", class]);
        }
        let done = command.output().expect("the DHCP client runs");
        let bound = done.status.success() && told.exists();
        bound.then(|| {
            let text = std::fs::read_to_string(&told).expect("what the client was told");
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            Lease(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        })
    }
}
