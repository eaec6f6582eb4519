//! Machines that the site knew once: deleted hosts stay away, and what comes back goes on where its versions ended.

use proto::{ConfigVersion, MachineId};

use super::{
    Result, StoreError, Tx,
    error::failed,
    row::{Row, micros},
};
use crate::Timestamp;

/// A host that was deleted and that no site file brings back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedHost {
    /// Machine id.
    pub id: MachineId,
    /// The name that it had.
    pub name: String,
    /// When it was deleted.
    pub at: Timestamp,
}

/// A machine that is forgotten now.
pub(super) struct Forgotten<'a> {
    pub(super) id: &'a MachineId,
    pub(super) name: &'a str,
    pub(super) network_version: ConfigVersion,
    pub(super) stays_away: bool,
}

const DOING: &str = "remembering what was forgotten";

impl Tx {
    /// Hosts that were deleted, by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deleted_hosts(&mut self) -> Result<Vec<DeletedHost>> {
        let rows = sqlx::query("SELECT * FROM forgotten_machines WHERE stays_away = 1 ORDER BY name, id")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading deleted hosts"))?;
        let read = |row: Row<'_>| {
            Ok(DeletedHost { id: row.parsed("id")?, name: row.text("name")?, at: row.moment("forgotten_at")? })
        };
        rows.iter().map(|row| read(Row(row))).collect()
    }

    /// Lets a deleted host, given by its id or former name, come back when it is added again.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if no such host was deleted.
    pub async fn restore_host(&mut self, id_or_name: &str) -> Result<DeletedHost> {
        let deleted = self.deleted_hosts().await?;
        let by_id = deleted.iter().find(|host| host.id.as_str() == id_or_name);
        let found = by_id.or_else(|| deleted.iter().find(|host| host.name == id_or_name));
        let host = found.ok_or_else(|| StoreError::missing("deleted host", id_or_name.escape_default()))?;
        self.run_all(DOING, &["UPDATE forgotten_machines SET stays_away = 0 WHERE id = $1"], host.id.as_str()).await?;
        Ok(host.clone())
    }

    /// Whether the site has a host, or had a host or DPU once: a database without any is a new one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn has_had_hosts(&mut self) -> Result<bool> {
        let row =
            sqlx::query("SELECT (SELECT COUNT(*) FROM hosts) + (SELECT COUNT(*) FROM forgotten_machines) AS known")
                .fetch_one(&mut *self.inner)
                .await
                .map_err(failed("counting hosts"))?;
        Ok(Row(&row).int("known")? > 0 || self.has_had_dpus().await?)
    }

    pub(super) async fn note_forgotten(&mut self, machine: Forgotten<'_>) -> Result<()> {
        sqlx::query(
            "INSERT INTO forgotten_machines (id, name, forgotten_at, network_version, stays_away) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
             forgotten_at = excluded.forgotten_at, network_version = excluded.network_version, \
             stays_away = excluded.stays_away",
        )
        .bind(machine.id.as_str())
        .bind(machine.name)
        .bind(micros(Timestamp::now()))
        .bind(machine.network_version.to_string())
        .bind(i64::from(machine.stays_away))
        .execute(&mut *self.inner)
        .await
        .map_err(failed(DOING))?;
        Ok(())
    }

    /// Takes a machine that comes back from among the forgotten ones; the last version that it was given.
    pub(super) async fn take_forgotten(&mut self, id: &MachineId) -> Result<Option<ConfigVersion>> {
        let row = sqlx::query("SELECT network_version FROM forgotten_machines WHERE id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed(DOING))?;
        let Some(row) = row else { return Ok(None) };
        let version = Row(&row).parsed("network_version")?;
        self.run_all(DOING, &["DELETE FROM forgotten_machines WHERE id = $1"], id.as_str()).await?;
        Ok(Some(version))
    }
}
