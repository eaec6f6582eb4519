//! The renewal of this DPU's certificate: when it is due, and the call. The room `agent` asks once a pass.

use std::time::{Duration, Instant, SystemTime};

use proto::{
    MachineId,
    forge::{MachineCertificate, MachineCertificateRenewRequest},
};
use sha2::{Digest as _, Sha256};
use tonic::{Request, metadata::MetadataValue, transport::Identity};

use super::{
    certificate::{DAY, Validity, since_epoch},
    connection::{Controller, bounded, describe},
    retry::Retry,
};

/// When this DPU's certificate is to be renewed: five to seven days after it became valid, halfway through its life at the
/// latest, and repeatedly once it has expired.
pub(super) struct Renewal {
    machine: MachineId,
    retry: Retry<()>,
    /// A person asked for the next try.
    requested: bool,
    failure: Option<String>,
}

impl Renewal {
    pub(super) fn new(machine: MachineId) -> Self {
        let retry = Retry::new(Duration::from_secs(60), Duration::from_secs(300));
        Self { machine, retry, requested: false, failure: None }
    }

    /// Whether it is time to try.
    pub(super) fn is_due(&self, validity: &Validity, now: SystemTime, at: Instant) -> bool {
        self.requested || (since_epoch(now) >= self.due_at(validity) && self.retry.may_try(&(), at))
    }

    /// Makes the next try come at once, needed or not.
    pub(super) fn retry_now(&mut self) {
        self.requested = true;
    }

    /// A try ended at `at`.
    pub(super) fn tried(&mut self, failure: Option<String>, at: Instant) {
        self.requested = false;
        match &failure {
            None => self.retry.reset(),
            Some(reason) => {
                self.retry.failed((), at);
                if self.failure != failure {
                    tracing::warn!("this DPU's certificate cannot be renewed: {reason}");
                }
            }
        }
        self.failure = failure;
    }

    /// Why the last try failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// In seconds since the epoch. Each DPU has its own time, so that the DPUs of a site do not all come at once.
    fn due_at(&self, validity: &Validity) -> i64 {
        let hash = Sha256::new().chain_update(self.machine.as_str()).chain_update(validity.begin.to_be_bytes());
        let [first, second, ..]: [u8; 32] = hash.finalize().into();
        let share = i64::from(u16::from_be_bytes([first, second]));
        let age = 5 * DAY + 2 * DAY * share / i64::from(u16::MAX);
        let halfway = validity.end.saturating_sub(validity.begin) / 2;
        validity.begin.saturating_add(age.min(halfway))
    }
}

impl Controller {
    /// Renews this DPU's certificate; the validity of the new one.
    ///
    /// An expired certificate opens no connection. Its renewal is requested on a connection without one: the request carries
    /// the former certificate and gets another for the same key.
    pub(super) async fn renew(&mut self) -> Result<Validity, String> {
        let validity = self.certificate().ok_or("there is none that can be read")?;
        let mut request = Request::new(MachineCertificateRenewRequest::default());
        let mut client = if validity.left(SystemTime::now()) > 0 {
            self.client().map_err(|fault| fault.to_string())?
        } else {
            let own = self.own.as_ref().ok_or("there is none")?;
            let former = own.der().map_err(|why| format!("it cannot be read: {why}"))?;
            request.metadata_mut().insert_bin(proto::FORMER_CERTIFICATE, MetadataValue::from_bytes(&former));
            self.settings.client(None).map_err(|fault| fault.to_string())?
        };
        let response =
            bounded(self.call_limit(), client.renew_machine_certificate(request)).await.map_err(|status| {
                self.after(&status);
                describe(&status)
            })?;
        let new = response.machine_certificate.ok_or("the response holds no certificate")?;
        self.install(&new, &validity)
    }

    /// Replaces the certificate with a new one, if that is usable.
    fn install(&self, new: &MachineCertificate, former: &Validity) -> Result<Validity, String> {
        let own = self.own.as_ref().ok_or("there is none to replace")?;
        let validity = Validity::read(&new.public_key);
        let validity = validity.map_err(|why| format!("the new one cannot be read: {why}"))?;
        if validity.end <= former.end {
            return Err("the new one does not last longer".to_owned());
        }
        let new_key = Some(new.private_key.as_slice()).filter(|key| !key.is_empty());
        let key = match new_key {
            Some(key) => key.to_vec(),
            None => own.key().map_err(|error| format!("its key cannot be read: {error}"))?,
        };
        let pem = [&new.public_key[..], b"\n", &new.issuing_ca, b"\n"].concat();
        let client = self.settings.client(Some(Identity::from_pem(&pem, key)));
        client.map_err(|fault| format!("the new one is of no use: {fault}"))?;
        own.replace(&pem, new_key).map_err(|error| format!("its files cannot be replaced: {error}"))?;
        Ok(validity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "fm100ds0123456789abcdefghijklmnopqrstuv0123456789abcdefghij";

    fn renewal(id: &str) -> Renewal {
        Renewal::new(id.parse().unwrap())
    }

    fn at(days: f64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(days * 86_400.0)
    }

    #[test]
    fn a_certificate_is_due_long_before_it_expires_and_after() {
        let month = Validity { begin: 100 * DAY, end: 130 * DAY };
        let short = Validity { begin: 100 * DAY, end: 102 * DAY };
        for (validity, days, due) in [
            (month, 100.0, false),
            (month, 104.9, false),
            (month, 107.1, true),
            (month, 129.9, true),
            (month, 130.0, true),
            (month, 1000.0, true),
            (short, 100.9, false),
            (short, 101.1, true),
            // A clock that has not been set yet.
            (month, 0.0, false),
        ] {
            assert_eq!(renewal(ID).is_due(&validity, at(days), Instant::now()), due, "{validity:?} at {days}");
        }
        assert!(!renewal(ID).is_due(&month, SystemTime::UNIX_EPOCH - Duration::from_secs(1), Instant::now()));
    }

    #[test]
    fn the_dpus_of_a_site_do_not_come_together() {
        let month = Validity { begin: 100 * DAY, end: 130 * DAY };
        let mut times: Vec<i64> =
            (0..200).map(|n| renewal(&format!("fm100ds{n:0>52}")).due_at(&month) - month.begin).collect();
        times.sort_unstable();
        assert!(times.first().is_some_and(|first| (5 * DAY..6 * DAY).contains(first)), "{times:?}");
        assert!(times.last().is_some_and(|last| (6 * DAY..=7 * DAY).contains(last)), "{times:?}");
        times.dedup();
        assert!(times.len() > 190, "{}", times.len());
    }

    #[test]
    fn failures_are_retried_within_minutes_and_on_request() {
        let expired = Validity { begin: 0, end: DAY };
        let (now, begun) = (at(2.0), Instant::now());
        let mut renewal = renewal(ID);
        let due = |renewal: &Renewal, secs| renewal.is_due(&expired, now, begun + Duration::from_secs(secs));
        renewal.tried(Some("no answer".into()), begun);
        assert_eq!((due(&renewal, 59), due(&renewal, 60), renewal.failure()), (false, true, Some("no answer")));
        (0..9).for_each(|_| renewal.tried(Some("no answer".into()), begun));
        assert_eq!((due(&renewal, 299), due(&renewal, 300)), (false, true));
        renewal.retry_now();
        assert!(due(&renewal, 0));
        renewal.tried(None, begun);
        assert_eq!(renewal.failure(), None);
    }
}
