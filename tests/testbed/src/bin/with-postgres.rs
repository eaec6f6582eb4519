//! Runs a command with a private PostgreSQL server, named to it by `SITE_TEST_POSTGRES`; both are gone at its end.
//!
//! `with-postgres cargo nextest run -p controller` runs the tests that know the variable on PostgreSQL, too.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use testbed::real::{Part, Postgres, SITE_TEST_POSTGRES, missing};

fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().context("usage: with-postgres COMMAND [ARGUMENT]...")?;
    let mut command = Command::new(&program);
    command.args(arguments);
    let server = (!missing(&[Part::Postgres])).then(Postgres::start);
    if let Some(server) = &server {
        command.env(SITE_TEST_POSTGRES, server.url());
    }
    let status = command.status().with_context(|| format!("run {}", program.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
