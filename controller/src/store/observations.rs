//! What each DPU last reported.

use proto::{ConfigVersion, MachineId, forge};
use serde::{Deserialize, Serialize};

use super::{
    Result, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::{InstanceId, Timestamp};

/// What a DPU last reported about its network.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The DPU.
    pub dpu: MachineId,
    /// When the report came in.
    pub observed_at: Timestamp,
    /// Version of the agent.
    pub agent_version: Option<String>,
    /// Managed-host network version that it runs; none means not acknowledged.
    pub network_version: Option<ConfigVersion>,
    /// Instance network version that it runs; none means it observes no instance network.
    pub instance_network_version: Option<ConfigVersion>,
    /// Instance config version that it knows.
    pub instance_config_version: Option<ConfigVersion>,
    /// Instance that it serves.
    pub instance: Option<InstanceId>,
    /// Why its last configuration attempt failed.
    pub network_error: Option<String>,
    /// End of its client certificate, seconds since the epoch.
    pub certificate_expiry: Option<i64>,
    /// The rest.
    pub details: ObservationDetails,
}

/// Parts of a report that nobody searches for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservationDetails {
    /// Interfaces of the instance, if the report names an instance network version.
    pub interfaces: Vec<forge::InstanceInterfaceStatusObservation>,
    /// Last DHCP request of each host interface.
    pub last_dhcp_requests: Vec<forge::LastDhcpRequest>,
    /// Version of the extension services.
    pub extension_service_version: Option<String>,
    /// Extension services on the DPU.
    pub extension_services: Vec<forge::DpuExtensionServiceStatusObservation>,
}

impl Tx {
    /// Stores a DPU's report in place of its former one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_observation(&mut self, seen: &Observation) -> Result<()> {
        sqlx::query(
            "INSERT INTO observations (dpu_id, observed_at, agent_version, network_version, instance_network_version, \
             instance_config_version, instance_id, network_error, certificate_expiry, details) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
             ON CONFLICT (dpu_id) DO UPDATE SET observed_at = excluded.observed_at, \
             agent_version = excluded.agent_version, network_version = excluded.network_version, \
             instance_network_version = excluded.instance_network_version, \
             instance_config_version = excluded.instance_config_version, instance_id = excluded.instance_id, \
             network_error = excluded.network_error, certificate_expiry = excluded.certificate_expiry, \
             details = excluded.details",
        )
        .bind(seen.dpu.as_str())
        .bind(micros(seen.observed_at))
        .bind(&seen.agent_version)
        .bind(seen.network_version.map(|version| version.to_string()))
        .bind(seen.instance_network_version.map(|version| version.to_string()))
        .bind(seen.instance_config_version.map(|version| version.to_string()))
        .bind(seen.instance.map(|id| id.to_string()))
        .bind(&seen.network_error)
        .bind(seen.certificate_expiry)
        .bind(to_json("details", &seen.details)?)
        .execute(&mut *self.inner)
        .await
        .map_err(failed("storing a DPU's report"))?;
        Ok(())
    }

    /// A DPU's last report.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn observation(&mut self, dpu: &MachineId) -> Result<Option<Observation>> {
        let row = sqlx::query("SELECT * FROM observations WHERE dpu_id = $1")
            .bind(dpu.as_str())
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading a DPU's report"))?;
        row.as_ref().map(|row| read_observation(&Row(row))).transpose()
    }

    /// The last report of every DPU that has reported.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn observations(&mut self) -> Result<Vec<Observation>> {
        let rows = sqlx::query("SELECT * FROM observations ORDER BY dpu_id")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing DPU reports"))?;
        rows.iter().map(|row| read_observation(&Row(row))).collect()
    }
}

fn read_observation(row: &Row<'_>) -> Result<Observation> {
    Ok(Observation {
        dpu: row.parsed("dpu_id")?,
        observed_at: row.moment("observed_at")?,
        agent_version: row.text_if_any("agent_version")?,
        network_version: row.parsed_if_any("network_version")?,
        instance_network_version: row.parsed_if_any("instance_network_version")?,
        instance_config_version: row.parsed_if_any("instance_config_version")?,
        instance: row.parsed_if_any("instance_id")?,
        network_error: row.text_if_any("network_error")?,
        certificate_expiry: row.int_if_any("certificate_expiry")?,
        details: row.json("details")?,
    })
}
