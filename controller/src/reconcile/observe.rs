//! Facts that only a BMC can tell, read when the rules look at them and not before.

use std::time::Duration;

use rules::Explanation;
use serde_json::Value;

use super::worker::Worker;
use crate::{
    Moment,
    act::{BmcError, PowerState},
    store::{Finding, HostRecord, StoreError},
};

/// Long enough for a slow BMC, short enough that a dead one does not hold up what else is known of the host.
const READ_LIMIT: Duration = Duration::from_secs(15);

/// Whether a decision looked at what [`observe`] reads.
pub(super) fn looks_at_bmc(explained: &Explanation) -> bool {
    let reads = |name: &str| matches!(name, "bmc.power" | "bmc.power_is_fresh" | "bmc.reachable");
    explained.arms.iter().flat_map(|arm| &arm.facts).any(|fact| reads(&fact.name))
}

/// Reads the host's power state and puts it with the findings. A BMC that does not answer is a finding, too.
pub(super) async fn observe(worker: &Worker, record: &mut HostRecord) -> Result<(), StoreError> {
    let read = tokio::time::timeout(READ_LIMIT, worker.bmc.system(&record.host.bmc)).await;
    let system = read.unwrap_or(Err(BmcError::NoAddress));
    let now = Moment::now();
    let found = |name: &str, value: Value| Finding { name: name.to_owned(), value, at: now };
    let findings = match system {
        Ok(system) => {
            let word = system.power.map_or("unknown", word);
            vec![found("bmc.power", word.into()), found("bmc.reachable", true.into())]
        }
        Err(_) => vec![found("bmc.reachable", false.into())],
    };
    let known = record.findings.entry(record.host.id.clone()).or_default();
    let requested = known.iter().find(|known| known.name == "bmc.last_power_request").map(|known| known.at);
    let fresh: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| {
            let same = known.iter().find(|known| known.name == finding.name && known.value == finding.value);
            // The same state read after a power command is news: only now it can be believed.
            same.is_none_or(|same| requested.is_some_and(|requested| requested >= same.at))
        })
        .collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let mut tx = worker.store.write().await?;
    for finding in &fresh {
        tx.put_finding(&record.host.id, finding).await?;
    }
    tx.commit().await?;
    for finding in fresh {
        known.retain(|known| known.name != finding.name);
        known.push(finding);
    }
    Ok(())
}

/// The word that rules know a power state by.
fn word(power: PowerState) -> &'static str {
    match power {
        PowerState::On => "on",
        PowerState::Off => "off",
        PowerState::PoweringOn => "powering_on",
        PowerState::PoweringOff => "powering_off",
        PowerState::Paused => "paused",
    }
}
