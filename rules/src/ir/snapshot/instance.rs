//! The tenant's instance on the host.

use types::ConfigVersion;

use crate::ir::snapshot::{dictionary::area, host::Answer, reported::Reported};

area! {
    /// What the tenant's instance is and asks for.
    Instance as "instance" at |s, d| s.instance;
    facts {
        [Record]
            /// An instance owns the host.
            present: bool,
            /// Its deletion was requested.
            deletion_requested: bool,
            /// A one-shot boot into custom iPXE was requested.
            custom_ipxe_requested: bool,
            /// A changed network configuration waits to be applied.
            network_update_pending: bool,
            /// The instance has called home since it was created; true where nobody waits for it.
            phone_home_seen: bool,
        [Record]
            /// Desired version of the instance network config.
            #[serde(with = "super::values::version")]
            network_version: Option<ConfigVersion>,
            /// Network segments generated for interfaces on VPC prefixes.
            generated_segments: i64,
            /// All of them are ready.
            segments_ready: bool,
        [Service("fabric monitoring")]
            /// InfiniBand is as configured.
            infiniband_synced: Reported<bool>,
            /// InfiniBand is detached.
            infiniband_detached: Reported<Answer>,
            /// NVLink is as configured.
            nvlink_synced: Reported<bool>,
        [Agent]
            /// Configured services.
            extension_services: i64,
            /// All run at the desired version on every DPU.
            extension_services_ready: Reported<bool>,
            /// All removed services are confirmed gone.
            extension_services_terminated: Reported<bool>,
    }
    raw {}
    derived {}
}
