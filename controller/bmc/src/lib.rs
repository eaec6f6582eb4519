//! Baseboard management controllers, spoken to in Redfish, each in its maker's way.
//!
//! [`BmcClient`] is what the controller asks for; [`Redfish`] does it over HTTP. Whose BMC it is is told by its service root
//! ([`Class`]); what a class has of its own is in tables (`makers`). Requests follow what the BMC declares: allowed values,
//! ETags, settings objects, links. Every call has a time limit and reads a bounded answer; passwords go into the request
//! and nowhere else.

mod access;
mod bios;
mod boot;
mod class;
mod error;
mod lockdown;
mod machine;
mod makers;
mod manager;
mod password;
mod power;
mod secret;
mod service;
mod setup;
mod storage;
mod task;
mod transport;
mod words;

pub use access::Access;
pub use class::Class;
pub use error::BmcError;
pub use lockdown::Lockdown;
pub use power::{PowerState, ResetType};
pub use reqwest::Url;
pub use secret::Secret;
pub use setup::Difference;
pub use task::{Task, TaskState};
pub use transport::{Redfish, RedfishSettings, RedfishSetupError};

use async_trait::async_trait;
use types::Timestamp;

/// What is asked of a BMC. MACs are those of the NIC that the machine is to boot over.
#[async_trait]
pub trait BmcClient: Send + Sync {
    /// Class, power state and last reset of the machine behind the BMC.
    async fn system(&self, access: &Access) -> Result<System, BmcError>;

    /// Secure boot of the machine behind the BMC.
    async fn secure_boot(&self, access: &Access) -> Result<SecureBoot, BmcError>;

    /// How far a task is; `path` is what starting it answered.
    async fn task(&self, access: &Access, path: &str) -> Result<Task, BmcError>;

    /// How far a job is, by its id.
    async fn job(&self, access: &Access, id: &str) -> Result<Task, BmcError>;

    /// Firmware version of the BMC itself.
    async fn firmware_version(&self, access: &Access) -> Result<Option<String>, BmcError>;

    /// Lockdown, BIOS settings and boot order in force, each by itself.
    async fn settings(&self, access: &Access, boot_mac: Option<&str>) -> Result<BmcSettings, BmcError>;

    /// Id of the boot storage controller; none if there is none.
    async fn boot_storage(&self, access: &Access) -> Result<Option<String>, BmcError>;

    /// Resets or powers the machine behind the BMC; done when the BMC accepted it.
    async fn reset(&self, access: &Access, reset: ResetType) -> Result<(), BmcError>;

    /// Restarts the BMC itself.
    async fn reset_bmc(&self, access: &Access) -> Result<(), BmcError>;

    /// Sets the BMC back to what it was when it left the factory, its users included.
    async fn factory_reset_bmc(&self, access: &Access) -> Result<(), BmcError>;

    /// Makes the next boot, and only that, a UEFI HTTP boot.
    async fn boot_once_uefi_http(&self, access: &Access) -> Result<(), BmcError>;

    /// Permits UEFI secure boot on or off, from the next boot on.
    async fn set_secure_boot(&self, access: &Access, enabled: bool) -> Result<(), BmcError>;

    /// Sets BIOS settings back to their defaults, from the next boot on.
    async fn reset_bios(&self, access: &Access) -> Result<(), BmcError>;

    /// Writes the BIOS settings that the class wants, for the next boot; the job that carries them out, if there is one.
    async fn set_up(&self, access: &Access, boot_mac: Option<&str>) -> Result<Option<String>, BmcError>;

    /// Has the machine boot over this NIC first; the job that does it, if it takes one.
    async fn boot_first(&self, access: &Access, boot_mac: Option<&str>) -> Result<Option<String>, BmcError>;

    /// Puts boot options, by their Redfish reference, in this order.
    async fn set_boot_order(&self, access: &Access, order: &[String]) -> Result<(), BmcError>;

    /// Locks BMC and BIOS, or unlocks them.
    async fn set_lockdown(&self, access: &Access, on: bool) -> Result<(), BmcError>;

    /// Sets the site's UEFI password, where there is none or it is set already; the job that does it, if it takes one.
    async fn set_uefi_password(&self, access: &Access) -> Result<Option<String>, BmcError>;

    /// Takes the site's UEFI password away; the job that does it, if it takes one.
    async fn clear_uefi_password(&self, access: &Access) -> Result<Option<String>, BmcError>;

    /// Opens IPMI over LAN.
    async fn enable_ipmi(&self, access: &Access) -> Result<(), BmcError>;

    /// Opens the BMC's way to the DPU.
    async fn enable_rshim(&self, access: &Access) -> Result<(), BmcError>;

    /// Erases the boot storage; the job that does it.
    async fn erase_boot_storage(&self, access: &Access) -> Result<String, BmcError>;

    /// Makes the boot storage one volume; the job that does it.
    async fn create_boot_volume(&self, access: &Access) -> Result<String, BmcError>;

    /// Installs the image at `image_uri`; the answer is the path of the task that tells how far it is.
    async fn simple_update(&self, access: &Access, image_uri: &str) -> Result<String, BmcError>;
}

/// What a BMC says of the machine behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// Whose BMC it is.
    pub class: Class,
    /// On, off or in between; none if the BMC does not say.
    pub power: Option<PowerState>,
    /// When the machine was last reset, if the BMC keeps that.
    pub last_reset: Option<Timestamp>,
    /// Its operating system is up, if the BMC can tell.
    pub os_running: Option<bool>,
}

/// Settings in force of a machine, as far as they could be read: none is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BmcSettings {
    /// Lockdown of BMC and BIOS.
    pub lockdown: Option<Lockdown>,
    /// BIOS settings that are not as the class wants them.
    pub differences: Option<Vec<Difference>>,
    /// The boot order is the one that is wanted.
    pub boot_order_set: Option<bool>,
    /// Why some could not be read; empty if all could.
    pub faults: Vec<BmcError>,
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
