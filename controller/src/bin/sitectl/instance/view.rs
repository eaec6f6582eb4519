//! An instance as it is shown.

use proto::{
    forge::{Instance, InstanceInterfaceStatus, SyncState, TenantState},
    site::HostSummary,
};
use serde::Serialize;

use crate::output::{fields, table};

/// What operators want to know of an instance, flat and with names instead of numbers.
#[derive(Serialize)]
pub(crate) struct View {
    id: String,
    name: String,
    host: String,
    machine_id: String,
    tenant: String,
    hostname: String,
    state: &'static str,
    state_details: String,
    synced: bool,
    config_version: String,
    network_config_version: String,
    interfaces: Vec<InterfaceView>,
}

#[derive(Serialize)]
struct InterfaceView {
    function: String,
    device: String,
    mac: String,
    addresses: Vec<String>,
    gateways: Vec<String>,
    prefixes: Vec<String>,
}

/// The tenant's state of an instance.
pub(crate) fn state_of(instance: &Instance) -> TenantState {
    let tenant = instance.status.as_ref().and_then(|status| status.tenant.as_ref());
    tenant.map_or(TenantState::Invalid, |tenant| tenant.state())
}

/// A state as options and output spell it.
pub(crate) fn state_name(state: TenantState) -> &'static str {
    match state {
        TenantState::Provisioning => "provisioning",
        TenantState::Ready => "ready",
        TenantState::Configuring => "configuring",
        TenantState::Terminating => "terminating",
        TenantState::Terminated => "terminated",
        TenantState::Failed => "failed",
        TenantState::DpuReprovisioning => "dpu_reprovisioning",
        TenantState::HostReprovisioning => "host_reprovisioning",
        TenantState::Updating => "updating",
        TenantState::Invalid => "invalid",
        TenantState::Repairing => "repairing",
    }
}

impl View {
    /// `hosts` give the name to the host's id.
    pub(crate) fn new(instance: Instance, hosts: &[HostSummary]) -> Self {
        let state = state_name(state_of(&instance));
        let machine_id = instance.machine_id.unwrap_or_default().id;
        let host = hosts.iter().find(|host| host.machine_id == machine_id);
        let config = instance.config.unwrap_or_default();
        let tenant = config.tenant.unwrap_or_default();
        let status = instance.status.unwrap_or_default();
        let network = status.network.clone().unwrap_or_default();
        Self {
            id: instance.id.unwrap_or_default().value,
            name: instance.metadata.unwrap_or_default().name,
            host: host.map(|host| host.name.clone()).unwrap_or_default(),
            machine_id,
            tenant: tenant.tenant_organization_id,
            hostname: tenant.hostname.unwrap_or_default(),
            state,
            synced: status.configs_synced() == SyncState::Synced,
            state_details: status.tenant.unwrap_or_default().state_details,
            config_version: instance.config_version,
            network_config_version: instance.network_config_version,
            interfaces: network.interfaces.into_iter().map(InterfaceView::new).collect(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let synced = if self.synced { "acknowledged by its DPUs" } else { "not acknowledged yet" };
        let head = fields(&[
            ("instance", self.id.clone()),
            ("name", self.name.clone()),
            ("host", format!("{}  {}", self.host, self.machine_id)),
            ("tenant", self.tenant.clone()),
            ("hostname", self.hostname.clone()),
            ("state", self.state.to_owned()),
            ("details", self.state_details.clone()),
            ("network", format!("{}  {synced}", self.network_config_version)),
        ]);
        let rows = self.interfaces.iter().map(|interface| {
            [
                interface.function.clone(),
                interface.device.clone(),
                interface.addresses.join(" "),
                interface.gateways.join(" "),
                interface.mac.clone(),
            ]
        });
        let interfaces = table(["INTERFACE", "DEVICE", "ADDRESS", "GATEWAY", "MAC"], rows.collect(), "no interfaces");
        format!("{head}\n\n{interfaces}")
    }
}

impl InterfaceView {
    fn new(interface: InstanceInterfaceStatus) -> Self {
        Self {
            function: interface.virtual_function_id.map_or("pf".to_owned(), |id| format!("vf{id}")),
            device: interface.device.unwrap_or_default(),
            mac: interface.mac_address.unwrap_or_default(),
            addresses: interface.addresses,
            gateways: interface.gateways,
            prefixes: interface.prefixes,
        }
    }
}

/// Instances as a table.
pub(crate) fn list(views: &[View]) -> String {
    let row = |view: &View| {
        let addresses: Vec<&str> =
            view.interfaces.iter().flat_map(|i| i.addresses.iter().map(String::as_str)).collect();
        [
            view.name.clone(),
            view.host.clone(),
            view.tenant.clone(),
            view.state.to_owned(),
            addresses.join(" "),
            view.id.clone(),
        ]
    };
    table(["INSTANCE", "HOST", "TENANT", "STATE", "ADDRESSES", "ID"], views.iter().map(row).collect(), "no instances")
}
