//! Why a host is where it is: the decision, arm by arm, with the facts it read.

use proto::site;
use rules::{ArmResult, ArmTrace, Decision, Explanation, FactSeen, Snapshot};
use tonic::Status;

use super::{
    SiteService,
    answer::from_store,
    summary::{self, time},
};
use crate::{
    Timestamp, facts,
    store::{ActionStatus, HELD_SOURCE, HostRecord},
};

impl SiteService {
    pub(super) async fn explain(&self, request: site::HostRef) -> Result<site::Explanation, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let host = tx.find_host(&request.host).await.map_err(from_store)?;
        let record = tx.host_record(&host.id).await.map_err(from_store)?;
        drop(tx);
        let rules = self.packs.rules().current();
        let snapshot = facts::snapshot(&record, &self.switches, Timestamp::now());
        let mut answer = site::Explanation {
            host: record.host.name.clone(),
            machine_id: record.host.id.to_string(),
            action_error: action_error(&record),
            withheld: self.judge().withheld(&record).unwrap_or_default(),
            undeclared: self.judge().undeclared(&record),
            ..told(rules.explain(&snapshot), &snapshot, rules.hash())
        };
        // No rule rests on it, yet nothing of what the host is meant to be is so.
        let held = summary::alerts(&record).into_iter().filter(|alert| alert.source == HELD_SOURCE);
        let untold: Vec<_> = held.filter(|alert| !answer.alerts.contains(alert)).collect();
        answer.alerts.extend(untold);
        Ok(answer)
    }
}

/// What the rules explained of a snapshot, as operators get it.
#[must_use]
pub fn told(explained: Explanation, snapshot: &Snapshot, pack_hash: &str) -> site::Explanation {
    let mut answer = site::Explanation {
        machine_id: snapshot.id.clone(),
        state: explained.state.to_string(),
        state_since: Timestamp::from_micros(snapshot.state.since).to_string(),
        arms: explained.arms.into_iter().map(arm).collect(),
        facts: explained.facts.into_iter().map(fact).collect(),
        alerts: explained
            .alerts
            .into_iter()
            .map(|alert| site::Alert {
                probe: alert.probe,
                target: alert.target.unwrap_or_default(),
                message: alert.message,
                classifications: alert.classifications,
                since: time(alert.since.map(Timestamp::from_micros)),
                source: alert.source,
                dpu: alert.dpu.unwrap_or_default(),
                undeclared: Vec::new(),
            })
            .collect(),
        pack_hash: pack_hash.to_owned(),
        sla_seconds: explained.sla_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default(),
        above_sla: explained.above_sla,
        ..Default::default()
    };
    let (outcome, reason, gate) = match explained.decision {
        Decision::Go(go) => {
            answer.next_state = go.to.to_string();
            ("go", String::new(), String::new())
        }
        Decision::Delete(_) => ("go", "the host's records are deleted".to_owned(), String::new()),
        Decision::Wait(wait) => ("wait", wait.reason.to_string(), text(wait.gate)),
        Decision::Error(fault) => ("error", fault.reason.to_string(), text(fault.gate)),
    };
    answer.outcome = outcome.to_owned();
    answer.reason = reason;
    answer.gate = gate;
    answer
}

fn text(gate: Option<std::sync::Arc<str>>) -> String {
    gate.map(|gate| gate.to_string()).unwrap_or_default()
}

fn fact(seen: FactSeen) -> site::FactSeen {
    site::FactSeen { name: seen.name, value: seen.value, dpu: seen.dpu.unwrap_or_default() }
}

fn arm(arm: ArmTrace) -> site::ArmTrace {
    let result = match arm.result {
        ArmResult::Taken => "taken",
        ArmResult::Passed => "passed",
        ArmResult::Blocked => "blocked",
        ArmResult::Skipped => "skipped",
        ArmResult::Unknown => "unknown",
        ArmResult::Failed => "failed",
    };
    let dpu = arm.dpu.map(|dpu| format!(" for DPU {dpu}")).unwrap_or_default();
    let error = arm.error.map(|error| format!(": {error}")).unwrap_or_default();
    site::ArmTrace {
        at: arm.at,
        arm: format!("{}{dpu}{error}", arm.arm),
        result: result.to_owned(),
        facts: arm.facts.into_iter().map(fact).collect(),
    }
}

/// How the last action since the state was entered failed, if it did.
fn action_error(record: &HostRecord) -> String {
    let since = record.life.version.micros();
    let mut ended = record.actions.iter().filter(|action| action.status != ActionStatus::Intended);
    let last = ended.next().filter(|last| last.status == ActionStatus::Failed && last.intended_at.micros() >= since);
    last.map(|action| format!("{} on {}: {}", action.name, action.target, action.error)).unwrap_or_default()
}
