//! `dpu-agent parse`: what a parser reads in a command's output, for people who look into a fault.

use std::{io::Read as _, path::PathBuf, process::ExitCode};

use agent::parse::{KINDS, Kind};
use anyhow::Context as _;
use clap::Args;

use super::write_json;

/// Options of `parse`.
#[derive(Debug, Args)]
#[command(after_help = kinds())]
pub(crate) struct Parse {
    /// Kind of output, see below.
    kind: String,
    /// File that holds the output; `-` for standard input.
    file: PathBuf,
}

impl Parse {
    /// Prints what a parser reads in a file, as JSON.
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        let kind = Kind::named(&self.kind).with_context(|| format!("there is no kind `{}`\n{}", self.kind, kinds()))?;
        let mut bytes = Vec::new();
        if self.file.as_os_str() == "-" {
            std::io::stdin().read_to_end(&mut bytes)?;
        } else {
            bytes = types::read_file(&self.file, agent::MAX_FILE_BYTES)
                .with_context(|| format!("cannot read {}", self.file.display()))?;
        }
        // As the agent reads what commands print.
        let value = kind.read(&String::from_utf8_lossy(&bytes))?;
        write_json(&mut std::io::stdout().lock(), &value)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn kinds() -> String {
    let line = |kind: &Kind| format!("  {:<14} {}", kind.name, kind.command);
    std::iter::once("Kinds:".to_owned()).chain(KINDS.iter().map(line)).collect::<Vec<_>>().join("\n")
}
