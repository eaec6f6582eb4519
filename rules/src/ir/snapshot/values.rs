//! Timestamps and config versions in snapshots. Rules see ages and orders of timestamps, never a clock.

use crate::ir::snapshot::dictionary::Value;

/// Microseconds since the epoch.
pub type Micros = u64;

/// Whole seconds from `since` to `now`, never negative.
#[allow(clippy::cast_possible_wrap, reason = "microseconds divided by a million fit")]
pub(super) fn seconds(now: Micros, since: Micros) -> i64 {
    (now.saturating_sub(since) / 1_000_000) as i64
}

pub(super) fn age<'a>(now: Micros, since: Option<Micros>) -> Value<'a> {
    since.map_or(Value::Absent, |since| Value::Int(seconds(now, since)))
}

/// `timestamp` is known and strictly later than `than`.
pub(super) fn after<'a>(timestamp: Option<Micros>, than: Micros) -> Value<'a> {
    Value::Bool(timestamp.is_some_and(|timestamp| timestamp > than))
}

/// Versions as text in the serialised form.
pub(super) mod version {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use types::ConfigVersion;

    pub(in crate::ir::snapshot) fn serialize<S: Serializer>(
        version: &Option<ConfigVersion>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match version {
            Some(version) => serializer.collect_str(version),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::ir::snapshot) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ConfigVersion>, D::Error> {
        Option::<String>::deserialize(deserializer)?.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
