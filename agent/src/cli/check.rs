//! `dpu-agent check`: probes the DPU once and prints what was found.

use std::process::ExitCode;

use agent::{Agent, PREVENT_ALLOCATIONS, PREVENT_HOST_STATE_CHANGES, Settings};
use clap::Args;
use types::{HealthAlert, HealthReport};

use super::{Format, one_line, write_json};

/// Options of `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// For people, or the report as the controller gets it.
    #[arg(long, value_enum, default_value_t)]
    output: Format,
}

impl Check {
    /// Checks the DPU once and prints what was found. Exits with 1 if something is in alert.
    pub(crate) fn run(&self, settings: Settings) -> anyhow::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let report = runtime.block_on(Agent::look(settings));
        let healthy = report.alerts.is_empty();
        let mut out = std::io::stdout().lock();
        match self.output {
            Format::Json => write_json(&mut out, &proto::health::HealthReport::from(report))?,
            Format::Text => print(&report, &mut out)?,
        }
        Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

fn print(report: &HealthReport, out: &mut impl std::io::Write) -> std::io::Result<()> {
    for alert in &report.alerts {
        let probe = probe(&alert.id, alert.target.as_deref());
        writeln!(out, "{}  {probe}: {}", mark(alert), one_line(&alert.message))?;
    }
    for success in &report.successes {
        writeln!(out, "ok        {}", probe(&success.id, success.target.as_deref()))?;
    }
    Ok(())
}

/// What an alert stops, in one word.
fn mark(alert: &HealthAlert) -> &'static str {
    let has = |class: &str| alert.classifications.iter().any(|it| it == class);
    match (has(PREVENT_HOST_STATE_CHANGES), has(PREVENT_ALLOCATIONS)) {
        (true, _) => "CRITICAL",
        (false, true) => "alert   ",
        (false, false) => "notice  ",
    }
}

fn probe(id: &str, target: Option<&str>) -> String {
    one_line(&target.map_or_else(|| id.to_owned(), |target| format!("{id} {target}")))
}
