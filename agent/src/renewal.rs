use std::time::{Duration, Instant, SystemTime};

use proto::MachineId;
use sha2::{Digest as _, Sha256};

use crate::{
    certificate::{Validity, since_epoch},
    retry::Retry,
};

const DAY: i64 = 86_400;

/// When this DPU's certificate is to be renewed: five to seven days after it became valid, at the latest in the middle of
/// its life, and again and again once it is over.
pub(crate) struct Renewal {
    machine: MachineId,
    retry: Retry<()>,
    hurried: bool,
    failure: Option<String>,
}

impl Renewal {
    pub(crate) fn new(machine: MachineId) -> Self {
        let retry = Retry::new(Duration::from_secs(60), Duration::from_secs(300));
        Self { machine, retry, hurried: false, failure: None }
    }

    /// Whether it is time to try.
    pub(crate) fn is_due(&self, validity: &Validity, now: SystemTime, at: Instant) -> bool {
        self.hurried || (since_epoch(now) >= self.moment(validity) && self.retry.may_try(&(), at))
    }

    /// The next try comes at once, needed or not.
    pub(crate) fn hurry(&mut self) {
        self.hurried = true;
    }

    /// A try came to its end at `at`.
    pub(crate) fn tried(&mut self, failure: Option<String>, at: Instant) {
        self.hurried = false;
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

    /// Why the last try came to nothing.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// In seconds since the epoch. Each DPU has its own, so that a site's do not come together.
    fn moment(&self, validity: &Validity) -> i64 {
        let hash = Sha256::new().chain_update(self.machine.as_str()).chain_update(validity.begin.to_be_bytes());
        let [first, second, ..]: [u8; 32] = hash.finalize().into();
        let share = i64::from(u16::from_be_bytes([first, second]));
        let age = 5 * DAY + 2 * DAY * share / i64::from(u16::MAX);
        let middle = validity.end.saturating_sub(validity.begin) / 2;
        validity.begin.saturating_add(age.min(middle))
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
    fn a_certificate_is_renewed_long_before_its_end_and_still_after_it() {
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
        let mut moments: Vec<i64> =
            (0..200).map(|n| renewal(&format!("fm100ds{n:0>52}")).moment(&month) - month.begin).collect();
        moments.sort_unstable();
        assert!(moments.first().is_some_and(|first| (5 * DAY..6 * DAY).contains(first)), "{moments:?}");
        assert!(moments.last().is_some_and(|last| (6 * DAY..=7 * DAY).contains(last)), "{moments:?}");
        moments.dedup();
        assert!(moments.len() > 190, "{}", moments.len());
    }

    #[test]
    fn failures_are_tried_again_within_minutes_and_at_once_if_somebody_asks() {
        let over = Validity { begin: 0, end: DAY };
        let (now, begun) = (at(2.0), Instant::now());
        let mut renewal = renewal(ID);
        let due = |renewal: &Renewal, secs| renewal.is_due(&over, now, begun + Duration::from_secs(secs));
        renewal.tried(Some("no answer".into()), begun);
        assert_eq!((due(&renewal, 59), due(&renewal, 60), renewal.failure()), (false, true, Some("no answer")));
        (0..9).for_each(|_| renewal.tried(Some("no answer".into()), begun));
        assert_eq!((due(&renewal, 299), due(&renewal, 300)), (false, true));
        renewal.hurry();
        assert!(due(&renewal, 0));
        renewal.tried(None, begun);
        assert_eq!(renewal.failure(), None);
    }
}
