//! `dpu-agent`: the daemon on a DPU, and the commands that people use beside it.

mod cli;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dpu-agent: {}", types::printable(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}
