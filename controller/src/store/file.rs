//! Whether an SQLite database is still in the files that it was opened in: what is written to files that were removed is
//! gone with the process.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, OpenOptionsExt as _, PermissionsExt as _},
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

/// Makes the file if it is not there, and keeps others from it, its log and its index: they hold passwords of BMCs. SQLite
/// gives the other two the rights of the first.
pub(super) fn keep_private(path: &Path) -> io::Result<()> {
    // Why it cannot be made is for SQLite to say.
    let _ = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    for ending in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        let Ok(found) = fs::metadata(&file) else { continue };
        let mode = found.permissions().mode() & 0o777;
        if found.is_file() && mode & 0o077 != 0 {
            tracing::warn!(file = %file.display(), "others could read the database (mode {mode:o}): they no longer can");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

fn identity(path: &Path) -> io::Result<(Identity, u64)> {
    let found = fs::metadata(path)?;
    Ok((Identity(found.dev(), found.ino()), found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[tokio::test]
    async fn nobody_else_reads_the_files_of_a_database() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("site.db");
        let modes = || {
            let mode = |ending: &str| {
                let file = dir.path().join(format!("site.db{ending}"));
                fs::metadata(file).unwrap().permissions().mode() & 0o777
            };
            ["", "-wal", "-shm"].map(mode)
        };
        let url = format!("sqlite:{}", path.display());
        let store = Store::open(&url).await.unwrap();
        assert_eq!(modes(), [0o600; 3]);
        store.close().await;
        // One that an older release made.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let store = Store::open(&url).await.unwrap();
        assert_eq!(modes(), [0o600; 3]);
        store.close().await;
    }
}
