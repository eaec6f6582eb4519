//! Reader of `nv config show`.

use serde::Serialize;
use serde_yaml::Value;
use types::{MOST_LEVELS, nesting};

use super::fault::{ParseFault, reason};

const OUTPUT: &str = "nv config show";

/// A configuration as `nv config show` prints it: what it is for, and what it sets, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NvDocument {
    /// The header's release, for example `HBN 3.2.0`.
    pub version: Option<String>,
    /// The header's revision, as text.
    pub revision: Option<String>,
    /// `set` and `unset` entries in order: the configuration proper, which headers never take part in.
    pub entries: Vec<(String, Value)>,
}

/// Reads `nv config show`. Some releases print the header without its dash; it is put back.
///
/// # Errors
/// [`ParseFault`] where the text is no YAML list of headers, `set` and `unset`.
pub fn nv_document(text: &str) -> Result<NvDocument, ParseFault> {
    let fault = |line: &str, expected: &str| ParseFault::at(OUTPUT, text, line, expected);
    let repaired;
    let start = text.trim_start();
    let yaml = if start.starts_with("header:") {
        repaired = start.replacen("header:", "- header:", 1);
        repaired.as_str()
    } else {
        start
    };
    if nesting(yaml) > MOST_LEVELS {
        return Err(fault(start, &format!("no more than {MOST_LEVELS} levels")));
    }
    let entries: Vec<Value> = serde_yaml::from_str(yaml).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        let line = start.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        fault(line, &format!("a YAML list of header, set and unset ({})", reason(&error.to_string())))
    })?;
    let mut document = NvDocument { version: None, revision: None, entries: Vec::new() };
    // Values know no place, but each entry begins a line.
    let mut places = start.lines().filter(|line| line.starts_with('-') || line.starts_with("header:"));
    for entry in entries {
        let place = places.next().unwrap_or(start);
        let Value::Mapping(map) = entry else { return Err(fault(place, "an entry with a name")) };
        for (key, value) in map {
            match key.as_str() {
                Some("header") => {
                    let text = |name: &str| value.get(name).and_then(scalar);
                    (document.version, document.revision) = (text("version"), text("rev-id"));
                }
                Some(name @ ("set" | "unset")) => document.entries.push((name.to_owned(), value)),
                _ => return Err(fault(place, "header, set or unset")),
            }
        }
    }
    Ok(document)
}

/// A scalar as the text that was meant: `1.0` is a revision here, not a number.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 => Some(format!("{float:.1}")),
            _ => Some(number.to_string()),
        },
        _ => None,
    }
}
