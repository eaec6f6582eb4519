//! Text for people and JSON for programs.

use std::{
    io::IsTerminal,
    time::{Duration, SystemTime},
};

use comfy_table::{Table, presets};
use serde::Serialize;
use types::{one_line, printable};

use crate::failure::Failure;

/// How a command answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Tables and lines for people.
    Table,
    /// One JSON document with the field names of the operator API.
    Json,
}

impl Format {
    /// `value` as JSON, or what `text` makes of it for people.
    pub(crate) fn answer<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) -> Result<String, Failure> {
        match self {
            Self::Table => Ok(text(value)),
            Self::Json => serde_json::to_string_pretty(value)
                .map_err(|error| Failure::Refused(format!("cannot write the answer as JSON: {error}"))),
        }
    }
}

/// Whether standard error is a terminal that shows colours.
pub(crate) fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// An error as it may be shown. Colours of faults that are drawn in their source are kept where there are any.
pub(crate) fn shown_error(text: &str) -> String {
    if !colours() {
        return printable(text);
    }
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().map(printable).unwrap_or_default();
    let coloured = parts.map(|part| {
        let end = part.bytes().position(|byte| !byte.is_ascii_digit() && byte != b';');
        match end.filter(|end| part.as_bytes().get(*end) == Some(&b'm')).and_then(|end| part.split_at_checked(end + 1))
        {
            Some((colour, rest)) => format!("\u{1b}[{colour}{}", printable(rest)),
            None => format!("\\u001b[{}", printable(part)),
        }
    });
    std::iter::once(first).chain(coloured).collect()
}

/// Rows under headers, without lines; `none` where there are no rows.
pub(crate) fn table<const N: usize>(headers: [&str; N], rows: Vec<[String; N]>, none: &str) -> String {
    if rows.is_empty() {
        return none.to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headers);
    for row in rows {
        table.add_row(row.map(|cell| one_line(&cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// `name  value` lines, names padded to the longest; lines without a value are left out.
pub(crate) fn fields(lines: &[(&str, String)]) -> String {
    let shown = lines.iter().filter(|(_, value)| !value.is_empty());
    let width = shown.clone().map(|(name, _)| name.len()).max().unwrap_or_default();
    shown.map(|(name, value)| format!("{name:width$}  {}", one_line(value))).collect::<Vec<_>>().join("\n")
}

/// How long ago an RFC 3339 time was, as people say it; empty for no or a foreign time.
pub(crate) fn ago(time: &str, now: SystemTime) -> String {
    let Ok(stamp) = time.parse::<prost_types::Timestamp>() else { return String::new() };
    let Ok(then) = SystemTime::try_from(stamp) else { return String::new() };
    format!("{} ago", span(now.duration_since(then).unwrap_or_default()))
}

/// A length of time in its two largest units: `2 h 5 min`.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// A time to the second, as people read it: without fraction and without the `T`.
pub(crate) fn clock(time: &str) -> String {
    match time.split_once('T') {
        Some((date, rest)) => format!("{date} {}Z", rest.get(..8).unwrap_or(rest.trim_end_matches('Z'))),
        None => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_their_two_largest_units() {
        for (seconds, text) in [(0, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7500, "2 h 5 min"), (90000, "1 d 1 h")] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn times_are_shown_to_the_second() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_733_950_583 + 130);
        assert_eq!(ago("2024-12-11T20:56:23.707475Z", now), "2 min 9 s ago");
        assert_eq!(clock("2024-12-11T20:56:23.707475Z"), "2024-12-11 20:56:23Z");
        assert_eq!((ago("", now), clock("never")), (String::new(), "never".to_owned()));
    }

    #[test]
    fn columns_align_and_an_empty_table_says_so() {
        let rows = vec![["host-1".to_owned(), "Ready".to_owned()], ["h".to_owned(), "Failed".to_owned()]];
        assert_eq!(table(["HOST", "STATE"], rows, "no hosts"), "HOST    STATE\nhost-1  Ready\nh       Failed");
        assert_eq!(table(["HOST"], vec![], "no hosts"), "no hosts");
        assert_eq!(fields(&[("a", "1".into()), ("long", "2".into()), ("x", String::new())]), "a     1\nlong  2");
    }
}
