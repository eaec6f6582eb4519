//! Hosts' rows: identity, BMC, the desired network, quarantine.

use bmc::Access as Bmc;
use proto::{ConfigVersion, MachineId};
use rules::StatePath;
use serde::{Deserialize, Serialize};

use super::{
    NewDpu, Result, StoreError, Tx,
    error::{failed, is_taken},
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// A host and its intended managed-host network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Machine id.
    pub id: MachineId,
    /// Name, unique in the site.
    pub name: String,
    /// MAC of the host's first port.
    pub mac: String,
    /// The host's BMC.
    pub bmc: Bmc,
    /// When the site came to know the host.
    pub added_at: Timestamp,
    /// Version of the managed-host network intent, which all DPUs of the host acknowledge.
    pub desired_network_version: ConfigVersion,
    /// Whether the host is to be on the admin network rather than its tenant's.
    pub use_admin_network: bool,
    /// All traffic of the host is to be blocked.
    pub quarantine: Option<Quarantine>,
}

/// Why all traffic of a host is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// For people.
    pub reason: Option<String>,
}

/// A host that the site is to know.
#[derive(Debug, Clone)]
pub struct NewHost {
    /// Machine id of a host.
    pub id: MachineId,
    /// Unique name.
    pub name: String,
    /// MAC of the host's first port.
    pub mac: String,
    /// The host's BMC.
    pub bmc: Bmc,
    /// Its DPUs, the primary first.
    pub dpus: Vec<NewDpu>,
    /// State to start in.
    pub state: StatePath,
}

/// What became of a [`NewHost`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It was not known before.
    New,
    /// It was known; BMC, MAC or DPUs were brought up to date.
    Changed,
    /// It was known just so.
    Unchanged,
}

impl Tx {
    /// Adds a host on the admin network, or brings a known one's BMCs, MACs and names up to date and adds DPUs that it
    /// lacks. State and network of a known host stay; its DPUs are to confirm a new version of the network if its name or
    /// their places are others now, which their configurations rest on.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if a name or a DPU belongs to another host.
    pub async fn add_host(&mut self, new: &NewHost, now: Timestamp) -> Result<Added> {
        let known = self.host(&new.id).await?;
        let bmc = to_json("bmc", &new.bmc)?;
        let before = self.places(&new.id).await?;
        let past = self.past_versions(new).await?;
        let mut added = match &known {
            None => {
                let version = ConfigVersion::first(now.micros()).to_string();
                let network_version = past.map_or(version.clone(), |past| past.next(now.micros()).to_string());
                sqlx::query(
                    "INSERT INTO hosts (id, name, mac, bmc, added_at, network_version, use_admin_network, state, \
                     state_version, dpu_states, counters, notes, outcome) \
                     VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, '{}', '{}', '{}', '{}')",
                )
                .bind(new.id.as_str())
                .bind(&new.name)
                .bind(&new.mac)
                .bind(&bmc)
                .bind(micros(now))
                .bind(&network_version)
                .bind(new.state.as_str())
                .bind(&version)
                .execute(&mut *self.inner)
                .await
                .map_err(|error| taken_or_failed(&error, "host name", &new.name, "adding a host"))?;
                Added::New
            }
            Some(host) if host.name == new.name && host.mac == new.mac && host.bmc == new.bmc => Added::Unchanged,
            Some(_) => {
                sqlx::query("UPDATE hosts SET name = $1, mac = $2, bmc = $3 WHERE id = $4")
                    .bind(&new.name)
                    .bind(&new.mac)
                    .bind(&bmc)
                    .bind(new.id.as_str())
                    .execute(&mut *self.inner)
                    .await
                    .map_err(|error| taken_or_failed(&error, "host name", &new.name, "changing a host"))?;
                Added::Changed
            }
        };
        for (position, dpu) in new.dpus.iter().enumerate() {
            if self.add_dpu(&new.id, position, dpu).await? && added == Added::Unchanged {
                added = Added::Changed;
            }
        }
        if let Some(host) = known
            && (host.name != new.name || self.places(&new.id).await? != before)
        {
            self.move_host_network_past(&host.id, past.unwrap_or(host.desired_network_version), now).await?;
        }
        Ok(added)
    }

    /// The version with the highest number that a host that comes back, or one of its DPUs that do, was given before. No
    /// DPU may get a version again, or a lower one, that meant something else.
    async fn past_versions(&mut self, new: &NewHost) -> Result<Option<ConfigVersion>> {
        let mut past = None;
        for machine in std::iter::once(&new.id).chain(new.dpus.iter().map(|dpu| &dpu.id)) {
            let given = self.take_forgotten(machine).await?;
            past = past.into_iter().chain(given).max_by_key(|version: &ConfigVersion| version.number());
        }
        Ok(past)
    }

    /// Makes the next version of a host's managed-host network, with a number higher than that of `past`, too.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the host is not known.
    pub async fn move_host_network_past(&mut self, id: &MachineId, past: ConfigVersion, now: Timestamp) -> Result<()> {
        let host = self.host(id).await?.ok_or_else(|| StoreError::missing("host", id))?;
        let read = host.desired_network_version;
        let highest = if past.number() > read.number() { past } else { read };
        sqlx::query("UPDATE hosts SET network_version = $1 WHERE id = $2")
            .bind(highest.next(now.micros()).to_string())
            .bind(id.as_str())
            .execute(&mut *self.inner)
            .await
            .map_err(failed("setting a host's network"))?;
        Ok(())
    }

    async fn places(&mut self, host: &MachineId) -> Result<Vec<(MachineId, u32)>> {
        Ok(self.dpus_of(host).await?.into_iter().map(|dpu| (dpu.id, dpu.position)).collect())
    }

    /// A host by machine id.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn host(&mut self, id: &MachineId) -> Result<Option<Host>> {
        let row = sqlx::query("SELECT * FROM hosts WHERE id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading a host"))?;
        row.as_ref().map(|row| read_host(&Row(row))).transpose()
    }

    /// The host with this machine id, or else with this name.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none.
    pub async fn find_host(&mut self, id_or_name: &str) -> Result<Host> {
        // Not every database can even be asked for such a name.
        if id_or_name.contains('\0') {
            return Err(StoreError::missing("host", id_or_name.escape_default()));
        }
        let by_id_first = "SELECT * FROM hosts WHERE id = $1 OR name = $1 ORDER BY CASE WHEN id = $1 THEN 0 ELSE 1 END";
        let row = sqlx::query(by_id_first)
            .bind(id_or_name)
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("looking up a host"))?;
        let row = row.ok_or_else(|| StoreError::missing("host", id_or_name.escape_default()))?;
        read_host(&Row(&row))
    }

    /// All hosts by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hosts(&mut self) -> Result<Vec<Host>> {
        let rows = sqlx::query("SELECT * FROM hosts ORDER BY name")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing hosts"))?;
        rows.iter().map(|row| read_host(&Row(row))).collect()
    }

    /// Machine ids of all hosts.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn host_ids(&mut self) -> Result<Vec<MachineId>> {
        let rows = sqlx::query("SELECT id FROM hosts ORDER BY id")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing hosts"))?;
        rows.iter().map(|row| Row(row).parsed("id")).collect()
    }

    /// Sets the managed-host network intent and makes its next version.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the version is no longer `read`.
    pub async fn set_host_network(
        &mut self,
        host: &MachineId,
        read: ConfigVersion,
        use_admin_network: bool,
        quarantine: Option<&Quarantine>,
        now: Timestamp,
    ) -> Result<ConfigVersion> {
        let next = read.next(now.micros());
        let quarantine = quarantine.map(|quarantine| to_json("quarantine", quarantine)).transpose()?;
        let done = sqlx::query(
            "UPDATE hosts SET network_version = $1, use_admin_network = $2, quarantine = $3 \
             WHERE id = $4 AND network_version = $5",
        )
        .bind(next.to_string())
        .bind(i64::from(use_admin_network))
        .bind(quarantine)
        .bind(host.as_str())
        .bind(read.to_string())
        .execute(&mut *self.inner)
        .await
        .map_err(failed("setting a host's network"))?;
        if done.rows_affected() == 0 {
            return Err(StoreError::conflict("managed-host network of host", host));
        }
        Ok(next)
    }
}

pub(super) fn taken_or_failed(error: &sqlx::Error, what: &'static str, id: &str, doing: &'static str) -> StoreError {
    if is_taken(error) { StoreError::taken(what, id) } else { StoreError::Failed { doing, fault: error.to_string() } }
}

fn read_host(row: &Row<'_>) -> Result<Host> {
    Ok(Host {
        id: row.parsed("id")?,
        name: row.text("name")?,
        mac: row.text("mac")?,
        bmc: row.json("bmc")?,
        added_at: row.moment("added_at")?,
        desired_network_version: row.parsed("network_version")?,
        use_admin_network: row.int("use_admin_network")? != 0,
        quarantine: row.json_if_any("quarantine")?,
    })
}
