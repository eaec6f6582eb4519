//! Stand-in for the supervisor of HBN on the simulated DPU that `DPU_DIR` names.

use std::{env, process::ExitCode};

use testbed::{DpuDir, run_supervisorctl};

fn main() -> anyhow::Result<ExitCode> {
    let dir = DpuDir::from_env()?;
    let words: Vec<String> = env::args().skip(1).collect();
    dir.note(&[&["supervisorctl".to_owned()], words.as_slice()].concat())?;
    Ok(run_supervisorctl(&dir, &words)?.print()?)
}
