use std::time::Duration;

use sqlx::{AnyConnection, AnyPool, Connection, any::AnyPoolOptions};

use super::{Result, StoreError, Tx, error::failed};

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
    Postgres,
}

/// Longest wait for a connection or for the turn to write.
const PATIENCE: Duration = Duration::from_secs(10);

/// Key of the advisory lock that writers of one PostgreSQL database take in turn.
const TURN: &str = "SELECT pg_advisory_xact_lock(7237117975334838630)";

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
        migrate(&writers).await?;
        Ok(Self { readers: writers.clone(), writers, backend: Backend::Sqlite })
    }

    /// One writer: writers queue for it in order and never fight over SQLite's lock.
    async fn sqlite(url: &str) -> std::result::Result<Self, String> {
        // A pool would try again and again where this says at once what is wrong.
        let mut probe = AnyConnection::connect(url).await.map_err(text)?;
        set_up_sqlite(&mut probe).await.map_err(text)?;
        probe.close().await.map_err(text)?;
        let writers = sqlite_pool(1).connect(url).await.map_err(text)?;
        migrate(&writers).await?;
        Ok(Self { writers, readers: sqlite_pool(4).connect(url).await.map_err(text)?, backend: Backend::Sqlite })
    }

    async fn postgres(url: &str) -> std::result::Result<Self, String> {
        let probe = AnyConnection::connect(url).await.map_err(text)?;
        probe.close().await.map_err(text)?;
        let pool = |connections| {
            AnyPoolOptions::new().max_connections(connections).acquire_timeout(PATIENCE).after_connect(
                |connection, _| {
                    Box::pin(async move {
                        let limit = "SET lock_timeout = '10s'";
                        sqlx::query(limit).execute(connection).await.map(drop)
                    })
                },
            )
        };
        let writers = pool(2).connect(url).await.map_err(text)?;
        migrate(&writers).await?;
        Ok(Self { writers, readers: pool(4).connect(url).await.map_err(text)?, backend: Backend::Postgres })
    }

    /// Starts a transaction that may write. Writers take turns, whatever the database and whichever process they are in,
    /// so what one reads stays true until it commits. No remote call inside.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if its turn does not come in time.
    pub async fn write(&self) -> Result<Tx> {
        let doing = "starting a transaction";
        let begin = match self.backend {
            // A transaction that reads first and writes later could not be made to wait for its turn.
            Backend::Sqlite => "BEGIN IMMEDIATE",
            Backend::Postgres => "BEGIN",
        };
        let mut inner = self.writers.begin_with(begin).await.map_err(failed(doing))?;
        if self.backend == Backend::Postgres {
            sqlx::query(TURN).execute(&mut *inner).await.map_err(failed(doing))?;
        }
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

    /// Closes all connections after their work is done.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

async fn migrate(pool: &AnyPool) -> std::result::Result<(), String> {
    sqlx::migrate!().run(pool).await.map_err(text)
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
