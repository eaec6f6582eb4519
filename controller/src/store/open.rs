use std::{path::PathBuf, time::Duration};

use sqlx::{Any, AnyConnection, AnyPool, Connection, any::AnyPoolOptions, pool::PoolConnection};

use super::{Result, StoreError, Tx, error::failed, row::Row};

/// The site's database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    writers: AnyPool,
    readers: AnyPool,
    backend: Backend,
    /// As it may be shown.
    url: String,
    new: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    Sqlite,
    Postgres,
}

/// Lock of the controller that works on a PostgreSQL database, by its number.
const SOLE: &str =
    "SELECT CAST(CASE WHEN pg_try_advisory_lock(7237117975334838631) THEN 1 ELSE 0 END AS BIGINT) AS held";

/// Whether a connection's session has that lock.
const STILL_SOLE: &str = "SELECT COUNT(*) AS held FROM pg_locks WHERE locktype = 'advisory' AND granted \
     AND pid = pg_backend_pid() AND objsubid = 1 \
     AND ((CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT)) = 7237117975334838631";

/// Longest wait for a connection or for the turn to write.
const PATIENCE: Duration = Duration::from_secs(10);

/// The lock that writers of one PostgreSQL database take in turn, by its number.
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
            Some(("sqlite", path)) if !path.is_empty() => Self::sqlite(&format!("sqlite:{path}?mode=rwc")).await,
            Some(("postgres" | "postgresql", _)) => Self::postgres(url).await,
            _ => Err("expected sqlite:PATH, sqlite::memory: or postgres://USER@HOST/DATABASE".to_owned()),
        };
        opened.map_err(|fault| StoreError::Open { url: without_password(url), fault })
    }

    /// The database lives in its only connection, so nothing may ever close that one.
    async fn in_memory(url: &str) -> std::result::Result<Self, String> {
        let writers = sqlite_pool(1).connect(url).await.map_err(text)?;
        let new = migrate(&writers).await?;
        Ok(Self { readers: writers.clone(), writers, backend: Backend::Sqlite, url: url.to_owned(), new })
    }

    /// One writer: writers queue for it in order and never fight over SQLite's lock.
    async fn sqlite(url: &str) -> std::result::Result<Self, String> {
        // A pool would try again and again where this says at once what is wrong.
        let mut probe = AnyConnection::connect(url).await.map_err(text)?;
        set_up_sqlite(&mut probe).await.map_err(text)?;
        probe.close().await.map_err(text)?;
        let writers = sqlite_pool(1).connect(url).await.map_err(text)?;
        let new = migrate(&writers).await?;
        let readers = sqlite_pool(4).connect(url).await.map_err(text)?;
        Ok(Self { writers, readers, backend: Backend::Sqlite, url: url.to_owned(), new })
    }

    async fn postgres(url: &str) -> std::result::Result<Self, String> {
        let probe = AnyConnection::connect(url).await.map_err(text)?;
        probe.close().await.map_err(text)?;
        let pool = |connections| AnyPoolOptions::new().max_connections(connections).acquire_timeout(PATIENCE);
        let writers = pool(2).connect(url).await.map_err(text)?;
        let new = migrate(&writers).await?;
        let readers = pool(5).connect(url).await.map_err(text)?;
        Ok(Self { writers, readers, backend: Backend::Postgres, url: without_password(url), new })
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
        let inner = self.writers.begin_with(statement).await.map_err(failed("starting a transaction"))?;
        Ok(Tx { inner })
    }

    /// Starts a transaction that sees one moment of the database and writes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if no connection is to be had in time.
    pub async fn read(&self) -> Result<Tx> {
        let begin = match self.backend {
            Backend::Sqlite => "BEGIN",
            Backend::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let inner = self.readers.begin_with(begin).await.map_err(failed("starting to read"))?;
        Ok(Tx { inner })
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

    /// The database's file, if it is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let path = self.url.strip_prefix("sqlite:")?.strip_suffix("?mode=rwc")?;
        Some(path.into())
    }

    /// A connection whose session holds the controller's lock; none if another session has it. None at all if the
    /// database has no sessions.
    pub(super) async fn session_lock(&self) -> Result<Option<Option<PoolConnection<Any>>>> {
        if self.backend != Backend::Postgres {
            return Ok(None);
        }
        let doing = "locking the database for this controller";
        let mut connection = self.readers.acquire().await.map_err(failed(doing))?;
        let row = sqlx::query(SOLE).fetch_one(&mut *connection).await.map_err(failed(doing))?;
        let held: i64 = Row(&row).int("held")?;
        Ok(Some((held == 1).then_some(connection)))
    }

    /// Whether the session of a connection has the controller's lock.
    pub(super) async fn has_session_lock(connection: &mut PoolConnection<Any>) -> Result<bool> {
        let row = sqlx::query(STILL_SOLE)
            .fetch_one(&mut **connection)
            .await
            .map_err(failed("watching the lock of this controller"))?;
        Ok(Row(&row).int("held")? > 0)
    }

    /// Closes all connections after their work is done.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

/// Whether there were no tables before.
async fn migrate(pool: &AnyPool) -> std::result::Result<bool, String> {
    // Fails where there is no such table, which says the same.
    let before = sqlx::query("SELECT version FROM _sqlx_migrations").fetch_all(pool).await.unwrap_or_default();
    sqlx::migrate!().run(pool).await.map_err(text)?;
    Ok(before.is_empty())
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
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://***@{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Moment,
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
            let claim =
                Address { address, pool: AddressPool::Instance, owner, since: Moment::default(), forgotten_at: None };
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
            ("sqlite:site@home.db", "sqlite:site@home.db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
