//! Why the store could not do what it was asked, and which of the database's errors mean what.

use std::fmt;

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened or brought to the current layout.
    #[error("cannot open database `{url}`: {fault}")]
    Open {
        /// As configured, without a password.
        url: String,
        /// What the database said.
        fault: String,
    },
    /// Somebody else changed the thing first; read it again and decide again.
    #[error("{what} `{id}` was changed meanwhile: read it again and retry")]
    Conflict {
        /// Kind of thing.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// There is no such thing.
    #[error("there is no {what} `{id}`")]
    Missing {
        /// Kind of thing.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// Somebody else holds it.
    #[error("{what} `{id}` is already taken")]
    Taken {
        /// Kind of thing.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// An address of one machine is another one's.
    #[error("{address} of {machine} is that of {owner}, too: no two machines have one")]
    Shared {
        /// The address.
        address: String,
        /// Who is to have it, with the field.
        machine: String,
        /// Who has it, with the field.
        owner: String,
    },
    /// A stored value cannot be read.
    #[error("stored {column} cannot be read: {fault}")]
    Unreadable {
        /// Column.
        column: &'static str,
        /// Why.
        fault: String,
    },
    /// The database is locked, away, full, or out of connections; nothing was written.
    #[error("database cannot be used now, while {doing}: {fault}")]
    Unavailable {
        /// What was attempted.
        doing: &'static str,
        /// What the database said.
        fault: String,
    },
    /// The files that the database was opened in are not there any more: nothing that is written now is kept.
    #[error(
        "database file {path} was removed, replaced or emptied while it was in use ({fault}): what is written is not kept; \
         stop, put the file back from where it is or from a backup, and start again"
    )]
    Gone {
        /// The file.
        path: String,
        /// What is there instead.
        fault: String,
    },
    /// The database refused; nothing was written.
    #[error("database failed while {doing}: {fault}")]
    Failed {
        /// What was attempted.
        doing: &'static str,
        /// What the database said.
        fault: String,
    },
}

impl StoreError {
    /// Whether the same call can succeed later without anybody changing anything.
    #[must_use]
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Conflict { .. })
    }

    pub(crate) fn missing(what: &'static str, id: impl fmt::Display) -> Self {
        Self::Missing { what, id: id.to_string() }
    }

    pub(crate) fn conflict(what: &'static str, id: impl fmt::Display) -> Self {
        Self::Conflict { what, id: id.to_string() }
    }

    pub(crate) fn taken(what: &'static str, id: impl fmt::Display) -> Self {
        Self::Taken { what, id: id.to_string() }
    }
}

/// Names what was attempted when the database fails.
pub(super) fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |error| {
        let fault = error.to_string();
        let locked = error.as_database_error().and_then(|error| error.code()).is_some_and(|code| {
            // SQLITE_BUSY, SQLITE_LOCKED and SQLITE_FULL with their extended codes; serialization failure, deadlock,
            // lock not available, server going down or coming up.
            matches!(&*code, "40001" | "40P01" | "55P03" | "53100" | "57P01" | "57P03")
                || code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 13))
        });
        let away = matches!(
            error,
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed
        );
        if locked || away { StoreError::Unavailable { doing, fault } } else { StoreError::Failed { doing, fault } }
    }
}

/// Whether a write was refused because a unique value is held by another row.
pub(super) fn is_taken(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}
