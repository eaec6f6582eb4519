//! Stand-in for FRR's `vtysh -c COMMAND` on the simulated DPU that `DPU_DIR` names.

use std::process::ExitCode;

use clap::Parser;
use testbed::{DpuDir, run_vtysh};

/// Stand-in for FRR's shell on a simulated DPU.
#[derive(Parser)]
#[command(name = "vtysh")]
struct VtyshArgs {
    /// Command to run.
    #[arg(short)]
    command: String,
}

fn main() -> anyhow::Result<ExitCode> {
    let (dir, args) = (DpuDir::from_env()?, VtyshArgs::parse());
    dir.note(&["vtysh".into(), "-c".into(), args.command.clone()])?;
    Ok(run_vtysh(&dir, &args.command)?.print()?)
}
