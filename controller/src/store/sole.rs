use std::{
    fs::{File, TryLockError},
    time::{Duration, Instant},
};

use sqlx::{Any, pool::PoolConnection};

use super::{Result, Store, StoreError};

/// Held by the one controller that works on a database; the end of its process ends it, however that comes.
#[derive(Debug)]
pub struct SoleController {
    _held: Held,
}

#[derive(Debug)]
enum Held {
    /// Nobody else can open a database in memory.
    InMemory,
    File {
        _lock: File,
    },
    Session {
        _connection: PoolConnection<Any>,
    },
}

/// A controller that is told to stop needs this long at most.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

impl Store {
    /// Makes sure that no other controller works on this database: two would carry out every action twice.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if another one does and does not end soon.
    pub async fn sole_controller(&self) -> Result<SoleController> {
        let started = Instant::now();
        loop {
            if let Some(held) = self.try_hold().await? {
                return Ok(SoleController { _held: held });
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
            Some(Some(connection)) => Ok(Some(Held::Session { _connection: connection })),
            Some(None) => Ok(None),
            None => Ok(Some(Held::InMemory)),
        }
    }
}
