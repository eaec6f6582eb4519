use std::{
    fs::{File, TryLockError},
    time::{Duration, Instant},
};

use sqlx::{Any, pool::PoolConnection};

use super::{Result, Store, StoreError};

/// Held by the one controller that works on a database; the end of its process ends it, however that comes. On PostgreSQL
/// the end of a session ends it, too, which [`SoleController::lost`] watches for.
#[derive(Debug)]
pub struct SoleController {
    held: Held,
}

#[derive(Debug)]
enum Held {
    /// Nobody else can open a database in memory.
    InMemory,
    File {
        _lock: File,
    },
    Session {
        connection: PoolConnection<Any>,
    },
}

/// A controller that is told to stop needs this long at most.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

/// Time between two looks at a session's lock, and the longest wait for what the database says of it.
const WATCH: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(3);
/// Whoever lost the lock knows it by then, and has stopped.
const RESPITE: Duration = Duration::from_secs(5);

impl Store {
    /// Makes sure that no other controller works on this database: two would carry out every action twice.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if another one does and does not end soon.
    pub async fn sole_controller(&self) -> Result<SoleController> {
        let started = Instant::now();
        loop {
            if let Some(held) = self.try_hold().await? {
                return Ok(SoleController { held });
            }
            if started.elapsed() > PATIENCE {
                return Err(StoreError::taken("database, by another controller:", self.shown()));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_hold(&self) -> Result<Option<Held>> {
        if let Some(path) = self.file() {
            let path = path.with_added_extension("lock");
            let fault = |error: std::io::Error| StoreError::Failed {
                doing: "locking the database for this controller",
                fault: format!("{}: {error}", path.display()),
            };
            let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(fault)?;
            return match lock.try_lock() {
                Ok(()) => Ok(Some(Held::File { _lock: lock })),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(fault(error)),
            };
        }
        match self.session_lock().await? {
            Some(Some(connection)) => Ok(Some(Held::Session { connection })),
            Some(None) => Ok(None),
            None => Ok(Some(Held::InMemory)),
        }
    }
}

impl SoleController {
    /// Waits until this may no longer be the only controller, and says what happened: the session that had the lock has
    /// ended, as when the database was restarted, or cannot be asked. Ends never where only the process's end ends it.
    pub async fn lost(&mut self) -> StoreError {
        let Held::Session { connection } = &mut self.held else { return std::future::pending().await };
        let lost =
            |fault: &str| StoreError::Failed { doing: "watching the lock of this controller", fault: fault.to_owned() };
        loop {
            tokio::time::sleep(WATCH).await;
            match tokio::time::timeout(ANSWER, Store::has_session_lock(connection)).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return lost("the session does not have it any more"),
                Ok(Err(error)) => return error,
                Err(_) => return lost("there is no answer"),
            }
        }
    }

    /// Takes the lost lock again, as soon as the database answers; false if another controller has it by then.
    pub async fn held_again(&mut self, store: &Store) -> bool {
        loop {
            match store.try_hold().await {
                Ok(Some(held)) => {
                    self.held = held;
                    return true;
                }
                Ok(None) => return false,
                Err(fault) => {
                    tracing::debug!(%fault, "the database is still away");
                    tokio::time::sleep(WATCH).await;
                }
            }
        }
    }

    /// How long a controller that had the lock before, and lost it, may still be at work. Nothing is to be done at a BMC
    /// before that.
    #[must_use]
    pub fn respite(&self) -> Duration {
        match self.held {
            Held::Session { .. } => RESPITE,
            Held::File { .. } | Held::InMemory => Duration::ZERO,
        }
    }
}
