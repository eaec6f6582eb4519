use std::{io::Write as _, process::ExitCode};

use agent::{Settings, StatusFile};
use anyhow::Context as _;

/// Prints what the agent last wrote down. Ends with 1 while something is in alert or in error.
pub(crate) fn print(settings: &Settings) -> anyhow::Result<ExitCode> {
    let status = StatusFile::read(&settings.state_dir)
        .with_context(|| format!("no status in {}: has the agent run?", settings.state_dir.display()))?;
    let mut out = std::io::stdout().lock();
    let runs = &status.runs;
    let since = runs.since.as_deref().unwrap_or("-");
    let version = |version: &Option<String>| version.as_deref().unwrap_or("-").to_owned();
    writeln!(out, "runs        {} since {since}", runs.kind)?;
    writeln!(out, "  host      {}", version(&runs.managed_host_version))?;
    writeln!(out, "  instance  {}", version(&runs.instance_network_version))?;
    writeln!(out, "controller  {} (since {})", status.controller.answer, status.controller.since)?;
    if let Some(error) = &status.error {
        writeln!(out, "error       {error}")?;
    }
    for alert in &status.alerts {
        writeln!(out, "alert       {alert}")?;
    }
    let quiet = status.error.is_none() && status.alerts.is_empty();
    Ok(if quiet { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
