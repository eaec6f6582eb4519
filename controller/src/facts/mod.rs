//! From the rows of one host to what rules can see of it. Pure: one record that was read in one transaction gives one
//! snapshot.
//!
//! Facts come from three places: typed rows (host, DPUs, instance, observations, health, journal), requests and events,
//! and *findings*: facts by their own name, such as `bmc.power`, that an action or an observer of the site supplied.
//! What nobody has supplied is unknown, and so is what an action has made stale since it was told.

mod compact;
mod findings;
mod journal;
mod kinds;
mod machines;
mod reports;
mod requests;

pub(crate) use compact::compact;
pub(crate) use findings::finding_of;
pub(crate) use kinds::Kind;
pub(crate) use requests::{EVENTS, REQUESTS};

use std::sync::Arc;

use crate::{
    Timestamp,
    store::{FindingId, HostRecord},
};
use findings::Findings;

/// Source under which the report of a DPU's agent is stored.
pub(crate) const AGENT_SOURCE: &str = "forge-dpu-agent";

/// Why a host waits, with what its BMCs last answered where the host waits for what they tell.
pub(crate) fn with_bmc_faults(record: &HostRecord, reason: &Arc<str>) -> Arc<str> {
    if !reason.contains("by the BMC") {
        return Arc::clone(reason);
    }
    let names = std::iter::once((&record.host.id, &record.host.name));
    let names = names.chain(record.dpus.iter().map(|dpu| (&dpu.id, &dpu.name)));
    let faults = names.filter_map(|(id, name)| {
        let fault = record.findings.get(id)?.iter().find(|finding| finding.is(FindingId::BMC_FAULT))?.value.as_str()?;
        Some(format!("{name}: {fault}"))
    });
    let faults: Vec<String> = faults.collect();
    if faults.is_empty() { Arc::clone(reason) } else { format!("{reason}; last try: {}", faults.join("; ")).into() }
}

/// The host is longer in its state than the state's limit.
pub(crate) fn is_overdue(snapshot: &rules::Snapshot, rules: &rules::RuleSet) -> bool {
    let elapsed = Timestamp::from_micros(snapshot.now).since(Timestamp::from_micros(snapshot.state.since)).as_secs();
    rules.sla(snapshot).is_some_and(|limit| elapsed > u64::try_from(limit).unwrap_or_default())
}

/// What the rules can see of a host at `now`.
pub(crate) fn snapshot(record: &HostRecord, site: &rules::Site, now: Timestamp) -> rules::Snapshot {
    let found = Findings::of(record, &record.host.id);
    let reports = reports::host(record.health.get(&record.host.id));
    let dpus = record.dpus.iter().map(|dpu| machines::dpu(record, dpu)).collect();
    let (mut requests, instance) = (requests::requests(record), requests::instance(record, &found));
    // Without a tenant there is nobody to ask.
    requests.host_reprovision_approved |= requests.host_reprovision && !instance.present;
    rules::Snapshot {
        id: record.host.id.to_string(),
        now: now.micros(),
        state: rules::State {
            path: record.life.state.clone(),
            since: record.life.version.micros(),
            counters: record.life.counters.clone(),
            notes: record.life.notes.clone(),
            actions: journal::of_host(record),
        },
        host: machines::host(record, &found),
        bmc: machines::bmc(&found),
        dpus,
        instance,
        requests,
        failure: machines::failure(record),
        validation: requests::validation(record, &found),
        attestation: found.area(),
        firmware: machines::firmware(record, &found),
        decommission: machines::decommission(record, &found),
        credentials: found.area(),
        health: reports,
        site: site.clone(),
    }
}
