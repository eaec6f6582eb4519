//! Certificates that are let in no more although they are valid: a file that is read again when it changes.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use types::read_text;

use super::certificate::Names;

/// Time between two looks at the file, and most bytes of it.
const LOOK: Duration = Duration::from_secs(1);
const MOST_BYTES: u64 = 16 << 20;

/// Serial numbers and names of certificates that are refused.
#[derive(Debug)]
pub(crate) struct RefusedCertificates {
    path: PathBuf,
    list: Mutex<List>,
}

#[derive(Debug)]
struct List {
    looked: Instant,
    changed: Option<SystemTime>,
    refused: BTreeSet<String>,
}

impl RefusedCertificates {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let (changed, refused) = (changed(path), read(path)?);
        Ok(Self { path: path.to_owned(), list: Mutex::new(List { looked: Instant::now(), changed, refused }) })
    }

    /// Whether a certificate is refused, by the file as it is now. While the file cannot be read, what it said before holds.
    pub(super) fn has(&self, names: &Names) -> bool {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.looked.elapsed() >= LOOK {
            list.looked = Instant::now();
            let changed = changed(&self.path);
            if changed != list.changed {
                match read(&self.path) {
                    Ok(refused) => (list.changed, list.refused) = (changed, refused),
                    Err(error) => {
                        tracing::warn!(path = %self.path.display(), %error, "refused certificates stay as they were")
                    }
                }
            }
        }
        names.any_of(&list.refused)
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Serial numbers are read with or without colons, zeros before them and capital letters.
fn read(path: &Path) -> io::Result<BTreeSet<String>> {
    let text = read_text(path, MOST_BYTES)?;
    let lines =
        text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
    let entry = |line: &str| match line.contains("://") || line.starts_with("OU=") {
        true => line.to_owned(),
        false => line.replace(':', "").to_ascii_lowercase().trim_start_matches('0').to_owned(),
    };
    Ok(lines.map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_and_names_are_refused_and_the_file_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("refused");
        assert!(RefusedCertificates::open(&path).is_err());
        std::fs::write(&path, "# lost\n00:AB:01\nspiffe://x/y   # sold\nOU=guests\n").unwrap();
        let refused = RefusedCertificates::open(&path).unwrap();
        let names = |serial: &str, uri: &str, unit: &str| Names {
            serial: serial.into(),
            uris: vec![uri.into()],
            units: vec![unit.into()],
            ..Names::default()
        };
        assert!(refused.has(&names("ab01", "", "")));
        assert!(refused.has(&names("1", "spiffe://x/y", "")));
        assert!(refused.has(&names("1", "", "guests")));
        assert!(!refused.has(&names("ab02", "spiffe://x/z", "staff")));
        std::fs::write(&path, "ab02\n").unwrap();
        std::fs::File::open(&path).unwrap().set_modified(SystemTime::now() + LOOK).unwrap();
        refused.list.lock().unwrap().looked -= LOOK;
        assert!(refused.has(&names("ab02", "", "")) && !refused.has(&names("ab01", "", "")));
        std::fs::remove_file(&path).unwrap();
        refused.list.lock().unwrap().looked -= LOOK;
        assert!(refused.has(&names("ab02", "", "")), "a list that is gone opens no door");
    }
}
