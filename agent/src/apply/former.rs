use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    intent::Digest,
    marker::{Applied, Marker},
    plan::dhcp_digest,
    private_file::{remove, write_private},
};

const FILE: &str = "dhcp-before.json";

/// The DHCP server's files as they were before a change. They are kept in the state directory while the change is under
/// way, so that an agent that is started in the middle of it can still go back.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Former {
    /// What ran then; files of another time are worth nothing.
    marker: Option<Marker>,
    /// Each with its text, or none if it was not there: the server's own one first.
    pub(super) files: Vec<(PathBuf, Option<String>)>,
    /// The server did not run.
    pub(super) stopped: bool,
}

impl Former {
    pub(super) fn new(marker: Option<&Marker>, files: Vec<(PathBuf, Option<String>)>) -> Self {
        let runs = marker.and_then(|marker| marker.dhcp.as_ref());
        let stopped = runs.is_some() && runs == digest(false, &files).as_ref();
        Self { marker: marker.cloned(), files, stopped }
    }

    /// Those of a change that was never brought to its end.
    pub(super) fn kept(applied: &Applied, marker: Option<&Marker>) -> Option<Self> {
        let bytes = types::read_file(&applied.file(FILE), crate::MOST_BYTES).ok()?;
        let kept: Self = serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::warn!("what the DHCP server had before is not readable: {error}"))
            .ok()?;
        Some(kept).filter(|kept| kept.marker.as_ref() == marker)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// They are those that `marker` stands for.
    pub(super) fn are_of(&self, marker: &Marker) -> bool {
        marker.dhcp.is_none() || [true, false].iter().any(|serves| marker.dhcp == digest(*serves, &self.files))
    }

    pub(super) fn keep(&self, applied: &Applied) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        write_private(&applied.file(FILE), &serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// The change is at its end.
    pub(super) fn forget(applied: &Applied) {
        if let Err(error) = remove(&applied.file(FILE)) {
            tracing::error!("what the DHCP server had before stays on file: {error}");
        }
    }
}

/// Of files that are all there.
fn digest(serves: bool, files: &[(PathBuf, Option<String>)]) -> Option<Digest> {
    let (first, beside) = files.split_first()?;
    let config = first.1.as_deref()?;
    let named =
        |(path, text): &'_ (PathBuf, Option<String>)| Some((path.file_name()?.to_str()?.to_owned(), text.clone()?));
    let beside: Vec<(String, String)> = beside.iter().map(named).collect::<Option<_>>()?;
    Some(dhcp_digest(serves, config, beside.iter().map(|(name, text)| (name.as_str(), text.as_str()))))
}
