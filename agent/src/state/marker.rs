//! The marker: what the DPU runs, written only after that was confirmed. `apply` writes it, `agent` reads it at the start.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    digest::Digest,
    private_file::{remove, write_private},
};
use crate::render::{Acknowledgement, Expectations};

/// What the DPU runs. It is written as a whole, after NVUE and the DHCP server both confirmed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// Digest of the NVUE text that runs.
    pub(crate) nvue: Digest,
    /// Digest of what the DHCP server does; none if no server is managed here.
    pub(crate) dhcp: Option<Digest>,
    /// The versions to report for it; none while isolated.
    pub(crate) versions: Option<Versions>,
    /// What a healthy DPU shows while it runs that.
    #[serde(default)]
    pub(crate) expected: Option<Expectations>,
    /// When the last change was confirmed, as RFC 3339.
    pub(crate) since: String,
}

/// The versions of a configuration, as the controller wrote them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Versions {
    pub(crate) managed_host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_network: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_config: Option<String>,
}

impl From<&Acknowledgement> for Versions {
    fn from(acknowledge: &Acknowledgement) -> Self {
        Self {
            managed_host: acknowledge.managed_host.to_string(),
            instance_network: acknowledge.instance_network.as_ref().map(ToString::to_string),
            instance_id: acknowledge.instance_id.clone(),
            instance_config: acknowledge.instance_config.clone(),
        }
    }
}

/// Where the kernel shows an id that differs with every boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The directory of the marker, of the NVUE text that it stands for, and of notes about changes.
pub(crate) struct AppliedDir {
    directory: PathBuf,
}

impl AppliedDir {
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self { directory: state_dir.join("applied") }
    }

    /// The marker; none if nothing was ever applied or the file cannot be trusted.
    pub(crate) fn marker(&self) -> Option<Marker> {
        let path = self.directory.join("marker.json");
        let unusable = |reason: String| {
            tracing::warn!("{} is not usable ({reason}); what runs is determined again", path.display());
        };
        match types::read_file(&path, crate::MAX_FILE_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).inspect_err(|error| unusable(error.to_string())).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                unusable(error.to_string());
                None
            }
        }
    }

    /// The NVUE text of the marker, to go back to, if it is still there.
    pub(crate) fn nvue(&self) -> Option<String> {
        types::read_text(&self.directory.join("nvue.yaml"), crate::MAX_FILE_BYTES).ok()
    }

    /// Whether a note is there.
    pub(crate) fn notes(&self, note: Note) -> bool {
        self.directory.join(note.file()).exists()
    }

    /// Makes a note, or removes it.
    pub(crate) fn set(&self, note: Note, there: bool) -> io::Result<()> {
        let path = self.directory.join(note.file());
        match (there, path.exists()) {
            (true, false) => write_private(&path, b""),
            (false, true) => remove(&path),
            _ => Ok(()),
        }
    }

    /// A file of the directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// How long a note has been there; none if it is not, or if the clock was set back.
    pub(crate) fn age(&self, note: Note) -> Option<Duration> {
        self.file(note.file()).metadata().ok()?.modified().ok()?.elapsed().ok()
    }

    /// Whether the DPU has not booted since [`record_boot`](Self::record_boot); a kernel without boot ids counts as not booted.
    pub(crate) fn is_same_boot(&self) -> bool {
        let recorded = types::read_file(&self.directory.join("boot"), crate::MAX_FILE_BYTES).ok();
        types::read_file(BOOT_ID.as_ref(), crate::MAX_FILE_BYTES)
            .map_or(true, |now| recorded.is_some_and(|recorded| recorded == now))
    }

    /// Records that what runs was applied since the DPU booted.
    pub(crate) fn record_boot(&self) -> io::Result<()> {
        match types::read_file(BOOT_ID.as_ref(), crate::MAX_FILE_BYTES) {
            Ok(now) if !self.is_same_boot() => write_private(&self.directory.join("boot"), &now),
            _ => Ok(()),
        }
    }

    /// Records what runs: the text first, then the marker, which refers to it.
    pub(crate) fn write(&self, marker: &Marker, nvue: &str) -> io::Result<()> {
        let text = self.directory.join("nvue.yaml");
        if types::read_file(&text, crate::MAX_FILE_BYTES).is_ok_and(|old| old == nvue.as_bytes()) {
            tracing::debug!("the text that runs is recorded already");
        } else {
            write_private(&text, nvue.as_bytes())?;
        }
        let json = serde_json::to_vec_pretty(marker).map_err(io::Error::other)?;
        write_private(&self.directory.join("marker.json"), &json)
    }
}

/// A fact about a change that must survive a restart of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// An apply failed half-way and none has succeeded since.
    HalfApplied,
    /// A change may be on trial: NVUE rolls it back unless it is confirmed.
    OnTrial,
    /// NVUE was told to apply something, and the operator's command after a change has not run yet.
    Applying,
}

impl Note {
    fn file(self) -> &'static str {
        match self {
            Self::HalfApplied => "half-applied",
            Self::OnTrial => "on-trial",
            Self::Applying => "applying",
        }
    }
}

/// A time as RFC 3339, in UTC; a clock before 1970 reads as 1970.
pub(crate) fn timestamp(time: SystemTime) -> String {
    prost_types::Timestamp::from(time.max(SystemTime::UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(nvue: &str) -> Marker {
        Marker {
            nvue: Digest::of(&[nvue.as_bytes()]),
            dhcp: None,
            versions: Some(Versions { managed_host: "V1-T1".into(), ..Versions::default() }),
            expected: None,
            since: timestamp(SystemTime::UNIX_EPOCH),
        }
    }

    #[test]
    fn what_was_written_is_read_back_and_a_damaged_marker_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let applied = AppliedDir::new(directory.path());
        assert_eq!(applied.marker(), None);
        applied.write(&marker("a"), "a").unwrap();
        assert_eq!(applied.marker(), Some(marker("a")));
        assert_eq!(applied.nvue().as_deref(), Some("a"));
        std::fs::write(directory.path().join("applied/marker.json"), "{\"nvue\": ").unwrap();
        assert_eq!(applied.marker(), None);
        applied.write(&marker("b"), "b").unwrap();
        assert_eq!(applied.marker(), Some(marker("b")));
    }

    #[test]
    fn a_clock_before_1970_is_no_fault() {
        let before = SystemTime::UNIX_EPOCH - std::time::Duration::from_secs(86_400);
        assert_eq!(timestamp(before), "1970-01-01T00:00:00Z");
    }
}
