//! Credentials of the host's devices, which a service of the site rotates.

use crate::ir::snapshot::dictionary::{area, words};

area! {
    /// Credentials of the host's devices.
    Credentials as "credentials" at |s, d| s.credentials;
    facts {
        "credential rotation":
            /// Credentials of the BMCs.
            bmc: Rotation,
            /// UEFI password of the host.
            host_uefi: Rotation,
            /// UEFI passwords of the DPUs.
            dpu_uefi: Rotation,
            /// Keys of the NICs' lockdown.
            nic_lockdown: Rotation,
    }
    raw {}
    derived {}
}

words! {
    /// Rotation of a credential.
    Rotation {
        /// Nothing to do.
        None = "none";
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
