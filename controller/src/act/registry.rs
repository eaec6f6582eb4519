//! The one table of action names: what each changes in rows, does at a BMC, or hands to a service of the site.

use bmc::ResetType;

use super::{
    remote::{PowerSteps, Remote},
    rows::Rows,
};

/// What an action's name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Work at a BMC, before the decision is committed.
    pub(crate) remote: Option<Remote>,
    /// Rows that change together with the commit.
    pub(crate) rows: Option<Rows>,
}

const fn remote(remote: Remote) -> Plan {
    Plan { remote: Some(remote), rows: None }
}

const fn rows(rows: Rows) -> Plan {
    Plan { remote: None, rows: Some(rows) }
}

const HANDED_OVER: Plan = remote(Remote::HandOver);

/// Every action that rules can name.
const ACTIONS: &[(&str, Plan)] = &[
    ("redfish.force_restart", remote(Remote::Reset(ResetType::ForceRestart))),
    ("redfish.restart_dpu", remote(Remote::RestartDpus)),
    ("redfish.restart_all_dpus", remote(Remote::RestartDpus)),
    ("redfish.power_off", remote(Remote::Reset(ResetType::ForceOff))),
    ("redfish.power_on", remote(Remote::Reset(ResetType::On))),
    ("redfish.ac_power_cycle", remote(Remote::Reset(ResetType::PowerCycle))),
    ("redfish.power_cycle_step", remote(Remote::Steps(PowerSteps::Cycle))),
    ("redfish.power_drain_step", remote(Remote::Steps(PowerSteps::Drain))),
    ("redfish.power_off_bmc_reset_power_on", remote(Remote::Steps(PowerSteps::CycleWithBmc))),
    ("redfish.power_off_and_bmc_reset", remote(Remote::OffAndResetBmc)),
    ("redfish.bmc_reset", remote(Remote::ResetBmc)),
    ("redfish.bmc_factory_reset", remote(Remote::FactoryResetNextBmc)),
    ("redfish.host_bmc_factory_reset", remote(Remote::FactoryResetBmc)),
    ("redfish.reset_for_component", remote(Remote::ResetForComponent)),
    ("redfish.reset_uefi_settings", remote(Remote::ResetBios)),
    ("redfish.enable_secure_boot", remote(Remote::SecureBoot(true))),
    ("redfish.disable_secure_boot", remote(Remote::SecureBoot(false))),
    ("redfish.boot_once_uefi_http", remote(Remote::BootOnceUefiHttp)),
    ("redfish.set_boot_order", remote(Remote::BootOrder)),
    ("redfish.machine_setup", remote(Remote::MachineSetup { restart: false })),
    ("redfish.machine_setup_and_force_restart", remote(Remote::MachineSetup { restart: true })),
    ("redfish.machine_setup_dpu", remote(Remote::MachineSetup { restart: true })),
    ("redfish.enable_rshim", remote(Remote::EnableRshim)),
    ("redfish.enable_ipmi_over_lan", remote(Remote::EnableIpmi)),
    ("redfish.set_uefi_password", remote(Remote::UefiPassword { set: true })),
    ("redfish.clear_uefi_password", remote(Remote::UefiPassword { set: false })),
    ("redfish.disable_lockdown", remote(Remote::Lockdown { on: false, restart: false })),
    ("redfish.enable_lockdown", remote(Remote::Lockdown { on: true, restart: false })),
    ("redfish.enable_lockdown_and_force_restart", remote(Remote::Lockdown { on: true, restart: true })),
    ("redfish.boss_secure_erase", remote(Remote::EraseBootStorage)),
    ("redfish.boss_create_volume", remote(Remote::CreateBootVolume)),
    ("redfish.install_dpu_os", remote(Remote::InstallImage)),
    ("redfish.install_preingestion_dpu_os", remote(Remote::InstallImage)),
    // Beyond standard Redfish: a service of the site does it.
    ("redfish.restore_bmc_credentials", HANDED_OVER),
    ("redfish.upload_platform_certificate", HANDED_OVER),
    ("redfish.deconfigure_host", HANDED_OVER),
    ("redfish.start_firmware_upload", HANDED_OVER),
    ("script.start", HANDED_OVER),
    ("scout.start_upgrade", HANDED_OVER),
    ("nics.enable_astra", HANDED_OVER),
    ("nics.use_tenant", HANDED_OVER),
    ("nics.unlock", HANDED_OVER),
    ("dpf.register", HANDED_OVER),
    ("dpf.reprovision", HANDED_OVER),
    ("dpf.delete", HANDED_OVER),
    ("dpf.acknowledge_reboot", HANDED_OVER),
    ("attestation.start_spdm", HANDED_OVER),
    ("sku.find_match", HANDED_OVER),
    ("sku.generate", HANDED_OVER),
    ("credentials.rotate_bmc", HANDED_OVER),
    ("credentials.rotate_host_uefi", HANDED_OVER),
    ("credentials.rotate_dpu_uefi", HANDED_OVER),
    ("credentials.rotate_nic_lockdown", HANDED_OVER),
    // Nothing but this controller explores BMCs, and it leaves alone what it is not told to touch.
    ("suppress.site_explorer", remote(Remote::AtOnce)),
    ("suppress.lift_site_explorer", remote(Remote::AtOnce)),
    ("suppress.oob_dhcp", HANDED_OVER),
    ("suppress.bmc_dhcp", HANDED_OVER),
    ("network.use_tenant", rows(Rows::UseTenantNetwork)),
    ("network.use_admin", rows(Rows::UseAdminNetwork)),
    ("network.promote_update", rows(Rows::PromoteUpdate)),
    ("network.release_old_resources", rows(Rows::ReleaseOldResources)),
    (
        "instance.release_and_force_restart",
        Plan { remote: Some(Remote::Reset(ResetType::ForceRestart)), rows: Some(Rows::ReleaseInstance) },
    ),
    ("instance.clear_custom_ipxe", rows(Rows::ClearRequest("custom_ipxe"))),
    ("health.put_report", rows(Rows::PutReport)),
    ("health.scout_heartbeat_report", rows(Rows::PutOrRemoveReport)),
    ("health.write_heartbeat_timeout", rows(Rows::PutReport)),
    ("health.host_update_in_progress", rows(Rows::PutReport)),
    ("health.sku_report", rows(Rows::PutReport)),
    ("health.clear_sku_report", rows(Rows::RemoveReport)),
    ("secrets.delete_device_credentials", rows(Rows::ForgetCredentials)),
    ("db.assign_sku", rows(Rows::Note(rules::Validation::sku_assigned))),
    ("db.record_bios_password_set", rows(Rows::Note(rules::Host::bios_password_set))),
    ("db.forget_bios_password", rows(Rows::Deny(rules::Host::bios_password_set))),
    ("db.start_dpu_reprovision", rows(Rows::Note(rules::Dpu::reprovision_started))),
    ("db.clear_dpu_reprovision_request", rows(Rows::EndDpuReprovision)),
    ("db.clear_host_reprovision_request", rows(Rows::ClearRequest("host_reprovision"))),
    ("db.clear_decommission_request", rows(Rows::BeginDecommissioning)),
    ("db.clear_request", rows(Rows::ClearNamedRequest)),
    // The decision to delete does it.
    ("db.delete_host", Plan { remote: None, rows: None }),
];

/// What the name stands for.
pub(crate) fn plan(name: &str) -> Option<Plan> {
    ACTIONS.iter().find(|(known, _)| *known == name).map(|(_, plan)| *plan)
}

/// The action is done when a service of the site reports so, not when the controller has asked for it. Until then its line
/// of the journal is open.
pub(crate) fn is_handed_over(name: &str) -> bool {
    plan(name).is_some_and(|plan| plan.remote == Some(Remote::HandOver))
}

/// Every name that rules can use, in alphabetical order.
#[must_use]
pub fn action_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let names = action_names();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn only_the_release_of_an_instance_touches_both_bmc_and_rows() {
        let both: Vec<&str> = ACTIONS
            .iter()
            .filter(|(_, plan)| plan.remote.is_some() && plan.rows.is_some())
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(both, ["instance.release_and_force_restart"]);
    }
}
