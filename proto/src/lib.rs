//! The site's wire protocol.
//!
//! [`forge`], [`common`] and [`health`] are the deployed protocol between DPU agents, tenants and a site controller, a
//! subset with the same names, numbers and types. [`site`] is this product's own operator interface. The ids and
//! versions that travel as text are parsed here, once, into [`MachineId`] and [`ConfigVersion`].

mod config_version;
mod machine_id;

pub use config_version::{ConfigVersion, ConfigVersionError};
pub use machine_id::{MachineId, MachineIdError, MachineKind};

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

/// Encoded `FileDescriptorSet` of all the above, for gRPC reflection and for tests of the wire format.
#[cfg(feature = "messages")]
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
