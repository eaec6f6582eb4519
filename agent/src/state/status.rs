//! What people are shown: `status.json`, written by `agent` and read by the command `status`.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

use super::{marker::Marker, private_file::write_private};

/// What the agent is doing, for `dpu-agent status` and for people; written only when it changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusFile {
    /// What runs on the DPU.
    pub runs: Runs,
    /// What the controller last responded.
    pub controller: LastResponse,
    /// Why the desired configuration does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Alerts: probe, target, message.
    pub alerts: Vec<String>,
}

/// What runs on the DPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// `nothing`, `configuration`, `isolated`, or `unknown` while what runs is uncertain.
    pub kind: String,
    /// Version of the managed host's network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_host_version: Option<String>,
    /// Version of the instance's network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_network_version: Option<String>,
    /// Since when, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// What the controller last responded, and since when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastResponse {
    /// The response in words, for example `run V1-T1`.
    pub answer: String,
    /// Since when it responds like this, as RFC 3339.
    pub since: String,
}

impl StatusFile {
    /// Reads the status file of a state directory.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn read(state_dir: &Path) -> io::Result<Self> {
        serde_json::from_slice(&types::read_file(&state_dir.join("status.json"), crate::MAX_FILE_BYTES)?)
            .map_err(io::Error::other)
    }

    pub(crate) fn write(&self, state_dir: &Path) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        write_private(&state_dir.join("status.json"), &json)
    }
}

impl Runs {
    pub(crate) fn of(marker: Option<&Marker>, verified: bool) -> Self {
        let Some(marker) = marker else { return Self { kind: "nothing".into(), ..Self::default() } };
        let versions = marker.versions.as_ref();
        let kind = match (verified, versions) {
            (false, _) => "unknown",
            (true, Some(_)) => "configuration",
            (true, None) => "isolated",
        };
        Self {
            kind: kind.into(),
            managed_host_version: versions.map(|versions| versions.managed_host.clone()),
            instance_network_version: versions.and_then(|versions| versions.instance_network.clone()),
            since: Some(marker.since.clone()),
        }
    }
}
