//! That one controller at a time works on a database.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::{Duration, Instant},
};

use super::{
    Result, Store, StoreError,
    session::{Attempt, Session, SessionId},
};

/// Held by the one controller that works on a database; the end of its process ends it, however that comes. On PostgreSQL
/// the end of a session ends it, too, which [`LeaderLock::lost`] watches for.
#[derive(Debug)]
pub struct LeaderLock {
    held: LockHandle,
}

#[derive(Debug)]
enum LockHandle {
    /// Nobody else can open a database in memory.
    InMemory,
    File {
        _lock: File,
    },
    Session(Session),
    /// This session had it, and may have it still without our hearing of it.
    Lost(SessionId),
}

/// A controller that is told to stop needs this long at most.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

/// Time between two looks at a session's lock, and the longest wait for what the database says of it.
const WATCH: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(3);
/// Times in a row that another session is seen to have the lock before this counts as another controller.
const LOOKS: u32 = 3;
/// Whoever lost the lock knows it by then, and has stopped.
const FENCING_DELAY: Duration = Duration::from_secs(5);

impl Store {
    /// Makes sure that no other controller works on this database: two would carry out every action twice.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if another one does and does not end soon.
    pub async fn acquire_leader_lock(&self) -> Result<LeaderLock> {
        let started = Instant::now();
        if let Some(path) = self.file() {
            let held = LockHandle::File { _lock: lock_file(&path, started, self.shown()).await? };
            return Ok(LeaderLock { held });
        }
        loop {
            if let Some(held) = self.try_hold().await? {
                return Ok(LeaderLock { held });
            }
            if started.elapsed() > PATIENCE {
                return Err(StoreError::taken("database, by another controller:", self.shown()));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_hold(&self) -> Result<Option<LockHandle>> {
        let Some(server) = self.server() else { return Ok(Some(LockHandle::InMemory)) };
        match Session::take(&server).await? {
            Attempt::Held(session) => Ok(Some(LockHandle::Session(session))),
            Attempt::HeldBy(_) => Ok(None),
        }
    }
}

impl LeaderLock {
    /// Waits until this may no longer be the only controller, and says what happened: the session that had the lock has
    /// ended, as when the database was restarted, or cannot be asked. That session is let go of. Ends never where only the
    /// process's end ends it.
    pub async fn lost(&mut self) -> StoreError {
        let LockHandle::Session(session) = &mut self.held else { return std::future::pending().await };
        let fault = until_lost(session).await;
        self.held = LockHandle::Lost(session.id().clone());
        fault
    }

    /// Takes the lost lock again, as soon as the database answers and has ended the session that had it; false if another
    /// controller has it by then.
    pub async fn reacquired(&mut self, store: &Store) -> bool {
        let (LockHandle::Lost(former), Some(server)) = (&self.held, store.server()) else { return true };
        let mut seen = 0;
        loop {
            let attempt = match Session::take(&server).await {
                // The database does not always hear that a connection has ended.
                Ok(Attempt::HeldBy(Some(holder))) if holder == *former => {
                    tracing::warn!(%holder, "this controller's former session still has the lock: it is ended");
                    former.end(&server).await.map(|()| None)
                }
                attempt => attempt.map(Some),
            };
            match attempt {
                Ok(Some(Attempt::Held(session))) => {
                    self.held = LockHandle::Session(session);
                    return true;
                }
                Ok(Some(Attempt::HeldBy(Some(holder)))) => {
                    seen += 1;
                    tracing::warn!(%holder, "another session has the lock on the database");
                    if seen == LOOKS {
                        return false;
                    }
                }
                Ok(Some(Attempt::HeldBy(None)) | None) => seen = 0,
                Err(fault) => tracing::debug!(%fault, "the database is still away"),
            }
            tokio::time::sleep(WATCH).await;
        }
    }

    /// How long a controller that had the lock before, and lost it, may still be at work. Nothing is to be done at a BMC
    /// before that.
    #[must_use]
    pub fn fencing_delay(&self) -> Duration {
        match self.held {
            LockHandle::Session(_) | LockHandle::Lost(_) => FENCING_DELAY,
            LockHandle::File { .. } | LockHandle::InMemory => Duration::ZERO,
        }
    }
}

/// Locks the database's file itself: one beside it could be removed, and made again by a second controller. The file is
/// opened once and closed at the end only, since each close ends what SQLite holds of it in this process.
async fn lock_file(path: &Path, started: Instant, shown: &str) -> Result<File> {
    let fault = |error: std::io::Error| StoreError::Failed {
        doing: "locking the database for this controller",
        fault: format!("{}: {error}", path.display()),
    };
    let file = File::open(path).map_err(fault)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if started.elapsed() > PATIENCE => {
                return Err(StoreError::taken("database, by another controller:", shown));
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            Err(TryLockError::Error(error)) => return Err(fault(error)),
        }
    }
}

async fn until_lost(session: &mut Session) -> StoreError {
    let lost =
        |fault: &str| StoreError::Failed { doing: "watching the lock of this controller", fault: fault.to_owned() };
    loop {
        tokio::time::sleep(WATCH).await;
        match tokio::time::timeout(ANSWER, session.holds()).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return lost("the session does not have it any more"),
            Ok(Err(error)) => return error,
            Err(_) => return lost("there is no answer"),
        }
    }
}
