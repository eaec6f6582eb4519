//! Opens the database, checks and migrates it, and begins transactions.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sqlx::{
    AnyConnection, AnyPool, Connection,
    any::{AnyConnectOptions, AnyPoolOptions},
};

use super::{
    Result, StoreError, Tx,
    error::failed,
    file::{DatabaseFile, keep_private},
    writing::Writing,
};

/// The site's database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    writers: AnyPool,
    readers: AnyPool,
    backend: Backend,
    /// As it may be shown.
    url: String,
    new: bool,
    writing: Arc<Writing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    Sqlite,
    Postgres,
}

/// Longest wait for a connection or for the turn to write.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest wait for a connection that was idle to say that it is there.
const ANSWER: Duration = Duration::from_secs(3);

/// The lock that writers of one PostgreSQL database take turns with, by its number.
macro_rules! take_turn {
    () => {
        "SET LOCAL lock_timeout = '10s'; SELECT pg_advisory_xact_lock(7237117975334838630)"
    };
}

impl Store {
    /// Opens `sqlite:PATH` (made if absent), `sqlite::memory:` or `postgres://USER@HOST/DATABASE`, and brings its tables
    /// to the current layout.
    ///
    /// # Errors
    /// If the database cannot be opened, is newer than this program, or cannot be migrated.
    pub async fn open(url: &str) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let opened = match url.split_once(':') {
            Some(("sqlite", ":memory:")) => Self::in_memory(url).await,
            Some(("sqlite", path)) if !path.is_empty() => match keep_private(Path::new(path)) {
                Err(error) => Err(format!("its file cannot be kept from others: {error}")),
                Ok(()) => Self::sqlite(&format!("sqlite:{path}?mode=rwc")).await,
            },
            Some(("postgres" | "postgresql", _)) => Self::postgres(url).await,
            _ => Err("expected sqlite:PATH, sqlite::memory: or postgres://USER@HOST/DATABASE".to_owned()),
        };
        opened.map_err(|fault| StoreError::Open { url: without_password(url), fault })
    }

    /// The database lives in its only connection, so nothing may ever close that one.
    async fn in_memory(url: &str) -> std::result::Result<Self, String> {
        let writers = sqlite_pool(1).connect(url).await.map_err(text)?;
        let new = migrate(&writers).await?;
        let writing = Arc::new(Writing::new(None));
        Ok(Self { readers: writers.clone(), writers, backend: Backend::Sqlite, url: url.to_owned(), new, writing })
    }

    /// One writer: writers queue for it in order and never fight over SQLite's lock.
    async fn sqlite(url: &str) -> std::result::Result<Self, String> {
        // A pool would try again and again where this says at once what is wrong.
        let mut probe = AnyConnection::connect(url).await.map_err(text)?;
        set_up_sqlite(&mut probe).await.map_err(text)?;
        probe.close().await.map_err(text)?;
        let pool =
            |connections| sqlite_pool(connections).after_release(|connection, _| Box::pin(is_at_rest(connection)));
        let writers = pool(1).connect(url).await.map_err(text)?;
        let new = migrate(&writers).await?;
        let readers = pool(4).connect(url).await.map_err(text)?;
        let file = file_of(url).map(DatabaseFile::of_open).transpose().map_err(text)?;
        let writing = Arc::new(Writing::new(file));
        Ok(Self { writers, readers, backend: Backend::Sqlite, url: url.to_owned(), new, writing })
    }

    async fn postgres(url: &str) -> std::result::Result<Self, String> {
        let probe = AnyConnection::connect(url).await.map_err(text)?;
        probe.close().await.map_err(text)?;
        let pool = |connections| {
            AnyPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(PATIENCE)
                .test_before_acquire(false)
                .after_connect(|connection, _| Box::pin(set_up_postgres(connection)))
                .before_acquire(|connection, _| Box::pin(answers(connection)))
                .after_release(|connection, _| Box::pin(is_at_rest(connection)))
        };
        let writers = pool(2).connect(url).await.map_err(text)?;
        let new = migrate(&writers).await?;
        let readers = pool(5).connect(url).await.map_err(text)?;
        let writing = Arc::new(Writing::new(None));
        Ok(Self { writers, readers, backend: Backend::Postgres, url: without_password(url), new, writing })
    }

    /// Starts a transaction that may write. Writers take turns, whatever the database and whichever process they are in,
    /// so what one reads stays true until it commits. No remote call inside.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if its turn does not come in time.
    pub async fn write(&self) -> Result<Tx> {
        self.begin(match self.backend {
            // A transaction that reads first and writes later could not be made to wait for its turn.
            Backend::Sqlite => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
            Backend::Postgres => concat!("BEGIN; ", take_turn!()),
        })
        .await
    }

    /// [`Store::write`] for what its sender repeats anyway: a commit does not wait for the disk, and only a crash of the
    /// machine within the next moments can undo it. Nothing that was committed after it can survive without it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if its turn does not come in time.
    pub async fn write_repeated(&self) -> Result<Tx> {
        self.begin(match self.backend {
            Backend::Sqlite => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
            Backend::Postgres => concat!("BEGIN; SET LOCAL synchronous_commit = off; ", take_turn!()),
        })
        .await
    }

    async fn begin(&self, statement: &'static str) -> Result<Tx> {
        let begun = self.writers.begin_with(statement).await.map_err(failed("starting a transaction"));
        Ok(Tx { inner: self.writing.noted_if_failed(begun)?, writing: Some(Arc::clone(&self.writing)) })
    }

    /// Starts a transaction that sees one moment of the database and writes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if no connection becomes free in time.
    pub async fn read(&self) -> Result<Tx> {
        let begin = match self.backend {
            Backend::Sqlite => "BEGIN",
            Backend::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let inner = self.readers.begin_with(begin).await.map_err(failed("starting to read"))?;
        Ok(Tx { inner, writing: None })
    }

    /// The database was not there, or empty, when it was opened.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Where the database is, without a password.
    pub(crate) fn shown(&self) -> &str {
        &self.url
    }

    /// What becomes of what is written.
    pub(crate) fn writing(&self) -> &Writing {
        &self.writing
    }

    /// The database's file, if it is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        file_of(&self.url)
    }

    /// How its server is reached; none if the database has no sessions.
    pub(super) fn server(&self) -> Option<Arc<AnyConnectOptions>> {
        (self.backend == Backend::Postgres).then(|| self.readers.connect_options())
    }

    /// Closes all connections after their work is done, or after a while if it does not end.
    pub async fn close(&self) {
        for pool in [&self.readers, &self.writers] {
            if tokio::time::timeout(PATIENCE, pool.close()).await.is_err() {
                tracing::warn!("a connection to the database is still at work: it is cut off");
            }
        }
    }
}

/// Whether there were no tables before.
async fn migrate(pool: &AnyPool) -> std::result::Result<bool, String> {
    // Fails where there is no such table, which says the same.
    let before = sqlx::query("SELECT version FROM _sqlx_migrations").fetch_all(pool).await.unwrap_or_default();
    sqlx::migrate!().run(pool).await.map_err(text)?;
    Ok(before.is_empty())
}

fn file_of(url: &str) -> Option<PathBuf> {
    Some(url.strip_prefix("sqlite:")?.strip_suffix("?mode=rwc")?.into())
}

/// Whether a connection that was idle answers in time; one that does not is replaced.
async fn answers(connection: &mut AnyConnection) -> std::result::Result<bool, sqlx::Error> {
    match tokio::time::timeout(ANSWER, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

/// Whether a connection that comes back can be used again. One whose COMMIT or ROLLBACK failed is taken for one within a
/// transaction, and would begin no other: it is closed.
async fn is_at_rest(connection: &mut AnyConnection) -> std::result::Result<bool, sqlx::Error> {
    // Also has the transaction that was dropped rolled back.
    Ok(answers(connection).await? && !connection.is_in_transaction())
}

fn sqlite_pool(connections: u32) -> AnyPoolOptions {
    AnyPoolOptions::new()
        .max_connections(connections)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(PATIENCE)
        .after_connect(|connection, _| Box::pin(set_up_sqlite(connection)))
}

/// A session whose client went silent within a transaction would keep everybody else from writing.
async fn set_up_postgres(connection: &mut AnyConnection) -> std::result::Result<(), sqlx::Error> {
    sqlx::query("SET idle_in_transaction_session_timeout = '10s'").execute(connection).await.map(drop)
}

async fn set_up_sqlite(connection: &mut AnyConnection) -> std::result::Result<(), sqlx::Error> {
    for pragma in ["PRAGMA busy_timeout = 5000", "PRAGMA journal_mode = WAL", "PRAGMA foreign_keys = ON"] {
        sqlx::query(pragma).execute(&mut *connection).await?;
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A URL as it may be shown.
fn without_password(url: &str) -> String {
    crate::config::without_passwords(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Timestamp,
        store::{Address, AddressPool},
    };

    #[tokio::test]
    async fn a_full_disk_refuses_the_write_and_keeps_what_was_committed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&format!("sqlite:{}", dir.path().join("site.db").display())).await.unwrap();
        sqlx::query("PRAGMA max_page_count = 60").execute(&store.writers).await.unwrap();
        let mut committed = 0_u32;
        let error = loop {
            let mut tx = store.write().await.unwrap();
            let address = std::net::Ipv4Addr::from(committed).into();
            let owner = "x".repeat(2_000);
            let claim = Address {
                address,
                pool: AddressPool::Instance,
                owner,
                since: Timestamp::default(),
                forgotten_at: None,
            };
            let done = match tx.claim_address(&claim).await {
                Ok(()) => tx.commit().await,
                Err(error) => Err(error),
            };
            match done {
                Ok(()) => committed += 1,
                Err(error) => break error,
            }
        };
        assert!(error.retryable() && error.to_string().contains("database or disk is full"), "{error}");
        assert_eq!(store.read().await.unwrap().addresses().await.unwrap().len(), committed as usize);
    }

    #[test]
    fn passwords_are_cut_out_of_urls() {
        for (url, shown) in [
            ("postgres://site:p@ss@db/site", "postgres://***@db/site"),
            ("postgres://db/site", "postgres://db/site"),
            ("postgres://db/site?password=x&sslmode=require", "postgres://db/site?password=***"),
            ("sqlite:site@home.db", "sqlite:site@home.db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
