use super::{
    redfish::ResetType,
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

const fn both(remote: Remote, rows: Rows) -> Plan {
    Plan { remote: Some(remote), rows: Some(rows) }
}

/// Every action that rules can name.
const ACTIONS: [(&str, Plan); 60] = [
    ("redfish.force_restart", remote(Remote::Reset(ResetType::ForceRestart))),
    ("redfish.graceful_restart", remote(Remote::Reset(ResetType::GracefulRestart))),
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
    ("redfish.bmc_factory_reset", remote(Remote::FactoryResetBmc)),
    ("redfish.reset_for_component", remote(Remote::ResetForComponent)),
    ("redfish.enable_secure_boot", remote(Remote::SecureBoot(true))),
    ("redfish.disable_secure_boot", remote(Remote::SecureBoot(false))),
    ("redfish.boot_once_uefi_http", remote(Remote::BootOnceUefiHttp)),
    ("redfish.set_boot_order", remote(Remote::BootOrder)),
    ("redfish.install_dpu_os", remote(Remote::InstallImage)),
    ("redfish.install_preingestion_dpu_os", remote(Remote::InstallImage)),
    ("redfish.machine_setup", remote(Remote::HandOver(Some(("bmc.bios_setup", "yes"))))),
    ("redfish.machine_setup_and_force_restart", remote(Remote::HandOverThenRestart(Some(("bmc.bios_setup", "yes"))))),
    ("redfish.machine_setup_dpu", remote(Remote::HandOverThenRestart(Some(("dpu.bios_setup", "yes"))))),
    ("redfish.enable_rshim", remote(Remote::HandOver(None))),
    ("redfish.enable_ipmi_over_lan", remote(Remote::HandOver(None))),
    ("redfish.set_uefi_password", remote(Remote::HandOver(None))),
    ("redfish.disable_lockdown", remote(Remote::HandOver(Some(("bmc.lockdown", "disabled"))))),
    ("redfish.enable_lockdown", remote(Remote::HandOver(Some(("bmc.lockdown", "enabled"))))),
    (
        "redfish.enable_lockdown_and_force_restart",
        remote(Remote::HandOverThenRestart(Some(("bmc.lockdown", "enabled")))),
    ),
    ("redfish.boss_secure_erase", remote(Remote::HandOver(None))),
    ("redfish.boss_create_volume", remote(Remote::HandOver(None))),
    ("redfish.deconfigure_host", remote(Remote::HandOver(None))),
    ("redfish.start_firmware_upload", remote(Remote::HandOver(None))),
    ("script.start", remote(Remote::HandOver(None))),
    ("dpf.register", remote(Remote::HandOver(None))),
    ("dpf.reprovision", remote(Remote::HandOver(None))),
    ("network.use_tenant", rows(Rows::UseTenantNetwork)),
    ("network.use_admin", rows(Rows::UseAdminNetwork)),
    ("network.promote_update", rows(Rows::PromoteUpdate)),
    ("network.release_old_resources", rows(Rows::ReleaseOldResources)),
    ("instance.release", rows(Rows::ReleaseInstance)),
    ("instance.release_and_force_restart", both(Remote::Reset(ResetType::ForceRestart), Rows::ReleaseInstance)),
    ("instance.clear_custom_ipxe", rows(Rows::ClearRequest("custom_ipxe"))),
    ("health.put_report", rows(Rows::PutReport)),
    ("health.remove_report", rows(Rows::RemoveReport)),
    ("health.scout_heartbeat_report", rows(Rows::PutOrRemoveReport)),
    ("health.write_heartbeat_timeout", rows(Rows::PutReport)),
    ("health.host_update_in_progress", rows(Rows::PutReport)),
    ("health.sku_report", rows(Rows::PutReport)),
    ("health.clear_sku_report", rows(Rows::RemoveReport)),
    ("suppress.site_explorer", remote(Remote::HandOver(None))),
    ("suppress.oob_dhcp", remote(Remote::HandOver(None))),
    ("suppress.bmc_dhcp", remote(Remote::HandOver(None))),
    ("secrets.delete_device_credentials", rows(Rows::ForgetCredentials)),
    ("db.assign_sku", rows(Rows::Note("validation.sku_assigned"))),
    ("db.record_bios_password_set", rows(Rows::Note("host.bios_password_set"))),
    ("db.clear_host_reprovision_request", rows(Rows::ClearRequest("host_reprovision"))),
    ("db.clear_dpu_reprovision_request", rows(Rows::ClearRequest("dpu_reprovision"))),
    ("db.clear_decommission_request", rows(Rows::ClearRequest("decommission"))),
    ("db.clear_request", rows(Rows::ClearNamedRequest)),
];

/// What the name stands for. `none` and `db.delete_host` stand for nothing that has to be done here.
pub(crate) fn plan(name: &str) -> Option<Plan> {
    if matches!(name, "none" | "db.delete_host") {
        return Some(Plan { remote: None, rows: None });
    }
    ACTIONS.iter().find(|(known, _)| *known == name).map(|(_, plan)| *plan)
}

/// Every name that rules can use, in alphabetical order.
#[must_use]
pub fn action_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).chain(["db.delete_host"]).collect();
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
