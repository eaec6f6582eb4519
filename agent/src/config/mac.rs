//! MAC addresses, in any spelling that labels and tools have.

use std::{fmt, str::FromStr};

/// A MAC address, however it was spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacAddress([u8; 6]);

/// A text that is not a MAC address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a MAC address, such as 02:00:5e:10:00:07")]
pub struct MacAddressError(String);

impl FromStr for MacAddress {
    type Err = MacAddressError;

    /// Six groups, in which leading zeros may be left out, three groups, or no groups at all.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_address = || MacAddressError(text.chars().take(40).collect());
        let separator = text.chars().find(|character| matches!(character, ':' | '-' | '.'));
        let groups: Vec<&str> = separator.map_or_else(|| vec![text], |separator| text.split(separator).collect());
        let (least, width) = match groups.len() {
            6 => (1, 2),
            3 => (4, 4),
            1 => (12, 12),
            _ => return Err(no_address()),
        };
        let fits = |group: &&str| {
            (least..=width).contains(&group.len()) && group.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        if !groups.iter().all(fits) {
            return Err(no_address());
        }
        let digits: String = groups.iter().map(|group| format!("{group:0>width$}")).collect();
        let number = u64::from_str_radix(&digits, 16).map_err(|_| no_address())?;
        let [_, _, bytes @ ..] = number.to_be_bytes();
        Ok(Self(bytes))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_one_address() {
        for text in ["02:00:5e:10:00:07", "2:0:5e:10:0:7", "02-00-5E-10-00-07", "0200.5e10.0007", "02005e100007"] {
            assert_eq!(text.parse::<MacAddress>().unwrap().to_string(), "02:00:5e:10:00:07", "{text}");
        }
        for text in [
            "02:00:5e:10:00",
            "02:00:5e:10:00:07:08",
            "02:00:5e:10:00:0g",
            "2005e100007",
            "2.5e10.7",
            "",
            "02::5e:10:0:7",
            "é",
        ] {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }
}
