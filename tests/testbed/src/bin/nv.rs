//! Stand-in for NVUE's `nv` on the simulated DPU that `DPU_DIR` names.

use std::{env, process::ExitCode};

use clap::Parser as _;
use testbed::{DpuDir, NvArgs, run_nv};

fn main() -> anyhow::Result<ExitCode> {
    let dir = DpuDir::from_env()?;
    let words: Vec<String> = env::args().skip(1).collect();
    dir.note(&[&["nv".to_owned()], words.as_slice()].concat())?;
    Ok(run_nv(&dir, NvArgs::parse())?.print()?)
}
