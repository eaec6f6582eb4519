//! How single values of the configuration are read. Only `sections` calls it.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize as _, Deserializer, de::Error as _};

pub(super) fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

pub(super) fn parsed_some<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    parsed(deserializer).map(Some)
}

pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let time = seconds_or_none(deserializer)?;
    if time.is_zero() { Err(D::Error::custom("a time above 0 is needed, in seconds")) } else { Ok(time) }
}

pub(super) fn seconds_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    const LONGEST: f64 = 86_400.0;
    let seconds = f64::deserialize(deserializer)?;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(D::Error::custom(format!("a time of 0 to {LONGEST} seconds is needed, not {seconds}")));
    }
    Ok(Duration::from_secs_f64(seconds))
}
