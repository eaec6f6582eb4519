//! What single values of a site file can be, whatever the others are.

use std::{ops::RangeInclusive, str::FromStr};

use ipnet::IpNet;

use super::section::Section;

/// The number of a key, if it is there and of the range.
pub(super) fn within(section: &Section<'_>, key: &str, number: Option<u32>, range: RangeInclusive<u32>) -> Option<u32> {
    let number = number?;
    if range.contains(&number) {
        return Some(number);
    }
    section.fault(key, format_args!("{number} is not within {}-{}", range.start(), range.end()));
    None
}

/// A prefix that must be there: DPUs know themselves and the admin network by IPv4 addresses.
pub(super) fn ipv4_prefix(section: &Section<'_>, key: &str) -> Option<IpNet> {
    let prefix: IpNet = section.required(key)?;
    match prefix {
        IpNet::V6(_) => section.fault(key, format_args!("{prefix} is no IPv4 prefix")),
        IpNet::V4(_) if prefix.trunc() != prefix => {
            section.fault(key, format_args!("{prefix} has bits beyond its length: did you mean {}?", prefix.trunc()));
        }
        IpNet::V4(_) => return Some(prefix),
    }
    None
}

/// A range of numbers that must be there.
pub(super) fn range(section: &Section<'_>, key: &str, highest: u32) -> Option<RangeInclusive<u32>> {
    let Some(pool) = section.section(key) else {
        section.fault(key, "is missing: give first and last");
        return None;
    };
    pool.only(&["first", "last"]);
    let (first, last) = (pool.required("first"), pool.required("last"));
    let (first, last) = (first?, last?);
    if first == 0 || first > last || last > highest {
        section.fault(key, format_args!("{first}-{last} is no range within 1-{highest}"));
        return None;
    }
    Some(first..=last)
}

/// A domain that host names are made with.
pub(super) struct Domain(pub(super) String);

/// A host label and a dot stand before it, in a name of 253 at most.
const LONGEST_DOMAIN: usize = 253 - 64;

impl FromStr for Domain {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_label = |label: &str| {
            let letters = label.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-');
            (1..=63).contains(&label.len()) && letters && !label.starts_with('-') && !label.ends_with('-')
        };
        if text.len() > LONGEST_DOMAIN || !text.split('.').all(is_label) {
            return Err("no domain: expected labels of letters, digits and - with dots between, 189 bytes at most");
        }
        Ok(Self(text.to_owned()))
    }
}

/// What hosts boot from, as DHCP carries it.
pub(super) struct BootUrl(pub(super) String);

/// DHCP carries it in an option of one byte's length.
const LONGEST_URL: usize = 255;

impl FromStr for BootUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |letter: u8| letter.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&letter);
        if text.len() > LONGEST_URL || !text.bytes().all(allowed) {
            return Err("no URL: expected the letters that URLs are made of, 255 at most");
        }
        Ok(Self(text.to_owned()))
    }
}
