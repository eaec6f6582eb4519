//! Which real parts are on this machine, and where. Tests ask before they use one.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

/// Environment variable: when it is `required`, a missing part fails a test instead of skipping it.
const STRICTNESS: &str = "REAL_PARTS";

/// Something real that a test runs against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The right to make network namespaces.
    Namespaces,
    /// FRR's `zebra`, `bgpd` and `vtysh`.
    Frr,
    /// `kea-dhcp4`.
    Kea,
    /// ISC's `dhcpd`.
    Dhcpd,
    /// `udhcpc`, the client that stands for the host's.
    DhcpClient,
    /// PostgreSQL's server programs.
    Postgres,
    /// `sushy-emulator`, a BMC.
    RedfishEmulator,
}

impl Part {
    /// What an operator installs to have it.
    fn package(self) -> &'static str {
        match self {
            Self::Namespaces => "root and the Debian package iproute2",
            Self::Frr => "the Debian package frr",
            Self::Kea => "the Debian package kea-dhcp4-server",
            Self::Dhcpd => "the Debian package isc-dhcp-server",
            Self::DhcpClient => "the Debian package udhcpc",
            Self::Postgres => "the Debian package postgresql",
            Self::RedfishEmulator => "the Python package sushy-tools, and openssl",
        }
    }

    fn there(self) -> bool {
        match self {
            Self::Namespaces => namespaces_work(),
            Self::Frr => frr_program("bgpd").is_file() && program("vtysh").is_some(),
            Self::Kea => program("kea-dhcp4").is_some(),
            Self::Dhcpd => program("dhcpd").is_some(),
            Self::DhcpClient => program("udhcpc").is_some(),
            Self::Postgres => postgres_program("initdb").is_some(),
            Self::RedfishEmulator => emulator_program().is_file() && program("openssl").is_some(),
        }
    }
}

/// Whether a part is missing, so that the calling test has to return without having tested anything.
///
/// Says so on standard error and in `target/real-parts/skipped`, which `tests/run` shows at its end.
///
/// # Panics
/// If a part is missing and the environment says `REAL_PARTS=required`.
#[must_use]
pub fn missing(parts: &[Part]) -> bool {
    let lacking: Vec<&str> = parts.iter().filter(|part| !part.there()).map(|part| part.package()).collect();
    if lacking.is_empty() {
        return false;
    }
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("SKIPPED {test}: needs {} (run tests/install)", lacking.join(", "));
    assert!(std::env::var_os(STRICTNESS).is_none_or(|value| value != "required"), "{line}");
    eprintln!("{line}");
    let directory = target().join("real-parts");
    let list = std::fs::create_dir_all(&directory)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(directory.join("skipped")));
    if let Ok(mut list) = list {
        let _ = writeln!(list, "{line}");
    }
    true
}

/// Full path of a program on PATH or where Debian keeps system daemons.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// FRR's daemons are not on PATH.
pub(super) fn frr_program(name: &str) -> PathBuf {
    Path::new("/usr/lib/frr").join(name)
}

/// Debian keeps one directory a release, and puts none of them on PATH.
pub(super) fn postgres_program(name: &str) -> Option<PathBuf> {
    let release = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let releases = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = releases.filter(|path| path.join("bin").join(name).is_file()).max_by_key(release);
    newest.map(|path| path.join("bin").join(name)).or_else(|| program(name))
}

pub(super) fn emulator_program() -> PathBuf {
    target().join("real-parts/venv/bin/sushy-emulator")
}

/// Where `tests/install` puts what it does not install on the machine.
fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

fn namespaces_work() -> bool {
    static WORK: OnceLock<bool> = OnceLock::new();
    *WORK.get_or_init(|| {
        let name = format!("real-{}-try", std::process::id());
        let ip = |arguments: &[&str]| {
            let quiet = Command::new("ip").args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
            quiet.is_ok_and(|status| status.success())
        };
        ip(&["netns", "add", &name]) && ip(&["netns", "exec", &name, "true"]) & ip(&["netns", "del", &name])
    })
}
