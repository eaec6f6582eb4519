//! One DPU of the host: what it should be, what it reported, and its own place in states that DPUs pass one by one.

use std::collections::BTreeMap;

use types::ConfigVersion;

use crate::ir::{
    snapshot::{
        dictionary::{Value, area, words},
        health::DpuHealth,
        reported::Reported,
        state::ActionRecord,
        values::{Micros, after, age, seconds},
    },
    state_path::StatePath,
};

area! {
    /// One DPU. In rules: `d` of `h.dpus.all(|d| ...)`, or the second parameter of a guard in a DPU state.
    Dpu as "dpu" at |s, d| d;
    facts {
        [Record]
            /// Machine id.
            id: String,
            /// Name for people.
            name: String,
            /// The DPU the host boots over.
            primary: bool,
        [Record]
            /// Version of the managed-host network config that the DPU should have.
            #[serde(with = "super::values::version")]
            desired_network_version: Option<ConfigVersion>,
            /// The instance's configuration uses this DPU.
            required_by_instance: bool,
        [Agent]
            /// Version of the managed-host network config that the DPU reported last.
            #[serde(with = "super::values::version")]
            observed_network_version: Option<ConfigVersion>,
            /// An observation of the instance's network is stored for the DPU.
            instance_observed: bool,
            /// Version of the instance network config in that observation.
            #[serde(with = "super::values::version")]
            observed_instance_version: Option<ConfigVersion>,
            /// Error text of the last attempt to apply a configuration, empty if it worked.
            config_error: String,
            /// Version of the agent.
            agent_version: Option<String>,
        [Bmc]
            /// A Redfish session could be opened.
            reachable: Reported<bool>,
            /// Secure boot as the BMC reports it.
            secure_boot: Reported<SecureBoot>,
            /// The platform key certificate is installed.
            platform_cert_present: Reported<bool>,
            /// Task that installs the DPU's image.
            install_task: Reported<InstallTask>,
            /// Progress of that task, in percent.
            install_percent: Reported<i64>,
            /// Task that uploads the platform certificate.
            cert_upload_task: Reported<InstallTask>,
            /// The BMC confirms the desired BIOS settings.
            bios_setup: Reported<super::host::Answer>,
            /// Firmware version of the BMC.
            bmc_firmware: Reported<String>,
            /// BMC, CEC and NIC firmware are the baseline of the model.
            firmware_matches: Reported<bool>,
        [Record]
            /// Reprovisioning was requested.
            reprovision_requested: bool,
            /// The request stands and the tenant, or the automatic window, allows it.
            reprovision_approved: bool,
            /// Reprovisioning was started and its time saved.
            reprovision_started: bool,
            /// A restart at the start of reprovisioning failed and has to be repeated.
            restart_retry_pending: bool,
        [Service("DPF")]
            /// Phase of the DPU in DPF.
            dpf_phase: Reported<DpfPhase>,
            /// What DPF says about the phase.
            dpf_detail: Reported<String>,
            /// DPF asks for a power cycle of the host.
            dpf_reboot_wanted: Reported<bool>,
    }
    raw {
        /// State of this DPU, if the host is in states that DPUs pass one by one.
        state: Option<StatePath>,
        /// When this DPU entered its state.
        state_since: Micros,
        /// Counters of this DPU.
        counters: BTreeMap<String, i64>,
        /// Notes of this DPU.
        notes: BTreeMap<String, String>,
        /// Actions on this DPU since its state was entered, by name.
        actions: BTreeMap<String, ActionRecord>,
        /// Health reports stored for this DPU.
        health: DpuHealth,
        /// Last network observation.
        observed_at: Option<Micros>,
        /// Last discovery report.
        discovered_at: Option<Micros>,
        /// When the BMC first reported the operating system running after the last restart.
        booted_at: Option<Micros>,
        /// Last restart that the controller asked for.
        reboot_requested_at: Option<Micros>,
        /// When an operator asked to restart a reprovisioning.
        reprovision_restart_requested_at: Option<Micros>,
        /// When the agent's version was superseded by a newer one.
        agent_superseded_at: Option<Micros>,
    }
    derived {
        [Record]
            /// State of the DPU, or of the host where DPUs have none.
            state: Text = Value::Text(d.state.as_ref().unwrap_or(&s.state.path).as_str()),
            /// Time in that state.
            elapsed: Age = Value::Int(seconds(s.now, if d.state.is_some() { d.state_since } else { s.state.since })),
        [Agent]
            /// The last network observation is not older than the host's present state.
            seen_since_state_change: Bool = Value::Bool(d.observed_at.is_some_and(|at| at >= s.state.since)),
        [Agent]
            /// Discovery was reported after the DPU's state was entered.
            discovered_since_state_change: Bool =
                after(d.discovered_at, if d.state.is_some() { d.state_since } else { s.state.since }),
        [Bmc]
            /// The operating system came up after the DPU's state was entered.
            booted_since_state_change: Bool =
                after(d.booted_at, if d.state.is_some() { d.state_since } else { s.state.since }),
            /// The operating system came up after the last restart that the controller asked for.
            booted_since_restart: Bool = Value::Bool(
                d.booted_at.is_some_and(|up| d.reboot_requested_at.is_none_or(|restarted| up > restarted))
            ),
        [Agent]
            /// Time since the last network observation.
            observation_age: Age(optional) = age(s.now, d.observed_at),
            /// Time since the stored agent report was made.
            agent_report_age: Age(optional) = age(s.now, d.health.agent.as_ref().and_then(|report| report.observed_at).map(|at| at.micros())),
            /// Alerts of the stored agent report.
            agent_report_alerts: Int = Value::Int(
                d.health.agent.as_ref().map_or(0, |report| i64::try_from(report.alerts.len()).unwrap_or(i64::MAX))
            ),
        [Record]
            /// Time since the controller last asked for a restart of the DPU.
            reboot_age: Age(optional) = age(s.now, d.reboot_requested_at),
        [Record]
            /// An operator asked to restart the reprovisioning after the host's present state was entered.
            reprovision_restart_requested: Bool = after(d.reprovision_restart_requested_at, s.state.since),
        [Site]
            /// Time since the agent's version was superseded.
            agent_superseded_age: Age(optional) = age(s.now, d.agent_superseded_at),
    }
}

words! {
    /// Secure boot of a DPU.
    SecureBoot {
        /// The BMC refuses to tell.
        Error = "error",
        /// The answer lacks fields.
        MissingData = "missing_data",
        /// On.
        Enabled = "enabled",
        /// Off.
        Disabled = "disabled",
    }
}

words! {
    /// State of an update task.
    InstallTask {
        /// There is no task.
        None = "none",
        /// Accepted.
        New = "new",
        /// Starting.
        Starting = "starting",
        /// Running.
        Running = "running",
        /// Completed.
        Completed = "completed",
        /// Ended with an exception.
        Exception = "exception",
        /// A state that is not understood.
        Other = "other",
    }
}

words! {
    /// Phase of a DPU in DPF.
    DpfPhase {
        /// DPF has no such object.
        Missing = "missing",
        /// Being provisioned.
        Provisioning = "provisioning",
        /// Ready.
        Ready = "ready",
        /// Failed.
        Error = "error",
        /// Being deleted.
        Deleting = "deleting",
    }
}
