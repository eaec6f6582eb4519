//! The error of all readers. It quotes the place, never more than a short excerpt.

use std::fmt;

/// Why a command's output could not be read: which output, where in it, what was expected and what stood there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ParseFault {
    /// The output that was read, for example `show bgp summary`.
    pub output: &'static str,
    /// Line in the output, from 1.
    pub line: usize,
    /// Column in that line, in characters from 1.
    pub column: usize,
    /// What the parser expected there, at most [`EXCERPT_BYTES`] long.
    pub expected: String,
    /// What it found: an excerpt of the input, at most [`EXCERPT_BYTES`] long.
    pub found: String,
}

/// Longest excerpt of an output that goes into an error.
pub const EXCERPT_BYTES: usize = 160;

impl fmt::Display for ParseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, line, column, expected, found } = self;
        write!(f, "{output}, line {line}, column {column}: expected {expected}, ")?;
        if found.is_empty() { f.write_str("found the end of the output") } else { write!(f, "found `{found}`") }
    }
}

impl ParseFault {
    /// A fault at `rest`, a part of `whole`; of any other text, at the end of `whole`.
    pub(crate) fn at(output: &'static str, whole: &str, rest: &str, expected: impl Into<String>) -> Self {
        let place = rest.as_ptr().addr().checked_sub(whole.as_ptr().addr());
        let offset = place.filter(|place| *place <= whole.len()).unwrap_or(whole.len());
        let before = whole.get(..offset).unwrap_or(whole);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let found = excerpt(rest.lines().next().unwrap_or_default());
        Self { output, line, column, expected: excerpt(&expected.into()), found }
    }

    /// A fault that serde found in `json`, the last part of `whole`, where `expected` should be.
    pub(crate) fn json(
        output: &'static str,
        whole: &str,
        json: &str,
        expected: &str,
        error: &serde_json::Error,
    ) -> Self {
        let above: usize = json.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let rest = whole.len() - json.len() + above;
        let rest = tail(whole, rest + error.column().saturating_sub(1));
        let fault = Self::at(output, whole, rest, format!("{expected} ({})", reason(&error.to_string())));
        // The unexpected part may begin well before the place where serde noticed it.
        let line = whole.lines().nth(fault.line - 1).unwrap_or_default();
        let found = if line.len() > EXCERPT_BYTES {
            tail(whole, (whole.len() - rest.len()).saturating_sub(EXCERPT_BYTES / 2)).lines().next().unwrap_or_default()
        } else {
            line.trim_start()
        };
        Self { found: if error.is_eof() { String::new() } else { excerpt(found) }, ..fault }
    }
}

/// `text` from an offset on, or from the character around it.
fn tail(text: &str, offset: usize) -> &str {
    let offset = (0..=offset.min(text.len())).rev().find(|&offset| text.is_char_boundary(offset));
    text.get(offset.unwrap_or_default()..).unwrap_or_default()
}

/// Why serde stopped, in words of the output instead of those of Rust, and without the place.
pub(crate) fn reason(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let Some((seen, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let seen = seen.split_once(": ").map_or(seen, |(_, seen)| seen);
    let expected = match expected {
        "u8" => "a number from 0 to 255",
        "u16" => "a number from 0 to 65535",
        "u32" => "a number from 0 to 4294967295",
        "u64" => "a number from 0 on",
        "a sequence" => "a list",
        expected if expected == "a map" || expected.starts_with("struct ") => "an object",
        expected => expected,
    };
    match seen.strip_prefix("invalid length ") {
        Some(length) => format!("{expected}, not a list of length {length}"),
        None => format!("{expected}, not {seen}"),
    }
}

/// The first line of `text`, cut to [`EXCERPT_BYTES`] on a character boundary.
pub(crate) fn excerpt(text: &str) -> String {
    let text = text.trim_end();
    if text.len() <= EXCERPT_BYTES {
        return text.to_owned();
    }
    let mut end = EXCERPT_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or_default())
}
