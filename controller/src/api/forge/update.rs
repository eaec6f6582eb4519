//! `UpdateInstanceConfig`: a change of a live instance, which its DPUs are to confirm.

use proto::forge;
use tonic::Status;

use super::{
    ForgeService,
    allocate::{check_config, check_metadata, places},
    answer::{from_address, from_faults, from_group, from_store},
    fields::{instance_id, invalid, version},
    find::known_instance,
    view,
};
use crate::{
    Timestamp,
    network::{allocate_interfaces, check_security_group, desired_interfaces},
    store::{NetworkUpdate, UpdateStage},
};

impl ForgeService {
    /// Records a changed config. A changed network becomes a live network update: its addresses are held at once, beside
    /// the present ones; the rules activate it and let the former addresses go.
    pub(super) async fn update(&self, request: forge::InstanceConfigUpdateRequest) -> Result<forge::Instance, Status> {
        let id = instance_id("instance_id", request.instance_id.as_ref())?;
        let wanted_version = version("if_version_match", request.if_version_match.as_deref())?;
        let config = request.config.ok_or_else(|| invalid("config", "is missing"))?;
        let tenant = check_config(&config)?;
        let network = config.network.as_ref().ok_or_else(|| invalid("config.network", "is missing"))?;
        let metadata = request.metadata.map(check_metadata).transpose()?;
        let site = self.site()?;
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        let mut instance = known_instance(&mut tx, id).await?;
        let refuse = |fault: String| Err(Status::failed_precondition(fault));
        if let Some(wanted) = wanted_version.filter(|wanted| *wanted != instance.config_version) {
            return refuse(format!("instance {id} is at config version {}, not {wanted}", instance.config_version));
        }
        if instance.deletion_requested_at.is_some() {
            return refuse(format!("instance {id} is being deleted"));
        }
        if tenant != instance.tenant {
            return Err(invalid("config.tenant.tenant_organization_id", "must stay as it is"));
        }
        let group = config.network_security_group_id.as_deref();
        check_security_group(&mut tx, group, &tenant).await.map_err(from_group)?;
        let vpcs = tx.vpcs().await.map_err(from_store)?;
        if instance.config.network.as_ref() != Some(network) {
            if instance.network_update.is_some() {
                return refuse(format!("a network update of instance {id} is under way"));
            }
            let dpus = tx.dpus_of(&instance.host).await.map_err(from_store)?;
            let wanted =
                desired_interfaces(network, &vpcs, &tenant, &places(&dpus)).map_err(|all| from_faults(&all))?;
            let present = &instance.interfaces;
            let interfaces =
                allocate_interfaces(&mut tx, site, &vpcs, id, &wanted, present, now).await.map_err(from_address)?;
            if interfaces != instance.interfaces {
                instance.network_update =
                    Some(NetworkUpdate { stage: UpdateStage::Requested, interfaces, requested_at: now });
            }
        }
        let metadata = metadata.unwrap_or_else(|| instance.metadata.clone());
        let changed = instance.config != config || instance.metadata != metadata;
        let (read, read_network) = (instance.config_version, instance.network_version);
        if changed {
            if told_to_dpus(&instance.config) != told_to_dpus(&config) {
                instance.network_version = read_network.next(now.micros());
            }
            instance.config = config;
            instance.metadata = metadata;
            instance.config_version = read.next(now.micros());
            tx.store_instance(&instance, read, read_network).await.map_err(from_store)?;
        }
        let record = tx.host_record(&instance.host).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(instance.host.clone());
        Ok(view::instance(instance, &record, &vpcs, &self.judge))
    }
}

/// What DPUs realise of a config beside its interfaces: a change of it is theirs to confirm.
fn told_to_dpus(config: &forge::InstanceConfig) -> (Option<&str>, Option<&str>) {
    let hostname = config.tenant.as_ref().and_then(|tenant| tenant.hostname.as_deref());
    (config.network_security_group_id.as_deref(), hostname.filter(|name| !name.is_empty()))
}
