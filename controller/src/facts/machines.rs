//! Facts about host, DPUs, BMCs and firmware. For [`super::snapshot`] alone.

use std::collections::BTreeMap;

use super::{findings::Findings, journal, reports, requests::says_failed};
use crate::{
    Timestamp,
    store::{Dpu, FindingId, HostRecord},
};

/// Latest event of these kinds on a machine.
pub(super) fn event_at(record: &HostRecord, machine: &proto::MachineId, kinds: &[&str]) -> Option<Timestamp> {
    let events = record.events.get(machine)?;
    events.iter().filter(|event| kinds.contains(&event.kind.as_str())).map(|event| event.at).max()
}

fn micros(at: Option<Timestamp>) -> Option<u64> {
    at.map(Timestamp::micros)
}

pub(super) fn host(record: &HostRecord, found: &Findings<'_>) -> rules::Host {
    let event = |kinds: &[&str]| micros(event_at(record, &record.host.id, kinds));
    let events = record.events.get(&record.host.id).into_iter().flatten();
    let cleanup_failed = events.filter(|event| event.kind == "cleaned").any(says_failed);
    // A DPU that the instance needs is part of the host even if the site knows none at its place.
    let missing = record.instance.as_ref().map_or(0, |instance| instance.missing_dpus(&record.dpus).len());
    rules::Host {
        paired: true,
        associated_dpus: i64::try_from(record.dpus.len() + missing).unwrap_or(i64::MAX),
        use_admin_network: record.host.use_admin_network,
        quarantined: record.host.quarantine.is_some(),
        discovered_at: event(&["discovered"]),
        rebooted_at: event(&["rebooted"]),
        cleaned_at: event(&["cleaned"]),
        scout_seen_at: event(&["discovered", "rebooted", "cleaned", "validated", "seen"]),
        reboot_requested_at: micros(found.at(FindingId::RESTART)),
        cleanup_failed,
        ..found.area()
    }
}

pub(super) fn bmc(found: &Findings<'_>) -> rules::Bmc {
    rules::Bmc {
        power_requested_at: micros(found.at(rules::Bmc::last_power_request)),
        power_read_at: micros(found.at(rules::Bmc::power)),
        reset_at: micros(found.at(FindingId::COMPONENT_RESET)),
        ..found.area()
    }
}

pub(super) fn firmware(record: &HostRecord, found: &Findings<'_>) -> rules::Firmware {
    let event = |kinds: &[&str]| micros(event_at(record, &record.host.id, kinds));
    rules::Firmware { explored_at: event(&["explored"]), failed_at: event(&["upgrade_failed"]), ..found.area() }
}

/// MACs that have acknowledged, and machines that are reset, are remembered beside the facts. An acknowledgement counts from
/// when it was asked for: one from before is of another time.
pub(super) fn decommission(record: &HostRecord, found: &Findings<'_>) -> rules::Decommission {
    let known = |macs: Vec<&String>| macs.into_iter().filter(|mac| !mac.is_empty()).cloned().collect::<Vec<_>>();
    let oob_macs = known(record.dpus.iter().map(|dpu| &dpu.oob_mac).collect());
    let bmc_macs =
        known([&record.host.bmc.mac].into_iter().chain(record.dpus.iter().map(|dpu| &dpu.bmc.mac)).collect());
    let acknowledged: BTreeMap<String, u64> = found.value(FindingId::DHCP_ACKNOWLEDGED);
    let asked = |name: &str| record.actions.iter().filter(|action| action.name == name).map(|a| a.intended_at).max();
    let pending = |macs: &[String], asked: Option<Timestamp>| {
        let since = |mac: &&String| match (acknowledged.get(*mac), asked) {
            (Some(at), Some(asked)) => *at < asked.micros(),
            _ => true,
        };
        macs.iter().filter(since).cloned().collect()
    };
    let reset: Vec<String> = found.value(FindingId::FACTORY_RESET);
    let machines =
        [(&record.host.id, &record.host.bmc)].into_iter().chain(record.dpus.iter().map(|dpu| (&dpu.id, &dpu.bmc)));
    let to_reset = machines.filter(|(_, bmc)| !bmc.url.is_empty()).map(|(id, _)| id.to_string());
    rules::Decommission {
        // Nothing but the reconciler touches BMCs in this controller, so there is nobody else to acknowledge.
        exploration_suppressed: true,
        oob_macs_pending: pending(&oob_macs, asked("suppress.oob_dhcp")),
        bmc_macs_pending: pending(&bmc_macs, asked("suppress.bmc_dhcp")),
        bmcs_to_reset: to_reset.filter(|id| !reset.contains(id)).collect(),
        oob_macs,
        bmc_macs,
    }
}

pub(super) fn failure(record: &HostRecord) -> rules::Failure {
    let Some(failure) = &record.life.failure else { return rules::Failure::default() };
    rules::Failure {
        cause: failure.cause.clone(),
        source: "rules".to_owned(),
        machine: failure.dpu.clone().unwrap_or_else(|| record.host.id.to_string()),
        on_host: failure.dpu.is_none(),
        at: failure.at.micros(),
    }
}

pub(super) fn dpu(record: &HostRecord, dpu: &Dpu) -> rules::Dpu {
    let found = Findings::of(record, &dpu.id);
    let event = |kinds: &[&str]| event_at(record, &dpu.id, kinds);
    let own = record.life.dpus.get(dpu.id.as_str());
    let since = own.map_or_else(|| Timestamp::from_micros(record.life.version.micros()), |own| own.since);
    let seen = record.observations.get(&dpu.id);
    let restarted = found.at(FindingId::RESTART);
    // A report that came after the restart shows as well that the operating system is up.
    let running = found.is_true(FindingId::OS_RUNNING).then(|| found.at(FindingId::OS_RUNNING)).flatten();
    let since_restart = |at: &Timestamp| restarted.is_none_or(|restarted| *at > restarted);
    let reported = seen.map(|seen| seen.observed_at).filter(since_restart);
    let up = running.filter(since_restart).max(reported);
    let request = record.requests.iter().find(|request| request.kind == "dpu_reprovision");
    let asked = request.is_some_and(|request| match request.arguments.get("dpus") {
        Some(named) => named.split(',').any(|name| name == dpu.name || name == dpu.id.as_str()),
        None => true,
    });
    let approved =
        |request: &crate::store::Request| request.arguments.get("approved").is_some_and(|text| text == "true");
    let restart = record.requests.iter().find(|request| request.kind == "dpu_reprovision_restart");
    rules::Dpu {
        id: dpu.id.to_string(),
        name: dpu.name.clone(),
        primary: dpu.primary(),
        desired_network_version: Some(record.host.desired_network_version),
        required_by_instance: record
            .instance
            .as_ref()
            .is_some_and(|instance| instance.required_dpus().contains(&dpu.position)),
        observed_network_version: seen.and_then(|seen| seen.observed_network_version),
        instance_observed: seen.is_some_and(|seen| seen.observed_instance_version.is_some()),
        observed_instance_version: seen.and_then(|seen| seen.observed_instance_version),
        config_error: seen.and_then(|seen| seen.network_error.clone()).unwrap_or_default(),
        agent_version: seen.and_then(|seen| seen.agent_version.clone()),
        reprovision_requested: asked,
        reprovision_approved: asked && (record.instance.is_none() || request.is_some_and(approved)),
        state: own.map(|own| own.state.clone()),
        state_since: since.micros(),
        counters: own.map(|own| own.counters.clone()).unwrap_or_default(),
        notes: own.map(|own| own.notes.clone()).unwrap_or_default(),
        actions: journal::of_dpu(record, dpu.id.as_str(), since),
        health: reports::dpu(record.health.get(&dpu.id)),
        observed_at: micros(seen.map(|seen| seen.observed_at)),
        // An agent that reports has found out what it runs on.
        discovered_at: micros(event(&["discovered"]).max(reported)),
        booted_at: micros(event(&["booted", "discovered"]).max(up)),
        reboot_requested_at: micros(restarted),
        reprovision_restart_requested_at: micros(restart.map(|request| request.at)),
        ..found.area()
    }
}
