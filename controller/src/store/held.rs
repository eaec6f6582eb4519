//! DPUs that run what this site never gave: they keep it until an operator says that the site's word counts.

use proto::{ConfigVersion, MachineId};

use super::{
    Result, Tx,
    error::failed,
    row::{Row, micros},
};
use crate::Timestamp;

/// Source of the alert that shows a DPU which is held.
pub(crate) const HELD_SOURCE: &str = "site-config-versions";

/// What a DPU runs that the site never gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldVersions {
    /// Of the managed-host network.
    pub network: Option<ConfigVersion>,
    /// Of the network of the host's instance.
    pub instance_network: Option<ConfigVersion>,
    /// Since when the site knows.
    pub since: Timestamp,
}

const DOING: &str = "holding a DPU to what it runs";

impl Tx {
    /// What a DPU is held to, if it is.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn held(&mut self, dpu: &MachineId) -> Result<Option<HeldVersions>> {
        let row = sqlx::query("SELECT * FROM held_dpus WHERE dpu_id = $1")
            .bind(dpu.as_str())
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed(DOING))?;
        let read = |row: Row<'_>| {
            let version = |column| row.parsed_if_any(column);
            Ok(HeldVersions {
                network: version("network_version")?,
                instance_network: version("instance_network_version")?,
                since: row.moment("since")?,
            })
        };
        row.as_ref().map(|row| read(Row(row))).transpose()
    }

    /// Holds a DPU to what it runs, from now on if it is not held yet.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hold(&mut self, dpu: &MachineId, held: &HeldVersions) -> Result<()> {
        let text = |version: Option<ConfigVersion>| version.map(|version| version.to_string());
        sqlx::query(
            "INSERT INTO held_dpus (dpu_id, network_version, instance_network_version, since) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (dpu_id) DO UPDATE SET network_version = excluded.network_version, \
             instance_network_version = excluded.instance_network_version",
        )
        .bind(dpu.as_str())
        .bind(text(held.network))
        .bind(text(held.instance_network))
        .bind(micros(held.since))
        .execute(&mut *self.inner)
        .await
        .map_err(failed(DOING))?;
        Ok(())
    }

    /// Ends that; whether the DPU was held.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_hold(&mut self, dpu: &MachineId) -> Result<bool> {
        Ok(self.run_all(DOING, &["DELETE FROM held_dpus WHERE dpu_id = $1"], dpu.as_str()).await? > 0)
    }
}
