//! Ends everything the site keeps of a machine that is gone, but what protects tenants.

use std::net::IpAddr;

use proto::MachineId;

use super::{
    Result, StoreError, Tx,
    error::failed,
    forgotten::Forgotten,
    row::{Row, micros},
};
use crate::Timestamp;

/// What is kept of a machine, beside the rows that go with its own.
const OF_A_MACHINE: [&str; 3] = [
    "DELETE FROM health_reports WHERE machine_id = $1",
    "DELETE FROM events WHERE machine_id = $1",
    "DELETE FROM findings WHERE machine_id = $1",
];
const OF_A_HOST: [&str; 4] = [
    "DELETE FROM requests WHERE host_id = $1",
    "DELETE FROM actions WHERE host_id = $1",
    "DELETE FROM history WHERE host_id = $1",
    "DELETE FROM instances WHERE host_id = $1",
];

const DOING: &str = "forgetting a machine";

/// Note of the DPU that was forgotten last.
const FORGOTTEN: &str = "forgotten_dpu";

impl Tx {
    /// Forgets a DPU with its reports. It may be cut off and still use its addresses, so nobody else gets them until
    /// [`Tx::release_forgotten`] does; if the DPU comes back, it has them as before.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if it is not known.
    pub async fn forget_dpu(&mut self, id: &MachineId) -> Result<()> {
        let dpu = self.dpu(id).await?.ok_or_else(|| StoreError::missing("DPU", id))?;
        if let Some(host) = self.host(&dpu.host).await? {
            let network_version = host.network_version;
            self.note_forgotten(Forgotten { id, name: &dpu.name, network_version, stays_away: false }).await?;
        }
        self.hold_of(id.as_str()).await?;
        self.run_all(DOING, &OF_A_MACHINE, id.as_str()).await?;
        self.run_all(DOING, &["DELETE FROM dpus WHERE id = $1"], id.as_str()).await?;
        self.put_site_note(FORGOTTEN, id.as_str()).await
    }

    /// Forgets a host with its DPUs, its instance, its reports and its history. All their addresses stay held, as
    /// for [`Tx::forget_dpu`]. It stays deleted until [`Tx::restore_host`], whatever a site file says.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if it is not known.
    pub async fn forget_host(&mut self, id: &MachineId) -> Result<()> {
        let host = self.host(id).await?.ok_or_else(|| StoreError::missing("host", id))?;
        let network_version = host.network_version;
        self.note_forgotten(Forgotten { id, name: &host.name, network_version, stays_away: true }).await?;
        if let Some(instance) = self.instance_on(id).await? {
            self.hold_of(&instance.id.to_string()).await?;
        }
        for dpu in self.dpus_of(id).await? {
            self.forget_dpu(&dpu.id).await?;
        }
        self.hold_of(id.as_str()).await?;
        self.run_all(DOING, &OF_A_MACHINE, id.as_str()).await?;
        self.run_all(DOING, &OF_A_HOST, id.as_str()).await?;
        self.run_all(DOING, &["DELETE FROM hosts WHERE id = $1"], id.as_str()).await.map(drop)
    }

    /// Frees an address of a forgotten owner, and with its last address the numbers it had. False if the owner, if there
    /// is one, is not forgotten. Whoever calls knows that nothing uses the address any more.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_forgotten(&mut self, address: IpAddr) -> Result<bool> {
        let doing = "releasing what was forgotten";
        let freed = sqlx::query("DELETE FROM addresses WHERE address = $1 AND forgotten_at IS NOT NULL")
            .bind(address.to_string())
            .execute(&mut *self.inner)
            .await
            .map_err(failed(doing))?;
        sqlx::query(
            "DELETE FROM pool_numbers WHERE forgotten_at IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM addresses WHERE addresses.owner = pool_numbers.owner)",
        )
        .execute(&mut *self.inner)
        .await
        .map_err(failed(doing))?;
        Ok(freed.rows_affected() > 0)
    }

    /// Whether the site knows any DPU, or has forgotten one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn has_had_dpus(&mut self) -> Result<bool> {
        let row = sqlx::query("SELECT COUNT(*) AS dpus FROM dpus")
            .fetch_one(&mut *self.inner)
            .await
            .map_err(failed("counting DPUs"))?;
        Ok(Row(&row).int("dpus")? > 0 || self.site_note(FORGOTTEN).await?.is_some())
    }

    async fn hold_of(&mut self, owner: &str) -> Result<()> {
        for statement in [
            "UPDATE addresses SET forgotten_at = $1 WHERE owner = $2",
            "UPDATE pool_numbers SET forgotten_at = $1 WHERE owner = $2",
        ] {
            sqlx::query(statement)
                .bind(micros(Timestamp::now()))
                .bind(owner)
                .execute(&mut *self.inner)
                .await
                .map_err(failed("holding what a machine had"))?;
        }
        Ok(())
    }

    /// What a machine that comes back had, it has again.
    pub(super) async fn remember(&mut self, owner: &MachineId) -> Result<()> {
        let statements = [
            "UPDATE addresses SET forgotten_at = NULL WHERE owner = $1",
            "UPDATE pool_numbers SET forgotten_at = NULL WHERE owner = $1",
        ];
        self.run_all(DOING, &statements, owner.as_str()).await.map(drop)
    }

    /// Rows that the last statement changed.
    pub(super) async fn run_all(&mut self, doing: &'static str, statements: &[&'static str], id: &str) -> Result<u64> {
        let mut changed = 0;
        for &statement in statements {
            let done = sqlx::query(statement).bind(id).execute(&mut *self.inner).await.map_err(failed(doing))?;
            changed = done.rows_affected();
        }
        Ok(changed)
    }
}
