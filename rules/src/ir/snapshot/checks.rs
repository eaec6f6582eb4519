//! What inventory checks, validation, attestation, firmware updates and decommissioning have found out.

use crate::ir::snapshot::{
    dictionary::{area, words},
    reported::Reported,
    values::{Micros, after, age},
};

area! {
    /// Bill of materials and machine validation.
    Validation as "validation" at |s, d| s.validation;
    facts {
        [Service("SKUs")]
            /// A SKU is assigned to the host.
            sku_assigned: Reported<bool>,
            /// The assigned SKU is defined.
            sku_exists: Reported<bool>,
            /// Some SKU matches the host's inventory.
            sku_match_found: Reported<bool>,
            /// Differences between the inventory and the assigned SKU.
            sku_differences: Reported<i64>,
        [DiscoveryImage]
            /// A run newer than the state has finished.
            completed: bool,
            /// That run found a fault.
            failed: bool,
    }
    raw {
        /// When verification was last requested.
        verify_requested_at: Option<Micros>,
        /// When a matching SKU was last searched for.
        match_attempted_at: Option<Micros>,
    }
    derived {
        [Operator]
            /// Verification was requested after the present state was entered.
            verify_requested_since_state_change: Bool = after(s.validation.verify_requested_at, s.state.since),
        [Service("SKUs")]
            /// Time since the last search for a matching SKU.
            match_attempt_age: Age(optional) = age(s.now, s.validation.match_attempted_at),
    }
}

area! {
    /// Measured boot and device attestation.
    Attestation as "attestation" at |s, d| s.attestation;
    facts {
        [Service("attestation")]
            /// The TPM's endorsement certificate chains to a registered CA.
            ek_cert_verified: Reported<bool>,
            /// What is known of the host's measurements.
            measurement: Reported<Measurement>,
            /// The signature of the measurement report is bad.
            signature_bad: Reported<bool>,
            /// The recorded failure compared with what present data would say.
            cause_now: Reported<CauseNow>,
            /// The stored verdict no longer says measured.
            redo: Reported<bool>,
            /// Attestation of devices by SPDM.
            spdm: Reported<super::host::Answer>,
    }
    raw {}
    derived {}
}

words! {
    /// What is known of a host's measurements.
    Measurement {
        /// No report yet.
        Discovered = "discovered",
        /// A report that no bundle matches.
        PendingBundle = "pending_bundle",
        /// A report that an active bundle matches.
        Measured = "measured",
        /// The matching bundle is retired.
        Retired = "retired",
        /// The matching bundle is revoked.
        Revoked = "revoked",
    }
}

words! {
    /// A recorded failure compared with what present data would say.
    CauseNow {
        /// Nothing is wrong any more.
        None = "none",
        /// The same is wrong.
        Same = "same",
        /// Something else is wrong.
        Other = "other",
    }
}

area! {
    /// Host firmware updates.
    Firmware as "firmware" at |s, d| s.firmware;
    facts {
        [Service("site exploration")]
            /// An exploration report of the host's BMC exists.
            endpoint_explored: Reported<bool>,
        [Service("firmware")]
            /// There is an entry for the host's maker and model.
            catalog_entry_found: Reported<bool>,
            /// First component below its target, empty if none is.
            component: Reported<String>,
            /// Kind of that component, such as `bmc` or `uefi`.
            component_type: Reported<String>,
            /// How the component is updated.
            method: Reported<InstallMethod>,
            /// The entry wants a reset before the update.
            pre_update_reset: Reported<bool>,
            /// The file has been downloaded.
            file_available: Reported<bool>,
            /// The component needs more files.
            more_files: Reported<bool>,
            /// The component has its target version.
            at_target: Reported<bool>,
            /// Power drains still to do.
            power_drains_left: Reported<i64>,
        [Service("firmware")]
            /// One of the site's upload slots is free.
            upload_slot_free: Reported<bool>,
            /// The upload.
            upload: Reported<UploadStatus>,
            /// The BMC's update task.
            task: Reported<TaskState>,
            /// The upgrade script.
            script: Reported<ScriptStatus>,
            /// The discovery image's upgrade.
            scout_upgrade: Reported<ScriptStatus>,
            /// The rack's upgrade.
            rack_upgrade: Reported<ScriptStatus>,
            /// The deadline of the discovery image's upgrade has passed.
            scout_upgrade_overdue: Reported<bool>,
    }
    raw {
        /// When the host's BMC was last explored.
        explored_at: Option<Micros>,
        /// When the last update failed.
        failed_at: Option<Micros>,
    }
    derived {
        [Service("site exploration")]
            /// The BMC was explored after the present state was entered.
            explored_since_state_change: Bool = after(s.firmware.explored_at, s.state.since),
        [Service("firmware")]
            /// Time since the last failed update.
            failure_age: Age(optional) = age(s.now, s.firmware.failed_at),
    }
}

words! {
    /// How a component's firmware is updated.
    InstallMethod {
        /// Upload over Redfish.
        RedfishUpload = "redfish_upload",
        /// A script of the site.
        Script = "script",
        /// By the discovery image.
        Scout = "scout",
        /// By hand.
        Manual = "manual",
    }
}

words! {
    /// An upload of firmware.
    UploadStatus {
        /// Running.
        Running = "running",
        /// Accepted; there is a task.
        Accepted = "accepted",
        /// Failed.
        Failed = "failed",
    }
}

words! {
    /// A firmware task of a BMC.
    TaskState {
        /// The BMC has no such task.
        Missing = "missing",
        /// Accepted.
        New = "new",
        /// Running.
        Running = "running",
        /// Completed.
        Completed = "completed",
        /// Interrupted.
        Interrupted = "interrupted",
        /// Failed.
        Failed = "failed",
        /// The BMC did not answer.
        QueryError = "query_error",
    }
}

words! {
    /// A script that updates firmware.
    ScriptStatus {
        /// Running.
        Running = "running",
        /// Ended well.
        Ok = "ok",
        /// Failed.
        Failed = "failed",
    }
}

area! {
    /// Taking a host out of management.
    Decommission as "decommission" at |s, d| s.decommission;
    facts {
        [Record]
            /// Exploration has acknowledged that it leaves every BMC alone.
            exploration_suppressed: bool,
        [Record]
            /// Out-of-band MACs of host and DPUs.
            oob_macs: Vec<String>,
            /// Those that have neither acknowledged nor qualify to go without.
            oob_macs_pending: Vec<String>,
            /// BMC MACs of host and DPUs.
            bmc_macs: Vec<String>,
            /// Those that have neither acknowledged nor qualify to go without.
            bmc_macs_pending: Vec<String>,
        [Record]
            /// Machines whose BMC has not accepted a reset to factory settings.
            bmcs_to_reset: Vec<String>,
    }
    raw {}
    derived {}
}
