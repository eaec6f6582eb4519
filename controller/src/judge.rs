use crate::{
    facts::AGENT_SOURCE,
    store::{ApplyMode, HealthAlert, HostRecord},
};

/// What a tenant's request needs to know about a host. The handlers ask; they know no state, probe or classification
/// themselves.
pub trait HostJudge: Send + Sync {
    /// Why a tenant cannot have the host now. `allow_unhealthy` leaves health out of it.
    fn allocation_refusal(&self, host: &HostRecord, allow_unhealthy: bool) -> Option<String>;

    /// Why a tenant cannot give the host back now.
    fn release_refusal(&self, host: &HostRecord) -> Option<String>;

    /// Alert that keeps the host's configuration from counting as applied.
    fn blocking_alert(&self, host: &HostRecord) -> Option<String>;
}

/// Judges by the names of the site protocol: the state in which hosts are free, and the classifications that say what an
/// alert prevents.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProtocolJudge;

const FREE: &str = "Ready";
const PREVENT_ALLOCATIONS: &str = "PreventAllocations";
const PREVENT_RELEASE: &str = "PreventInstanceDeletion";
const PREVENT_STATE_CHANGES: &str = "PreventHostStateChanges";

impl HostJudge for ProtocolJudge {
    fn allocation_refusal(&self, host: &HostRecord, allow_unhealthy: bool) -> Option<String> {
        if host.life.state.as_str() != FREE {
            return Some(format!("it is in state {}, not {FREE}", host.life.state));
        }
        if allow_unhealthy {
            return None;
        }
        alert_with(host, PREVENT_ALLOCATIONS).or_else(|| silent_dpu(host))
    }

    fn release_refusal(&self, host: &HostRecord) -> Option<String> {
        alert_with(host, PREVENT_RELEASE)
    }

    fn blocking_alert(&self, host: &HostRecord) -> Option<String> {
        alert_with(host, PREVENT_STATE_CHANGES).or_else(|| silent_dpu(host))
    }
}

/// The first alert with a classification, for people. A report that replaces hides the others of its machine, and the
/// host's hides those of its DPUs, too.
fn alert_with(host: &HostRecord, classification: &str) -> Option<String> {
    let of_host = host.health.get(&host.host.id).map(Vec::as_slice).unwrap_or_default();
    let replaced = of_host.iter().any(|entry| entry.mode == ApplyMode::Replace);
    let dpus = host
        .dpus
        .iter()
        .filter(|_| !replaced)
        .map(|dpu| (Some(dpu.name.as_str()), host.health.get(&dpu.id).map(Vec::as_slice).unwrap_or_default()));
    dpus.chain([(None, of_host)]).find_map(|(dpu, reports)| {
        let replace = reports.iter().find(|entry| entry.mode == ApplyMode::Replace);
        let seen = reports.iter().filter(|entry| replace.is_none_or(|replace| *entry == replace));
        let alert = seen
            .flat_map(|entry| &entry.report.alerts)
            .find(|alert| alert.classifications.iter().any(|class| class == classification))?;
        Some(told(alert, dpu, classification))
    })
}

fn told(alert: &HealthAlert, dpu: Option<&str>, classification: &str) -> String {
    let target = alert.target.as_deref().map(|target| format!(" ({target})")).unwrap_or_default();
    let dpu = dpu.map(|dpu| format!(" of DPU {dpu}")).unwrap_or_default();
    format!("alert {}{target}{dpu} has {classification}: {}", alert.id, alert.message)
}

/// A DPU whose agent has never reported, unless another report stands for it.
fn silent_dpu(host: &HostRecord) -> Option<String> {
    let replaces = |machine| {
        host.health.get(machine).is_some_and(|reports| reports.iter().any(|entry| entry.mode == ApplyMode::Replace))
    };
    if replaces(&host.host.id) {
        return None;
    }
    let reported = |machine| {
        host.health.get(machine).is_some_and(|reports| reports.iter().any(|entry| entry.report.source == AGENT_SOURCE))
    };
    host.dpus
        .iter()
        .find(|dpu| !reported(&dpu.id) && !replaces(&dpu.id))
        .map(|dpu| format!("the agent of DPU {} has not reported", dpu.name))
}
