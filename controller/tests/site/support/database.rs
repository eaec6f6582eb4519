//! A database for each test, of each kind that the store knows.

use sqlx::Connection;
use testbed::real::SITE_TEST_POSTGRES;

/// Runs each test on SQLite and, where `SITE_TEST_POSTGRES` names a server, on PostgreSQL.
macro_rules! on_each_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(&$crate::support::Database::sqlite()).await;
            })*
        }
        mod needs_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                if let Some(database) = $crate::support::Database::postgres().await {
                    super::$test(&database).await;
                }
            })*
        }
    };
}

/// A database of a test's own.
pub(crate) struct Database {
    pub(crate) url: String,
    /// Goes away with the test.
    _dir: Option<tempfile::TempDir>,
}

impl Database {
    pub(crate) fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { url: format!("sqlite:{}", dir.path().join("site.db").display()), _dir: Some(dir) }
    }

    /// None, and said so, if there is no server.
    pub(crate) async fn postgres() -> Option<Self> {
        let Ok(server) = std::env::var(SITE_TEST_POSTGRES) else {
            eprintln!("SKIPPED: {SITE_TEST_POSTGRES} names no PostgreSQL server");
            return None;
        };
        let name = format!("site_{}", uuid::Uuid::new_v4().simple());
        sqlx::any::install_default_drivers();
        let mut connection = sqlx::AnyConnection::connect(&format!("{server}/postgres")).await.unwrap();
        let make = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::query(make).execute(&mut connection).await.unwrap();
        Some(Self { url: format!("{server}/{name}"), _dir: None })
    }
}
