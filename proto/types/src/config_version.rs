//! Versions of intents, as they travel in the protocol and stand in the database.

use std::{fmt, str::FromStr};

/// Version of one intent, `V<number>-T<microseconds since the epoch>` as text.
///
/// Equal only if number and time are equal: a higher number is not "newer" after a database was restored, so nothing
/// here orders versions except [`ConfigVersion::older`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConfigVersion {
    number: u64,
    micros: u64,
}

/// A text that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no config version: expected V<number>-T<microseconds>, for example V3-T1733950583707475")]
pub struct ConfigVersionError(String);

impl ConfigVersion {
    /// The first version of an intent, made at `micros` since the epoch.
    #[must_use]
    pub fn first(micros: u64) -> Self {
        Self { number: 1, micros }
    }

    /// The version after this one, made at `micros` since the epoch. Zero is never produced.
    #[must_use]
    pub fn next(self, micros: u64) -> Self {
        Self { number: self.number.checked_add(1).unwrap_or(1), micros }
    }

    /// The same version, as if made at `micros` since the epoch.
    #[must_use]
    pub fn made_at(self, micros: u64) -> Self {
        Self { micros, ..self }
    }

    /// How many times the intent has changed, from 1.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }

    /// When this version was made, in microseconds since the epoch.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.micros
    }

    /// The older of two by time, by number where the times are equal.
    #[must_use]
    pub fn older(self, other: Self) -> Self {
        if (other.micros, other.number) < (self.micros, self.number) { other } else { self }
    }
}

impl fmt::Display for ConfigVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "V{}-T{}", self.number, self.micros)
    }
}

impl FromStr for ConfigVersion {
    type Err = ConfigVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || ConfigVersionError(text.chars().take(80).collect());
        let (number, micros) = text.trim().split_once('-').ok_or_else(fault)?;
        let part = |text: &str, letter| text.strip_prefix(letter).and_then(|digits| digits.parse().ok());
        match (part(number, 'V'), part(micros, 'T')) {
            (Some(number), Some(micros)) => Ok(Self { number, micros }),
            _ => Err(fault()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let version: ConfigVersion = "V3-T1733950583707475".parse().unwrap();
        assert_eq!((version.number(), version.micros()), (3, 1_733_950_583_707_475));
        assert_eq!(version.to_string(), "V3-T1733950583707475");
        assert_eq!(" V3-T1733950583707475\n".parse(), Ok(version));
        assert_eq!("V03-T1733950583707475".parse(), Ok(version));
    }

    #[test]
    fn refuses_anything_else() {
        for text in [
            "",
            "V1",
            "v1-T2",
            "V1-t2",
            "V-T2",
            "V1-T",
            "V1-T2-3",
            "1-2",
            "V-1-T2",
            "V1--T2",
            "V1-T-2",
            "V18446744073709551616-T1",
            "V1-T99999999999999999999",
            "V1 -T2",
            "T2-V1",
        ] {
            assert!(text.parse::<ConfigVersion>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_same_number_and_time_are_equal() {
        let first = ConfigVersion::first(10);
        assert_ne!(first, ConfigVersion::first(11));
        assert_ne!(first, first.next(10));
        assert_eq!(first.next(12), "V2-T12".parse().unwrap());
        assert_eq!("V18446744073709551615-T1".parse::<ConfigVersion>().unwrap().next(2).number(), 1);
    }

    #[test]
    fn the_older_is_the_one_made_first() {
        let (early_high, late_low): (ConfigVersion, ConfigVersion) =
            ("V9-T1".parse().unwrap(), "V2-T5".parse().unwrap());
        assert_eq!(early_high.older(late_low), early_high);
        assert_eq!(late_low.older(early_high), early_high);
        assert_eq!("V2-T5".parse::<ConfigVersion>().unwrap().older("V1-T5".parse().unwrap()).number(), 1);
    }
}
