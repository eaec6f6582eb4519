//! Boot storage of Dell hosts (BOSS): found, erased, and made into a volume again. For [`crate::service`].

use serde_json::json;

use crate::{BmcError, Class, boot::job_id, machine::Machine};

/// Id of the boot storage controller; none if there is none, or the maker has no such thing.
pub(crate) async fn controller(machine: &Machine<'_>) -> Result<Option<String>, BmcError> {
    if machine.class != Class::Dell {
        return Ok(None);
    }
    let system = machine.system_path().await?;
    let members = machine.call.members(&format!("{system}/Storage")).await?;
    Ok(members.iter().map(|path| job_id(path)).find(|id| id.contains("BOSS")))
}

async fn path(machine: &Machine<'_>) -> Result<String, BmcError> {
    let id = controller(machine).await?.ok_or_else(|| machine.call.unsupported("boot storage"))?;
    Ok(format!("{}/Storage/{id}", machine.system_path().await?))
}

/// Erases the drives; the job that does it.
pub(crate) async fn erase(machine: &Machine<'_>) -> Result<String, BmcError> {
    let path = path(machine).await?;
    let target = format!("{path}/Actions/Oem/DellStorage.ControllerDrivesDecommission");
    let answer = machine.post(&target, &json!({ "@Redfish.OperationApplyTime": "Immediate" })).await?;
    let job = answer.task(&machine.call).map(|path| job_id(&path));
    job.ok_or_else(|| machine.call.unexpected("the iDRAC named no job for erasing the boot storage".into()))
}

/// Makes one volume of all drives; the job that does it.
pub(crate) async fn create_volume(machine: &Machine<'_>) -> Result<String, BmcError> {
    let path = path(machine).await?;
    let drives = machine.call.get(&path).await?.body["Drives"].clone();
    let body = json!({ "Name": "VD_0", "RAIDType": "RAID1", "Drives": drives });
    let answer = machine.post(&format!("{path}/Volumes"), &body).await?;
    let job = answer.task(&machine.call).map(|path| job_id(&path));
    job.ok_or_else(|| machine.call.unexpected("the iDRAC named no job for the boot volume".into()))
}
