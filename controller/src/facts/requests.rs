use super::{findings::Findings, machines::event_at};
use crate::store::HostRecord;

/// What can be asked of a host, and what it means. Beside these, the arguments `approved=true` (the tenant agrees) and
/// `dpus=NAME,NAME` (only these) are understood where they make sense.
pub(crate) const REQUESTS: [(&str, &str); 14] = [
    ("force_delete", "delete the host's records whatever its state"),
    ("decommission", "take the host out of management"),
    ("host_reprovision", "update the host's firmware; `approved=true` if the tenant agrees, `rack=true` from a rack"),
    (
        "dpu_reprovision",
        "install the DPUs anew; `dpus=NAME,NAME` for some of them, `approved=true` if the tenant agrees",
    ),
    ("dpu_reprovision_restart", "start a reprovisioning of DPUs over"),
    ("machine_validation", "run machine validation"),
    ("bom_validation", "verify the bill of materials"),
    ("maintenance", "carry out `operation=power_on`, `power_off`, `power_cycle` or `bmc_reset`"),
    ("reset", "start the host's life over"),
    ("retry", "try again what failed"),
    ("boot_configuration", "converge a newly chosen boot interface"),
    ("manual_upgrade_done", "a hands-on firmware update is done"),
    ("custom_ipxe", "boot once into the tenant's iPXE script"),
    ("measure_again", "judge the stored measurements again"),
];

/// What the request `maintenance` can ask for.
pub(crate) const MAINTENANCE: [&str; 4] = ["power_on", "power_off", "power_cycle", "bmc_reset"];

/// What can be reported of a host, or with the argument `dpu=NAME` of a DPU. Any fact of an observer can be reported
/// too, by its name and the argument `value`.
pub(crate) const EVENTS: [(&str, &str); 9] = [
    ("discovered", "the discovery image has reported the hardware"),
    ("rebooted", "the machine has booted"),
    ("booted", "the DPU's operating system is up"),
    ("cleaned", "the discovery image has cleaned the disks; `failed=true` if it could not"),
    ("validated", "machine validation has ended; `failed=true` if it found a fault"),
    ("seen", "the discovery image is there"),
    ("explored", "the BMC has been explored"),
    ("upgrade_failed", "a firmware update has failed"),
    ("dhcp_suppressed", "the machine with `mac=MAC` has been refused an address"),
];

pub(super) fn requests(record: &HostRecord) -> rules::Requests {
    let find = |kind: &str| record.requests.iter().find(|request| request.kind == kind);
    let stands = |kind: &str| find(kind).is_some();
    let says = |kind: &str, argument: &str| {
        find(kind).and_then(|request| request.arguments.get(argument)).is_some_and(|text| text == "true")
    };
    let asked_at = |kind: &str| find(kind).map(|request| request.at.micros());
    let operation = find("maintenance").and_then(|request| request.arguments.get("operation")).cloned();
    rules::Requests {
        force_delete: stands("force_delete"),
        decommission: stands("decommission"),
        host_reprovision: stands("host_reprovision"),
        host_reprovision_approved: says("host_reprovision", "approved"),
        host_reprovision_by_rack: says("host_reprovision", "rack"),
        machine_validation: stands("machine_validation"),
        bom_validation: stands("bom_validation"),
        maintenance: stands("maintenance"),
        maintenance_operation: serde_json::from_value(operation.into()).unwrap_or_default(),
        reset: stands("reset"),
        // It is a wish about the failure that was on record then, not about one that came later.
        retry: record.life.failure.as_ref().is_some_and(|failure| asked_at("retry") > Some(failure.at.micros())),
        boot_configuration: stands("boot_configuration"),
        manual_upgrade_done: stands("manual_upgrade_done"),
        maintenance_requested_at: asked_at("maintenance"),
        host_reprovision_requested_at: asked_at("host_reprovision"),
    }
}

pub(super) fn instance(record: &HostRecord, found: &Findings<'_>) -> rules::Instance {
    // Without InfiniBand, NVLink or extension services there is nothing to wait for.
    let granted = rules::Instance {
        segments_ready: true,
        infiniband_synced: true,
        infiniband_detached: rules::Answer::Yes,
        nvlink_synced: true,
        extension_services_ready: true,
        extension_services_terminated: true,
        phone_home_seen: true,
        ..Default::default()
    };
    let facts = found.over("instance", granted);
    let Some(instance) = &record.instance else { return facts };
    let waits_for_home = instance.config.os.as_ref().is_some_and(|os| os.phone_home_enabled);
    rules::Instance {
        present: true,
        deletion_requested: instance.deletion_requested_at.is_some(),
        custom_ipxe_requested: record.requests.iter().any(|request| request.kind == "custom_ipxe"),
        network_update_pending: instance.network_update.is_some(),
        phone_home_seen: !waits_for_home || instance.phone_home_at.is_some(),
        network_version: Some(instance.network_version),
        ..facts
    }
}

pub(super) fn validation(record: &HostRecord, found: &Findings<'_>) -> rules::Validation {
    let request = |kind: &str| record.requests.iter().find(|request| request.kind == kind);
    let entered = record.life.version.micros();
    let events = record.events.get(&record.host.id);
    let run = events.into_iter().flatten().find(|event| event.kind == "validated" && event.at.micros() > entered);
    rules::Validation {
        completed: run.is_some(),
        failed: run.is_some_and(|run| run.arguments.get("failed").is_some_and(|text| text == "true")),
        verify_requested_at: request("bom_validation").map(|request| request.at.micros()),
        match_attempted_at: event_at(record, &record.host.id, &["sku_match"]).map(|at| at.micros()),
        ..found.over("validation", rules::Validation::default())
    }
}
