//! One agent at a time for a state directory.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

/// That one agent and no other runs with a state directory, for as long as this is kept. The kernel ends it with the
/// process, however that ends.
#[derive(Debug)]
pub struct Sole(#[expect(dead_code, reason = "kept for its lock")] File);

impl Sole {
    /// Takes a state directory; none if another process has it.
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

    /// Whether some process has a state directory.
    ///
    /// # Errors
    /// If the lock cannot be looked at.
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
    fn a_state_directory_has_one_owner_until_that_ends() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("state");
        assert!(!Sole::is_taken(&place).unwrap());
        let first = Sole::take(&place).unwrap().unwrap();
        assert!(Sole::is_taken(&place).unwrap());
        assert!(Sole::take(&place).unwrap().is_none());
        // Whatever is removed from it.
        for entry in std::fs::read_dir(&place).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        assert!(Sole::take(&place).unwrap().is_none());
        drop(first);
        assert!(!Sole::is_taken(&place).unwrap());
        assert!(Sole::take(&place).unwrap().is_some());
    }
}
