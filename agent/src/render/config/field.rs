//! Parsing of single fields; every fault names its field.

use std::{fmt, str::FromStr};

use super::Prefix;

/// A response that no DPU can be configured from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {fault}")]
pub struct ConfigError {
    /// Where, for example `tenant_interfaces[1].gateway`.
    pub field: String,
    /// What is wrong with it.
    pub fault: String,
}

/// The fault of a field.
pub(super) fn fault(field: impl fmt::Display, fault: impl fmt::Display) -> ConfigError {
    ConfigError { field: field.to_string(), fault: fault.to_string() }
}

/// Enough of a text to recognise it in an error.
pub(super) fn clipped(text: &str) -> String {
    let mut clipped: String = text.chars().take(60).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// `text` read as a `T`; `what` says what a `T` is.
pub(super) fn parse<T: FromStr>(field: impl fmt::Display, text: &str, what: &str) -> Result<T, ConfigError> {
    text.parse().map_err(|_| match text {
        "" => fault(&field, format_args!("is missing: it must be {what}")),
        text => fault(&field, format_args!("is {:?}, not {what}", clipped(text))),
    })
}

/// As [`parse`], but an empty text is none.
pub(super) fn parse_some<T: FromStr>(
    field: impl fmt::Display,
    text: &str,
    what: &str,
) -> Result<Option<T>, ConfigError> {
    if text.is_empty() { Ok(None) } else { parse(field, text, what).map(Some) }
}

/// The networks of a set, each once and in order, without host bits.
pub(super) fn networks<'a>(
    field: impl fmt::Display,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Prefix>, ConfigError> {
    let read = read_prefixes(field, texts)?;
    Ok(in_order(read.into_iter().map(Prefix::without_host_bits).collect()))
}

/// The prefixes of a set, each once and in order, in the words of the message.
pub(super) fn prefixes<'a>(
    field: impl fmt::Display,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Prefix>, ConfigError> {
    read_prefixes(field, texts).map(in_order)
}

/// The controller sends sets in any order, and files must not depend on it. IPv4 comes first.
fn in_order(mut prefixes: Vec<Prefix>) -> Vec<Prefix> {
    prefixes.sort_by_cached_key(|prefix| (prefix.net(), prefix.to_string()));
    prefixes.dedup_by_key(|prefix| prefix.net());
    prefixes
}

fn read_prefixes<'a>(
    field: impl fmt::Display,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Prefix>, ConfigError> {
    let read = |(index, text)| parse(format_args!("{field}[{index}]"), text, "an IP prefix");
    texts.into_iter().enumerate().map(read).collect()
}

/// A number that must lie in a range; 0 is none.
pub(super) fn number_some(
    field: impl fmt::Display,
    number: u32,
    most: u32,
    what: &str,
) -> Result<Option<u32>, ConfigError> {
    match number {
        0 => Ok(None),
        number if number <= most => Ok(Some(number)),
        number => Err(fault(field, format_args!("is {number}, not {what}"))),
    }
}

/// A name that HBN can give to a network device.
pub(super) fn device_name(field: impl fmt::Display, text: &str, longest: usize) -> Result<String, ConfigError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if text.is_empty() || text.len() > longest || !text.bytes().all(plain) {
        let what = format!("the name of a device: 1 to {longest} of letters, digits, `_`, `-` and `.`");
        return Err(fault(field, format_args!("is {:?}, not {what}", clipped(text))));
    }
    Ok(text.into())
}

/// A host name with or without domain; DHCP probes it out, so it must be one.
pub(super) fn host_name(field: impl fmt::Display, text: &str) -> Result<Option<String>, ConfigError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain);
    match text {
        "" => Ok(None),
        name if name.len() <= 253 && name.strip_suffix('.').unwrap_or(name).split('.').all(label) => {
            Ok(Some(name.into()))
        }
        name => Err(fault(field, format_args!("is {:?}, not a host name", clipped(name)))),
    }
}

/// A text of at most 255 printable ASCII characters without spaces, as DHCP's options can carry.
pub(super) fn option_text(field: impl fmt::Display, text: &str) -> Result<Option<String>, ConfigError> {
    match text {
        "" => Ok(None),
        text if text.len() <= 255 && text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(text.into())),
        text => {
            let what = "at most 255 printable ASCII characters without spaces";
            Err(fault(field, format_args!("is {:?}, not {what}", clipped(text))))
        }
    }
}
