//! Reader of `supervisorctl status`.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_till1},
    character::complete::space1,
    combinator::{opt, rest},
    sequence::preceded,
};
use serde::Serialize;

use super::fault::ParseFault;

const OUTPUT: &str = "supervisorctl status";

/// A program under supervisord.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Program {
    /// Its name; of a group, `group:name`.
    pub name: String,
    /// Its state: `RUNNING`, `STOPPED`, `BACKOFF`, …
    pub state: String,
    /// The rest of the line.
    pub detail: String,
}

/// Reads `supervisorctl status`. Its exit status says only that some program does not run, and that is no fault.
///
/// # Errors
/// [`ParseFault`] at a line that shows no program, as when the supervisor cannot be reached, and where there is none.
pub fn supervisorctl(text: &str) -> Result<Vec<Program>, ParseFault> {
    let mut programs = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (_, (name, state, detail)) =
            program(line).map_err(|_| ParseFault::at(OUTPUT, text, line, "a program and its state"))?;
        programs.push(Program {
            name: name.into(),
            state: state.into(),
            detail: detail.unwrap_or_default().trim().into(),
        });
    }
    if programs.is_empty() {
        return Err(ParseFault::at(OUTPUT, text, "", "programs and their states"));
    }
    Ok(programs)
}

fn program(line: &str) -> IResult<&str, (&str, &str, Option<&str>)> {
    let state = alt((
        tag("RUNNING"),
        tag("STOPPED"),
        tag("STARTING"),
        tag("STOPPING"),
        tag("BACKOFF"),
        tag("EXITED"),
        tag("FATAL"),
        tag("UNKNOWN"),
    ));
    (take_till1(char::is_whitespace), preceded(space1, state), opt(preceded(space1, rest))).parse(line)
}
