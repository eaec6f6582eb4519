//! The DHCP server's files as they were before a change, so that it can be undone. Only this room uses them.

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    desired::dhcp_digest,
    state::{AppliedDir, Digest, Marker, remove, write_private},
};

/// Its name in the state directory.
const FILE: &str = "dhcp-before.json";

/// The DHCP server's files before a change. They are saved in the state directory while the change is in progress, so that
/// an agent that is restarted in the middle of it can still go back.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DhcpBackup {
    /// What ran then: a backup with another marker belongs to another change and is ignored.
    marker: Option<Marker>,
    /// Each file with its text, or none if it did not exist; the server's main file is first.
    pub(super) files: Vec<(PathBuf, Option<String>)>,
    /// The server did not run.
    pub(super) stopped: bool,
}

impl DhcpBackup {
    pub(super) fn new(marker: Option<&Marker>, files: Vec<(PathBuf, Option<String>)>) -> Self {
        let runs = marker.and_then(|marker| marker.dhcp.as_ref());
        let stopped = runs.is_some() && runs == digest(false, &files).as_ref();
        Self { marker: marker.cloned(), files, stopped }
    }

    /// The backup of a change that was never completed.
    pub(super) fn load(applied: &AppliedDir, marker: Option<&Marker>) -> Option<Self> {
        let bytes = types::read_file(&applied.file(FILE), crate::MAX_FILE_BYTES).ok()?;
        let saved: Self = serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::warn!("the backup of the DHCP server's files is not readable: {error}"))
            .ok()?;
        Some(saved).filter(|saved| saved.marker.as_ref() == marker)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether these are the files that `marker` stands for.
    pub(super) fn matches(&self, marker: &Marker) -> bool {
        marker.dhcp.is_none() || [true, false].iter().any(|serves| marker.dhcp == digest(*serves, &self.files))
    }

    pub(super) fn save(&self, applied: &AppliedDir) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        write_private(&applied.file(FILE), &serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// Removes the backup, once the change is completed or undone.
    pub(super) fn discard(applied: &AppliedDir) {
        if let Err(error) = remove(&applied.file(FILE)) {
            tracing::error!("the backup of the DHCP server's files cannot be removed: {error}");
        }
    }
}

/// The digest of files that all exist.
fn digest(serves: bool, files: &[(PathBuf, Option<String>)]) -> Option<Digest> {
    let (first, beside) = files.split_first()?;
    let config = first.1.as_deref()?;
    let named =
        |(path, text): &'_ (PathBuf, Option<String>)| Some((path.file_name()?.to_str()?.to_owned(), text.clone()?));
    let beside: Vec<(String, String)> = beside.iter().map(named).collect::<Option<_>>()?;
    Some(dhcp_digest(serves, config, beside.iter().map(|(name, text)| (name.as_str(), text.as_str()))))
}
