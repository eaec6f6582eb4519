//! [`BmcClient`] over standard Redfish resources. Actions and the reconciler reach it by the trait alone.

use async_trait::async_trait;
use rules::Lockdown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BmcClient, BmcError, BmcSettings, PowerState, Redfish, ResetType, SecureBoot, System, Task, TaskState,
    client::{Call, Link},
};
use crate::{Timestamp, store};

const ROOT: &str = "/redfish/v1/";
const SYSTEMS: &str = "/redfish/v1/Systems";
const MANAGERS: &str = "/redfish/v1/Managers";

#[derive(Deserialize)]
struct SystemResource {
    #[serde(rename = "PowerState")]
    power: Option<Value>,
    #[serde(rename = "LastResetTime")]
    last_reset: Option<String>,
    #[serde(rename = "Manufacturer")]
    manufacturer: Option<String>,
    #[serde(rename = "BootProgress", default)]
    boot: BootProgress,
    #[serde(rename = "Actions", default)]
    actions: Value,
}

#[derive(Default, Deserialize)]
struct BootProgress {
    #[serde(rename = "LastState")]
    last_state: Option<String>,
}

#[derive(Deserialize)]
struct SecureBootResource {
    #[serde(rename = "SecureBootEnable")]
    enabled: Option<bool>,
    #[serde(rename = "SecureBootCurrentBoot")]
    current: Option<String>,
}

#[derive(Deserialize)]
struct TaskResource {
    #[serde(rename = "TaskState")]
    state: Option<String>,
    #[serde(rename = "PercentComplete")]
    percent: Option<u8>,
}

#[derive(Deserialize)]
struct RootResource {
    #[serde(rename = "Vendor")]
    vendor: Option<String>,
}

#[derive(Deserialize)]
struct ManagerResource {
    #[serde(rename = "FirmwareVersion")]
    firmware: Option<String>,
}

impl Call<'_> {
    async fn system_path(&self) -> Result<String, BmcError> {
        self.member(SYSTEMS, self.system_id()).await
    }
}

#[async_trait]
impl BmcClient for Redfish {
    async fn system(&self, bmc: &store::Bmc) -> Result<System, BmcError> {
        let call = self.call(bmc, "reading the power state")?;
        let system: SystemResource = call.get(&call.system_path().await?).await?;
        Ok(system.system())
    }

    async fn secure_boot(&self, bmc: &store::Bmc) -> Result<SecureBoot, BmcError> {
        let call = self.call(bmc, "reading secure boot")?;
        let path = format!("{}/SecureBoot", call.system_path().await?);
        Ok(call.get::<SecureBootResource>(&path).await?.secure_boot())
    }

    async fn task(&self, bmc: &store::Bmc, path: &str) -> Result<Task, BmcError> {
        let call = self.call(bmc, "reading a task")?;
        let task: TaskResource = call.get(path).await?;
        Ok(Task { state: task_state(task.state.as_deref()), percent: task.percent.unwrap_or_default().min(100) })
    }

    async fn firmware_version(&self, bmc: &store::Bmc) -> Result<Option<String>, BmcError> {
        let call = self.call(bmc, "reading the BMC's firmware version")?;
        let path = call.member(MANAGERS, "").await?;
        Ok(call.get::<ManagerResource>(&path).await?.firmware)
    }

    async fn settings(&self, bmc: &store::Bmc) -> Result<BmcSettings, BmcError> {
        let call = self.call(bmc, "reading settings")?;
        let root: RootResource = call.get(ROOT).await?;
        if root.vendor.is_some_and(|vendor| !vendor.is_empty()) {
            // How a maker's BMC shows them is not standard Redfish.
            return Ok(BmcSettings::default());
        }
        call.get::<SystemResource>(&call.system_path().await?).await?;
        // A BMC that is of no maker has no lockdown, and no settings but those that Redfish itself knows.
        Ok(BmcSettings { lockdown: Some(Lockdown::Unsupported), bios_setup: Some(true), boot_order_set: Some(true) })
    }

    async fn reset(&self, bmc: &store::Bmc, reset: ResetType) -> Result<(), BmcError> {
        let call = self.call(bmc, "resetting the system")?;
        let path = call.system_path().await?;
        let system: SystemResource = call.get(&path).await?;
        let Some(mut reset) = reset.from_state(system.system().power) else { return Ok(()) };
        let action = &system.actions["#ComputerSystem.Reset"];
        if let Some(allowed) = action["ResetType@Redfish.AllowableValues"].as_array() {
            let can = |reset: ResetType| allowed.iter().any(|value| value == reset.as_str());
            if !can(reset) {
                let fallback = reset.fallback().filter(|fallback| can(*fallback));
                let lacks =
                    || BmcError::Unsupported { bmc: call.name.clone(), what: format!("reset type {}", reset.as_str()) };
                reset = fallback.ok_or_else(lacks)?;
            }
        }
        let target =
            action["target"].as_str().map_or_else(|| format!("{path}/Actions/ComputerSystem.Reset"), str::to_owned);
        call.post(&target, &json!({ "ResetType": reset })).await.map(drop)
    }

    async fn reset_bmc(&self, bmc: &store::Bmc) -> Result<(), BmcError> {
        let call = self.call(bmc, "restarting the BMC")?;
        let path = call.member(MANAGERS, "").await?;
        call.action(&path, "Manager.Reset", &json!({ "ResetType": "ForceRestart" })).await
    }

    async fn factory_reset_bmc(&self, bmc: &store::Bmc) -> Result<(), BmcError> {
        let call = self.call(bmc, "resetting the BMC to defaults")?;
        let path = call.member(MANAGERS, "").await?;
        call.action(&path, "Manager.ResetToDefaults", &json!({ "ResetType": "ResetAll" })).await
    }

    async fn boot_once_uefi_http(&self, bmc: &store::Bmc) -> Result<(), BmcError> {
        let call = self.call(bmc, "setting the next boot")?;
        let boot = json!({ "Boot": { "BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideEnabled": "Once" } });
        call.patch(&call.system_path().await?, &boot).await.map(drop)
    }

    async fn set_secure_boot(&self, bmc: &store::Bmc, enabled: bool) -> Result<(), BmcError> {
        let call = self.call(bmc, "setting secure boot")?;
        let path = format!("{}/SecureBoot", call.system_path().await?);
        call.patch(&path, &json!({ "SecureBootEnable": enabled })).await.map(drop)
    }

    async fn reset_bios(&self, bmc: &store::Bmc) -> Result<(), BmcError> {
        let call = self.call(bmc, "setting BIOS settings back")?;
        let path = format!("{}/Bios", call.system_path().await?);
        call.action(&path, "Bios.ResetBios", &json!({})).await
    }

    async fn set_boot_order(&self, bmc: &store::Bmc, order: &[String]) -> Result<(), BmcError> {
        let call = self.call(bmc, "setting the boot order")?;
        call.patch(&call.system_path().await?, &json!({ "Boot": { "BootOrder": order } })).await.map(drop)
    }

    async fn simple_update(&self, bmc: &store::Bmc, image_uri: &str) -> Result<String, BmcError> {
        let call = self.call(bmc, "installing an image")?;
        let path = "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate";
        let answer = call.post(path, &json!({ "ImageURI": image_uri })).await?;
        let task: Option<Link> = serde_json::from_slice(&answer.body).ok();
        let task = answer.location.or(task.map(|task| task.path));
        task.ok_or_else(|| call.unexpected("no task to follow".into()))
    }
}

impl SystemResource {
    fn system(&self) -> System {
        // A word that Redfish may add one day reads as "does not say".
        let power = self.power.clone().and_then(|power| serde_json::from_value::<PowerState>(power).ok());
        let stamp = self.last_reset.as_deref().and_then(|text| text.parse::<prost_types::Timestamp>().ok());
        System {
            power,
            last_reset: stamp.map(Timestamp::from),
            manufacturer: self.manufacturer.clone(),
            os_running: self.boot.last_state.as_deref().map(|state| state == "OSRunning"),
        }
    }
}

impl SecureBootResource {
    /// On only if the machine has booted so; a BMC that knows the setting alone is taken at its word.
    fn secure_boot(&self) -> SecureBoot {
        match (self.enabled, self.current.as_deref()) {
            (Some(true), Some("Enabled") | None) => SecureBoot::Enabled,
            (Some(false), Some("Disabled") | None) => SecureBoot::Disabled,
            (Some(_), Some("Enabled")) => SecureBoot::Enabled,
            (Some(_), Some("Disabled")) => SecureBoot::Disabled,
            _ => SecureBoot::Incomplete,
        }
    }
}

fn task_state(word: Option<&str>) -> TaskState {
    match word {
        Some("New" | "Pending") => TaskState::New,
        Some("Starting") => TaskState::Starting,
        Some("Running" | "Service" | "Stopping" | "Suspended") => TaskState::Running,
        Some("Completed") => TaskState::Completed,
        Some("Exception" | "Killed" | "Cancelled" | "Interrupted") => TaskState::Exception,
        _ => TaskState::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let resource: SecureBootResource = serde_json::from_value(body.clone()).unwrap();
            assert_eq!(resource.secure_boot(), seen, "{body}");
        }
    }

    #[test]
    fn a_system_that_says_little_is_read_as_far_as_it_goes() {
        let read = |body: Value| serde_json::from_value::<SystemResource>(body).unwrap().system();
        let nothing = System { power: None, last_reset: None, manufacturer: None, os_running: None };
        assert_eq!(read(json!({})), nothing);
        assert_eq!(read(json!({"PowerState": "Hibernating", "LastResetTime": "yesterday"})), nothing);
        let full = json!({
            "PowerState": "PoweringOn", "Manufacturer": "Dell Inc.", "BootProgress": {"LastState": "OSRunning"},
            "LastResetTime": "2024-12-11T20:56:23Z"
        });
        let seen = read(full);
        assert_eq!((seen.power, seen.os_running), (Some(PowerState::PoweringOn), Some(true)));
        assert_eq!(seen.last_reset, Some(Timestamp::from_micros(1_733_950_583_000_000)));
    }
}
