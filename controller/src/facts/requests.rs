//! The kinds of requests and events, and the facts they become.

use super::{
    findings::Findings,
    kinds::{BOOL, Kind, Parameter},
    machines::event_at,
};
use crate::store::{Event, HostRecord};

const APPROVED: Parameter = Parameter::optional("approved", &BOOL);
const FAILED: Parameter = Parameter::optional("failed", &BOOL);

/// What can be asked of a host, with its arguments: `approved=true` says that the tenant agrees, `dpus=NAME,NAME` means
/// only these.
pub(crate) const REQUESTS: &[Kind] = &[
    // Delete the host's records whatever its state.
    Kind::plain("force_delete"),
    // Take the host out of management.
    Kind::plain("decommission"),
    // Update the host's firmware; `rack=true` from a rack.
    Kind::with("host_reprovision", &[APPROVED, Parameter::optional("rack", &BOOL)]),
    // Install the DPUs again.
    Kind::with("dpu_reprovision", &[APPROVED, Parameter::optional("dpus", &[])]),
    // Start a reprovisioning of DPUs over.
    Kind::plain("dpu_reprovision_restart"),
    Kind::plain("machine_validation"),
    // Verify the bill of materials.
    Kind::plain("bom_validation"),
    Kind::with(
        "maintenance",
        &[Parameter::needed("operation", &["power_on", "power_off", "power_cycle", "bmc_reset"])],
    ),
    // Start the host's life over.
    Kind::plain("reset"),
    // Try again what failed.
    Kind::plain("retry"),
    // Converge a newly chosen boot interface.
    Kind::plain("boot_configuration"),
    // A hands-on firmware update is done.
    Kind::plain("manual_upgrade_done"),
    // Boot once into the tenant's iPXE script.
    Kind::plain("custom_ipxe"),
    // Judge the stored measurements again.
    Kind::plain("measure_again"),
];

/// What can be reported of a host, or with the argument `dpu=NAME` of a DPU. Any fact of an observer can be reported
/// too, by its name and the argument `value`.
pub(crate) const EVENTS: &[Kind] = &[
    // The discovery image has reported the hardware.
    Kind::plain("discovered"),
    // The machine has booted.
    Kind::plain("rebooted"),
    // The DPU's operating system is up.
    Kind::plain("booted"),
    // The discovery image has cleaned the disks, or could not.
    Kind::with("cleaned", &[FAILED]),
    // Machine validation has ended, or found a fault.
    Kind::with("validated", &[FAILED]),
    // The discovery image is there.
    Kind::plain("seen"),
    // The BMC has been explored.
    Kind::plain("explored"),
    // A firmware update has failed.
    Kind::plain("upgrade_failed"),
    // A service has done the work of this action that was handed over to it, or could not.
    Kind::with("work_done", &[Parameter::needed("action", &[])]),
    Kind::with("work_failed", &[Parameter::needed("action", &[]), Parameter::needed("reason", &[])]),
    // The machine with this MAC has been refused an address.
    Kind::with("dhcp_suppressed", &[Parameter::needed("mac", &[])]),
];

/// The work that an event tells of ended badly. What an older release took for an argument counts as bad.
pub(super) fn says_failed(event: &Event) -> bool {
    event.arguments.iter().any(|(name, value)| name != "failed" || value != "false")
}

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
    // The controller itself makes segments, at once.
    let facts = rules::Instance { segments_ready: true, phone_home_seen: true, ..found.area() };
    let Some(instance) = &record.instance else { return facts };
    let waits_for_home = instance.config.os.as_ref().is_some_and(|os| os.phone_home_enabled);
    rules::Instance {
        present: true,
        deletion_requested: instance.deletion_requested_at.is_some(),
        // One that stood before the instance is a former tenant's.
        custom_ipxe_requested: record
            .requests
            .iter()
            .any(|request| request.kind == "custom_ipxe" && request.at >= instance.created_at),
        network_update_pending: instance.network_update.is_some(),
        phone_home_seen: !waits_for_home || instance.phone_home_at.is_some(),
        network_version: Some(instance.desired_instance_version),
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
        failed: run.is_some_and(says_failed),
        verify_requested_at: request("bom_validation").map(|request| request.at.micros()),
        match_attempted_at: event_at(record, &record.host.id, &["sku_match"]).map(|at| at.micros()),
        ..found.area()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    #[test]
    fn only_what_is_known_to_be_good_counts_as_good() {
        for (arguments, failed) in [
            (vec![], false),
            (vec![("failed", "false")], false),
            (vec![("failed", "true")], true),
            // An older release took these and kept them.
            (vec![("failed", "True")], true),
            (vec![("error", "disk is dead")], true),
            (vec![("failed", "false"), ("error", "disk is dead")], true),
        ] {
            let owned = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let event = Event { kind: "cleaned".into(), at: Timestamp::from_micros(1), arguments: owned.collect() };
            assert_eq!(says_failed(&event), failed, "{arguments:?}");
        }
    }
}
