//! The session of a PostgreSQL server that has the controller's lock. Whoever takes the lock leaves a name that nobody
//! else has, so that it knows its own former session again.

use std::{fmt, time::Duration};

use sqlx::{AnyConnection, Connection, any::AnyConnectOptions};

use super::{Result, StoreError, error::failed, row::Row};

/// A connection whose session has the lock.
#[derive(Debug)]
pub(super) struct Session {
    connection: AnyConnection,
    id: SessionId,
}

/// Which session it is: the process that serves it, and the name that it gave itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionId {
    process: i64,
    name: String,
}

/// What came of asking for the lock.
pub(super) enum Attempt {
    Held(Session),
    /// Another session has it; none if it has ended meanwhile.
    HeldBy(Option<SessionId>),
}

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Lock of the controller that works on a PostgreSQL database, by its number.
const TAKE: &str =
    "SELECT CAST(CASE WHEN pg_try_advisory_lock(7237117975334838631) THEN 1 ELSE 0 END AS BIGINT) AS held";

/// Whether a connection's session has that lock.
const STILL_HELD: &str = "SELECT COUNT(*) AS held FROM pg_locks WHERE locktype = 'advisory' AND granted \
     AND pid = pg_backend_pid() AND objsubid = 1 \
     AND ((CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT)) = 7237117975334838631";

/// Who has it in this database. Of other roles' sessions there is no name to be seen.
const HOLDER: &str = "SELECT CAST(pg_locks.pid AS BIGINT) AS process, COALESCE(application_name, '') AS name \
     FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database AND datname = current_database() \
     LEFT JOIN pg_stat_activity ON pg_stat_activity.pid = pg_locks.pid \
     WHERE locktype = 'advisory' AND granted AND objsubid = 1 \
     AND ((CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT)) = 7237117975334838631";

const NAME: &str =
    "SELECT set_config('application_name', $1, false) AS name, CAST(pg_backend_pid() AS BIGINT) AS process";

const END: &str = "SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT) AS ended FROM pg_stat_activity \
     WHERE CAST(pid AS BIGINT) = $1 AND application_name = $2";

const LOCKING: &str = "locking the database for this controller";

impl Session {
    /// Asks for the lock, on a connection of its own.
    pub(super) async fn take(server: &AnyConnectOptions) -> Result<Attempt> {
        answered(LOCKING, async {
            let mut connection = AnyConnection::connect_with(server).await.map_err(failed(LOCKING))?;
            let name = format!("site-controller {}", uuid::Uuid::new_v4().simple());
            let row = sqlx::query(NAME).bind(&name).fetch_one(&mut connection).await.map_err(failed(LOCKING))?;
            let id = SessionId { process: Row(&row).int("process")?, name };
            let row = sqlx::query(TAKE).fetch_one(&mut connection).await.map_err(failed(LOCKING))?;
            if Row(&row).int("held")? == 1 {
                return Ok(Attempt::Held(Self { connection, id }));
            }
            let row = sqlx::query(HOLDER).fetch_optional(&mut connection).await.map_err(failed(LOCKING))?;
            let holder = row.as_ref().map(|row| {
                let row = Row(row);
                Ok::<_, StoreError>(SessionId { process: row.int("process")?, name: row.text("name")? })
            });
            Ok(Attempt::HeldBy(holder.transpose()?))
        })
        .await
    }

    /// Whether the session has the lock.
    pub(super) async fn holds(&mut self) -> Result<bool> {
        let watching = failed("watching the lock of this controller");
        let row = sqlx::query(STILL_HELD).fetch_one(&mut self.connection).await.map_err(watching)?;
        Ok(Row(&row).int("held")? > 0)
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }
}

impl SessionId {
    /// Ends this session, if it is there.
    pub(super) async fn end(&self, server: &AnyConnectOptions) -> Result<()> {
        let doing = "ending this controller's former session";
        answered(doing, async {
            let mut connection = AnyConnection::connect_with(server).await.map_err(failed(doing))?;
            let end = sqlx::query(END).bind(self.process).bind(&self.name);
            end.fetch_one(&mut connection).await.map_err(failed(doing))?;
            Ok(())
        })
        .await
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {} ({})", self.process, self.name.escape_debug())
    }
}

async fn answered<T>(doing: &'static str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let silent = |_| StoreError::Unavailable { doing, fault: "there is no answer".to_owned() };
    tokio::time::timeout(ANSWER, work).await.map_err(silent)?
}
