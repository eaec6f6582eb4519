//! Reader of `mlxprivhost`: the host's privilege level.

use nom::{
    IResult, Parser,
    bytes::complete::{tag, take_till1},
    character::complete::{char, space0},
    sequence::{delimited, preceded},
};

use super::fault::ParseFault;

/// Reads the privilege level of the host from `mlxprivhost … query`: `RESTRICTED` or `PRIVILEGED`.
///
/// # Errors
/// [`ParseFault`] where no level is printed.
pub fn privilege_level(text: &str) -> Result<String, ParseFault> {
    let found = text.lines().find_map(|line| level(line).ok().map(|(_, level)| level.to_owned()));
    found.ok_or_else(|| ParseFault::at("mlxprivhost query", text, "", "a line `level : …`"))
}

fn level(line: &str) -> IResult<&str, &str> {
    let value = take_till1(char::is_whitespace);
    preceded((space0, tag("level")), preceded(delimited(space0, char(':'), space0), value)).parse(line)
}
