//! The host's BMC: power, BIOS, boot order, jobs, lockdown.

use crate::ir::snapshot::{
    dictionary::{area, words},
    host::Answer,
    reported::Reported,
    values::{Micros, age},
};

area! {
    /// What the host's BMC says, and what was last asked of it.
    Bmc as "bmc" at |s, d| s.bmc;
    facts {
        [Bmc]
            /// Maker of the host.
            vendor: Reported<Vendor>,
            /// A Redfish session could be opened.
            reachable: Reported<bool>,
            /// Power of the host.
            power: Reported<PowerState>,
            /// State of BMC and BIOS lockdown.
            lockdown: Reported<Lockdown>,
            /// The desired BIOS settings are applied.
            bios_setup: Reported<Answer>,
            /// The boot order is the desired one.
            boot_order_set: Reported<Answer>,
            /// Id of the running BIOS job, empty if the setup made none.
            bios_job: Reported<String>,
            /// State of the BIOS job.
            bios_job_state: Reported<JobState>,
            /// Id of the boot order job, empty if there is none.
            boot_order_job: Reported<String>,
            /// State of the boot order job.
            boot_order_job_state: Reported<JobState>,
            /// Id of the UEFI password job, empty if there is none.
            uefi_password_job: Reported<String>,
            /// State of the UEFI password job.
            uefi_password_job_state: Reported<JobState>,
            /// Id of the boot storage (BOSS) controller, empty if there is none.
            boss_controller: Reported<String>,
            /// Id of the boot storage job, empty if there is none.
            boss_job: Reported<String>,
            /// State of the boot storage job.
            boss_job_state: Reported<JobState>,
        [Record]
            /// The controller's last power command.
            last_power_request: PowerRequest,
            /// The last restart has not been found in the BMC's event log.
            restart_unverified: bool,
            /// How often the event log was searched for it.
            restart_verification_attempts: i64,
    }
    raw {
        /// When the controller last sent a power command.
        power_requested_at: Option<Micros>,
        /// When the host was last reset for new firmware.
        reset_at: Option<Micros>,
        /// When the power state was read.
        power_read_at: Option<Micros>,
    }
    derived {
        [Record]
            /// Time since the controller's last power command.
            power_request_age: Age(optional) = age(s.now, s.bmc.power_requested_at),
            /// Time since the last reset for new firmware.
            reset_age: Age(optional) = age(s.now, s.bmc.reset_at),
        [Bmc]
            /// The power state was read after the last power command, so it can be believed.
            power_is_fresh: Bool = super::dictionary::Value::Bool(
                s.bmc.power_requested_at.is_none() || s.bmc.power_read_at > s.bmc.power_requested_at
            ),
    }
}

words! {
    /// Makers that need rules of their own.
    Vendor {
        /// None of the others.
        Other = "other",
        /// Dell.
        Dell = "dell",
        /// Lenovo.
        Lenovo = "lenovo",
        /// Supermicro.
        Supermicro = "supermicro",
        /// NVIDIA.
        Nvidia = "nvidia",
        /// HPE.
        Hpe = "hpe",
    }
}

words! {
    /// Power of a machine.
    PowerState {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
        /// Turning on.
        PoweringOn = "powering_on",
        /// Turning off.
        PoweringOff = "powering_off",
        /// Paused.
        Paused = "paused",
    }
}

words! {
    /// Power commands of the controller.
    PowerRequest {
        /// None yet.
        None = "none";
        /// Turn on.
        On = "on",
        /// Turn off.
        Off = "off",
        /// Restart.
        Restart = "restart",
        /// AC power cycle.
        AcCycle = "ac_cycle",
    }
}

words! {
    /// State of lockdown.
    Lockdown {
        /// Fully off.
        Disabled = "disabled",
        /// Partly on.
        Partial = "partial",
        /// On.
        Enabled = "enabled",
        /// The BMC has none.
        Unsupported = "unsupported",
    }
}

words! {
    /// State of a job of a BMC.
    JobState {
        /// There is no job.
        None = "none",
        /// Accepted, runs at the next restart.
        Scheduled = "scheduled",
        /// Running.
        Running = "running",
        /// Completed.
        Completed = "completed",
        /// Failed.
        Failed = "failed",
        /// The BMC did not answer.
        QueryError = "query_error",
    }
}
