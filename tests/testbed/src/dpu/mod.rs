//! A DPU that is not there: stand-ins for the commands of HBN that an agent runs.
//!
//! All state is in files under one directory a DPU (`DPU_DIR`), so the commands are plain short-lived processes as the
//! real ones are, and a test or a person can look at what a DPU runs. `scenario.toml` in that directory says what is
//! to go wrong. NVUE itself cannot be redistributed; the stand-in keeps revisions, validates, applies and fails in
//! NVUE's own words.

mod bgp;
mod dir;
mod host_side;
mod nvue;
mod scenario;
mod services;

pub use bgp::{Session, run_vtysh, sessions};
pub use dir::{DPU_DIR, DpuDir};
pub use host_side::HostSide;
pub use nvue::{NvArgs, Revisions, Tree, run_nv};
pub use scenario::{BgpScenario, Daemon, Fault, FaultKind, NvScenario, Scenario, Step};
pub use services::{DHCP_PROGRAM, Program, ProgramState, Services, run_supervisorctl};

use std::io::{self, Write as _};

/// What a stand-in prints and ends with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Text on standard output.
    pub stdout: String,
    /// Text on standard error.
    pub stderr: String,
    /// Exit status.
    pub code: u8,
}

impl Answer {
    /// A good answer.
    pub fn says(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), ..Self::default() }
    }

    /// A complaint on standard output, as NVUE makes most of its own.
    pub fn complains(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), code: 1, ..Self::default() }
    }

    /// A complaint on standard error.
    pub fn fails(stderr: impl Into<String>) -> Self {
        Self { stderr: stderr.into(), code: 1, ..Self::default() }
    }

    /// Prints the answer and gives the exit status for `main`.
    ///
    /// # Errors
    /// If standard output or standard error is closed.
    pub fn print(&self) -> io::Result<std::process::ExitCode> {
        io::stdout().write_all(self.stdout.as_bytes())?;
        io::stderr().write_all(self.stderr.as_bytes())?;
        Ok(std::process::ExitCode::from(self.code))
    }
}
