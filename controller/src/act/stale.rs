//! Which facts an action makes stale: what was told of them before says nothing about what the action came to. For facts
//! and for the questions to BMCs.

use std::collections::BTreeMap;

use proto::MachineId;
use rules::{Attestation, Bmc, Credentials, Dpu, FactId, Firmware, Host, Instance, Validation};

use super::journal;
use crate::{Timestamp, store::HostRecord};

/// Facts of the action's own machines: the host, or the DPUs that it is for.
const OF_TARGET: &[(&str, &[FactId])] = &[
    ("redfish.machine_setup", &[Bmc::bios_setup, Bmc::bios_job, Bmc::bios_job_state]),
    ("redfish.set_boot_order", &[Bmc::boot_order_set, Bmc::boot_order_job, Bmc::boot_order_job_state]),
    ("redfish.reset_uefi_settings", &[Bmc::bios_setup, Bmc::boot_order_set]),
    ("redfish.set_uefi_password", &[Bmc::uefi_password_job, Bmc::uefi_password_job_state]),
    ("redfish.clear_uefi_password", &[Bmc::uefi_password_job, Bmc::uefi_password_job_state]),
    ("redfish.enable_lockdown", &[Bmc::lockdown]),
    ("redfish.disable_lockdown", &[Bmc::lockdown]),
    ("redfish.boss_secure_erase", &[Bmc::boss_job, Bmc::boss_job_state]),
    ("redfish.boss_create_volume", &[Bmc::boss_job, Bmc::boss_job_state]),
    ("redfish.bmc_reset", &[Bmc::reachable]),
    ("redfish.host_bmc_factory_reset", &[Bmc::reachable, Bmc::lockdown]),
    // Settings take effect with a boot, so what was read before it may be gone after it.
    ("redfish.force_restart", &[Bmc::bios_setup, Bmc::boot_order_set, Bmc::lockdown]),
    ("redfish.ac_power_cycle", &[Bmc::bios_setup, Bmc::boot_order_set, Bmc::lockdown]),
    ("redfish.power_on", &[Bmc::bios_setup, Bmc::boot_order_set, Bmc::lockdown]),
    ("redfish.machine_setup_dpu", &[Dpu::bios_setup]),
    ("redfish.enable_secure_boot", &[Dpu::secure_boot]),
    ("redfish.disable_secure_boot", &[Dpu::secure_boot]),
    ("redfish.restart_dpu", &[Dpu::secure_boot]),
    ("redfish.upload_platform_certificate", &[Dpu::cert_upload_task, Dpu::platform_cert_present]),
    ("redfish.install_dpu_os", &[Dpu::install_task, Dpu::install_percent]),
    ("redfish.install_preingestion_dpu_os", &[Dpu::install_task, Dpu::install_percent]),
    ("dpf.register", &[Host::dpf_registration, Host::dpf_node_labels_current]),
    ("dpf.reprovision", &[Dpu::dpf_phase]),
    ("dpf.acknowledge_reboot", &[Dpu::dpf_reboot_wanted]),
    ("nics.enable_astra", &[Host::astra_nics_enabled]),
    ("nics.use_tenant", &[Host::other_nics_synced]),
    ("nics.unlock", &[Host::supernics_unlocked]),
    ("network.use_tenant", &[Host::other_nics_synced, Instance::infiniband_synced, Instance::nvlink_synced]),
    ("network.use_admin", &[Host::other_nics_synced, Instance::infiniband_detached]),
    ("redfish.start_firmware_upload", &[Firmware::upload, Firmware::task]),
    ("script.start", &[Firmware::script]),
    ("scout.start_upgrade", &[Firmware::scout_upgrade, Firmware::scout_upgrade_overdue]),
    ("redfish.reset_for_component", &[Firmware::at_target, Firmware::component]),
    ("attestation.start_spdm", &[Attestation::spdm]),
    ("sku.find_match", &[Validation::sku_match_found]),
    ("sku.generate", &[Validation::sku_exists]),
    ("credentials.rotate_bmc", &[Credentials::bmc]),
    ("credentials.rotate_host_uefi", &[Credentials::host_uefi, Bmc::uefi_password_job, Bmc::uefi_password_job_state]),
    ("credentials.rotate_dpu_uefi", &[Credentials::dpu_uefi]),
    ("credentials.rotate_nic_lockdown", &[Credentials::nic_lockdown]),
    // What a tenant's time has shown says nothing about the host that is given back.
    (
        "instance.release_and_force_restart",
        &[
            Attestation::measurement,
            Attestation::ek_cert_verified,
            Attestation::signature_bad,
            Attestation::spdm,
            Bmc::bios_setup,
            Bmc::boot_order_set,
            Bmc::lockdown,
            Bmc::boss_job,
            Bmc::boss_job_state,
            Validation::sku_match_found,
            Validation::sku_differences,
            Instance::infiniband_synced,
            Instance::infiniband_detached,
            Instance::nvlink_synced,
            Instance::extension_services_ready,
            Instance::extension_services_terminated,
        ],
    ),
];

/// Since when findings about a machine count, by the name of their fact. One without an entry counts whenever it is from.
pub(crate) fn stale_before(record: &HostRecord, machine: &MachineId) -> BTreeMap<&'static str, Timestamp> {
    let mut since: BTreeMap<&'static str, Timestamp> = BTreeMap::new();
    for action in &record.actions {
        let Some((_, facts)) = OF_TARGET.iter().find(|(name, _)| *name == action.name) else { continue };
        if !journal::is_for(record, action, machine) {
            continue;
        }
        for fact in *facts {
            let at = since.entry(fact.name()).or_insert(action.intended_at);
            *at = action.intended_at.max(*at);
        }
    }
    since
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::act;

    #[test]
    fn only_actions_of_the_registry_make_facts_stale_and_only_facts_of_others() {
        let dictionary = rules::fact_dictionary();
        for (action, facts) in OF_TARGET {
            assert!(act::plan(action).is_some(), "there is no action `{action}`");
            for fact in *facts {
                let known = dictionary.iter().find(|known| format!("{}.{}", known.area, known.name) == fact.name());
                assert!(known.is_some_and(|known| known.reported), "`{fact}` is not told by anybody");
            }
        }
    }
}
