//! One agent at a time for a state directory. The commands `run` and `status` call it.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

/// An exclusive lock on a state directory, held as long as this value lives. The kernel releases it when the process ends,
/// however that happens.
#[derive(Debug)]
pub struct StateDirLock(#[expect(dead_code, reason = "kept for its lock")] File);

impl StateDirLock {
    /// Locks a state directory; none if another process holds the lock.
    ///
    /// # Errors
    /// If the directory or its lock cannot be used.
    pub fn take(state_dir: &Path) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(state_dir)?;
        // The directory itself, not a file in it that somebody could remove.
        let file = File::open(state_dir)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether some process holds the lock of a state directory.
    ///
    /// # Errors
    /// If the lock cannot be examined.
    pub fn is_taken(state_dir: &Path) -> io::Result<bool> {
        let file = match File::open(state_dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_directory_has_one_owner_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("state");
        assert!(!StateDirLock::is_taken(&place).unwrap());
        let first = StateDirLock::take(&place).unwrap().unwrap();
        assert!(StateDirLock::is_taken(&place).unwrap());
        assert!(StateDirLock::take(&place).unwrap().is_none());
        // Whatever is removed from it.
        for entry in std::fs::read_dir(&place).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        assert!(StateDirLock::take(&place).unwrap().is_none());
        drop(first);
        assert!(!StateDirLock::is_taken(&place).unwrap());
        assert!(StateDirLock::take(&place).unwrap().is_some());
    }
}
