//! Errors of other rooms as gRPC statuses for agents and tenants.

use tonic::Status;

use crate::{
    network::{AddressError, InterfaceFault, SecurityGroupError},
    store::StoreError,
};

/// How a store's refusal is told. Never `NOT_FOUND`: only a handler that looked for a DPU may say that, because a DPU
/// that hears it isolates its host.
pub(super) fn from_store(error: StoreError) -> Status {
    match error {
        StoreError::Conflict { .. } => Status::aborted(error.to_string()),
        StoreError::Taken { .. } | StoreError::Shared { .. } => Status::already_exists(error.to_string()),
        StoreError::Unavailable { .. } | StoreError::Gone { .. } => {
            tracing::warn!("{error}");
            Status::unavailable(error.to_string())
        }
        StoreError::Missing { .. } => Status::failed_precondition(error.to_string()),
        StoreError::Open { .. } | StoreError::Unreadable { .. } | StoreError::Failed { .. } => {
            tracing::error!("{error}");
            Status::internal(error.to_string())
        }
    }
}

pub(super) fn from_address(error: AddressError) -> Status {
    match error {
        AddressError::Store(error) => from_store(error),
        AddressError::UsedUp(_) => Status::resource_exhausted(error.to_string()),
        AddressError::Held(_) => Status::already_exists(error.to_string()),
        AddressError::Unusable { .. } => Status::invalid_argument(error.to_string()),
    }
}

pub(super) fn from_group(error: SecurityGroupError) -> Status {
    match error {
        SecurityGroupError::Store(error) => from_store(error),
        SecurityGroupError::Unknown { .. } => {
            Status::invalid_argument(format!("config.network_security_group_id: {error}"))
        }
        SecurityGroupError::InUse { .. } => Status::failed_precondition(error.to_string()),
    }
}

pub(super) fn from_faults(faults: &[InterfaceFault]) -> Status {
    let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Status::invalid_argument(texts.join("; "))
}
