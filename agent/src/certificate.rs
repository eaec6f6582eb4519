use std::time::{Duration, SystemTime};

use x509_cert::Certificate;

/// Warn this long before a certificate ends.
pub(crate) const NOTICE: Duration = Duration::from_secs(7 * 86_400);

/// When the first certificate of a PEM chain ends, in seconds since the epoch.
///
/// # Errors
/// Why the text holds no certificate.
pub(crate) fn expiry(pem: &[u8]) -> Result<i64, String> {
    let chain = Certificate::load_pem_chain(pem).map_err(|error| error.to_string())?;
    let certificate = chain.first().ok_or("it holds no certificate")?;
    let end = certificate.tbs_certificate().validity().not_after.to_unix_duration();
    i64::try_from(end.as_secs()).map_err(|error| error.to_string())
}

/// Seconds from `now` to `end`: below 0 once it is over.
pub(crate) fn seconds_left(end: i64, now: SystemTime) -> i64 {
    let now = match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |secs| -secs),
    };
    end.saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let mut parameters = rcgen::CertificateParams::new(vec!["dpu-7.example".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(2031, 4, 5);
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        assert_eq!(expiry(pem.as_bytes()), Ok(1_933_113_600));
        // A file without an end of line is one too; half a file is not.
        assert_eq!(expiry(pem.trim_end().as_bytes()), Ok(1_933_113_600));
        assert!(expiry(pem.get(..pem.len() / 2).unwrap().as_bytes()).is_err());
        assert!(expiry(b"").is_err());
    }

    #[test]
    fn time_left_goes_below_zero_and_never_wraps() {
        let day = 86_400;
        let at = |secs: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(secs);
        assert_eq!(seconds_left(day, at(0)), day);
        assert_eq!(seconds_left(0, at(86_400)), -day);
        assert_eq!(seconds_left(0, SystemTime::UNIX_EPOCH - Duration::from_secs(86_400)), day);
        assert_eq!(seconds_left(i64::MIN, at(5)), i64::MIN);
    }
}
