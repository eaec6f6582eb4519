//! Whether the database takes what is written: noted at each commit, for health and metrics.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Result, Store, StoreError, file::DatabaseFile};

/// What became of the writes of one database.
#[derive(Debug)]
pub(crate) struct Writing {
    file: Option<DatabaseFile>,
    failures: AtomicU64,
    last: Mutex<Last>,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    worked: bool,
    at: Instant,
}

/// As long as this after a commit nobody needs to find out whether another one works.
const FRESH: Duration = Duration::from_secs(5);
/// Longest wait for a trial.
const ANSWER: Duration = Duration::from_secs(5);
/// Note of the site that trials write.
const TRIAL: &str = "written_at";

impl Writing {
    pub(super) fn new(file: Option<DatabaseFile>) -> Self {
        Self { file, failures: AtomicU64::new(0), last: Mutex::new(Last { worked: true, at: Instant::now() }) }
    }

    /// Notes what came of a write; it did not work if it went into a file that is gone.
    pub(super) fn noted<T>(&self, done: Result<T>) -> Result<T> {
        let done = done.and_then(|value| self.still_there().map(|()| value));
        self.note(done.is_ok());
        done
    }

    fn note(&self, worked: bool) {
        if !worked {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Last { worked, at: Instant::now() };
    }

    /// Notes only what did not work: a transaction that has begun has not been written.
    pub(super) fn noted_if_failed<T>(&self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.note(false);
        }
        done
    }

    fn last(&self) -> Last {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn still_there(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), DatabaseFile::check)
    }

    /// The last write worked.
    pub(crate) fn works(&self) -> bool {
        self.last().worked
    }

    /// Writes that did not work since the start.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

impl Store {
    /// Whether the database can be written now: known from the last commit, or tried if that failed or is long ago.
    ///
    /// # Errors
    /// [`StoreError::Gone`] if the database is not in its file any more. Anything else means that it cannot be written.
    pub(crate) async fn can_be_written(&self) -> Result<bool> {
        self.writing().still_there()?;
        let last = self.writing().last();
        if last.worked && last.at.elapsed() < FRESH {
            return Ok(true);
        }
        let tried = tokio::time::timeout(ANSWER, self.try_to_write()).await;
        match tried {
            Ok(Err(gone @ StoreError::Gone { .. })) => Err(gone),
            Ok(Err(fault)) => {
                // A statement can fail before there is anything to commit.
                self.writing().note(false);
                tracing::warn!(%fault, "the database cannot be written");
                Ok(false)
            }
            Ok(Ok(())) => Ok(true),
            Err(_) => {
                self.writing().note(false);
                tracing::warn!("the database cannot be written: there is no answer");
                Ok(false)
            }
        }
    }

    async fn try_to_write(&self) -> Result<()> {
        let mut tx = self.write().await?;
        tx.put_site_note(TRIAL, &crate::Timestamp::now().to_string()).await?;
        tx.commit().await
    }
}
