//! BIOS settings: written in one go, and read back as they are in force. For [`crate::service`].

use serde_json::{Map, Value, json};

use crate::{
    BmcError, Class,
    boot::job_id,
    lockdown::{self, Lockdown},
    machine::{Machine, link},
    makers::{self, dell},
    setup::{self, Difference},
    transport::Resource,
};

fn attributes(bios: &Resource) -> Map<String, Value> {
    bios.body["Attributes"].as_object().cloned().unwrap_or_default()
}

/// The id of the network function with this MAC; only of an iDRAC, whose BIOS names it.
async fn boot_nic(machine: &Machine<'_>, mac: Option<&str>) -> Result<Option<String>, BmcError> {
    let (Class::Dell, Some(mac)) = (machine.class, mac) else { return Ok(None) };
    let adapters = "/redfish/v1/Chassis/System.Embedded.1/NetworkAdapters";
    for adapter in machine.call.members(adapters).await? {
        let adapter = machine.call.get(&adapter).await?;
        let Some(functions) = link(&adapter.body["NetworkDeviceFunctions"]) else { continue };
        for path in machine.call.members(&functions).await? {
            let function = machine.call.get(&path).await?.body;
            let own = function["Ethernet"]["MACAddress"].as_str().unwrap_or_default();
            if own.eq_ignore_ascii_case(mac) {
                return Ok(function["Id"].as_str().map(str::to_owned));
            }
        }
    }
    Ok(None)
}

/// Writes the settings that the class wants, for the next boot; the job that carries them out, if there is one.
pub(crate) async fn set_up(machine: &Machine<'_>, mac: Option<&str>) -> Result<Option<String>, BmcError> {
    if makers::bios(machine.class).is_empty() {
        return Ok(None);
    }
    if lockdown::refuses_while_locked(machine.class) && lockdown::read(machine).await? == Lockdown::Enabled {
        return Err(machine.call.unexpected("it is locked, and takes no settings before it is unlocked".into()));
    }
    let bios = machine.bios().await?.ok_or_else(|| machine.call.unsupported("BIOS settings"))?;
    let nic = boot_nic(machine, mac).await?;
    let desired = setup::desired(machine.class, &attributes(&bios), nic.as_deref());
    if machine.class == Class::Dell {
        // A job that is pending blocks all further ones.
        clear_jobs(machine).await?;
    }
    let path = match machine.class {
        Class::Supermicro => bios.path.clone(),
        _ => Machine::settings_path(&bios),
    };
    let mut body = json!({ "Attributes": desired });
    if machine.class == Class::Dell {
        body["@Redfish.SettingsApplyTime"] = json!({ "ApplyTime": "OnReset" });
    }
    let answer = machine.patch(&path, &body).await?;
    let job = answer.task(&machine.call).map(|path| job_id(&path));
    if machine.class == Class::Dell {
        let attributes: Map<String, Value> =
            dell::MANAGER.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let path = lockdown::dell_attributes(machine).await?;
        machine.patch(&path, &json!({ "Attributes": attributes })).await?;
        if job.is_none() {
            return Err(machine.call.unexpected("the iDRAC took the BIOS settings and named no job for them".into()));
        }
    }
    if machine.class == Class::Grace {
        let system = machine.system().await?;
        machine.patch(&format!("{}/SecureBoot", system.path), &json!({ "SecureBootEnable": false })).await?;
    }
    Ok(job)
}

async fn clear_jobs(machine: &Machine<'_>) -> Result<(), BmcError> {
    let manager = machine.manager().await?;
    let target = format!("{}/Oem/Dell/DellJobService/Actions/DellJobService.DeleteJobQueue", manager.path);
    match machine.post(&target, &json!({ "JobID": "JID_CLEARALL" })).await {
        // An iDRAC without this service has no queue to clear.
        Err(BmcError::Refused { status: 404, .. }) => Ok(()),
        done => done.map(drop),
    }
}

/// Settings in force that are not as the class wants them.
pub(crate) async fn differences(machine: &Machine<'_>, mac: Option<&str>) -> Result<Vec<Difference>, BmcError> {
    if makers::bios(machine.class).is_empty() {
        return Ok(Vec::new());
    }
    let bios = machine.bios().await?.ok_or_else(|| machine.call.unsupported("BIOS settings"))?;
    let nic = boot_nic(machine, mac).await?;
    let mut found = setup::differences(machine.class, &attributes(&bios), nic.as_deref());
    if machine.class == Class::Dell {
        let path = lockdown::dell_attributes(machine).await?;
        let known = machine.call.get(&path).await?.body;
        for (name, wanted) in dell::MANAGER.iter().filter(|(name, _)| dell::MANAGER_HOLDS.contains(name)) {
            let is = known["Attributes"][*name].as_str().unwrap_or(*wanted);
            if is != *wanted {
                found.push(Difference {
                    attribute: (*name).to_owned(),
                    is: is.to_owned(),
                    should_be: (*wanted).to_owned(),
                });
            }
        }
    }
    Ok(found)
}

/// Sets all settings back to their defaults, from the next boot on.
pub(crate) async fn reset(machine: &Machine<'_>) -> Result<(), BmcError> {
    let bios = machine.bios().await?.ok_or_else(|| machine.call.unsupported("BIOS settings"))?;
    let action = match machine.action(&bios, "Bios.ResetBios").await {
        Err(BmcError::Unsupported { .. }) => {
            let settings = machine.call.get(&Machine::settings_path(&bios)).await?;
            machine.action(&settings, "Bios.ResetBios").await?
        }
        action => action?,
    };
    let body = if machine.class == Class::LenovoXcc { json!({ "ResetType": "Reset" }) } else { json!({}) };
    machine.post(&action.target, &body).await.map(drop)
}
