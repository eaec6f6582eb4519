//! Types of values, as the schema writes them: `integer[ge=1,le=255]|enum(none)`.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Whether a value can be there at all; where none can, only names are.
pub(super) fn is_scalar(kind: &str) -> bool {
    !matches!(kind, "object" | "entry" | "map")
}

/// Whether a value fits one of the types that `kind` names.
///
/// The schema has the words of the newest release that knows a key, and 5.15 renamed `on` and `off`; HBN has the old ones.
pub(super) fn fits(kind: &str, value: &str) -> bool {
    let renamed = match value {
        "on" => Some("enabled"),
        "off" => Some("disabled"),
        _ => None,
    };
    alternatives(kind).any(|kind| {
        fits_one(kind, value) || renamed.is_some_and(|value| fits_one(kind, value) && kind.starts_with("enum"))
    })
}

/// The types between the bars, but not those inside brackets.
fn alternatives(kind: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    kind.split(move |character| {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == '|' && depth == 0
    })
}

fn fits_one(kind: &str, value: &str) -> bool {
    let (name, rest) = kind.split_at(kind.find(['[', '(']).unwrap_or(kind.len()));
    let inside = rest.get(1..rest.len().saturating_sub(1)).unwrap_or_default();
    match name {
        "enum" => inside.split('|').any(|word| word == value),
        "integer" => value.parse::<i64>().is_ok_and(|number| in_range(inside, number)),
        "number" => value.parse::<f64>().is_ok(),
        "IPv4Address" => value.parse::<Ipv4Addr>().is_ok(),
        "IPv6Address" => value.parse::<Ipv6Addr>().is_ok(),
        "IPv4Network" => value.parse::<Ipv4Net>().is_ok(),
        "IPv6Network" => value.parse::<Ipv6Net>().is_ok(),
        "string" | "SecretStr" => length_fits(inside, value.chars().count()),
        "any" => true,
        // A list is written out by NVUE but not read; names are no values.
        _ => false,
    }
}

fn limit<'a>(limits: &'a str, name: &str) -> Option<&'a str> {
    limits.split(',').find_map(|limit| limit.strip_prefix(name)?.strip_prefix('='))
}

fn in_range(limits: &str, number: i64) -> bool {
    let limit = |name| limit(limits, name).and_then(|limit| limit.parse::<i64>().ok());
    limit("ge").is_none_or(|least| number >= least) && limit("le").is_none_or(|most| number <= most)
}

fn length_fits(limits: &str, length: usize) -> bool {
    let limit = |name| limit(limits, name).and_then(|limit| limit.parse::<usize>().ok());
    limit("min_length").is_none_or(|least| length >= least) && limit("max_length").is_none_or(|most| length <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_types() {
        for (kind, good, bad) in [
            ("enum(on|off)", &["on", "off"][..], &["ON", "true", "", "enabled"][..]),
            ("enum(enabled|disabled|auto)", &["on", "off", "enabled", "auto"], &["ON", "true", ""]),
            ("string[min_length=1]|enum(none)", &["on"], &[]),
            ("integer[ge=1,le=255]", &["1", "255"], &["0", "256", "x", "1.0"]),
            ("integer[ge=1,le=4294967295]|enum(auto)|enum(internal|external)", &["65100", "external"], &["0", "ext"]),
            (
                "IPv4Address|IPv6Address|IPv4Network|IPv6Network|enum(ANY)",
                &["10.0.0.1", "::/0", "ANY"],
                &["any", "10.0.0.0/33"],
            ),
            ("string[min_length=1,max_length=3]", &["a", "abc"], &["", "abcd"]),
            ("string[min_length=1]|enum(none)", &["none", "x"], &[""]),
            ("any", &["", "x"], &[]),
            ("entry", &[], &["x"]),
        ] {
            for value in good {
                assert!(fits(kind, value), "{kind} {value}");
            }
            for value in bad {
                assert!(!fits(kind, value), "{kind} {value}");
            }
        }
    }
}
