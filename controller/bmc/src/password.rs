//! The UEFI password of a machine. No BMC shows it: that it was set is known by its job, or by the next change. For
//! [`crate::service`].

use serde_json::json;

use crate::{
    BmcError, Class,
    boot::job_id,
    machine::{Action, Machine},
    makers,
    transport::Resource,
};

/// Changes the password to `new` from the first of `former` that is right; an empty one is none. The job that carries it
/// out, if there is one.
pub(crate) async fn change(machine: &Machine<'_>, new: &str, former: &[&str]) -> Result<Option<String>, BmcError> {
    let bios = machine.bios().await?.ok_or_else(|| machine.call.unsupported("a UEFI password"))?;
    if machine.class == Class::BlueField {
        return of_bluefield(machine, &bios, new, former).await.map(|()| None);
    }
    if machine.class == Class::Dell && new.is_empty() {
        return cleared_by_profile(machine, former.iter().find(|former| !former.is_empty()).unwrap_or(&"")).await;
    }
    let action = action(machine, &bios).await?;
    let mut refused = None;
    for old in former {
        let body = json!({
            "PasswordName": makers::password_name(machine.class),
            "OldPassword": old,
            "NewPassword": new,
        });
        match machine.post(&action.target, &body).await {
            Ok(_) => {
                refused = None;
                break;
            }
            Err(error @ BmcError::Refused { .. }) => refused = Some(without(error, &[new, old])),
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }
    if machine.class != Class::Dell {
        return Ok(None);
    }
    let manager = machine.manager().await?;
    let body = json!({ "TargetSettingsURI": Machine::settings_path(&bios) });
    let answer = match machine.post(&format!("{}/Jobs", manager.path), &body).await {
        Err(BmcError::Refused { status: 404 | 405, .. }) => {
            machine.post(&format!("{}/Oem/Dell/Jobs", manager.path), &body).await?
        }
        answer => answer?,
    };
    let job = answer.task(&machine.call).map(|path| job_id(&path));
    job.map(Some).ok_or_else(|| machine.call.unexpected("the iDRAC named no job for the UEFI password".into()))
}

/// `Bios.ChangePassword` of the BIOS, or of its settings as HPE has it.
async fn action(machine: &Machine<'_>, bios: &Resource) -> Result<Action, BmcError> {
    let names = ["Bios.ChangePassword", "Bios.ChangePasswords"];
    for name in names {
        match machine.action(bios, name).await {
            Err(BmcError::Unsupported { .. }) => {}
            action => return action,
        }
    }
    let settings = Machine::settings_path(bios);
    if settings != bios.path {
        let settings = machine.call.get(&settings).await?;
        for name in names {
            match machine.action(&settings, name).await {
                Err(BmcError::Unsupported { .. }) => {}
                action => return action,
            }
        }
    }
    Err(machine.call.unsupported("a UEFI password"))
}

async fn of_bluefield(machine: &Machine<'_>, bios: &Resource, new: &str, former: &[&str]) -> Result<(), BmcError> {
    if bios.body["Attributes"].get("CurrentUefiPassword").is_none() {
        return Err(machine.call.unsupported("a UEFI password"));
    }
    let mut refused = Ok(());
    // The factory's own.
    for old in former.iter().copied().filter(|old| !old.is_empty()).chain(["bluefield"]) {
        let body = json!({ "Attributes": { "CurrentUefiPassword": old, "UefiPassword": new } });
        match machine.patch(&Machine::settings_path(bios), &body).await {
            Ok(_) => return Ok(()),
            Err(error @ BmcError::Refused { .. }) => refused = Err(without(error, &[new, old])),
            Err(error) => return Err(error),
        }
    }
    refused
}

/// An iDRAC clears a password that is set by a profile alone, whose job restarts the machine.
async fn cleared_by_profile(machine: &Machine<'_>, old: &str) -> Result<Option<String>, BmcError> {
    let manager = machine.manager().await?;
    let name = ["OemManager.ImportSystemConfiguration", "EID_674_Manager.ImportSystemConfiguration"];
    let action = match machine.action(&manager, name[0]).await {
        Err(BmcError::Unsupported { .. }) => machine.action(&manager, name[1]).await?,
        action => action?,
    };
    let escaped = old.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let profile = format!(
        "<SystemConfiguration><Component FQDD=\"BIOS.Setup.1-1\">\
         <Attribute Name=\"OldSetupPassword\">{escaped}</Attribute><Attribute Name=\"NewSetupPassword\"></Attribute>\
         </Component></SystemConfiguration>"
    );
    let body = json!({
        "ShutdownType": "Forced",
        "ShareParameters": { "Target": "BIOS" },
        "ImportBuffer": profile,
    });
    let answer = machine.post(&action.target, &body).await.map_err(|error| without(error, &[old]))?;
    let job = answer.task(&machine.call).map(|path| job_id(&path));
    job.map(Some).ok_or_else(|| machine.call.unexpected("the iDRAC named no job for the UEFI password".into()))
}

/// Error bodies can repeat what was sent.
fn without(error: BmcError, secrets: &[&str]) -> BmcError {
    let BmcError::Refused { bmc, doing, status, mut message } = error else { return error };
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        message = message.replace(secret, "***");
    }
    BmcError::Refused { bmc, doing, status, message }
}
