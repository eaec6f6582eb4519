//! Credentials of the host's devices, which a service of the site rotates.

use crate::ir::snapshot::{
    dictionary::{area, words},
    reported::Reported,
};

area! {
    /// Credentials of the host's devices.
    Credentials as "credentials" at |s, d| s.credentials;
    facts {
        [Service("credentials")]
            /// Credentials of the BMCs.
            bmc: Reported<Rotation>,
            /// UEFI password of the host.
            host_uefi: Reported<Rotation>,
            /// UEFI passwords of the DPUs.
            dpu_uefi: Reported<Rotation>,
            /// Keys of the NICs' lockdown.
            nic_lockdown: Reported<Rotation>,
    }
    raw {}
    derived {}
}

words! {
    /// Rotation of a credential.
    Rotation {
        /// Nothing to do.
        None = "none",
        /// To be rotated.
        Due = "due",
        /// Rotated.
        Converged = "converged",
        /// Failed, to be tried again later.
        BackedOff = "backed_off",
        /// Given up for this host.
        Quarantined = "quarantined",
    }
}
