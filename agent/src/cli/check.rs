use std::{io::Write as _, process::ExitCode};

use agent::{Agent, Findings, Settings, Severity};
use clap::Args;

/// Options of `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Print the report as JSON, as the controller gets it.
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Checks the DPU once and prints what was found. Ends with 1 if something is in alert.
    pub(crate) fn run(&self, settings: Settings) -> anyhow::Result<ExitCode> {
        let mut agent = Agent::new(settings)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let findings = runtime.block_on(agent.look());
        let mut out = std::io::stdout().lock();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &findings.report())?;
            writeln!(out)?;
        } else {
            print(&findings, &mut out)?;
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
        let message = message.replace('\n', "; ");
        writeln!(out, "{mark}  {id} {}  {message}", target.unwrap_or("-"))?;
    }
    for (id, target) in findings.successes() {
        writeln!(out, "ok        {id} {}", target.unwrap_or("-"))?;
    }
    Ok(())
}
