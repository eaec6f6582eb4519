//! `RecordDpuNetworkStatus`: what a DPU says it runs and how it is, checked field by field and stored.

use std::net::IpAddr;

use ipnet::IpNet;
use proto::forge;
use tonic::Status;

use super::{
    ForgeService,
    answer::from_store,
    fields::{dpu_id, instance_id, invalid, version},
    held::{Runs, hold},
    network_config::unknown,
    reports,
};
use crate::{
    Timestamp,
    access::Caller,
    facts::AGENT_SOURCE,
    store::{AppliedReport, ApplyMode, Observation, ObservationDetails},
};

/// Interfaces, DHCP requests or services that one report may name.
const MOST_ENTRIES: usize = 1_000;

impl ForgeService {
    pub(super) async fn record_status(&self, caller: &Caller, status: forge::DpuNetworkStatus) -> Result<(), Status> {
        let dpu_machine = dpu_id("dpu_machine_id", status.dpu_machine_id.as_ref())?;
        caller.speaks_of(&dpu_machine)?;
        let mut status = status;
        let health = status.dpu_health.take().ok_or_else(|| invalid("dpu_health", "is missing"))?;
        let now = Timestamp::now();
        let observation = read(status, dpu_machine.clone(), now)?;
        let mut tx = self.store.write_repeated().await.map_err(from_store)?;
        let Some(dpu) = tx.dpu(&dpu_machine).await.map_err(from_store)? else {
            return Err(unknown(&mut tx, &dpu_machine).await);
        };
        let stored = tx.health_reports(&dpu.id).await.map_err(from_store)?;
        let former = stored.iter().map(|entry| &entry.report).find(|former| former.source == AGENT_SOURCE);
        let mut report =
            reports::read("dpu_health", health, AGENT_SOURCE.to_owned(), former, now, reports::LongTexts::Cut)?;
        report.observed_at = Some(now);
        let runs = Runs::of_report(&observation);
        let host = tx.host(&dpu.host).await.map_err(from_store)?;
        let instance = match runs.instance() {
            Some(_) => tx.instance_on(&dpu.host).await.map_err(from_store)?,
            None => None,
        };
        if let Some(held) = host.and_then(|host| runs.never_given(&host, instance.as_ref(), now)) {
            hold(&mut tx, &dpu, &held).await.map_err(from_store)?;
        }
        tx.put_observation(&observation).await.map_err(from_store)?;
        tx.put_health_report(&dpu.id, &AppliedReport { mode: ApplyMode::Merge, report }).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(dpu.host);
        Ok(())
    }

    pub(super) async fn all_statuses(&self) -> Result<forge::ManagedHostNetworkStatusResponse, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let mut all = Vec::new();
        for seen in tx.observations().await.map_err(from_store)? {
            let reports = tx.health_reports(&seen.dpu).await.map_err(from_store)?;
            let agent = reports.into_iter().map(|entry| entry.report).find(|report| report.source == AGENT_SOURCE);
            all.push(forge::DpuNetworkStatus {
                dpu_machine_id: Some((&seen.dpu).into()),
                observed_at: Some(seen.observed_at.into()),
                network_config_version: seen.network_version.map(|version| version.to_string()),
                instance_network_config_version: seen.instance_network_version.map(|version| version.to_string()),
                interfaces: seen.details.interfaces,
                network_config_error: seen.network_error,
                instance_id: seen.instance.map(Into::into),
                dpu_agent_version: seen.agent_version,
                client_certificate_expiry_unix_epoch_secs: seen.certificate_expiry,
                dpu_health: agent.map(Into::into),
                instance_config_version: seen.instance_config_version.map(|version| version.to_string()),
                fabric_interfaces: Vec::new(),
                last_dhcp_requests: seen.details.last_dhcp_requests,
                dpu_extension_service_version: seen.details.extension_service_version,
                dpu_extension_services: seen.details.extension_services,
            });
        }
        Ok(forge::ManagedHostNetworkStatusResponse { all })
    }
}

/// Reads a status without its health.
fn read(status: forge::DpuNetworkStatus, dpu: proto::MachineId, now: Timestamp) -> Result<Observation, Status> {
    // A managed-host version that cannot be read acknowledges nothing, but the rest of the report counts.
    let network_version = status.network_config_version.as_deref().and_then(|text| text.parse().ok());
    let instance_network_version =
        version("instance_network_config_version", status.instance_network_config_version.as_deref())?;
    let instance_config_version = version("instance_config_version", status.instance_config_version.as_deref())?;
    version("dpu_extension_service_version", status.dpu_extension_service_version.as_deref())?;
    let lists = [
        ("interfaces", status.interfaces.len()),
        ("last_dhcp_requests", status.last_dhcp_requests.len()),
        ("dpu_extension_services", status.dpu_extension_services.len()),
    ];
    if let Some((field, length)) = lists.into_iter().find(|(_, length)| *length > MOST_ENTRIES) {
        return Err(invalid(field, format_args!("{length} entries are more than {MOST_ENTRIES}")));
    }
    let interfaces = if instance_network_version.is_some() { status.interfaces } else { Vec::new() };
    for (place, interface) in interfaces.iter().enumerate() {
        check_interface(&format!("interfaces[{place}]"), interface)?;
    }
    for (place, request) in status.last_dhcp_requests.iter().enumerate() {
        if request.host_interface_id.as_ref().is_none_or(|id| id.value.is_empty()) {
            return Err(invalid(&format!("last_dhcp_requests[{place}].host_interface_id"), "is missing"));
        }
    }
    let instance = status.instance_id.as_ref().filter(|id| !id.value.is_empty());
    Ok(Observation {
        dpu,
        observed_at: now,
        agent_version: status.dpu_agent_version.map(|text| plain(&text)),
        network_version,
        instance_network_version,
        instance_config_version,
        instance: instance.map(|id| instance_id("instance_id", Some(id))).transpose()?,
        network_error: status.network_config_error.map(|text| plain(&text)).filter(|text| !text.is_empty()),
        certificate_expiry: status.client_certificate_expiry_unix_epoch_secs,
        details: ObservationDetails {
            interfaces,
            last_dhcp_requests: status.last_dhcp_requests,
            extension_service_version: status.dpu_extension_service_version,
            extension_services: status.dpu_extension_services,
        },
    })
}

fn check_interface(field: &str, interface: &forge::InstanceInterfaceStatusObservation) -> Result<(), Status> {
    for (place, address) in interface.addresses.iter().enumerate() {
        if address.parse::<IpAddr>().is_err() {
            let fault = format!("`{}` is no IP address", address.escape_default());
            return Err(invalid(&format!("{field}.addresses[{place}]"), fault));
        }
    }
    for (place, gateway) in interface.gateways.iter().enumerate() {
        if gateway.parse::<IpNet>().is_err() && gateway.parse::<IpAddr>().is_err() {
            let fault = format!("`{}` is no IP address, with or without a length", gateway.escape_default());
            return Err(invalid(&format!("{field}.gateways[{place}]"), fault));
        }
    }
    let source = interface.network_security_group.as_ref().map(|group| group.source);
    if source == Some(forge::NetworkSecurityGroupSource::NsgSourceInvalid as i32) {
        return Err(invalid(&format!("{field}.network_security_group.source"), "must not be INVALID"));
    }
    Ok(())
}

/// A text of bounded length without NUL, which not every database can keep.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| *letter != '\0').take(4_096).collect()
}
