use proto::forge;

use super::tenant_state::{TenantFacts, tenant_state};
use crate::{
    Judge,
    network::host_side,
    store::{HostRecord, Instance, InstanceInterface, PortFunction, Vpc},
};

/// An instance as tenants see it. Nothing counts as applied that the DPUs have not reported.
pub(super) fn instance(instance: Instance, record: &HostRecord, vpcs: &[Vpc], judge: &Judge) -> forge::Instance {
    let pending = unsynced(&instance, record, judge);
    let network_sync = if pending.is_none() { forge::SyncState::Synced } else { forge::SyncState::Pending } as i32;
    let interfaces = instance.interfaces.iter().map(|interface| interface_status(&instance, interface, record, vpcs));
    let waits_for_phone_home = instance.config.os.as_ref().is_some_and(|os| os.phone_home_enabled);
    let (state, mut details) = tenant_state(&TenantFacts {
        state: record.life.state.as_str(),
        deletion_requested: instance.deletion_requested_at.is_some(),
        phone_home_pending: waits_for_phone_home && instance.phone_home_at.is_none(),
        configs_synced: pending.is_none(),
    });
    if details.is_empty() {
        details = pending.unwrap_or_default();
    }
    forge::Instance {
        id: Some(instance.id.into()),
        machine_id: Some((&instance.host).into()),
        status: Some(forge::InstanceStatus {
            tenant: Some(forge::InstanceTenantStatus { state: state as i32, state_details: details }),
            network: Some(forge::InstanceNetworkStatus {
                interfaces: interfaces.collect(),
                configs_synced: network_sync,
            }),
            configs_synced: network_sync,
        }),
        network_config_version: instance.network_version.to_string(),
        config_version: instance.config_version.to_string(),
        metadata: Some(instance.metadata),
        instance_type_id: instance.instance_type_id,
        config: Some(instance.config),
        ..Default::default()
    }
}

/// Why the instance's network does not count as applied: first a DPU without the managed-host version, then a required
/// DPU without the instance version, then health.
fn unsynced(instance: &Instance, record: &HostRecord, judge: &Judge) -> Option<String> {
    if instance.network_update.is_some() {
        return Some("network update in progress".to_owned());
    }
    let wanted = record.host.network_version;
    for dpu in &record.dpus {
        match record.observations.get(&dpu.id).and_then(|seen| seen.network_version) {
            Some(seen) if seen == wanted => {}
            Some(seen) => return Some(format!("DPU {} has host network {seen}, not {wanted}", dpu.name)),
            None => return Some(format!("DPU {} has not acknowledged host network {wanted}", dpu.name)),
        }
    }
    let wanted = instance.network_version;
    let required = instance.required_dpus();
    for dpu in record.dpus.iter().filter(|dpu| required.contains(&dpu.position)) {
        match record.observations.get(&dpu.id).and_then(|seen| seen.instance_network_version) {
            Some(seen) if seen == wanted => {}
            Some(seen) => return Some(format!("DPU {} has instance network {seen}, not {wanted}", dpu.name)),
            None => return Some(format!("DPU {} has not acknowledged instance network {wanted}", dpu.name)),
        }
    }
    if record.host.use_admin_network {
        return Some("the host is on the admin network".to_owned());
    }
    judge.blocking_alert(record)
}

/// Addresses are shown once the interface's DPU reports them at the present version.
fn interface_status(
    instance: &Instance,
    interface: &InstanceInterface,
    record: &HostRecord,
    vpcs: &[Vpc],
) -> forge::InstanceInterfaceStatus {
    let uuid = interface.internal_uuid.to_string();
    let seen = record
        .dpus
        .iter()
        .find(|dpu| dpu.position == interface.dpu_position)
        .and_then(|dpu| record.observations.get(&dpu.id))
        .filter(|seen| seen.instance_network_version == Some(instance.network_version));
    let observed = seen.and_then(|seen| {
        let mut all = seen.details.interfaces.iter();
        all.find(|observed| observed.internal_uuid.as_ref().is_some_and(|id| id.value == uuid))
    });
    let place = vpcs.iter().find_map(|vpc| {
        let segment = vpc.prefixes.iter().find(|prefix| prefix.id == interface.prefix)?;
        Some(host_side(vpc.virtualization, segment.prefix, interface.address))
    });
    let shown = place.filter(|_| seen.is_some());
    forge::InstanceInterfaceStatus {
        virtual_function_id: match interface.function {
            PortFunction::Physical => None,
            PortFunction::Virtual(id) => Some(id),
        },
        mac_address: observed.and_then(|observed| observed.mac_address.clone()),
        addresses: shown.iter().map(|_| interface.address.to_string()).collect(),
        gateways: shown.iter().map(|side| side.gateway.to_string()).collect(),
        prefixes: shown.iter().map(|side| side.prefix.to_string()).collect(),
        device: interface.device.clone(),
        device_instance: interface.device_instance,
    }
}
