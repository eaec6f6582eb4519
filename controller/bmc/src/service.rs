//! [`BmcClient`] over Redfish: each operation opens the BMC, finds out whose it is, and goes its maker's way.

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    Access, BmcClient, BmcError, BmcSettings, Class, Redfish, ResetType, SecureBoot, System, Task, bios, boot,
    lockdown, machine::Machine, manager, password, storage, task, transport::IfMatch,
};

impl Redfish {
    async fn open<'a>(&'a self, access: &'a Access, doing: &'static str) -> Result<Machine<'a>, BmcError> {
        Machine::open(self, access, doing).await
    }
}

/// What was read, or nothing and why.
fn kept<T>(read: Result<T, BmcError>, faults: &mut Vec<BmcError>) -> Option<T> {
    read.map_err(|fault| faults.push(fault)).ok()
}

#[async_trait]
impl BmcClient for Redfish {
    async fn system(&self, access: &Access) -> Result<System, BmcError> {
        let machine = self.open(access, "reading the power state").await?;
        Ok(manager::system(machine.class, &machine.system().await?.body))
    }

    async fn secure_boot(&self, access: &Access) -> Result<SecureBoot, BmcError> {
        let machine = self.open(access, "reading secure boot").await?;
        let path = format!("{}/SecureBoot", machine.system_path().await?);
        Ok(secure_boot(&machine.call.get(&path).await?.body))
    }

    async fn task(&self, access: &Access, path: &str) -> Result<Task, BmcError> {
        task::read(&self.call(access, "reading a task")?, path).await
    }

    async fn job(&self, access: &Access, id: &str) -> Result<Task, BmcError> {
        let machine = self.open(access, "reading a job").await?;
        if machine.class != Class::Dell {
            return task::read(&machine.call, &format!("/redfish/v1/TaskService/Tasks/{id}")).await;
        }
        let manager = machine.manager().await?.path;
        let plain = format!("{manager}/Jobs/{id}");
        let answer = machine.call.send(Method::GET, &plain, None, IfMatch::None).await?;
        let path = if answer.status.is_success() { plain } else { format!("{manager}/Oem/Dell/Jobs/{id}") };
        task::read(&machine.call, &path).await
    }

    async fn firmware_version(&self, access: &Access) -> Result<Option<String>, BmcError> {
        let machine = self.open(access, "reading the BMC's firmware version").await?;
        Ok(machine.manager().await?.body["FirmwareVersion"].as_str().map(str::to_owned))
    }

    async fn settings(&self, access: &Access, boot_mac: Option<&str>) -> Result<BmcSettings, BmcError> {
        let machine = self.open(access, "reading settings").await?;
        let mut faults = Vec::new();
        Ok(BmcSettings {
            lockdown: kept(lockdown::read(&machine).await, &mut faults),
            differences: kept(bios::differences(&machine, boot_mac).await, &mut faults),
            boot_order_set: kept(boot::is_first(&machine, boot_mac).await, &mut faults).flatten(),
            faults,
        })
    }

    async fn boot_storage(&self, access: &Access) -> Result<Option<String>, BmcError> {
        storage::controller(&self.open(access, "looking for boot storage").await?).await
    }

    async fn reset(&self, access: &Access, reset: ResetType) -> Result<(), BmcError> {
        manager::reset(&self.open(access, "resetting the system").await?, reset).await
    }

    async fn reset_bmc(&self, access: &Access) -> Result<(), BmcError> {
        manager::restart(&self.open(access, "restarting the BMC").await?).await
    }

    async fn factory_reset_bmc(&self, access: &Access) -> Result<(), BmcError> {
        manager::factory_reset(&self.open(access, "resetting the BMC to defaults").await?).await
    }

    async fn boot_once_uefi_http(&self, access: &Access) -> Result<(), BmcError> {
        boot::once_over_http(&self.open(access, "setting the next boot").await?).await
    }

    async fn set_secure_boot(&self, access: &Access, enabled: bool) -> Result<(), BmcError> {
        let machine = self.open(access, "setting secure boot").await?;
        let path = format!("{}/SecureBoot", machine.system_path().await?);
        machine.patch(&path, &json!({ "SecureBootEnable": enabled })).await.map(drop)
    }

    async fn reset_bios(&self, access: &Access) -> Result<(), BmcError> {
        bios::reset(&self.open(access, "setting BIOS settings back").await?).await
    }

    async fn set_up(&self, access: &Access, boot_mac: Option<&str>) -> Result<Option<String>, BmcError> {
        bios::set_up(&self.open(access, "setting up the BIOS").await?, boot_mac).await
    }

    async fn boot_first(&self, access: &Access, boot_mac: Option<&str>) -> Result<Option<String>, BmcError> {
        boot::put_first(&self.open(access, "setting the boot order").await?, boot_mac).await
    }

    async fn set_boot_order(&self, access: &Access, order: &[String]) -> Result<(), BmcError> {
        let machine = self.open(access, "setting the boot order").await?;
        let system = machine.system().await?;
        let path = Machine::settings_path(&system);
        machine.patch(&path, &json!({ "Boot": { "BootOrder": order } })).await.map(drop)
    }

    async fn set_lockdown(&self, access: &Access, on: bool) -> Result<(), BmcError> {
        let doing = if on { "locking the machine" } else { "unlocking the machine" };
        lockdown::set(&self.open(access, doing).await?, on).await
    }

    async fn set_uefi_password(&self, access: &Access) -> Result<Option<String>, BmcError> {
        let machine = self.open(access, "setting the UEFI password").await?;
        let password = self.uefi_password()?;
        password::change(&machine, password, &["", password]).await
    }

    async fn clear_uefi_password(&self, access: &Access) -> Result<Option<String>, BmcError> {
        let machine = self.open(access, "clearing the UEFI password").await?;
        password::change(&machine, "", &[self.uefi_password()?]).await
    }

    async fn enable_ipmi(&self, access: &Access) -> Result<(), BmcError> {
        manager::enable_ipmi(&self.open(access, "opening IPMI over LAN").await?).await
    }

    async fn enable_rshim(&self, access: &Access) -> Result<(), BmcError> {
        manager::enable_rshim(&self.open(access, "opening rshim").await?).await
    }

    async fn erase_boot_storage(&self, access: &Access) -> Result<String, BmcError> {
        storage::erase(&self.open(access, "erasing the boot storage").await?).await
    }

    async fn create_boot_volume(&self, access: &Access) -> Result<String, BmcError> {
        storage::create_volume(&self.open(access, "making the boot volume").await?).await
    }

    async fn simple_update(&self, access: &Access, image_uri: &str) -> Result<String, BmcError> {
        manager::install(&self.open(access, "installing an image").await?, image_uri).await
    }
}

/// On only if the machine has booted so; a BMC that knows the setting alone is taken at its word.
fn secure_boot(resource: &Value) -> SecureBoot {
    match (resource["SecureBootEnable"].as_bool(), resource["SecureBootCurrentBoot"].as_str()) {
        (Some(true), Some("Enabled") | None) => SecureBoot::Enabled,
        (Some(false), Some("Disabled") | None) => SecureBoot::Disabled,
        (Some(_), Some("Enabled")) => SecureBoot::Enabled,
        (Some(_), Some("Disabled")) => SecureBoot::Disabled,
        _ => SecureBoot::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use types::Timestamp;

    use super::*;
    use crate::PowerState;

    #[test]
    fn secure_boot_is_what_the_machine_booted_with() {
        for (body, seen) in [
            (json!({"SecureBootEnable": true, "SecureBootCurrentBoot": "Enabled"}), SecureBoot::Enabled),
            (json!({"SecureBootEnable": true, "SecureBootCurrentBoot": "Disabled"}), SecureBoot::Disabled),
            (json!({"SecureBootEnable": false, "SecureBootCurrentBoot": "Enabled"}), SecureBoot::Enabled),
            (json!({"SecureBootEnable": false}), SecureBoot::Disabled),
            (json!({"SecureBootCurrentBoot": "Enabled"}), SecureBoot::Incomplete),
            (json!({}), SecureBoot::Incomplete),
        ] {
            assert_eq!(secure_boot(&body), seen, "{body}");
        }
    }

    #[test]
    fn a_system_that_says_little_is_read_as_far_as_it_goes() {
        let read = |body: Value| manager::system(Class::Generic, &body);
        let nothing = System { class: Class::Generic, power: None, last_reset: None, os_running: None };
        assert_eq!(read(json!({})), nothing);
        assert_eq!(read(json!({"PowerState": "Hibernating", "LastResetTime": "yesterday"})), nothing);
        assert_eq!(read(json!({"BootProgress": null, "PowerState": "Off"})).power, Some(PowerState::Off));
        assert_eq!(read(json!({"LastResetTime": "1970-01-01T00:00:07Z"})).last_reset, None);
        let oem = json!({"BootProgress": {"LastState": "OEM", "OemLastState": "OsIsRunning"}});
        assert_eq!(read(oem).os_running, Some(true));
        let full = json!({
            "PowerState": "PoweringOn", "BootProgress": {"LastState": "OSRunning"},
            "LastResetTime": "2024-12-11T20:56:23Z"
        });
        let seen = read(full);
        assert_eq!((seen.power, seen.os_running), (Some(PowerState::PoweringOn), Some(true)));
        assert_eq!(seen.last_reset, Some(Timestamp::from_micros(1_733_950_583_000_000)));
    }
}
