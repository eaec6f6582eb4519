//! The site's wire protocol.
//!
//! [`forge`], [`common`] and [`health`] are the deployed protocol between DPU agents, tenants and a site controller, a
//! subset with the same names, numbers and types. [`site`] is this product's own operator interface. What
//! travels as text or as a message is parsed into the types of the crate `types`, which are named here again.

#[cfg(feature = "messages")]
mod convert;

pub use types::{ConfigVersion, ConfigVersionError, MachineId, MachineIdError, MachineKind};

/// Ids shared by all messages.
#[cfg(feature = "messages")]
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod common {
    include!(concat!(env!("OUT_DIR"), "/common.rs"));
}

/// Health reports.
#[cfg(feature = "messages")]
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod health {
    include!(concat!(env!("OUT_DIR"), "/health.rs"));
}

/// Agents and tenants to controller.
#[cfg(feature = "messages")]
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod forge {
    include!(concat!(env!("OUT_DIR"), "/forge.rs"));
}

/// Operators to controller.
#[cfg(feature = "messages")]
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod site {
    include!(concat!(env!("OUT_DIR"), "/site.rs"));
}

/// Metadata of [`forge::MachineCertificateRenewRequest`] on a connection without a client certificate: the caller's former
/// certificate, DER. The deployed protocol has no such key, and a server that does not know it refuses the call.
#[cfg(feature = "messages")]
pub const FORMER_CERTIFICATE: &str = "former-certificate-bin";

/// Metadata of [`forge::ManagedHostNetworkConfigRequest`]: the version of the managed-host network that the DPU runs, the
/// instance whose network it runs, and the version of that. The deployed protocol has no such keys, and a server that does
/// not know them ignores them.
#[cfg(feature = "messages")]
pub const RUNNING_VERSION: &str = "running-network-version";
/// See [`RUNNING_VERSION`].
#[cfg(feature = "messages")]
pub const RUNNING_INSTANCE: &str = "running-instance";
/// See [`RUNNING_VERSION`].
#[cfg(feature = "messages")]
pub const RUNNING_INSTANCE_VERSION: &str = "running-instance-network-version";

/// Without its private key, which is not for log lines.
#[cfg(feature = "messages")]
impl std::fmt::Debug for forge::MachineCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |pem: &[u8]| String::from_utf8_lossy(pem).into_owned();
        f.debug_struct("MachineCertificate")
            .field("public_key", &text(&self.public_key))
            .field("issuing_ca", &text(&self.issuing_ca))
            .finish_non_exhaustive()
    }
}

/// Encoded `FileDescriptorSet` of all the above, for gRPC reflection and for tests of the wire format.
#[cfg(feature = "messages")]
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
