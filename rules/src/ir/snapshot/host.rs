//! The host itself: what it and its discovery image reported, and what the site knows about it.

use crate::ir::snapshot::{
    dictionary::{area, words},
    reported::Reported,
    values::{Micros, after, age},
};

area! {
    /// What is known about the host as a machine.
    Host as "host" at |s, d| s.host;
    facts {
        [Record]
            /// The host record exists for its DPUs.
            paired: bool,
            /// DPUs in the host's topology, whether or not their snapshots loaded.
            associated_dpus: i64,
            /// The host's profile says that it is never locked down.
            never_locked: bool,
            /// The expected-machine record has factory credentials for the BMC.
            factory_credentials_known: bool,
            /// Managed SuperNICs are part of the host.
            supernics_managed: bool,
            /// The host's network is the admin network.
            use_admin_network: bool,
            /// An operator has all traffic of the host blocked.
            quarantined: bool,
        [Service("credentials")]
            /// A BIOS password has been set and its time recorded.
            bios_password_set: Reported<bool>,
        [Service("SuperNICs")]
            /// SuperNIC-class interfaces report their desired version.
            other_nics_synced: Reported<bool>,
            /// Every managed SuperNIC reports that it is unlocked.
            supernics_unlocked: Reported<bool>,
        [DiscoveryImage]
            /// The last cleanup report says that cleaning failed.
            cleanup_failed: bool,
        [Service("NIC monitoring")]
            /// The host's ASTRA NICs are enabled.
            astra_nics_enabled: Reported<bool>,
        [Service("site exploration")]
            /// DPF was chosen for this host.
            dpf_selected: Reported<bool>,
            /// The host was ingested by way of DPF.
            ingested_with_dpf: Reported<bool>,
        [Service("DPF")]
            /// Registering the host's DPU devices and node.
            dpf_registration: Reported<Answer>,
            /// Node labels are what this release expects.
            dpf_node_labels_current: Reported<bool>,
            /// Whether the desired DPF deployment fits is still to be established.
            dpf_reprovision_check_pending: Reported<bool>,
    }
    raw {
        /// Last discovery report of the discovery image.
        discovered_at: Option<Micros>,
        /// Last reboot report.
        rebooted_at: Option<Micros>,
        /// Last cleanup report.
        cleaned_at: Option<Micros>,
        /// Last contact of the discovery image.
        scout_seen_at: Option<Micros>,
        /// Last restart or power cycle that the controller asked for.
        reboot_requested_at: Option<Micros>,
    }
    derived {
        [DiscoveryImage]
            /// Discovery was reported after the present state was entered.
            discovered_since_state_change: Bool = after(s.host.discovered_at, s.state.since),
            /// A reboot was reported after the present state was entered.
            rebooted_since_state_change: Bool = after(s.host.rebooted_at, s.state.since),
            /// Cleanup was reported after the present state was entered.
            cleaned_since_state_change: Bool = after(s.host.cleaned_at, s.state.since),
            /// Discovery was reported after the recorded failure.
            discovered_since_failure: Bool = after(s.host.discovered_at, s.failure.at),
            /// Cleanup was reported after the recorded failure.
            cleaned_since_failure: Bool = after(s.host.cleaned_at, s.failure.at),
            /// Time since the discovery image was last heard of.
            scout_age: Age(optional) = age(s.now, s.host.scout_seen_at),
        [Record]
            /// Time since the controller last asked for a restart.
            reboot_age: Age(optional) = age(s.now, s.host.reboot_requested_at),
    }
}

words! {
    /// An answer.
    Answer {
        /// Yes.
        Yes = "yes",
        /// No.
        No = "no",
    }
}
