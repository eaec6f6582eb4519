//! The BMC itself, and the power of the machine behind it. For [`crate::service`].

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    BmcError, Class, PowerState, ResetType, System,
    machine::{Machine, link},
    transport::Resource,
};

/// What a system's resource tells, property by property: one that cannot be read hides no other.
pub(crate) fn system(class: Class, resource: &Value) -> System {
    // A word that Redfish may add one day reads as "does not say".
    let power = serde_json::from_value::<PowerState>(resource["PowerState"].clone()).ok();
    let reset = resource["LastResetTime"].as_str().and_then(|text| text.parse::<prost_types::Timestamp>().ok());
    let boot = &resource["BootProgress"];
    let state = boot["LastState"].as_str();
    let oem_running = state == Some("OEM") && boot["OemLastState"].as_str() == Some("OsIsRunning");
    System {
        class,
        power,
        // Clocks that were never set tell of the epoch.
        last_reset: reset.filter(|at| at.seconds > 86_400 * 365).map(types::Timestamp::from),
        os_running: state.map(|state| state == "OSRunning" || oem_running),
    }
}

/// Resets or powers the machine; done when the BMC accepted it, or when it is so already.
pub(crate) async fn reset(machine: &Machine<'_>, wanted: ResetType) -> Result<(), BmcError> {
    let resource = machine.system().await?;
    let known = system(machine.class, &resource.body);
    let Some(wanted) = wanted.from_state(known.power) else { return Ok(()) };
    let action = match machine.action(&resource, "ComputerSystem.Reset").await {
        // Some list no actions and have this one all the same.
        Err(BmcError::Unsupported { .. }) if resource.body["Actions"].is_null() => None,
        action => Some(action?),
    };
    let mut words: Vec<&str> = vec![wanted.as_str()];
    words.extend(wanted.fallback().map(ResetType::as_str));
    let (target, body) = match &action {
        Some(action) => {
            let lacks = || machine.call.unsupported(format!("reset type {}", wanted.as_str()));
            (action.target.clone(), action.with("ResetType", &words).ok_or_else(lacks)?)
        }
        None => (format!("{}/Actions/ComputerSystem.Reset", resource.path), json!({ "ResetType": wanted.as_str() })),
    };
    match machine.post(&target, &body).await {
        // iDRACs answer so where it is so already.
        Err(BmcError::Refused { status, .. })
            if status == StatusCode::CONFLICT.as_u16() && machine.class == Class::Dell =>
        {
            Ok(())
        }
        done => done.map(drop),
    }
}

/// Restarts the BMC, in a word that it takes.
pub(crate) async fn restart(machine: &Machine<'_>) -> Result<(), BmcError> {
    let manager = machine.manager().await?;
    let action = machine.action(&manager, "Manager.Reset").await?;
    let words = match machine.class {
        Class::Ami | Class::LenovoAmi | Class::Viking | Class::Generic => ["ForceRestart", "GracefulRestart"],
        _ => ["GracefulRestart", "ForceRestart"],
    };
    let body = action.with("ResetType", &words).ok_or_else(|| machine.call.unsupported("a restart of the BMC"))?;
    machine.post(&action.target, &body).await.map(drop)
}

/// Sets the BMC back to what it was when it left the factory.
pub(crate) async fn factory_reset(machine: &Machine<'_>) -> Result<(), BmcError> {
    let manager = machine.manager().await?;
    if machine.class == Class::Hpe {
        let action = machine.action(&manager, "HpeiLO.ResetToFactoryDefaults").await?;
        return machine.post(&action.target, &json!({ "ResetType": "Default" })).await.map(drop);
    }
    let action = machine.action(&manager, "Manager.ResetToDefaults").await?;
    let by_type = machine.class == Class::BlueField || action.declares("ResetToDefaultsType");
    let names = if by_type { ["ResetToDefaultsType", "ResetType"] } else { ["ResetType", "ResetToDefaultsType"] };
    match machine.post(&action.target, &json!({ names[0]: "ResetAll" })).await {
        Err(BmcError::Refused { status: 400, message, .. })
            if message.contains("ActionParameter") || message.contains(names[1]) =>
        {
            machine.post(&action.target, &json!({ names[1]: "ResetAll" })).await.map(drop)
        }
        done => done.map(drop),
    }
}

/// Opens IPMI over LAN; whether it is open afterwards is read again.
pub(crate) async fn enable_ipmi(machine: &Machine<'_>) -> Result<(), BmcError> {
    let manager = machine.manager().await?;
    // A BMC that tells of no protocols has none that could be opened.
    let Some(path) = link(&manager.body["NetworkProtocol"]) else { return Ok(()) };
    let open = |resource: &Resource| resource.body["IPMI"]["ProtocolEnabled"].as_bool();
    match open(&machine.call.get(&path).await?) {
        Some(true) => return Ok(()),
        Some(false) => {}
        None => return Err(machine.call.unsupported("IPMI over LAN")),
    }
    machine.patch(&path, &json!({ "IPMI": { "ProtocolEnabled": true } })).await?;
    match open(&machine.call.get(&path).await?) {
        Some(true) => Ok(()),
        _ => Err(machine.call.unexpected("IPMI over LAN stays closed".into())),
    }
}

/// Opens the BMC's way to the DPU, on a BlueField.
pub(crate) async fn enable_rshim(machine: &Machine<'_>) -> Result<(), BmcError> {
    if machine.class != Class::BlueField {
        return Err(machine.call.unsupported("rshim"));
    }
    let manager = machine.manager().await?;
    let path = format!("{}/Oem/Nvidia", manager.path);
    machine.patch(&path, &json!({ "BmcRShim": { "BmcRShimEnabled": true } })).await?;
    match machine.call.get(&path).await?.body["BmcRShim"]["BmcRShimEnabled"].as_bool() {
        Some(true) => Ok(()),
        _ => Err(machine.call.unexpected("rshim stays off".into())),
    }
}

const UPDATE: &str = "/redfish/v1/UpdateService";

/// Installs an image; the path of the task that tells how far it is. What it is installed on is named where the BMC has it:
/// with several targets it cannot guess.
pub(crate) async fn install(machine: &Machine<'_>, image_uri: &str) -> Result<String, BmcError> {
    let protocol = image_uri.split_once("://").map(|(scheme, _)| scheme.to_ascii_uppercase());
    let mut body = json!({ "ImageURI": image_uri });
    if let Some(protocol) = protocol {
        body["TransferProtocol"] = protocol.into();
    }
    let inventory = machine.call.members(&format!("{UPDATE}/FirmwareInventory")).await.unwrap_or_default();
    if let Some(target) = inventory.iter().find(|path| path.ends_with("/DPU_OS")) {
        body["Targets"] = json!([target]);
    }
    let target = match machine.call.get(UPDATE).await {
        Ok(service) => machine.action(&service, "UpdateService.SimpleUpdate").await?.target,
        Err(BmcError::Refused { status: 404, .. }) => format!("{UPDATE}/Actions/UpdateService.SimpleUpdate"),
        Err(error) => return Err(error),
    };
    let answer = machine.post(&target, &body).await?;
    answer.task(&machine.call).ok_or_else(|| machine.call.unexpected("no task to follow".into()))
}
