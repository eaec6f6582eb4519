//! The report: what this DPU runs and how healthy it is, as the message that the controller takes, and the call.

use proto::{
    MachineId,
    common::InstanceId,
    forge::{
        DpuNetworkStatus, FlatInterfaceConfig, InstanceInterfaceStatusObservation, InterfaceFunctionType,
        LastDhcpRequest, ManagedHostNetworkConfigResponse, NetworkSecurityGroupStatus,
    },
};
use types::HealthReport;

use super::connection::{Controller, bounded, describe};
use crate::{config::MacAddress, hbn::HostPorts, state::Versions};

/// What one pass has to report.
pub(crate) struct Report<'a> {
    /// The versions that are known to run; none while anything about them is uncertain.
    pub(crate) runs: Option<&'a Versions>,
    /// The configuration that the controller asked for last.
    pub(crate) desired: Option<&'a ManagedHostNetworkConfigResponse>,
    /// Why that does not run.
    pub(crate) error: Option<&'a str>,
    pub(crate) health: &'a HealthReport,
    /// What HBN knows of the host's ports.
    pub(crate) ports: &'a HostPorts,
    /// When the host last asked for its address.
    pub(crate) dhcp_requests: Vec<LastDhcpRequest>,
    /// MAC address of the host's physical function, if it is configured.
    pub(crate) host_mac: Option<MacAddress>,
}

impl Controller {
    /// Sends a report.
    pub(super) async fn report(&mut self, id: &MachineId, report: &Report<'_>) -> Result<(), String> {
        let mut client = self.client().map_err(|fault| fault.to_string())?;
        let expiry = self.certificate().map(|validity| validity.end);
        let message = message(id, expiry, report);
        bounded(self.call_limit(), client.record_dpu_network_status(message)).await.map_err(|status| {
            self.after(&status);
            describe(&status)
        })
    }
}

/// The report as a message.
fn message(id: &MachineId, certificate_expiry: Option<i64>, report: &Report<'_>) -> DpuNetworkStatus {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let instance = report.desired.and_then(|desired| desired.instance.as_ref());
    DpuNetworkStatus {
        dpu_machine_id: Some(id.into()),
        network_config_version: report.runs.map(|runs| runs.managed_host.clone()),
        instance_network_config_version: report.runs.and_then(|runs| runs.instance_network.clone()),
        instance_id: report.runs.and_then(|runs| runs.instance_id.clone()).map(|value| InstanceId { value }),
        interfaces: match (report.runs, report.desired) {
            // The interfaces in the message are those that run only if its version does.
            (Some(runs), Some(desired)) if runs.managed_host == desired.managed_host_config_version => {
                interfaces(desired, report)
            }
            _ => Vec::new(),
        },
        network_config_error: report.error.map(str::to_owned),
        dpu_agent_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        client_certificate_expiry_unix_epoch_secs: certificate_expiry,
        dpu_health: Some(report.health.clone().into()),
        last_dhcp_requests: report.dhcp_requests.clone(),
        instance_config_version: report.runs.and_then(|runs| runs.instance_config.clone()),
        dpu_extension_service_version: instance.and_then(|instance| text(&instance.dpu_extension_service_version)),
        ..DpuNetworkStatus::default()
    }
}

fn interfaces(
    desired: &ManagedHostNetworkConfigResponse,
    report: &Report<'_>,
) -> Vec<InstanceInterfaceStatusObservation> {
    let one = |interface| observation(interface, report);
    if desired.use_admin_network {
        desired.admin_interface.iter().map(one).collect()
    } else {
        desired.tenant_interfaces.iter().map(one).collect()
    }
}

fn observation(interface: &FlatInterfaceConfig, report: &Report<'_>) -> InstanceInterfaceStatusObservation {
    let physical = interface.function_type == i32::from(InterfaceFunctionType::Physical);
    let configured = report.host_mac.filter(|_| physical).map(|mac| mac.to_string());
    let mac = configured.or_else(|| report.ports.host_mac(interface.vlan_id).map(str::to_owned));
    let v6 = interface.ipv6_interface_config.as_ref();
    let some = |v4: &str, v6: Option<&String>| -> Vec<String> {
        let texts = [Some(v4), v6.map(String::as_str)];
        texts.into_iter().flatten().filter(|text| !text.is_empty()).map(str::to_owned).collect()
    };
    InstanceInterfaceStatusObservation {
        function_type: interface.function_type,
        virtual_function_id: interface.virtual_function_id,
        mac_address: mac,
        addresses: some(&interface.ip, v6.map(|v6| &v6.ip)),
        gateways: some(&interface.gateway, None),
        prefixes: some(&interface.prefix, v6.map(|v6| &v6.interface_prefix)),
        network_security_group: interface.network_security_group.as_ref().map(|group| NetworkSecurityGroupStatus {
            source: group.source,
            id: group.id.clone(),
            version: group.version.clone(),
        }),
        internal_uuid: interface.internal_uuid.clone(),
    }
}
