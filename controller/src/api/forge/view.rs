//! An instance as its tenant sees it. A pure function of stored rows and what the rules say.

use proto::forge;
use rules::TenantState;

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
    let (state, details) = tenant_state(record, judge, pending.as_deref());
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

/// State of an instance as its tenant sees it, and a detail where the state alone says too little. Whatever the rules say,
/// it is not ready while something of its network is pending.
fn tenant_state(record: &HostRecord, judge: &Judge, pending: Option<&str>) -> (forge::TenantState, String) {
    let (state, detail) = judge.tenant_sees(record);
    let state = match state {
        TenantState::Ready if pending.is_some() => forge::TenantState::Configuring,
        TenantState::Ready => forge::TenantState::Ready,
        TenantState::Provisioning => forge::TenantState::Provisioning,
        TenantState::Configuring => forge::TenantState::Configuring,
        TenantState::Terminating => forge::TenantState::Terminating,
        TenantState::Terminated => forge::TenantState::Terminated,
        TenantState::Failed => forge::TenantState::Failed,
        TenantState::Updating => forge::TenantState::Updating,
        TenantState::Repairing => forge::TenantState::Repairing,
        TenantState::Invalid => {
            return (forge::TenantState::Invalid, format!("host is in state {}", record.life.state));
        }
    };
    (state, if detail.is_empty() { pending.unwrap_or_default().to_owned() } else { detail })
}

/// Why the instance's network does not count as applied: first a required DPU that is not there, then one without the
/// managed-host version, then a required one without the instance version or with another config version, then health.
fn unsynced(instance: &Instance, record: &HostRecord, judge: &Judge) -> Option<String> {
    if instance.network_update.is_some() {
        return Some("network update in progress".to_owned());
    }
    if let Some(place) = instance.missing_dpus(&record.dpus).first() {
        return Some(format!("the host has no DPU at place {place}, which the instance needs"));
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
        // Agents need not say it.
        let wanted = instance.config_version;
        let seen = record.observations.get(&dpu.id).and_then(|seen| seen.instance_config_version);
        if let Some(seen) = seen.filter(|seen| *seen != wanted) {
            return Some(format!("DPU {} has instance config {seen}, not {wanted}", dpu.name));
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
    let sides = vpcs.iter().filter(|_| seen.is_some()).find_map(|vpc| {
        let segment = vpc.prefixes.iter().find(|prefix| prefix.id == interface.prefix)?;
        let addresses = [interface.address].into_iter().chain(interface.ipv6);
        let sides = segment.nets().zip(addresses);
        Some(sides.map(|(net, address)| (address, host_side(vpc.virtualization, net, address))).collect::<Vec<_>>())
    });
    let shown = sides.unwrap_or_default();
    forge::InstanceInterfaceStatus {
        virtual_function_id: match interface.function {
            PortFunction::Physical => None,
            PortFunction::Virtual(id) => Some(id),
        },
        mac_address: observed.and_then(|observed| observed.mac_address.clone()),
        addresses: shown.iter().map(|(address, _)| address.to_string()).collect(),
        gateways: shown.iter().map(|(_, side)| side.gateway.to_string()).collect(),
        prefixes: shown.iter().map(|(_, side)| side.prefix.to_string()).collect(),
        device: interface.device.clone(),
        device_instance: interface.device_instance,
    }
}
