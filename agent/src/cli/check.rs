//! `dpu-agent check`: probes the DPU once and prints what was found.

use std::process::ExitCode;

use agent::{Agent, Findings, Settings, Severity};
use clap::Args;

use super::{Format, one_line, write_json};

/// Options of `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// For people, or the report as the controller gets it.
    #[arg(long, value_enum, default_value_t)]
    output: Format,
}

impl Check {
    /// Checks the DPU once and prints what was found. Ends with 1 if something is in alert.
    pub(crate) fn run(&self, settings: Settings) -> anyhow::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let findings = runtime.block_on(Agent::look(settings));
        let mut out = std::io::stdout().lock();
        match self.output {
            Format::Json => write_json(&mut out, &findings.report())?,
            Format::Text => print(&findings, &mut out)?,
        }
        Ok(if findings.is_healthy() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

fn print(findings: &Findings, out: &mut impl std::io::Write) -> std::io::Result<()> {
    for (id, target, severity, message) in findings.alerts() {
        let mark = match severity {
            Severity::Notice => "notice  ",
            Severity::PreventsAllocations => "alert   ",
            Severity::Critical => "CRITICAL",
        };
        writeln!(out, "{mark}  {}: {}", probe(id, target), one_line(&message))?;
    }
    for (id, target) in findings.successes() {
        writeln!(out, "ok        {}", probe(id, target))?;
    }
    Ok(())
}

fn probe(id: &str, target: Option<&str>) -> String {
    one_line(&target.map_or_else(|| id.to_owned(), |target| format!("{id} {target}")))
}
