//! Baseboard management controllers, spoken to in Redfish.
//!
//! [`BmcClient`] is what actions and fact gathering need; [`Redfish`] does it over HTTP. Only standard Redfish is used:
//! `ComputerSystem.Reset`, `Manager.Reset`, boot override, secure boot, `SimpleUpdate`. Every call has a time limit and
//! reads a bounded answer. Passwords go into the request and nowhere else.

mod client;
mod error;
mod power;
mod service;

pub use client::{Redfish, RedfishSettings, RedfishSetupError};
pub use error::BmcError;
pub use power::{PowerState, ResetType};

use async_trait::async_trait;

use crate::{Timestamp, store};

/// What is asked of a BMC.
#[async_trait]
pub trait BmcClient: Send + Sync {
    /// Power state and last reset of the machine behind the BMC.
    async fn system(&self, bmc: &store::Bmc) -> Result<System, BmcError>;

    /// Secure boot of the machine behind the BMC.
    async fn secure_boot(&self, bmc: &store::Bmc) -> Result<SecureBoot, BmcError>;

    /// How far a task of the BMC is; `path` is what starting it answered.
    async fn task(&self, bmc: &store::Bmc, path: &str) -> Result<Task, BmcError>;

    /// Firmware version of the BMC itself.
    async fn firmware_version(&self, bmc: &store::Bmc) -> Result<Option<String>, BmcError>;

    /// Lockdown, BIOS settings and boot order of the machine behind the BMC, as far as they can be told.
    async fn settings(&self, bmc: &store::Bmc) -> Result<BmcSettings, BmcError>;

    /// Resets or powers the machine behind the BMC; done when the BMC accepted it.
    async fn reset(&self, bmc: &store::Bmc, reset: ResetType) -> Result<(), BmcError>;

    /// Restarts the BMC itself.
    async fn reset_bmc(&self, bmc: &store::Bmc) -> Result<(), BmcError>;

    /// Sets the BMC back to what it was when it left the factory, its users included.
    async fn factory_reset_bmc(&self, bmc: &store::Bmc) -> Result<(), BmcError>;

    /// Makes the next boot, and only that, a UEFI HTTP boot.
    async fn boot_once_uefi_http(&self, bmc: &store::Bmc) -> Result<(), BmcError>;

    /// Permits UEFI secure boot on or off, from the next boot on.
    async fn set_secure_boot(&self, bmc: &store::Bmc, enabled: bool) -> Result<(), BmcError>;

    /// Sets BIOS settings back to their defaults, from the next boot on.
    async fn reset_bios(&self, bmc: &store::Bmc) -> Result<(), BmcError>;

    /// Puts boot options, by their Redfish reference, in this order.
    async fn set_boot_order(&self, bmc: &store::Bmc, order: &[String]) -> Result<(), BmcError>;

    /// Installs the image at `image_uri`; the answer is the path of the task that tells how far it is.
    async fn simple_update(&self, bmc: &store::Bmc, image_uri: &str) -> Result<String, BmcError>;
}

/// What a BMC says of the machine behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// On, off or in between; none if the BMC does not say.
    pub power: Option<PowerState>,
    /// When the machine was last reset, if the BMC keeps that.
    pub last_reset: Option<Timestamp>,
    /// Who made it.
    pub manufacturer: Option<String>,
    /// Its operating system is up, if the BMC can tell.
    pub os_running: Option<bool>,
}

/// BmcSettings of a machine that only some BMCs can tell: none is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BmcSettings {
    /// Lockdown of BMC and BIOS.
    pub lockdown: Option<rules::Lockdown>,
    /// The BIOS settings in force are those that the site wants.
    pub bios_setup: Option<bool>,
    /// The boot order in force is the one that the site wants.
    pub boot_order_set: Option<bool>,
}

/// UEFI secure boot of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecureBoot {
    /// It booted with secure boot.
    Enabled,
    /// It booted without.
    Disabled,
    /// The BMC's answer lacks fields.
    Incomplete,
}

/// How far a task of a BMC is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// What it does.
    pub state: TaskState,
    /// 0 to 100.
    pub percent: u8,
}

/// What a task of a BMC does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Accepted.
    New,
    /// About to run.
    Starting,
    /// Running.
    Running,
    /// Ended well.
    Completed,
    /// Ended otherwise.
    Exception,
    /// A state that is not understood.
    Other,
}
