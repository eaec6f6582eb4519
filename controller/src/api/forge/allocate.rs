//! `AllocateInstance`: a host that the rules call free, and addresses for each interface, in one transaction.

use prost::Message as _;
use proto::{ConfigVersion, MachineKind, forge};
use tonic::Status;

use super::{
    ForgeService,
    answer::{from_address, from_faults, from_group, from_store},
    fields::{description, instance_id, invalid, machine_id, name, required_name},
    view,
};
use crate::{
    InstanceId, Timestamp,
    network::{allocate_interfaces, check_security_group, desired_interfaces},
    store::{Dpu, Instance},
};

/// Labels that an instance may have.
const MOST_LABELS: usize = 64;

/// Bytes of a config as a whole: it is stored, and sent to whoever lists instances.
const LARGEST_CONFIG: usize = 128 << 10;

impl ForgeService {
    pub(super) async fn allocate(&self, request: forge::InstanceAllocationRequest) -> Result<forge::Instance, Status> {
        let host = machine_id("machine_id", request.machine_id.as_ref())?;
        if host.kind() != MachineKind::Host {
            return Err(invalid("machine_id", format_args!("`{host}` is not a host")));
        }
        let config = request.config.ok_or_else(|| invalid("config", "is missing"))?;
        let tenant = check_config(&config)?;
        let network = config.network.as_ref().ok_or_else(|| invalid("config.network", "is missing"))?;
        let metadata = check_metadata(request.metadata.unwrap_or_default())?;
        let id = match &request.instance_id {
            Some(id) => instance_id("instance_id", Some(id))?,
            None => InstanceId::random(),
        };
        let instance_type_id =
            request.instance_type_id.as_deref().map(|text| name("instance_type_id", text)).transpose()?;
        let site = self.site()?;
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        if tx.host(&host).await.map_err(from_store)?.is_none() {
            return Err(Status::not_found(format!("the site does not know host {host}")));
        }
        let record = tx.host_record(&host).await.map_err(from_store)?;
        if let Some(instance) = &record.instance {
            return Err(Status::failed_precondition(format!("host {host} has instance {}", instance.id)));
        }
        if let Some(refusal) = self.judge.allocation_refusal(&record, request.allow_unhealthy_machine) {
            return Err(Status::failed_precondition(format!("host {host} cannot be allocated: {refusal}")));
        }
        if let Some(held) = tx.addresses_of(&id.to_string()).await.map_err(from_store)?.first() {
            // Of an instance that is there, or of a forgotten one that DPUs may still run.
            return Err(Status::already_exists(format!("instance_id: {id} holds address {} already", held.address)));
        }
        let group = config.network_security_group_id.as_deref();
        check_security_group(&mut tx, group, &tenant).await.map_err(from_group)?;
        let vpcs = tx.vpcs().await.map_err(from_store)?;
        let wanted =
            desired_interfaces(network, &vpcs, &tenant, &places(&record.dpus)).map_err(|all| from_faults(&all))?;
        let interfaces =
            allocate_interfaces(&mut tx, site, &vpcs, id, &wanted, &[], now).await.map_err(from_address)?;
        let instance = Instance {
            id,
            host: host.clone(),
            tenant,
            instance_type_id,
            config,
            metadata,
            config_version: ConfigVersion::first(now.micros()),
            network_version: ConfigVersion::first(now.micros()),
            interfaces,
            network_update: None,
            created_at: now,
            deletion_requested_at: None,
            phone_home_at: None,
        };
        tx.add_instance(&instance).await.map_err(from_store)?;
        let record = tx.host_record(&host).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(host);
        Ok(view::instance(instance, &record, &vpcs, &self.judge))
    }
}

/// Places of DPUs within their host.
pub(super) fn places(dpus: &[Dpu]) -> Vec<u32> {
    dpus.iter().map(|dpu| dpu.position).collect()
}

/// The tenant of a config whose tenant part is well formed.
pub(super) fn check_config(config: &forge::InstanceConfig) -> Result<String, Status> {
    let size = config.encoded_len();
    if size > LARGEST_CONFIG {
        return Err(invalid("config", format_args!("{size} bytes are more than {LARGEST_CONFIG}")));
    }
    let tenant = config.tenant.as_ref().ok_or_else(|| invalid("config.tenant", "is missing"))?;
    let organization = required_name("config.tenant.tenant_organization_id", &tenant.tenant_organization_id)?;
    if let Some(hostname) = tenant.hostname.as_deref().filter(|hostname| !hostname.is_empty()) {
        let letters = |letter| matches!(letter, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-');
        if hostname.len() > 63 || !hostname.bytes().all(letters) || hostname.starts_with('-') || hostname.ends_with('-')
        {
            let fault = format!("`{}` is no host name", hostname.chars().take(80).collect::<String>().escape_default());
            return Err(invalid("config.tenant.hostname", fault));
        }
    }
    Ok(organization)
}

pub(super) fn check_metadata(metadata: forge::Metadata) -> Result<forge::Metadata, Status> {
    name("metadata.name", &metadata.name)?;
    if metadata.labels.len() > MOST_LABELS {
        return Err(invalid("metadata.labels", format_args!("more than {MOST_LABELS} labels")));
    }
    description("metadata.description", &metadata.description)?;
    for (place, label) in metadata.labels.iter().enumerate() {
        required_name(&format!("metadata.labels[{place}].key"), &label.key)?;
        name(&format!("metadata.labels[{place}].value"), label.value.as_deref().unwrap_or_default())?;
    }
    Ok(metadata)
}
