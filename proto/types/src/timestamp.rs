//! Points in time, of one precision everywhere.

#[cfg(feature = "wire")]
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point in time in whole microseconds since the epoch, so that text, database and memory agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The wall clock. A clock before 1970 reads as the epoch.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    /// `micros` after the epoch.
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.0
    }

    /// The timestamp `span` before this, not before the epoch.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Time since the epoch.
    #[must_use]
    pub fn since_epoch(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// Time from `earlier` to this, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(feature = "wire")]
impl From<Timestamp> for prost_types::Timestamp {
    fn from(timestamp: Timestamp) -> Self {
        Self {
            seconds: i64::try_from(timestamp.0 / 1_000_000).unwrap_or(i64::MAX),
            nanos: i32::try_from(timestamp.0 % 1_000_000).unwrap_or_default() * 1_000,
        }
    }
}

#[cfg(feature = "wire")]
impl From<prost_types::Timestamp> for Timestamp {
    /// Times before the epoch read as the epoch.
    fn from(timestamp: prost_types::Timestamp) -> Self {
        let micros = i128::from(timestamp.seconds) * 1_000_000 + i128::from(timestamp.nanos) / 1_000;
        Self(u64::try_from(micros.max(0)).unwrap_or(u64::MAX))
    }
}

/// RFC 3339 in UTC.
#[cfg(feature = "wire")]
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        prost_types::Timestamp::from(*self).fmt(f)
    }
}

#[cfg(all(test, feature = "wire"))]
mod tests {
    use super::*;

    #[test]
    fn prints_as_rfc_3339() {
        assert_eq!(Timestamp::from_micros(1_733_950_583_707_475).to_string(), "2024-12-11T20:56:23.707475Z");
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn round_trips_and_clamps_what_is_before_the_epoch() {
        let timestamp = Timestamp::from_micros(1_733_950_583_707_475);
        assert_eq!(Timestamp::from(prost_types::Timestamp::from(timestamp)), timestamp);
        assert_eq!(Timestamp::from(prost_types::Timestamp { seconds: -5, nanos: 0 }), Timestamp::default());
        assert_eq!(timestamp.since(Timestamp::from_micros(u64::MAX)), Duration::ZERO);
    }
}
