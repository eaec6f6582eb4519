//! Whether an SQLite database is still in the files that it was opened in: what is written to files that were removed is
//! gone with the process.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{Result, StoreError};

/// The file of a database, and its write-ahead log, as they were when it was opened.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    parts: Vec<(PathBuf, Identity)>,
}

/// Device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

impl DatabaseFile {
    /// Looks at the files of a database that is open. The log stays the same file as long as one connection is open.
    pub(super) fn of_open(path: PathBuf) -> io::Result<Self> {
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        let mut parts = vec![(path.clone(), identity(&path)?.0)];
        // There is none where the file system cannot have one.
        if let Ok((log_identity, _)) = identity(log.as_ref()) {
            parts.push((log.into(), log_identity));
        }
        Ok(Self { path, parts })
    }

    /// Refuses if a file is not there, is another one, or is empty where it cannot be.
    pub(super) fn check(&self) -> Result<()> {
        for (path, was) in &self.parts {
            let gone = |fault: String| StoreError::Gone { path: path.display().to_string(), fault };
            match identity(path) {
                Ok((now, _)) if now != *was => return Err(gone("it is another file".to_owned())),
                Ok((_, 0)) if *path == self.path => return Err(gone("it is empty".to_owned())),
                Ok(_) => {}
                Err(error) => return Err(gone(error.to_string())),
            }
        }
        Ok(())
    }
}

fn identity(path: &Path) -> io::Result<(Identity, u64)> {
    let found = fs::metadata(path)?;
    Ok((Identity(found.dev(), found.ino()), found.len()))
}
