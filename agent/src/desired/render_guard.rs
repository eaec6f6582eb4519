//! Keeps an operator's templates from crashing the agent more than once.
//!
//! A template can use up the memory or the stack, which no process survives. So a file says which templates are being
//! rendered. An agent that finds it at its start knows that they crashed the one before, and does not use them until one of
//! them has changed. During rendering the memory is limited, so that the crash comes before the DPU's memory is full.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::state::{Digest, remove, write_private};

/// Memory that rendering may take in addition to what the agent has; the unit allows 512 MiB for the agent and its commands.
const MAX_MEMORY: u64 = 384 << 20;

/// Watches over the templates of a directory.
pub(crate) struct RenderGuard {
    file: PathBuf,
    digest: Digest,
}

/// Rendering is in progress as long as this value lives.
pub(crate) struct Rendering<'a> {
    file: &'a Path,
    before: Option<Rlimit>,
}

impl RenderGuard {
    pub(crate) fn new(state_dir: &Path, files: &BTreeMap<String, String>) -> Self {
        let parts: Vec<&[u8]> = files.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]).collect();
        Self { file: state_dir.join("rendering"), digest: Digest::of(&parts) }
    }

    /// The last agent ended while it rendered exactly these templates.
    pub(crate) fn crashed_an_agent(&self) -> bool {
        types::read_text(&self.file, 1024).is_ok_and(|text| text == self.digest.as_str())
    }

    /// To be held while the templates are loaded or rendered.
    pub(crate) fn begin(&self) -> Rendering<'_> {
        if let Err(error) = write_private(&self.file, self.digest.as_str().as_bytes()) {
            tracing::error!("{} cannot be written: {error}", self.file.display());
        }
        let before = getrlimit(Resource::As);
        let limited = address_space().map(|now| Rlimit { current: Some(now + MAX_MEMORY), ..before });
        let limited = limited.filter(|limit| before.current.is_none_or(|now| limit.current < Some(now)));
        let set = limited.is_some_and(|limit| setrlimit(Resource::As, limit).is_ok());
        Rendering { file: &self.file, before: Some(before).filter(|_| set) }
    }
}

impl Drop for Rendering<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take()
            && let Err(error) = setrlimit(Resource::As, before)
        {
            tracing::error!("the memory limit of the agent cannot be restored: {error}");
        }
        if let Err(error) = remove(self.file) {
            tracing::error!("{} cannot be removed: {error}", self.file.display());
        }
    }
}

/// Bytes of address space that this process uses now.
fn address_space() -> Option<u64> {
    let status = types::read_text(Path::new("/proc/self/status"), 1 << 16).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
