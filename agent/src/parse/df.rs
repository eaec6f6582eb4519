use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_till1},
    character::complete::{char, space1, u8 as number8},
    combinator::{rest, value},
    sequence::{preceded, terminated},
};
use serde::Serialize;

use super::fault::ParseFault;

const OUTPUT: &str = "df -HP";

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSystem {
    /// Device.
    pub device: String,
    /// Per cent in use; none where it has no size.
    pub used_percent: Option<u8>,
    /// Where it is mounted.
    pub mount: String,
}

/// Reads `df -P` with any unit: one file system a line, the mount point last and whole.
///
/// # Errors
/// [`ParseFault`] at a line that is none, and where there is no header.
pub fn df(text: &str) -> Result<Vec<FileSystem>, ParseFault> {
    let mut lines = text.lines();
    if !lines.next().is_some_and(|header| header.starts_with("Filesystem")) {
        return Err(ParseFault::at(OUTPUT, text, text, "the header of df"));
    }
    let lines = lines.filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let (_, system) = system(line).map_err(|_| {
                ParseFault::at(OUTPUT, text, line, "a device, three sizes, a percentage and a mount point")
            })?;
            Ok(system)
        })
        .collect()
}

fn system(line: &str) -> IResult<&str, FileSystem> {
    let word = || take_till1(char::is_whitespace);
    let column = || preceded(space1, word());
    let percent = alt((terminated(number8, char('%')).map(Some), value(None, tag("-"))));
    let (rest, (device, _, _, _, used_percent, mount)) =
        (word(), column(), column(), column(), preceded(space1, percent), preceded(space1, rest)).parse(line)?;
    Ok((rest, FileSystem { device: device.into(), used_percent, mount: mount.trim_end().into() }))
}
