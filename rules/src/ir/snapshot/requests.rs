//! What operators ask of a host, the site's switches, and the failure that is on record.

use crate::ir::snapshot::{
    dictionary::{area, words},
    reported::Reported,
    values::{Micros, after, age},
};

area! {
    /// Requests that stand.
    Requests as "requests" at |s, d| s.requests;
    facts {
        [Operator]
            /// Delete the host's records whatever its state.
            force_delete: bool,
            /// Take the host out of management.
            decommission: bool,
            /// Update the host's firmware.
            host_reprovision: bool,
            /// That request stands and the tenant, or the automatic window, allows it.
            host_reprovision_approved: bool,
            /// The firmware request comes from a rack.
            host_reprovision_by_rack: bool,
            /// Run machine validation.
            machine_validation: bool,
            /// Verify the bill of materials, or the stored SKU state demands it.
            bom_validation: bool,
            /// Carry out a maintenance operation.
            maintenance: bool,
            /// Which one.
            maintenance_operation: MaintenanceOperation,
            /// Start the host's life over.
            reset: bool,
            /// Try again what failed.
            retry: bool,
            /// Converge a newly chosen boot interface.
            boot_configuration: bool,
            /// A hands-on firmware update is marked as done.
            manual_upgrade_done: bool,
    }
    raw {
        /// When maintenance was last requested.
        maintenance_requested_at: Option<Micros>,
        /// When a firmware update was last requested.
        host_reprovision_requested_at: Option<Micros>,
    }
    derived {
        [Operator]
            /// Maintenance was requested after the present state was entered.
            maintenance_since_state_change: Bool = after(s.requests.maintenance_requested_at, s.state.since),
            /// A firmware update was requested after the present state was entered.
            host_reprovision_since_state_change: Bool = after(s.requests.host_reprovision_requested_at, s.state.since),
    }
}

words! {
    /// Maintenance operations.
    MaintenanceOperation {
        /// None, or one that is not known.
        None = "none";
        /// Turn the host on.
        PowerOn = "power_on",
        /// Turn the host off.
        PowerOff = "power_off",
        /// Power cycle the host.
        PowerCycle = "power_cycle",
        /// Restart the host's BMC.
        BmcReset = "bmc_reset",
    }
}

area! {
    /// Switches and limits of the site that are not part of the rules.
    Site as "site" at |s, d| s.site;
    facts {
        [Site]
            /// Hosts have SKUs, and their bill of materials is validated.
            bom_validation: Reported<bool>,
            /// Hosts without a SKU may pass.
            bom_ignore_unassigned: bool,
            /// Hosts whose SKU does not match may be allocated.
            bom_allow_on_failure: bool,
            /// Run machine validation.
            machine_validation: bool,
            /// Hosts are attested by measured boot.
            attestation: Reported<bool>,
            /// Devices are attested by SPDM.
            spdm: Reported<bool>,
            /// Hosts have ASTRA NICs, which are enabled before DPUs are discovered.
            astra: bool,
            /// Hosts have InfiniBand.
            infiniband: Reported<bool>,
            /// Hosts have NVLink.
            nvlink: Reported<bool>,
            /// Hosts have NICs of SuperNIC class beside their DPUs.
            supernics: Reported<bool>,
            /// DPUs can be provisioned by DPF.
            dpf: Reported<bool>,
            /// Install DPU images over Redfish with secure boot on.
            dpu_secure_boot: bool,
            /// Reset the BMC to factory settings when an instance is deleted.
            deletion_bmc_reset: bool,
            /// A missing contact of the discovery image keeps tenants off the host.
            scout_timeout_prevents_allocations: bool,
            /// A superseded agent keeps tenants off the host.
            stale_agent_prevents_allocations: bool,
            /// What reports of hardware health monitors mean.
            hardware_health: HardwareHealth,
    }
    raw {}
    derived {}
}

words! {
    /// What reports of hardware health monitors mean.
    HardwareHealth {
        /// Nothing.
        Disabled = "disabled";
        /// They are shown and decide nothing.
        MonitorOnly = "monitor_only",
        /// They count like any other.
        Enabled = "enabled",
    }
}

area! {
    /// The failure that is on record for the host or one of its DPUs.
    Failure as "failure" at |s, d| s.failure;
    facts {
        [Record]
            /// Cause as the pack names it; empty without a failure.
            cause: String,
            /// Who found it.
            source: String,
            /// Machine id it belongs to.
            machine: String,
            /// It belongs to the host, not to a DPU.
            on_host: bool,
    }
    raw {
        /// When it happened.
        at: Micros,
    }
    derived {
        [Record]
            /// Time since it happened.
            age: Age(optional) = age(s.now, (!s.failure.cause.is_empty()).then_some(s.failure.at)),
    }
}
