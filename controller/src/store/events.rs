//! The last event of each kind on a host or DPU.

use std::collections::BTreeMap;

use proto::MachineId;

use super::{
    Result, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// The last event of its kind on a host or DPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `discovered`, `rebooted`, `cleaned`, `validated`, ...
    pub kind: String,
    /// When the site heard of it.
    pub at: Timestamp,
    /// Details.
    pub arguments: BTreeMap<String, String>,
}

impl Tx {
    /// Records an event; the last of each kind is kept.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_event(&mut self, machine: &MachineId, event: &Event) -> Result<()> {
        sqlx::query(
            "INSERT INTO events (machine_id, kind, at, arguments) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (machine_id, kind) DO UPDATE SET at = excluded.at, arguments = excluded.arguments",
        )
        .bind(machine.as_str())
        .bind(&event.kind)
        .bind(micros(event.at))
        .bind(to_json("arguments", &event.arguments)?)
        .execute(&mut *self.inner)
        .await
        .map_err(failed("recording an event"))?;
        Ok(())
    }

    /// Events of a host or DPU, by kind.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn events(&mut self, machine: &MachineId) -> Result<Vec<Event>> {
        let rows = sqlx::query("SELECT kind, at, arguments FROM events WHERE machine_id = $1 ORDER BY kind")
            .bind(machine.as_str())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading events"))?;
        rows.iter()
            .map(|row| {
                let row = Row(row);
                Ok(Event { kind: row.text("kind")?, at: row.moment("at")?, arguments: row.json("arguments")? })
            })
            .collect()
    }
}
