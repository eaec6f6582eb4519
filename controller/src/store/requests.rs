//! What is asked of a host's life, until it is done or withdrawn.

use std::collections::BTreeMap;

use proto::MachineId;

use super::{
    Result, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// Something that is asked of a host's life, until it is done or withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Name that the rules know, e.g. `decommission`.
    pub kind: String,
    /// When it was asked.
    pub at: Timestamp,
    /// Details.
    pub arguments: BTreeMap<String, String>,
}

impl Tx {
    /// Records a request; a fresh one replaces an older one of its kind.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_request(&mut self, host: &MachineId, request: &Request) -> Result<()> {
        sqlx::query(
            "INSERT INTO requests (host_id, kind, at, arguments) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (host_id, kind) DO UPDATE SET at = excluded.at, arguments = excluded.arguments",
        )
        .bind(host.as_str())
        .bind(&request.kind)
        .bind(micros(request.at))
        .bind(to_json("arguments", &request.arguments)?)
        .execute(&mut *self.inner)
        .await
        .map_err(failed("recording a request"))?;
        Ok(())
    }

    /// Removes a request that is done or withdrawn; whether there was one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn remove_request(&mut self, host: &MachineId, kind: &str) -> Result<bool> {
        let done = sqlx::query("DELETE FROM requests WHERE host_id = $1 AND kind = $2")
            .bind(host.as_str())
            .bind(kind)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("removing a request"))?;
        Ok(done.rows_affected() > 0)
    }

    /// Open requests of a host, by kind.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn requests(&mut self, host: &MachineId) -> Result<Vec<Request>> {
        let rows = sqlx::query("SELECT kind, at, arguments FROM requests WHERE host_id = $1 ORDER BY kind")
            .bind(host.as_str())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading requests"))?;
        rows.iter()
            .map(|row| {
                let row = Row(row);
                Ok(Request { kind: row.text("kind")?, at: row.moment("at")?, arguments: row.json("arguments")? })
            })
            .collect()
    }
}
