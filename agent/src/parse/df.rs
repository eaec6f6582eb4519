//! Reader of `df`.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_till1},
    character::complete::{satisfy, space1, u8 as number8},
    combinator::{peek, rest, value},
    sequence::{preceded, terminated},
};
use serde::Serialize;

use super::fault::ParseFault;

const OUTPUT: &str = "df -HP";

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSystem {
    /// Device, or what stands in its place, for example `tmpfs`.
    pub device: String,
    /// Per cent in use; none where it has no size.
    pub used_percent: Option<u8>,
    /// Where it is mounted.
    pub mount: String,
}

/// Reads `df -P` with any unit: one file system a line. Device and mount point may hold blanks: they are what is left and
/// right of the three sizes and the percentage.
///
/// # Errors
/// [`ParseFault`] at a line that is none, and where there is no header.
pub fn df(text: &str) -> Result<Vec<FileSystem>, ParseFault> {
    let mut lines = text.lines();
    if !lines.next().is_some_and(|header| header.starts_with("Filesystem")) {
        return Err(ParseFault::at(OUTPUT, text, text, "the header of df"));
    }
    let lines = lines.filter(|line| !line.trim().is_empty());
    let expected = "a device, three sizes, a percentage and a mount point";
    lines.map(|line| system(line).ok_or_else(|| ParseFault::at(OUTPUT, text, line, expected))).collect()
}

fn system(line: &str) -> Option<FileSystem> {
    line.match_indices(' ').find_map(|(end, _)| {
        let (device, columns) = line.split_at_checked(end)?;
        let (_, (used_percent, mount)) = usage(columns).ok()?;
        let (device, mount) = (device.trim(), mount.trim_end());
        let whole = !device.is_empty() && !mount.is_empty();
        whole.then(|| FileSystem { device: device.into(), used_percent, mount: mount.into() })
    })
}

/// ` 41G 12G 27G 31% /`: the percentage and the mount point.
fn usage(columns: &str) -> IResult<&str, (Option<u8>, &str)> {
    let number = peek(satisfy(|c| c.is_ascii_digit() || c == '-'));
    let mut size = preceded((space1, number), take_till1(char::is_whitespace));
    let percent = alt((terminated(number8, tag("%")).map(Some), value(None, tag("-"))));
    let (columns, _) = size.parse(columns)?;
    let (columns, _) = size.parse(columns)?;
    let (columns, _) = size.parse(columns)?;
    (preceded(space1, percent), preceded(space1, rest)).parse(columns)
}
