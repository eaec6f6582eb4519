//! Pauses between tries of something that keeps failing. `agent` spaces out applies with it, `renewal` its calls.

use std::time::{Duration, Instant};

/// Spaces out the tries of one change that keeps failing: the pause doubles after each failure, up to a limit.
pub(crate) struct Retry<T> {
    first: Duration,
    longest: Duration,
    failing: Option<Failing<T>>,
}

struct Failing<T> {
    what: T,
    failures: u32,
    not_before: Instant,
}

impl<T: PartialEq> Retry<T> {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failing: None }
    }

    /// Whether `what` may be tried at `now`; anything other than what failed always may.
    pub(crate) fn may_try(&self, what: &T, now: Instant) -> bool {
        self.failing.as_ref().is_none_or(|failing| failing.what != *what || now >= failing.not_before)
    }

    /// `what` failed at `now`; the time until the next try.
    pub(crate) fn failed(&mut self, what: T, now: Instant) -> Duration {
        let before = self.failing.take().filter(|failing| failing.what == what).map_or(0, |failing| failing.failures);
        let failures = before.saturating_add(1);
        let pause = self.first.saturating_mul(1 << before.min(16)).min(self.longest.max(self.first));
        self.failing = Some(Failing { what, failures, not_before: now + pause });
        pause
    }

    /// Forgets the failures: anything may be tried at once.
    pub(crate) fn reset(&mut self) {
        self.failing = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_restart_for_another_change() {
        let now = Instant::now();
        let mut retry = Retry::new(Duration::from_secs(30), Duration::from_secs(300));
        let pauses: Vec<u64> = (0..6).map(|_| retry.failed("a", now).as_secs()).collect();
        assert_eq!(pauses, [30, 60, 120, 240, 300, 300]);
        assert!(!retry.may_try(&"a", now + Duration::from_secs(299)));
        assert!(retry.may_try(&"a", now + Duration::from_secs(300)));
        assert!(retry.may_try(&"b", now));
        assert_eq!(retry.failed("b", now).as_secs(), 30);
        retry.reset();
        assert!(retry.may_try(&"b", now));
    }

    #[test]
    fn a_thousand_failures_do_not_overflow() {
        let mut retry = Retry::new(Duration::from_millis(50), Duration::from_secs(1));
        let last = (0..1000).map(|_| retry.failed((), Instant::now())).last();
        assert_eq!(last, Some(Duration::from_secs(1)));
    }
}
