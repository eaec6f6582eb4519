//! What actions and observers found out about machines.

use proto::MachineId;
use serde_json::Value;

use super::{
    Result, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// What an action or an observer found out about a host or DPU, e.g. its power state.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name, e.g. `power_state`.
    pub name: String,
    /// What was found.
    pub value: Value,
    /// When.
    pub at: Timestamp,
}

impl Tx {
    /// Records a finding; the last of each name is kept.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_finding(&mut self, machine: &MachineId, finding: &Finding) -> Result<()> {
        sqlx::query(
            "INSERT INTO findings (machine_id, name, value, at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (machine_id, name) DO UPDATE SET value = excluded.value, at = excluded.at",
        )
        .bind(machine.as_str())
        .bind(&finding.name)
        .bind(to_json("value", &finding.value)?)
        .bind(micros(finding.at))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("recording a finding"))?;
        Ok(())
    }

    /// Forgets a finding; whether there was one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn remove_finding(&mut self, machine: &MachineId, name: &str) -> Result<bool> {
        let done = sqlx::query("DELETE FROM findings WHERE machine_id = $1 AND name = $2")
            .bind(machine.as_str())
            .bind(name)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("forgetting a finding"))?;
        Ok(done.rows_affected() > 0)
    }

    /// Findings about a host or DPU, by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn findings(&mut self, machine: &MachineId) -> Result<Vec<Finding>> {
        let rows = sqlx::query("SELECT name, value, at FROM findings WHERE machine_id = $1 ORDER BY name")
            .bind(machine.as_str())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading findings"))?;
        rows.iter()
            .map(|row| {
                let row = Row(row);
                Ok(Finding { name: row.text("name")?, value: row.json("value")?, at: row.moment("at")? })
            })
            .collect()
    }
}
