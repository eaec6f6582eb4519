//! DPUs' rows.

use proto::MachineId;

use super::{
    Bmc, Result, StoreError, Tx,
    error::failed,
    hosts::taken_or_failed,
    row::{Row, to_json},
};

/// One DPU of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dpu {
    /// Machine id.
    pub id: MachineId,
    /// Host that it belongs to.
    pub host: MachineId,
    /// Place within the host; 0 is the primary DPU.
    pub position: u32,
    /// Name, unique in the site.
    pub name: String,
    /// The DPU's BMC.
    pub bmc: Bmc,
    /// MAC of the out-of-band port.
    pub oob_mac: String,
    /// UUID text of the host's interface behind this DPU.
    pub host_interface_id: String,
}

impl Dpu {
    /// Whether the host boots through this DPU.
    #[must_use]
    pub fn primary(&self) -> bool {
        self.position == 0
    }
}

/// A DPU that the site is to know.
#[derive(Debug, Clone)]
pub struct NewDpu {
    /// Machine id of a DPU.
    pub id: MachineId,
    /// Unique name.
    pub name: String,
    /// The DPU's BMC.
    pub bmc: Bmc,
    /// MAC of the out-of-band port.
    pub oob_mac: String,
}

impl Tx {
    /// Whether the DPU was added or changed.
    pub(super) async fn add_dpu(&mut self, host: &MachineId, position: usize, new: &NewDpu) -> Result<bool> {
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let bmc = to_json("bmc", &new.bmc)?;
        match self.dpu(&new.id).await? {
            Some(dpu) if dpu.host != *host => Err(StoreError::taken("DPU", &new.id)),
            Some(dpu)
                if dpu.name == new.name
                    && dpu.bmc == new.bmc
                    && dpu.oob_mac == new.oob_mac
                    && i64::from(dpu.position) == position =>
            {
                Ok(false)
            }
            Some(_) => {
                sqlx::query("UPDATE dpus SET name = $1, bmc = $2, oob_mac = $3, position = $4 WHERE id = $5")
                    .bind(&new.name)
                    .bind(&bmc)
                    .bind(&new.oob_mac)
                    .bind(position)
                    .bind(new.id.as_str())
                    .execute(&mut *self.inner)
                    .await
                    .map_err(|error| taken_or_failed(&error, "DPU name or place", &new.name, "changing a DPU"))?;
                Ok(true)
            }
            None => {
                sqlx::query(
                    "INSERT INTO dpus (id, host_id, position, name, bmc, oob_mac, host_interface_id) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7)",
                )
                .bind(new.id.as_str())
                .bind(host.as_str())
                .bind(position)
                .bind(&new.name)
                .bind(&bmc)
                .bind(&new.oob_mac)
                .bind(uuid::Uuid::new_v4().to_string())
                .execute(&mut *self.inner)
                .await
                .map_err(|error| taken_or_failed(&error, "DPU name or place", &new.name, "adding a DPU"))?;
                self.remember(&new.id).await?;
                Ok(true)
            }
        }
    }

    /// A DPU by machine id.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn dpu(&mut self, id: &MachineId) -> Result<Option<Dpu>> {
        let row = sqlx::query("SELECT * FROM dpus WHERE id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading a DPU"))?;
        row.as_ref().map(|row| read_dpu(&Row(row))).transpose()
    }

    /// The DPU with this machine id, or else with this name.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none.
    pub async fn find_dpu(&mut self, id_or_name: &str) -> Result<Dpu> {
        if id_or_name.contains('\0') {
            return Err(StoreError::missing("DPU", id_or_name.escape_default()));
        }
        let by_id_first = "SELECT * FROM dpus WHERE id = $1 OR name = $1 ORDER BY CASE WHEN id = $1 THEN 0 ELSE 1 END";
        let row = sqlx::query(by_id_first)
            .bind(id_or_name)
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("looking up a DPU"))?;
        let row = row.ok_or_else(|| StoreError::missing("DPU", id_or_name.escape_default()))?;
        read_dpu(&Row(&row))
    }

    /// DPUs of one host, the primary first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn dpus_of(&mut self, host: &MachineId) -> Result<Vec<Dpu>> {
        let rows = sqlx::query("SELECT * FROM dpus WHERE host_id = $1 ORDER BY position")
            .bind(host.as_str())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading a host's DPUs"))?;
        rows.iter().map(|row| read_dpu(&Row(row))).collect()
    }

    /// All DPUs, by host and place.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn dpus(&mut self) -> Result<Vec<Dpu>> {
        let rows = sqlx::query("SELECT * FROM dpus ORDER BY host_id, position")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing DPUs"))?;
        rows.iter().map(|row| read_dpu(&Row(row))).collect()
    }
}

fn read_dpu(row: &Row<'_>) -> Result<Dpu> {
    Ok(Dpu {
        id: row.parsed("id")?,
        host: row.parsed("host_id")?,
        position: row.number("position")?,
        name: row.text("name")?,
        bmc: row.json("bmc")?,
        oob_mac: row.text("oob_mac")?,
        host_interface_id: row.text("host_interface_id")?,
    })
}
