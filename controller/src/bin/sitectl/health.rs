//! `sitectl health`.

use proto::{
    common, forge,
    health::{HealthProbeAlert, HealthReport},
    site::Alert,
};
use serde::Serialize;

use crate::{
    connect::Controller,
    failure::Failure,
    output::{Format, clock, table},
};

#[derive(clap::Subcommand)]
pub(crate) enum HealthCommand {
    /// Puts a report with one alert on a host or DPU
    Insert(Insert),
    /// Takes the report of a source off a host or DPU
    Remove {
        /// Machine id or name of a host or DPU
        machine: String,
        /// Whose report
        #[arg(long)]
        source: String,
    },
    /// The stored reports of a host or DPU
    List {
        /// Machine id or name of a host or DPU
        machine: String,
    },
}

#[derive(clap::Args)]
pub(crate) struct Insert {
    /// Machine id or name of a host or DPU
    machine: String,
    /// Who reports
    #[arg(long, default_value = "operator")]
    source: String,
    /// Probe id, e.g. BgpPeeringTor; without it the report says that all is well
    #[arg(long, required_unless_present = "healthy")]
    probe: Option<String>,
    /// What the probe looked at, e.g. p0_if
    #[arg(long, requires = "probe")]
    target: Option<String>,
    /// What is wrong, for operators
    #[arg(long, default_value = "", requires = "probe")]
    message: String,
    /// What is wrong, for the tenant
    #[arg(long, requires = "probe")]
    tenant_message: Option<String>,
    /// What the alert does, e.g. PreventAllocations; may be repeated
    #[arg(long = "classification", requires = "probe")]
    classifications: Vec<String>,
    /// A report without alerts, e.g. to override others with --mode replace
    #[arg(long, conflicts_with = "probe")]
    healthy: bool,
    /// Beside the other reports, or instead of them
    #[arg(long, value_enum, default_value = "merge")]
    mode: Mode,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Mode {
    Merge,
    Replace,
}

/// One alert of a stored report, or one report without any.
#[derive(Serialize)]
struct Line {
    mode: &'static str,
    source: String,
    probe: String,
    target: String,
    since: String,
    message: String,
    classifications: Vec<String>,
    /// Those of its names that the rules do not declare, so that they count for nothing.
    undeclared: Vec<String>,
}

pub(crate) async fn run(command: HealthCommand, mut controller: Controller, format: Format) -> Result<String, Failure> {
    let failure = controller.failure();
    match command {
        HealthCommand::Insert(insert) => {
            let id = controller.machine(&insert.machine).await?;
            let text = format!("report of {} is on {}", insert.source, insert.machine);
            let request = forge::InsertMachineHealthReportRequest {
                machine_id: Some((&id).into()),
                health_report_entry: Some(insert.entry()),
            };
            controller.forge.insert_machine_health_report(request).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
        HealthCommand::Remove { machine, source } => {
            let id = controller.machine(&machine).await?;
            let text = format!("report of {source} is off {machine}");
            let request = forge::RemoveMachineHealthReportRequest { machine_id: Some((&id).into()), source };
            controller.forge.remove_machine_health_report(request).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
        HealthCommand::List { machine } => {
            let id = controller.machine(&machine).await?;
            let wire: common::MachineId = (&id).into();
            let answer = controller.forge.list_machine_health_reports(wire).await.map_err(failure)?.into_inner();
            let mut lines: Vec<Line> = answer.health_report_entries.into_iter().flat_map(lines).collect();
            let alerts = controller.alerts(&id).await?;
            for line in &mut lines {
                let same = |alert: &&Alert| {
                    (&alert.source, &alert.probe, &alert.target) == (&line.source, &line.probe, &line.target)
                };
                line.undeclared = alerts.iter().find(same).map(|alert| alert.undeclared.clone()).unwrap_or_default();
            }
            format.answer(&lines, |lines| list(lines))
        }
    }
}

impl Insert {
    fn entry(self) -> forge::HealthReportEntry {
        let alert = self.probe.map(|id| HealthProbeAlert {
            id,
            in_alert_since: None,
            message: self.message,
            tenant_message: self.tenant_message,
            classifications: self.classifications,
            target: self.target,
        });
        let mode = match self.mode {
            Mode::Merge => forge::HealthReportApplyMode::Merge,
            Mode::Replace => forge::HealthReportApplyMode::Replace,
        };
        let report =
            HealthReport { source: self.source, alerts: alert.into_iter().collect(), ..HealthReport::default() };
        forge::HealthReportEntry { report: Some(report), mode: mode.into() }
    }
}

fn lines(entry: forge::HealthReportEntry) -> Vec<Line> {
    let mode = if entry.mode() == forge::HealthReportApplyMode::Replace { "replace" } else { "merge" };
    let report = entry.report.unwrap_or_default();
    let time = |stamp: Option<prost_types::Timestamp>| stamp.map(|stamp| stamp.to_string()).unwrap_or_default();
    let observed = time(report.observed_at);
    let source = report.source;
    if report.alerts.is_empty() {
        let (probe, target, message, classifications, undeclared) = Default::default();
        return vec![Line { mode, source, probe, target, since: observed, message, classifications, undeclared }];
    }
    let line = |alert: HealthProbeAlert| Line {
        mode,
        source: source.clone(),
        probe: alert.id,
        target: alert.target.unwrap_or_default(),
        since: time(alert.in_alert_since),
        message: alert.message,
        classifications: alert.classifications,
        undeclared: Vec::new(),
    };
    report.alerts.into_iter().map(line).collect()
}

fn list(lines: &[Line]) -> String {
    let row = |line: &Line| {
        let marked = |name: &String| match line.undeclared.contains(name) {
            true => format!("{name} (not declared)"),
            false => name.clone(),
        };
        let probe = if line.probe.is_empty() { "(no alerts)".to_owned() } else { marked(&line.probe) };
        [
            line.source.clone(),
            line.mode.to_owned(),
            probe,
            line.target.clone(),
            clock(&line.since),
            line.classifications.iter().map(marked).collect::<Vec<_>>().join(" "),
            line.message.clone(),
        ]
    };
    table(
        ["SOURCE", "MODE", "ALERT", "TARGET", "SINCE", "CLASSIFICATIONS", "MESSAGE"],
        lines.iter().map(row).collect(),
        "no reports",
    )
}
