//! What the site knows and wants, in a database.
//!
//! All work happens in a [`Tx`]: a write transaction that took its lock at the start, or a read transaction that sees one
//! moment of the whole database. Rows are changed by compare-and-set on the version that was read; a loser gets
//! [`StoreError::Conflict`] and starts again from fresh rows. One file here is one family of tables.

mod actions;
mod addresses;
mod dirty_hosts;
mod dpus;
mod error;
mod events;
mod file;
mod findings;
mod forget;
mod forgotten;
mod future_timestamps;
mod health;
mod held;
mod hosts;
mod instances;
mod leader_lock;
mod life;
mod observations;
mod open;
mod packs;
mod pool_numbers;
mod record;
mod requests;
mod row;
mod security_groups;
mod session;
mod site_notes;
mod stats;
mod vpcs;
mod writing;

use std::sync::Arc;

use sqlx::{Any, Transaction};

pub use actions::{Action, ActionStatus};
pub use addresses::{Address, AddressPool};
pub use bmc::Access as Bmc;
pub use dirty_hosts::DirtyHosts;
pub use dpus::{Dpu, NewDpu};
pub use error::StoreError;
pub use events::Event;
pub use findings::{Finding, FindingId};
pub use forgotten::DeletedHost;
pub use health::{AppliedReport, ApplyMode};
pub(crate) use held::HELD_SOURCE;
pub use held::HeldVersions;
pub use hosts::{Added, Host, NewHost, Quarantine};
pub use instances::{Instance, InstanceInterface, NetworkUpdate, PortFunction, UpdateStage};
pub use leader_lock::LeaderLock;
pub use life::{DpuLife, FailureRecord, Life, Outcome, OutcomeKind, Transition, TransitionRecord};
pub use observations::{Observation, ObservationDetails};
pub use open::Store;
pub use packs::{PackFile, PackUse, StoredPack};
pub use pool_numbers::NumberPool;
pub use record::HostRecord;
pub use requests::Request;
pub use security_groups::{SecurityGroup, SecurityRule, TrafficAction, TrafficDirection, TrafficProtocol};
pub use stats::SiteStats;
pub use types::{HealthAlert, HealthReport, HealthSuccess};
pub use vpcs::{Virtualization, Vpc, VpcPrefix};

use error::failed;
use writing::Writing;

/// What calls to the store return.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A transaction. Dropping it undoes what it wrote; only [`Tx::commit`] keeps it.
#[derive(Debug)]
pub struct Tx {
    inner: Transaction<'static, Any>,
    /// Where the end of one that writes is noted.
    writing: Option<Arc<Writing>>,
}

impl Tx {
    /// Makes all writes of the transaction durable, together.
    ///
    /// # Errors
    /// If the database cannot; then none of them happened. [`StoreError::Gone`] if they happened in a file that is gone.
    pub async fn commit(self) -> Result<()> {
        let done = self.inner.commit().await.map_err(failed("committing"));
        match self.writing {
            Some(writing) => writing.noted(done),
            None => done,
        }
    }
}
