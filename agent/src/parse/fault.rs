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
    /// What the parser was ready to read there, at most [`EXCERPT_BYTES`] long.
    pub expected: String,
    /// What it found: a cut of the input, at most [`EXCERPT_BYTES`] long.
    pub found: String,
}

/// Longest cut of an output that goes into an error.
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
