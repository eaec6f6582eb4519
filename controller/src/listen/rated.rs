//! Log lines about what others do: one a second for each kind, with how often it happened.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const PAUSE: Duration = Duration::from_secs(1);

/// One kind of line.
#[derive(Debug, Default)]
pub(crate) struct Rated(Mutex<(Option<Instant>, u64)>);

impl Rated {
    /// How often it happened since the last line, this time included, if it is time for another line.
    pub(crate) fn now(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += 1;
        if state.0.is_some_and(|last| last.elapsed() < PAUSE) {
            return None;
        }
        let times = state.1;
        *state = (Some(Instant::now()), 0);
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_few_and_count_what_is_left_out() {
        let rated = Rated::default();
        assert_eq!(rated.now(), Some(1));
        assert!((0..999).all(|_| rated.now().is_none()));
        rated.0.lock().unwrap().0 = Some(Instant::now() - PAUSE);
        assert_eq!(rated.now(), Some(1000));
    }
}
