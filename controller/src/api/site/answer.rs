//! Errors of the store as gRPC statuses for operators.

use tonic::Status;

use crate::store::StoreError;

/// How a store's refusal is told to operators.
pub(super) fn from_store(error: StoreError) -> Status {
    match error {
        StoreError::Conflict { .. } => Status::aborted(error.to_string()),
        StoreError::Missing { .. } => Status::not_found(error.to_string()),
        StoreError::Taken { .. } | StoreError::Shared { .. } => Status::already_exists(error.to_string()),
        StoreError::Unavailable { .. } | StoreError::Gone { .. } => {
            tracing::warn!("{error}");
            Status::unavailable(error.to_string())
        }
        StoreError::Open { .. } | StoreError::Unreadable { .. } | StoreError::Failed { .. } => {
            tracing::error!("{error}");
            Status::internal(error.to_string())
        }
    }
}
