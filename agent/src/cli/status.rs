//! `dpu-agent status`: what the agent wrote into its status file, and whether it runs.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use agent::{Settings, StateDirLock, StatusFile};
use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use super::{Format, one_line, write_json};

/// The status file, and whether its agent runs.
#[derive(Serialize)]
struct AgentStatus {
    /// It runs now; if not, the rest is what it wrote last.
    agent_runs: bool,
    #[serde(flatten)]
    status: StatusFile,
}

/// Options of `status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// For people, or all that the agent wrote down.
    #[arg(long, value_enum, default_value_t)]
    output: Format,
}

impl Status {
    /// Prints what the agent last wrote down. Ends with 1 if it does not run, and while something is in alert or in error.
    pub(crate) fn run(&self, settings: &Settings) -> anyhow::Result<ExitCode> {
        let status = StatusFile::read(&settings.state_dir)
            .with_context(|| format!("no status in {} (has the agent run?)", settings.state_dir.display()))?;
        let agent_runs = StateDirLock::is_taken(&settings.state_dir)
            .with_context(|| format!("cannot read {}", settings.state_dir.display()))?;
        let known = AgentStatus { agent_runs, status };
        let mut out = io::stdout().lock();
        match self.output {
            Format::Json => write_json(&mut out, &known)?,
            Format::Text => print(&known, &mut out)?,
        }
        let status = &known.status;
        let quiet = agent_runs && status.error.is_none() && status.alerts.is_empty();
        Ok(if quiet { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

fn print(known: &AgentStatus, out: &mut impl Write) -> io::Result<()> {
    let status = &known.status;
    if !known.agent_runs {
        writeln!(out, "agent       does not run: this is what it wrote last")?;
    }
    let runs = &status.runs;
    let since = runs.since.as_deref().map(|since| format!(" since {}", to_the_second(since)));
    writeln!(out, "runs        {}", one_line(&format!("{}{}", runs.kind, since.unwrap_or_default())))?;
    for (of, version) in [("host", &runs.managed_host_version), ("instance", &runs.instance_network_version)] {
        if let Some(version) = version {
            writeln!(out, "  {of:<8}  {}", one_line(version))?;
        }
    }
    writeln!(
        out,
        "controller  {}",
        one_line(&format!("{} (since {})", status.controller.answer, to_the_second(&status.controller.since)))
    )?;
    if let Some(error) = &status.error {
        writeln!(out, "error       {}", one_line(error))?;
    }
    for alert in &status.alerts {
        writeln!(out, "alert       {}", one_line(alert))?;
    }
    Ok(())
}

/// A time for people: RFC 3339 without fractions.
fn to_the_second(time: &str) -> String {
    let whole = time.split('.').next().unwrap_or(time).trim_end_matches('Z');
    format!("{}Z", whole.replacen('T', " ", 1))
}
