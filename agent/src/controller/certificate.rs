//! This DPU's certificate: from when to when it is valid, and how its files are replaced. `connection` and `renewal` call it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use x509_cert::{Certificate, der::Encode as _};

use crate::state::{modified, remove, write_private};

pub(super) const DAY: i64 = 86_400;

/// When a certificate is valid, in seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) begin: i64,
    pub(crate) end: i64,
}

impl Validity {
    /// The validity of the first certificate of a PEM chain.
    ///
    /// # Errors
    /// Why the text holds no certificate.
    pub(crate) fn read(pem: &[u8]) -> Result<Self, String> {
        let chain = Certificate::load_pem_chain(pem).map_err(|error| error.to_string())?;
        let certificate = chain.first().ok_or("it holds no certificate")?;
        let validity = certificate.tbs_certificate().validity();
        let seconds = |time: x509_cert::time::Time| {
            i64::try_from(time.to_unix_duration().as_secs()).map_err(|error| error.to_string())
        };
        Ok(Self { begin: seconds(validity.not_before)?, end: seconds(validity.not_after)? })
    }

    /// Seconds from `now` until it expires: below 0 once it has expired.
    pub(crate) fn left(&self, now: SystemTime) -> i64 {
        self.end.saturating_sub(since_epoch(now))
    }

    /// When it expires or expired, if that is soon enough to warn people.
    pub(crate) fn warning(&self, now: SystemTime) -> Option<String> {
        let left = self.left(now);
        let hours = left.unsigned_abs() / 3600;
        match left {
            ..=0 => Some(format!("expired {hours} hours ago")),
            _ if left > self.notice_period() => None,
            _ => Some(format!("expires in {hours} hours")),
        }
    }

    /// How long before it expires people are warned, in seconds: a week, or a quarter of a short life.
    fn notice_period(&self) -> i64 {
        (7 * DAY).min(self.end.saturating_sub(self.begin) / 4)
    }
}

/// Seconds since the epoch, below 0 for a clock before 1970.
pub(crate) fn since_epoch(now: SystemTime) -> i64 {
    match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |secs| -secs),
    }
}

/// The files of a certificate and its key.
///
/// A new pair is first written next to the old one and then moved, the key before the certificate. As long as the new
/// certificate has not been moved, the key in place may be the old or the new one.
#[derive(Debug)]
pub(crate) struct OwnCertificate {
    cert: PathBuf,
    key: PathBuf,
    /// When the file that was read last was written.
    read: Option<SystemTime>,
    validity: Option<Validity>,
}

impl OwnCertificate {
    pub(crate) fn new(cert: PathBuf, key: PathBuf) -> Self {
        Self { cert, key, read: None, validity: None }
    }

    /// The validity of the certificate file, or of the last version of it that could be read.
    pub(crate) fn validity(&mut self) -> Option<Validity> {
        let changed = modified(&self.cert);
        if changed.is_some() && changed != self.read {
            self.read = changed;
            let read = types::read_file(&self.cert, crate::MAX_FILE_BYTES)
                .map_err(|error| error.to_string())
                .and_then(|pem| Validity::read(&pem));
            match read {
                Ok(validity) => self.validity = Some(validity),
                Err(why) => tracing::warn!("the expiry of this DPU's certificate is not known: {why}"),
            }
        }
        self.validity
    }

    /// The certificate in the form that goes on the wire.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn der(&self) -> Result<Vec<u8>, String> {
        let pem = types::read_file(&self.cert, crate::MAX_FILE_BYTES).map_err(|error| error.to_string())?;
        let chain = Certificate::load_pem_chain(&pem).map_err(|error| error.to_string())?;
        chain.first().ok_or("it holds no certificate")?.to_der().map_err(|error| error.to_string())
    }

    /// The key, as PEM.
    pub(crate) fn key(&self) -> io::Result<Vec<u8>> {
        types::read_file(&self.key, crate::MAX_FILE_BYTES)
    }

    /// Replaces the certificate, and the key if there is a new one.
    pub(crate) fn replace(&self, pem: &[u8], key: Option<&[u8]>) -> io::Result<()> {
        let Some(key) = key else { return write_private(&self.cert, pem) };
        write_private(&next(&self.key), key)?;
        write_private(&next(&self.cert), pem)?;
        self.finish()
    }

    /// Completes an interrupted replacement: the new pair is used if both files were written.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let (cert, key) = (next(&self.cert), next(&self.key));
        if !cert.exists() {
            return remove(&key);
        }
        if key.exists() {
            fs::rename(&key, &self.key)?;
            sync_directory(&self.key)?;
        }
        fs::rename(&cert, &self.cert)?;
        sync_directory(&self.cert)
    }
}

/// Where the next version of a file waits.
fn next(path: &Path) -> PathBuf {
    let mut next = path.as_os_str().to_owned();
    next.push(".next");
    next.into()
}

/// The moves must reach the disk in this order.
fn sync_directory(of: &Path) -> io::Result<()> {
    let directory = of.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_life_of_a_certificate_is_read() {
        let mut parameters = rcgen::CertificateParams::new(vec!["dpu-7.example".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2031, 3, 5);
        parameters.not_after = rcgen::date_time_ymd(2031, 4, 5);
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        let validity = Ok(Validity { begin: 1_930_435_200, end: 1_933_113_600 });
        assert_eq!(Validity::read(pem.as_bytes()), validity);
        // A file without an end of line is one too; half a file is not.
        assert_eq!(Validity::read(pem.trim_end().as_bytes()), validity);
        assert!(Validity::read(pem.get(..pem.len() / 2).unwrap().as_bytes()).is_err());
        assert!(Validity::read(b"").is_err());
    }

    #[test]
    fn time_left_goes_below_zero_and_never_wraps() {
        let at = |secs: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(secs);
        let ends = |end| Validity { begin: 0, end };
        assert_eq!(ends(DAY).left(at(0)), DAY);
        assert_eq!(ends(0).left(at(86_400)), -DAY);
        assert_eq!(ends(0).left(SystemTime::UNIX_EPOCH - Duration::from_secs(86_400)), DAY);
        assert_eq!(ends(i64::MIN).left(at(5)), i64::MIN);
        assert_eq!((ends(30 * DAY).notice_period(), ends(DAY).notice_period()), (7 * DAY, DAY / 4));
    }

    #[test]
    fn an_interrupted_replacement_leaves_a_matching_pair() {
        // Files before, by what they hold; cert and key that are taken.
        for (case, before, taken) in [
            ("nothing was begun", &[("cert", "old"), ("key", "old")][..], "old"),
            ("the key was written", &[("cert", "old"), ("key", "old"), ("key.next", "new")], "old"),
            ("both were written", &[("cert", "old"), ("key", "old"), ("key.next", "new"), ("cert.next", "new")], "new"),
            ("the key was moved", &[("cert", "old"), ("key", "new"), ("cert.next", "new")], "new"),
            ("all was done", &[("cert", "new"), ("key", "new")], "new"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let place = |name: &str| directory.path().join(name);
            before.iter().for_each(|(name, text)| fs::write(place(name), text).unwrap());
            let own = OwnCertificate::new(place("cert"), place("key"));
            own.finish().unwrap();
            let read = |name| fs::read_to_string(place(name)).unwrap();
            assert_eq!((read("cert"), read("key")), (taken.into(), taken.into()), "{case}");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "{case}: no key lies about");
        }
    }
}
