//! Where the programs of this workspace are, built now unless they are built already.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// Environment variable that names a directory with the programs of this workspace, built already.
const BIN_DIR: &str = "SITE_BIN_DIR";
const PACKAGES: [&str; 3] = ["controller", "agent", "testbed"];

/// Where the programs of this workspace are.
#[derive(Debug, Clone)]
pub struct Binaries(PathBuf);

impl Binaries {
    /// The programs in `SITE_BIN_DIR`, or those that cargo builds now, in the target directory of this program.
    /// `loud` shows what cargo says.
    ///
    /// # Errors
    /// If cargo is not there or the build fails.
    pub fn ready(loud: bool) -> Result<Self> {
        if let Some(dir) = env::var_os(BIN_DIR) {
            return Ok(Self(dir.into()));
        }
        let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--bins"]).current_dir(workspace()).stdin(Stdio::null());
        // What `cargo run` and `cargo test` tell a program of its package makes build scripts run again, if cargo sees it.
        let of_package = |name: &OsStr| {
            name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        };
        for (name, _) in env::vars_os().filter(|(name, _)| of_package(name)) {
            build.env_remove(name);
        }
        build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
        if !loud {
            build.arg("--quiet").stdout(Stdio::null());
        }
        let ended = build.status().context("run cargo to build the programs of the site")?;
        if !ended.success() {
            bail!("the programs of the site do not build: cargo ended with {ended}");
        }
        let program = env::current_exe().context("find this program")?;
        let dir = program.ancestors().find(|dir| dir.join("nv").is_file()).map(Path::to_path_buf);
        dir.map(Self).with_context(|| format!("no programs were built beside {}", program.display()))
    }

    /// The path of a program.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// The root of this workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
