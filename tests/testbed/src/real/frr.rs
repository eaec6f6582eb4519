//! One real router: FRR's daemons in a node of a lab.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{Lab, must_run, parts};
use crate::{Process, block_until};

/// FRR's `zebra` and `bgpd` in a node's namespace, with sockets and files in a directory of their own.
#[derive(Debug)]
pub struct Router {
    node: String,
    directory: PathBuf,
    daemons: Vec<Process>,
}

impl Router {
    /// Starts a router that runs `bgp`, the text of a `bgpd.conf`, with unnumbered sessions on these interfaces.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(lab: &Lab, node: &str, unnumbered: &[&str], bgp: &str) -> Self {
        let directory = lab.subdirectory(&format!("frr-{node}"));
        // The data centre profile: without it FRR takes no eBGP routes unless a policy says so.
        let head = format!("frr defaults datacenter\nhostname {node}\n");
        // An unnumbered session waits for the peer's next router advertisement, by default one in ten seconds.
        let advertise = |name: &&str| format!("interface {name}\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\n");
        let zebra = head.clone() + &unnumbered.iter().map(advertise).collect::<String>();
        for (name, text) in [("zebra", zebra), ("bgpd", head + bgp), ("vtysh", String::new())] {
            let file = directory.join(format!("{name}.conf"));
            std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
        own(&directory);
        let mut router = Self { node: node.into(), directory, daemons: Vec::new() };
        router.resume(lab);
        router
    }

    /// Starts the daemons of a router that was stopped.
    ///
    /// # Panics
    /// If they do not start.
    pub fn resume(&mut self, lab: &Lab) {
        // bgpd looks for zebra only now and then, so zebra comes first and must be there.
        for daemon in ["zebra", "bgpd"] {
            let file = |name: &str| self.directory.join(name);
            let mut command = lab.command(&self.node, parts::frr_program(daemon));
            command.arg("--vty_socket").arg(&self.directory);
            command.arg("-i").arg(file(&format!("{daemon}.pid"))).arg("-z").arg(file("zserv.api"));
            command.arg("-f").arg(file(&format!("{daemon}.conf"))).args(["-A", "127.0.0.1"]);
            let mut process = lab.start(&self.node, daemon, command);
            let socket = file(&format!("{daemon}.vty"));
            block_until(&format!("{daemon} on {} opens its socket", self.node), Duration::from_secs(10), || {
                must_run(&mut process);
                if socket.exists() { Ok(()) } else { Err("no socket".to_owned()) }
            });
            self.daemons.push(process);
        }
    }

    /// Stops the daemons; peers are told.
    pub fn stop(&mut self) {
        // bgpd first, so that it can still say goodbye.
        while let Some(mut daemon) = self.daemons.pop() {
            daemon.block_stop();
        }
        for daemon in ["zebra", "bgpd"] {
            let _ = std::fs::remove_file(self.directory.join(format!("{daemon}.vty")));
        }
    }

    /// The command that is `vtysh` for this router; it works from any namespace.
    #[must_use]
    pub fn vtysh_prefix(&self) -> Vec<String> {
        let program = parts::program("vtysh").unwrap_or_else(|| "vtysh".into()).display().to_string();
        let directory = self.directory.display().to_string();
        vec![program, "--vty_socket".into(), directory.clone(), "--config_dir".into(), directory]
    }

    /// Runs commands one after the other; the answer is what was printed.
    ///
    /// # Panics
    /// If `vtysh` fails.
    pub fn vtysh(&self, commands: &[&str]) -> String {
        let prefix = self.vtysh_prefix();
        let mut command = Command::new(&prefix[0]);
        command.args(&prefix[1..]);
        for line in commands {
            command.args(["-c", line]);
        }
        let done = command.output().expect("vtysh runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "vtysh on {}, {commands:?}: {}\n{said}", self.node, done.status);
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Adds lines to the router's `router bgp`.
    ///
    /// # Panics
    /// If FRR refuses one.
    pub fn configure(&self, number: u32, lines: &[&str]) {
        let router = format!("router bgp {number}");
        let mut commands = vec!["configure terminal", &router];
        commands.extend(lines);
        self.vtysh(&commands);
    }

    /// State of a session as FRR says it, for example `Established`; `absent` if there is no such peer.
    ///
    /// # Panics
    /// If `vtysh` fails or prints no JSON.
    #[must_use]
    pub fn session(&self, family: &str, peer: &str) -> String {
        let text = self.vtysh(&["show bgp summary json"]);
        let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON from vtysh");
        summary[family]["peers"][peer]["state"].as_str().unwrap_or("absent").to_owned()
    }
}

fn own(directory: &Path) {
    let done = Command::new("chown").args(["-R", "frr:frr"]).arg(directory).status();
    assert!(done.is_ok_and(|status| status.success()), "cannot give {} to the user frr", directory.display());
}
