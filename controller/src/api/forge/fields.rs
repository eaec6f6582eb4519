//! Fields of requests, parsed once at the border: ids, versions, short texts. For the handlers beside it.

use proto::{ConfigVersion, MachineId, MachineKind, common};
use tonic::Status;

use crate::InstanceId;

/// Longest text that is a name, an id or a source.
const LONGEST_NAME: usize = 256;

/// Longest text of some lines.
const LONGEST_DESCRIPTION: usize = 4_096;

pub(super) fn invalid(field: &str, fault: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("{field}: {fault}"))
}

pub(super) fn machine_id(field: &str, id: Option<&common::MachineId>) -> Result<MachineId, Status> {
    let id = id.filter(|id| !id.id.is_empty()).ok_or_else(|| invalid(field, "is missing"))?;
    MachineId::try_from(id).map_err(|error| invalid(field, error))
}

pub(super) fn dpu_id(field: &str, id: Option<&common::MachineId>) -> Result<MachineId, Status> {
    let id = machine_id(field, id)?;
    if id.kind() == MachineKind::Dpu { Ok(id) } else { Err(invalid(field, format_args!("`{id}` is not a DPU"))) }
}

pub(super) fn instance_id(field: &str, id: Option<&common::InstanceId>) -> Result<InstanceId, Status> {
    let id = id.filter(|id| !id.value.is_empty()).ok_or_else(|| invalid(field, "is missing"))?;
    id.value.parse().map_err(|error| invalid(field, error))
}

/// A version that may be absent but not malformed. An empty text counts as absent.
pub(super) fn version(field: &str, text: Option<&str>) -> Result<Option<ConfigVersion>, Status> {
    text.filter(|text| !text.is_empty()).map(|text| text.parse().map_err(|error| invalid(field, error))).transpose()
}

/// A short text without control characters.
pub(super) fn name(field: &str, text: &str) -> Result<String, Status> {
    if text.len() > LONGEST_NAME {
        return Err(invalid(field, format_args!("is longer than {LONGEST_NAME} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid(field, "has control characters"));
    }
    Ok(text.to_owned())
}

/// A text of some lines, which people write about something.
pub(super) fn description(field: &str, text: &str) -> Result<(), Status> {
    match text.len() > LONGEST_DESCRIPTION {
        true => Err(invalid(field, format_args!("is longer than {LONGEST_DESCRIPTION} bytes"))),
        false => Ok(()),
    }
}

/// A short text that is not empty.
pub(super) fn required_name(field: &str, text: &str) -> Result<String, Status> {
    if text.trim().is_empty() { Err(invalid(field, "is missing")) } else { name(field, text) }
}
