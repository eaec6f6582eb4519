//! Network namespaces and a directory for one test: what real parts run in.

use std::{
    ffi::OsStr,
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use tempfile::TempDir;

use super::started;
use crate::{Process, process::signal};

const PREFIX: &str = "real";

/// Network namespaces and a directory for one test; both are gone when this is dropped, with every process in them.
///
/// Namespaces are named after the test process, so labs of tests that run at the same time do not meet, and a lab whose
/// process was killed is swept up by the next one.
#[derive(Debug)]
pub struct Lab {
    id: String,
    nodes: Vec<String>,
    directory: TempDir,
}

impl Lab {
    /// A lab with one namespace a node, the loopback of each up.
    ///
    /// # Panics
    /// If namespaces cannot be made.
    #[must_use]
    pub fn new(nodes: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        sweep();
        let id = format!("{PREFIX}-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        // Daemons that give up root must still be able to walk into the directory.
        let directory = tempfile::Builder::new().prefix(&id).tempdir_in("/tmp").expect("a directory in /tmp");
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("permissions");
        let mut lab = Self { id, nodes: Vec::new(), directory };
        for &node in nodes {
            ip(&["netns", "add", &lab.namespace(node)]);
            lab.nodes.push(node.into());
            lab.ip(node, "link set lo up");
            // Router advertisements, which unnumbered BGP needs, are sent by routers only.
            lab.run(node, "sysctl", ["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]);
        }
        lab
    }

    /// The lab's directory; every user can walk into it.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A new directory in it.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn subdirectory(&self, name: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Name of a node's namespace.
    #[must_use]
    pub fn namespace(&self, node: &str) -> String {
        format!("{}-{node}", self.id)
    }

    /// A cable between two nodes, both ends up. Each end is a node and the name of its interface.
    ///
    /// # Panics
    /// If it cannot be laid.
    pub fn link(&self, one: (&str, &str), other: (&str, &str)) {
        let (here, there) = (self.namespace(one.0), self.namespace(other.0));
        ip(&["link", "add", one.1, "netns", &here, "type", "veth", "peer", "name", other.1, "netns", &there]);
        self.ip(one.0, &format!("link set {} up", one.1));
        self.ip(other.0, &format!("link set {} up", other.1));
    }

    /// `ip ...` in a node's namespace; arguments are split at blanks. The answer is what it printed.
    ///
    /// # Panics
    /// If `ip` fails.
    pub fn ip(&self, node: &str, arguments: &str) -> String {
        let namespace = self.namespace(node);
        let mut all = vec!["-n", &namespace];
        all.extend(arguments.split_whitespace());
        ip(&all)
    }

    /// A command in a node's namespace.
    #[must_use]
    pub fn command(&self, node: &str, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(node)]).arg(program);
        command
    }

    /// Runs a program in a node's namespace to its end; the answer is what it printed.
    ///
    /// # Panics
    /// If it fails.
    pub fn run<A: AsRef<OsStr>>(&self, node: &str, program: &str, arguments: impl IntoIterator<Item = A>) -> String {
        output(self.command(node, program).args(arguments))
    }

    /// Starts a program in a node's namespace; its log is a file in the lab's directory.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(&self, node: &str, name: &str, command: Command) -> Process {
        let log = self.path().join(format!("{node}-{name}.log"));
        started(Process::new(&format!("{name} on {node}"), command, log))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for node in &self.nodes {
            remove(&self.namespace(node));
        }
    }
}

/// Ends what runs in a namespace and removes it.
fn remove(namespace: &str) {
    let quiet = |arguments: &[&str]| Command::new("ip").args(arguments).stderr(Stdio::null()).output();
    if let Ok(listed) = quiet(&["netns", "pids", namespace]) {
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        for process in listed.split_whitespace().filter_map(|id| id.parse().ok()) {
            signal(process, "KILL");
        }
    }
    let _ = quiet(&["netns", "del", namespace]);
}

/// Removes the namespaces of labs whose test process is gone.
fn sweep() {
    let names = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    for name in names.filter_map(|entry| entry.file_name().into_string().ok()) {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('-')?.split('-').next()?.parse().ok());
        if owner.is_some_and(|process: u32| !runs(process)) {
            remove(&name);
        }
    }
}

/// A process that has ended, but that nobody has waited for yet, does not run.
fn runs(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or_default();
    !matches!(state.trim().chars().next(), None | Some('Z' | 'X'))
}

fn ip(arguments: &[&str]) -> String {
    output(Command::new("ip").args(arguments))
}

/// What a command printed.
///
/// # Panics
/// If it fails.
fn output(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {}\n{said}", done.status);
    String::from_utf8_lossy(&done.stdout).into_owned()
}
