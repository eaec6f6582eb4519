//! What the program `sim-host` is told to simulate.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// What `sim-host` simulates, from a TOML file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimHostConfig {
    /// File with the address of the controller that booted hosts report to. Read again for each report.
    pub controller_file: PathBuf,
    /// Where the addresses of the BMCs are written: a JSON map from system to URL.
    pub address_file: PathBuf,
    /// Directory where `SYSTEM.toml` says what is to go wrong with a BMC: see [`BmcFaults`](super::BmcFaults).
    pub faults: PathBuf,
    /// Seconds from power on to a running system.
    pub boot_secs: f64,
    /// The hosts boot when the simulation starts, as hosts do that are new in a rack.
    pub boots_at_start: bool,
    /// Seconds between two looks of a booted discovery image at what it should do.
    pub poll_secs: f64,
    /// The systems, by name.
    #[serde(rename = "system")]
    pub systems: BTreeMap<String, SystemConfig>,
}

/// A system behind a BMC.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SystemConfig {
    /// The host in the controller, by name. Absent for the system of a DPU, which boots but reports by its agent.
    pub host: Option<String>,
    /// Port of the BMC; 0 takes a free one.
    pub port: u16,
}

impl SimHostConfig {
    /// Reads the file.
    ///
    /// # Errors
    /// If the file is not readable or not such a file.
    pub fn load(path: &PathBuf) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("read {}", path.display()))
    }
}
