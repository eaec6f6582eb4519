//! Moments in snapshots, and what rules may know of them: ages and orders, never a clock.

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

/// `moment` is known and strictly later than `than`.
pub(super) fn after<'a>(moment: Option<Micros>, than: Micros) -> Value<'a> {
    Value::Bool(moment.is_some_and(|moment| moment > than))
}
