//! Files that only the agent reads, replaced and removed as a whole. Every room that keeps state calls it.

use std::{
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::SystemTime,
};

/// Most bytes that are read from one file, whoever wrote it.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// When a file was last written; none if there is none.
pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Replaces a file as a whole, readable by its owner only; its directory is created if necessary.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut options = atomic_write_file::OpenOptions::new();
    options.mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.commit()
}
