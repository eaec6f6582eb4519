//! What the site knows and wants, in a database.
//!
//! All work happens in a [`Tx`]: a write transaction that took its lock at the start, or a read transaction that sees one
//! moment of the whole database. Rows are changed by compare-and-set on the version that was read; a loser gets
//! [`StoreError::Conflict`] and starts again from fresh rows. One file here is one family of tables.

mod actions;
mod addresses;
mod error;
mod events;
mod findings;
mod health;
mod hosts;
mod instances;
mod life;
mod observations;
mod packs;
mod pool_numbers;
mod record;
mod requests;
mod row;
mod vpcs;

use std::time::Duration;

use sqlx::{Any, AnyConnection, AnyPool, Connection, Transaction, any::AnyPoolOptions};

pub use actions::{Action, ActionStatus};
pub use addresses::{Address, AddressPool};
pub use error::StoreError;
pub use events::Event;
pub use findings::Finding;
pub use health::{AppliedReport, ApplyMode, HealthAlert, HealthReport, HealthSuccess};
pub use hosts::{Added, Bmc, Dpu, Host, NewDpu, NewHost, Quarantine};
pub use instances::{Instance, InstanceInterface, NetworkUpdate, PortFunction, UpdateStage};
pub use life::{DpuLife, FailureRecord, Life, Outcome, OutcomeKind, Transition, TransitionRecord};
pub use observations::{Observation, ObservationDetails};
pub use packs::{PackFile, PackUse, StoredPack};
pub use pool_numbers::NumberPool;
pub use record::HostRecord;
pub use requests::Request;
pub use vpcs::{Virtualization, Vpc, VpcPrefix};

use error::failed;

/// What calls to the store return.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The site's database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    writers: AnyPool,
    readers: AnyPool,
    backend: Backend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    Sqlite,
}

/// A transaction. Dropping it undoes what it wrote; only [`Tx::commit`] keeps it.
#[derive(Debug)]
pub struct Tx {
    inner: Transaction<'static, Any>,
}

impl Store {
    /// Opens `sqlite:PATH` (made if absent) or `sqlite::memory:` and brings its tables to the current layout.
    ///
    /// # Errors
    /// If the database cannot be opened, is newer than this program, or cannot be migrated.
    pub async fn open(url: &str) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let fault = |fault: String| StoreError::Open { url: url.to_owned(), fault };
        let Some(path) = url.strip_prefix("sqlite:") else {
            return Err(fault("expected sqlite:PATH or sqlite::memory:".into()));
        };
        let in_memory = path == ":memory:";
        let full = if in_memory { url.to_owned() } else { format!("{url}?mode=rwc") };
        if !in_memory {
            // A pool would try again and again where this says at once what is wrong.
            let mut probe = AnyConnection::connect(&full).await.map_err(|error| fault(error.to_string()))?;
            set_up_sqlite(&mut probe).await.map_err(|error| fault(error.to_string()))?;
            probe.close().await.map_err(|error| fault(error.to_string()))?;
        }
        // One writer: writers queue here in order and never fight over SQLite's lock. A database in memory lives in its
        // only connection, so nothing may ever close that one.
        let writers = sqlite_pool(1).connect(&full).await.map_err(|error| fault(error.to_string()))?;
        sqlx::migrate!().run(&writers).await.map_err(|error| fault(error.to_string()))?;
        let readers = if in_memory {
            writers.clone()
        } else {
            sqlite_pool(4).connect(&full).await.map_err(|error| fault(error.to_string()))?
        };
        Ok(Self { writers, readers, backend: Backend::Sqlite })
    }

    /// Starts a transaction that may write. It holds the database's write lock until it ends: no remote call inside.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the lock is not to be had in time.
    pub async fn write(&self) -> Result<Tx> {
        let begin = match self.backend {
            // A transaction that reads first and writes later could not be made to wait for its turn.
            Backend::Sqlite => "BEGIN IMMEDIATE",
        };
        let inner = self.writers.begin_with(begin).await.map_err(failed("starting a transaction"))?;
        Ok(Tx { inner })
    }

    /// Starts a transaction that sees one moment of the database and writes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if no connection is to be had in time.
    pub async fn read(&self) -> Result<Tx> {
        let inner = self.readers.begin().await.map_err(failed("starting to read"))?;
        Ok(Tx { inner })
    }

    /// Closes all connections after their work is done.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

impl Tx {
    /// Makes all writes of the transaction durable, together.
    ///
    /// # Errors
    /// If the database cannot; then none of them happened.
    pub async fn commit(self) -> Result<()> {
        self.inner.commit().await.map_err(failed("committing"))
    }
}

fn sqlite_pool(connections: u32) -> AnyPoolOptions {
    AnyPoolOptions::new()
        .max_connections(connections)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(Duration::from_secs(10))
        .after_connect(|connection, _| Box::pin(set_up_sqlite(connection)))
}

async fn set_up_sqlite(connection: &mut AnyConnection) -> std::result::Result<(), sqlx::Error> {
    for pragma in [
        "PRAGMA busy_timeout = 5000",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
    ] {
        sqlx::query(pragma).execute(&mut *connection).await?;
    }
    Ok(())
}
