//! What operators see of hosts and DPUs, from rows. Pure.

use proto::site;

use crate::{
    Timestamp, facts,
    network::{NetworkVersions, unconverged},
    store::{Dpu, HostRecord, OutcomeKind},
};

pub(super) fn time(at: Option<Timestamp>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// What rows tell of a host. Its time limit is for the rules to say.
pub(super) fn host(record: &HostRecord) -> site::HostSummary {
    let life = &record.life;
    let outcome = match life.outcome.kind {
        OutcomeKind::None => "",
        OutcomeKind::Go => "go",
        OutcomeKind::Wait => "wait",
        OutcomeKind::Error => "error",
    };
    let ready = record.dpus.iter().filter(|dpu| self::dpu(record, dpu).ready()).count();
    site::HostSummary {
        name: record.host.name.clone(),
        machine_id: record.host.id.to_string(),
        state: life.state.to_string(),
        state_since: Timestamp::from_micros(life.version.micros()).to_string(),
        outcome: outcome.to_owned(),
        // What made the host move says nothing about where it is.
        reason: if life.outcome.kind == OutcomeKind::Go { String::new() } else { life.outcome.reason.clone() },
        instance_id: record.instance.as_ref().map(|instance| instance.id.to_string()).unwrap_or_default(),
        dpus: u32::try_from(record.dpus.len()).unwrap_or(u32::MAX),
        dpus_ready: u32::try_from(ready).unwrap_or(u32::MAX),
        quarantined: record.host.quarantine.is_some(),
        ..site::HostSummary::default()
    }
}

/// A DPU, and whether it is where it should be.
pub(super) struct DpuView {
    pub(super) status: site::DpuStatus,
    converged: bool,
}

impl DpuView {
    fn ready(&self) -> bool {
        self.converged && self.status.healthy
    }
}

pub(super) fn dpu(record: &HostRecord, dpu: &Dpu) -> DpuView {
    let seen = record.observations.get(&dpu.id);
    let text = |version: Option<proto::ConfigVersion>| version.map(|version| version.to_string()).unwrap_or_default();
    let (desired, observed) = (NetworkVersions::desired(record, dpu), NetworkVersions::observed(record, dpu));
    let alerts: Vec<site::Alert> = machine_alerts(record, &dpu.id, &dpu.name);
    let reported = record.health.get(&dpu.id).into_iter().flatten();
    let agent = reported.map(|applied| applied.report.source.as_str()).any(|source| source == facts::AGENT_SOURCE);
    let status = site::DpuStatus {
        name: dpu.name.clone(),
        machine_id: dpu.id.to_string(),
        host: record.host.name.clone(),
        primary: dpu.primary(),
        loopback_ip: String::new(),
        agent_version: seen.and_then(|seen| seen.agent_version.clone()).unwrap_or_default(),
        last_report: time(seen.map(|seen| seen.observed_at)),
        desired_network_config_version: text(desired.host),
        applied_network_config_version: text(observed.host),
        desired_instance_network_config_version: text(desired.instance),
        applied_instance_network_config_version: text(observed.instance),
        network_config_error: seen.and_then(|seen| seen.network_error.clone()).unwrap_or_default(),
        // Whatever it says of its health: what it is to run does not run.
        healthy: agent && alerts.is_empty() && seen.is_none_or(|seen| seen.network_error.is_none()),
        alerts,
    };
    DpuView { status, converged: unconverged(record, dpu).is_none() }
}

/// Alerts of all reports on the host and its DPUs.
pub(super) fn alerts(record: &HostRecord) -> Vec<site::Alert> {
    let mut alerts = machine_alerts(record, &record.host.id, "");
    for dpu in &record.dpus {
        alerts.extend(machine_alerts(record, &dpu.id, &dpu.name));
    }
    alerts
}

fn machine_alerts(record: &HostRecord, machine: &proto::MachineId, dpu: &str) -> Vec<site::Alert> {
    let reports = record.health.get(machine).into_iter().flatten().map(|applied| &applied.report);
    let alerts = reports.flat_map(|report| report.alerts.iter().map(move |alert| (report, alert)));
    alerts
        .map(|(report, alert)| site::Alert {
            probe: alert.id.clone(),
            target: alert.target.clone().unwrap_or_default(),
            message: alert.message.clone(),
            classifications: alert.classifications.clone(),
            since: time(alert.in_alert_since),
            source: report.source.clone(),
            dpu: dpu.to_owned(),
            undeclared: Vec::new(),
        })
        .collect()
}
