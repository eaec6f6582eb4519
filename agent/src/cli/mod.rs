//! The command line: one subcommand a file. Only `main` calls it.

mod check;
mod parse;
mod render;
mod run;
mod status;

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use agent::Settings;
use clap::{Parser, Subcommand, ValueEnum};
use serde::Serialize;
use types::{one_line, printable};

/// Makes a DPU run the configuration that its site controller wants, checks it, and reports it.
#[derive(Debug, Parser)]
#[command(name = "dpu-agent", version)]
pub(crate) struct Cli {
    /// Configuration file [default: /etc/dpu-agent/config.toml; `render` reads none by default].
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run as a daemon; the default.
    Run,
    /// Check the DPU once and print what was found; changes nothing.
    Check(check::Check),
    /// Print what a parser reads in a command's output, as JSON.
    Parse(parse::Parse),
    /// Print or write the files for a response of the controller, without touching the DPU.
    Render(Box<render::Render>),
    /// Say what runs since when, and what the controller last responded.
    Status(status::Status),
}

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

impl Cli {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let given = self.config.as_deref();
        let settings = || Settings::load(given.unwrap_or(Path::new("/etc/dpu-agent/config.toml")));
        match self.command.unwrap_or(Command::Run) {
            Command::Run => run::run(settings()?),
            Command::Check(check) => check.run(settings()?),
            Command::Parse(parse) => parse.run(),
            Command::Render(render) => render.run(given.map(Settings::load).transpose()?.as_ref()),
            Command::Status(status) => status.run(&settings()?),
        }
    }
}

/// Prints JSON in which no control character reaches a terminal.
fn write_json(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", printable(&serde_json::to_string_pretty(value)?))
}
