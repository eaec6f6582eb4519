//! Keeps an operator's templates from ending the agent more than once.
//!
//! A template can take all memory or the whole stack, which nothing in the process survives. So a file says which templates
//! are at work; an agent that finds it at its start knows that they ended the one before, and does without them until one of
//! them has changed. While they are at work, memory is limited, so that the end comes before the DPU's memory is full.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    intent::Digest,
    private_file::{remove, write_private},
};

/// Memory that templates may take beside what the agent has; the unit has 512 MiB for the agent and its commands.
const MOST_MEMORY: u64 = 384 << 20;

/// The templates of a directory, as they are watched.
pub(crate) struct RenderGuard {
    file: PathBuf,
    digest: Digest,
}

/// Templates are at work as long as this is kept.
pub(crate) struct AtWork<'a> {
    file: &'a Path,
    before: Option<Rlimit>,
}

impl RenderGuard {
    pub(crate) fn new(state_dir: &Path, files: &BTreeMap<String, String>) -> Self {
        let parts: Vec<&[u8]> = files.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]).collect();
        Self { file: state_dir.join("rendering"), digest: Digest::of(&parts) }
    }

    /// The agent before this one ended while just these templates were at work.
    pub(crate) fn ended_an_agent(&self) -> bool {
        types::read_text(&self.file, 1024).is_ok_and(|text| text == self.digest.as_str())
    }

    /// To be kept while the templates are loaded or rendered.
    pub(crate) fn begin(&self) -> AtWork<'_> {
        if let Err(error) = write_private(&self.file, self.digest.as_str().as_bytes()) {
            tracing::error!("{} cannot be written: {error}", self.file.display());
        }
        let before = getrlimit(Resource::As);
        let limited = address_space().map(|now| Rlimit { current: Some(now + MOST_MEMORY), ..before });
        let limited = limited.filter(|limit| before.current.is_none_or(|now| limit.current < Some(now)));
        let set = limited.is_some_and(|limit| setrlimit(Resource::As, limit).is_ok());
        AtWork { file: &self.file, before: Some(before).filter(|_| set) }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take()
            && let Err(error) = setrlimit(Resource::As, before)
        {
            tracing::error!("the memory limit of the agent cannot be set back: {error}");
        }
        if let Err(error) = remove(self.file) {
            tracing::error!("{} cannot be removed: {error}", self.file.display());
        }
    }
}

/// Bytes of address space that this process has now.
fn address_space() -> Option<u64> {
    let status = types::read_text(Path::new("/proc/self/status"), 1 << 16).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
