//! Instances' rows and interfaces, and live changes under way.

use std::net::IpAddr;

use ipnet::IpNet;
use proto::{ConfigVersion, MachineId, forge};
use serde::{Deserialize, Serialize};

use super::{
    Dpu, Result, StoreError, Tx,
    error::{failed, is_taken},
    row::{Row, micros, to_json},
};
use crate::{InstanceId, Timestamp, VpcId, VpcPrefixId};

/// A tenant's use of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Id.
    pub id: InstanceId,
    /// The host.
    pub host: MachineId,
    /// Tenant organization.
    pub tenant: String,
    /// Kind of machine that was asked for.
    pub instance_type_id: Option<String>,
    /// As the tenant wants it.
    pub config: forge::InstanceConfig,
    /// Name, description, labels.
    pub metadata: forge::Metadata,
    /// Rises with every change of `config` or `metadata`.
    pub config_version: ConfigVersion,
    /// Rises with every change of `interfaces`; acknowledged by the DPUs that have one.
    pub network_version: ConfigVersion,
    /// Interfaces that DPUs are to give it.
    pub interfaces: Vec<InstanceInterface>,
    /// Live network update under way.
    pub network_update: Option<NetworkUpdate>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the tenant gave it up.
    pub deletion_requested_at: Option<Timestamp>,
    /// When its operating system last reported.
    pub phone_home_at: Option<Timestamp>,
}

/// One interface of an instance on one DPU, with the address it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceInterface {
    /// Place of the DPU within the host.
    pub dpu_position: u32,
    /// Port of the DPU.
    pub function: PortFunction,
    /// VPC it is in.
    pub vpc: VpcId,
    /// Prefix its address is from.
    pub prefix: VpcPrefixId,
    /// Its address. A routed interface has it on a link of two addresses with the DPU.
    pub address: IpAddr,
    /// Its IPv6 address, if its prefix has a half of that family.
    #[serde(default)]
    pub ipv6: Option<IpAddr>,
    /// The DPU's loopback in the VPC's routing table, for a routed interface.
    #[serde(default)]
    pub vrf_loopback: Option<IpAddr>,
    /// What the host may announce on a routed interface, if not all that the VPC may.
    #[serde(default)]
    pub anycast_prefixes: Option<Vec<IpNet>>,
    /// Id that the DPU echoes in its reports.
    pub internal_uuid: uuid::Uuid,
    /// Device name in the tenant's config, if that named one.
    pub device: Option<String>,
    /// Device number in the tenant's config.
    pub device_instance: u32,
}

impl InstanceInterface {
    /// Whether the interface needs the address.
    #[must_use]
    pub fn uses(&self, address: IpAddr) -> bool {
        self.address == address || self.ipv6 == Some(address) || self.vrf_loopback == Some(address)
    }
}

/// Port of a DPU that an instance gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortFunction {
    /// The physical function.
    Physical,
    /// A virtual function by number.
    Virtual(u32),
}

/// A live change of an instance's network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUpdate {
    /// How far it is.
    pub stage: UpdateStage,
    /// The interfaces to come while requested; the former ones once promoted.
    pub interfaces: Vec<InstanceInterface>,
    /// When it was asked for.
    pub requested_at: Timestamp,
}

/// How far a live network update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateStage {
    /// Asked for; its addresses are held beside the present ones.
    Requested,
    /// The new interfaces are the desired ones; the former addresses are still held.
    Promoted,
}

impl Instance {
    /// Places of the DPUs that must report the instance's network.
    #[must_use]
    pub fn required_dpus(&self) -> Vec<u32> {
        let mut places: Vec<u32> = self.interfaces.iter().map(|interface| interface.dpu_position).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Interfaces that it has, and those of a network update: what it had or is to have.
    pub(crate) fn all_interfaces(&self) -> impl Iterator<Item = &InstanceInterface> {
        self.interfaces.iter().chain(self.network_update.iter().flat_map(|update| &update.interfaces))
    }

    /// Places at which the host has no DPU, of those that an interface needs, needed or is to need, and of the primary DPU,
    /// over which the host boots. Nobody acknowledges for them.
    #[must_use]
    pub fn missing_dpus(&self, dpus: &[Dpu]) -> Vec<u32> {
        let interfaces = self.all_interfaces().map(|interface| interface.dpu_position);
        let mut places: Vec<u32> = interfaces.chain([0]).collect();
        places.retain(|place| dpus.iter().all(|dpu| dpu.position != *place));
        places.sort_unstable();
        places.dedup();
        places
    }
}

impl Tx {
    /// Adds an instance. Its addresses were claimed in the same transaction.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if the host has one already or the id is in use.
    pub async fn add_instance(&mut self, instance: &Instance) -> Result<()> {
        sqlx::query(
            "INSERT INTO instances (id, host_id, tenant, instance_type_id, config, metadata, config_version, \
             network_version, interfaces, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(instance.id.to_string())
        .bind(instance.host.as_str())
        .bind(&instance.tenant)
        .bind(&instance.instance_type_id)
        .bind(to_json("config", &instance.config)?)
        .bind(to_json("metadata", &instance.metadata)?)
        .bind(instance.config_version.to_string())
        .bind(instance.network_version.to_string())
        .bind(to_json("interfaces", &instance.interfaces)?)
        .bind(micros(instance.created_at))
        .execute(&mut *self.inner)
        .await
        .map_err(|error| {
            if is_taken(&error) {
                StoreError::taken("instance id, or host", format_args!("{}, {}", instance.id, instance.host))
            } else {
                failed("adding an instance")(error)
            }
        })?;
        Ok(())
    }

    /// An instance by id.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn instance(&mut self, id: InstanceId) -> Result<Option<Instance>> {
        let row = sqlx::query("SELECT * FROM instances WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading an instance"))?;
        row.as_ref().map(|row| read_instance(&Row(row))).transpose()
    }

    /// The instance on a host.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn instance_on(&mut self, host: &MachineId) -> Result<Option<Instance>> {
        let row = sqlx::query("SELECT * FROM instances WHERE host_id = $1")
            .bind(host.as_str())
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading a host's instance"))?;
        row.as_ref().map(|row| read_instance(&Row(row))).transpose()
    }

    /// All instances, oldest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn instances(&mut self) -> Result<Vec<Instance>> {
        let rows = sqlx::query("SELECT * FROM instances ORDER BY created_at, id")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing instances"))?;
        rows.iter().map(|row| read_instance(&Row(row))).collect()
    }

    /// Stores a changed instance: config, metadata, versions, interfaces, network update, deletion and phone-home times.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the stored versions are no longer the two that were read.
    pub async fn store_instance(
        &mut self,
        instance: &Instance,
        read_config: ConfigVersion,
        read_network: ConfigVersion,
    ) -> Result<()> {
        let update = instance.network_update.as_ref().map(|update| to_json("network_update", update)).transpose()?;
        let done = sqlx::query(
            "UPDATE instances SET config = $1, metadata = $2, config_version = $3, network_version = $4, \
             interfaces = $5, network_update = $6, deletion_requested_at = $7, phone_home_at = $8 \
             WHERE id = $9 AND config_version = $10 AND network_version = $11",
        )
        .bind(to_json("config", &instance.config)?)
        .bind(to_json("metadata", &instance.metadata)?)
        .bind(instance.config_version.to_string())
        .bind(instance.network_version.to_string())
        .bind(to_json("interfaces", &instance.interfaces)?)
        .bind(update)
        .bind(instance.deletion_requested_at.map(micros))
        .bind(instance.phone_home_at.map(micros))
        .bind(instance.id.to_string())
        .bind(read_config.to_string())
        .bind(read_network.to_string())
        .execute(&mut *self.inner)
        .await
        .map_err(failed("storing an instance"))?;
        if done.rows_affected() == 0 { Err(StoreError::conflict("instance", instance.id)) } else { Ok(()) }
    }

    /// Makes a requested live network update the desired network: next instance network version. The former addresses
    /// stay held.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the instance has no requested update.
    pub async fn promote_network_update(&mut self, id: InstanceId, now: Timestamp) -> Result<ConfigVersion> {
        let mut instance = self.instance(id).await?.ok_or_else(|| StoreError::missing("instance", id))?;
        let read = instance.network_version;
        match &mut instance.network_update {
            Some(update) if update.stage == UpdateStage::Requested => {
                std::mem::swap(&mut update.interfaces, &mut instance.interfaces);
                update.stage = UpdateStage::Promoted;
            }
            _ => return Err(StoreError::missing("requested network update of instance", id)),
        }
        instance.network_version = read.next(now.micros());
        self.store_instance(&instance, instance.config_version, read).await?;
        Ok(instance.network_version)
    }

    /// Ends a promoted live network update: gives back every address of the instance that its present interfaces do not
    /// use. Call it only when every DPU of the host has acknowledged.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the instance has no promoted update.
    pub async fn release_after_network_update(&mut self, id: InstanceId) -> Result<Vec<IpAddr>> {
        let mut instance = self.instance(id).await?.ok_or_else(|| StoreError::missing("instance", id))?;
        if instance.network_update.as_ref().is_none_or(|update| update.stage != UpdateStage::Promoted) {
            return Err(StoreError::missing("promoted network update of instance", id));
        }
        instance.network_update = None;
        let owner = id.to_string();
        let mut released = Vec::new();
        for held in self.addresses_of(&owner).await? {
            let in_use = instance.interfaces.iter().any(|interface| interface.uses(held.address));
            if !in_use && held.forgotten_at.is_none() {
                self.release_address(held.address, &owner).await?;
                released.push(held.address);
            }
        }
        self.store_instance(&instance, instance.config_version, instance.network_version).await?;
        Ok(released)
    }

    /// Removes an instance and gives its addresses back. Call it only when every DPU of the host has acknowledged the
    /// admin network.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none.
    pub async fn release_instance(&mut self, id: InstanceId) -> Result<()> {
        self.release_addresses(&id.to_string()).await?;
        self.remove_instance(id).await
    }

    /// Removes an instance that keeps its addresses: no DPU has said that it let go of them.
    pub(super) async fn remove_instance(&mut self, id: InstanceId) -> Result<()> {
        // What its tenant asked for ends with it.
        sqlx::query(
            "DELETE FROM requests WHERE kind = 'custom_ipxe' \
             AND host_id = (SELECT host_id FROM instances WHERE id = $1)",
        )
        .bind(id.to_string())
        .execute(&mut *self.inner)
        .await
        .map_err(failed("ending the requests of an instance"))?;
        let done = sqlx::query("DELETE FROM instances WHERE id = $1")
            .bind(id.to_string())
            .execute(&mut *self.inner)
            .await
            .map_err(failed("removing an instance"))?;
        if done.rows_affected() == 0 { Err(StoreError::missing("instance", id)) } else { Ok(()) }
    }
}

fn read_instance(row: &Row<'_>) -> Result<Instance> {
    Ok(Instance {
        id: row.parsed("id")?,
        host: row.parsed("host_id")?,
        tenant: row.text("tenant")?,
        instance_type_id: row.text_if_any("instance_type_id")?,
        config: row.json("config")?,
        metadata: row.json("metadata")?,
        config_version: row.parsed("config_version")?,
        network_version: row.parsed("network_version")?,
        interfaces: row.json("interfaces")?,
        network_update: row.json_if_any("network_update")?,
        created_at: row.moment("created_at")?,
        deletion_requested_at: row.moment_if_any("deletion_requested_at")?,
        phone_home_at: row.moment_if_any("phone_home_at")?,
    })
}
