//! What operators and tenants ask of a site that runs, over gRPC. Tests and the demo call it.

use anyhow::{Context as _, Result, bail};
use proto::{
    common,
    forge::{
        Instance, InstanceAllocationRequest, InstanceConfig, InstanceConfigUpdateRequest, InstanceInterfaceConfig,
        InstanceNetworkConfig, InstanceReleaseRequest, InstanceSearchFilter, InstancesByIdsRequest, Metadata,
        TenantConfig, TenantState, forge_client::ForgeClient, instance_interface_config::NetworkDetails,
    },
    site::{
        AddHostsRequest, AddHostsResponse, Address, CreateVpcRequest, DpuStatus, Explanation, ForgetDpuRequest,
        HostDetail, HostHistoryRequest, HostRef, HostSummary, ListAddressesRequest, ListDpusRequest, ListHostsRequest,
        Transition, Vpc, site_client::SiteClient,
    },
};
use tonic::transport::Channel;

use super::{DpuPlan, HostPlan, Site};
use crate::{BmcFaults, until};

/// Tenant of the instances that are made here.
const TENANT: &str = "acme";

/// What operators and tenants ask of the controller.
impl Site {
    /// The operators' interface.
    ///
    /// # Errors
    /// If the controller's address is no address.
    pub fn operator(&self) -> Result<SiteClient<Channel>> {
        Ok(SiteClient::new(self.channel()?))
    }

    /// The agents' and tenants' interface.
    ///
    /// # Errors
    /// If the controller's address is no address.
    pub fn tenant(&self) -> Result<ForgeClient<Channel>> {
        Ok(ForgeClient::new(self.channel()?))
    }

    /// All hosts.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn list_hosts(&self) -> Result<Vec<HostSummary>> {
        Ok(self.operator()?.list_hosts(ListHostsRequest::default()).await?.into_inner().hosts)
    }

    /// A host with its DPUs, alerts and actions.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn host_detail(&self, host: &HostPlan) -> Result<HostDetail> {
        let request = HostRef { host: host.name.clone() };
        Ok(self.operator()?.get_host(request).await?.into_inner())
    }

    /// Why a host is where it is.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn explain(&self, host: &HostPlan) -> Result<Explanation> {
        let request = HostRef { host: host.name.clone() };
        Ok(self.operator()?.explain_host(request).await?.into_inner())
    }

    /// The state of a host.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn state(&self, host: &HostPlan) -> Result<String> {
        Ok(self.host_detail(host).await?.summary.context("a host without summary")?.state)
    }

    /// The moves of a host, oldest first, as far back as they are kept.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn history(&self, host: &HostPlan) -> Result<Vec<Transition>> {
        let request = HostHistoryRequest { host: host.name.clone(), limit: 200, ..HostHistoryRequest::default() };
        let mut moves = self.operator()?.get_host_history(request).await?.into_inner().transitions;
        moves.reverse();
        Ok(moves)
    }

    /// Waits until a host is in a state.
    ///
    /// # Errors
    /// If it is not within `secs`: where it is and why.
    pub async fn reaches(&self, host: &HostPlan, state: &str, secs: f64) -> Result<()> {
        let what = format!("{} to reach {state}", host.name);
        let reached = until(&what, secs, async || Ok((self.state(host).await? == state).then_some(()))).await;
        if let Err(error) = reached {
            let now = self.explain(host).await?;
            return Err(error.context(format!("it is in {} because: {}", now.state, now.reason)));
        }
        Ok(())
    }

    /// The DPUs of a host as the controller knows them.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn dpu_status(&self, host: &HostPlan) -> Result<Vec<DpuStatus>> {
        let request = ListDpusRequest { host: host.name.clone() };
        Ok(self.operator()?.list_dpus(request).await?.into_inner().dpus)
    }

    /// Waits until all DPUs of a host report the desired versions and are healthy.
    ///
    /// # Errors
    /// If they are not within `secs`.
    pub async fn dpus_ready(&self, host: &HostPlan, secs: f64) -> Result<()> {
        let what = format!("the DPUs of {} to be healthy and current", host.name);
        until(&what, secs, async || {
            let dpus = self.dpu_status(host).await?;
            let ready = |dpu: &DpuStatus| {
                dpu.healthy && dpu.applied_network_config_version == dpu.desired_network_config_version
            };
            Ok((dpus.len() == host.dpus.len() && dpus.iter().all(ready)).then_some(()))
        })
        .await
    }

    /// Makes the site forget a DPU.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn forget(&self, dpu: &DpuPlan) -> Result<()> {
        let request = ForgetDpuRequest { dpu: dpu.name.clone() };
        self.operator()?.forget_dpu(request).await?;
        Ok(())
    }

    /// Makes the site know its hosts and DPUs again, as its site file has them.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn add_hosts(&self) -> Result<AddHostsResponse> {
        let hosts = self.dir.host_specs(&self.plan)?;
        Ok(self.operator()?.add_hosts(AddHostsRequest { hosts }).await?.into_inner())
    }

    /// Changes what goes wrong with the BMC of a system, named as its host or DPU.
    ///
    /// # Errors
    /// If the file that says so cannot be written.
    pub fn set_bmc_faults(&self, system: &str, faults: &BmcFaults) -> Result<()> {
        self.dir.write(&format!("bmc/{system}.toml"), &toml::to_string(faults)?).map(drop)
    }

    /// Makes a VPC with these prefixes.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn create_vpc(&self, name: &str, prefixes: &[&str]) -> Result<Vpc> {
        let request = CreateVpcRequest {
            name: name.into(),
            tenant_organization_id: TENANT.into(),
            prefixes: prefixes.iter().map(|&prefix| prefix.into()).collect(),
            virtualization: "etv".into(),
        };
        Ok(self.operator()?.create_vpc(request).await?.into_inner())
    }

    /// Makes an instance on a host with one interface in each of these VPC prefixes.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn create_instance(&self, host: &HostPlan, name: &str, prefixes: &[impl AsRef<str>]) -> Result<Instance> {
        let request = InstanceAllocationRequest {
            machine_id: Some((&host.id).into()),
            config: Some(config(prefixes)),
            metadata: Some(Metadata { name: name.into(), ..Metadata::default() }),
            ..InstanceAllocationRequest::default()
        };
        Ok(self.tenant()?.allocate_instance(request).await?.into_inner())
    }

    /// Asks for other interfaces of an instance.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn update_instance(&self, instance: &Instance, prefixes: &[impl AsRef<str>]) -> Result<Instance> {
        let request = InstanceConfigUpdateRequest {
            instance_id: instance.id.clone(),
            if_version_match: None,
            config: Some(config(prefixes)),
            metadata: instance.metadata.clone(),
        };
        Ok(self.tenant()?.update_instance_config(request).await?.into_inner())
    }

    /// Gives an instance back.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn release_instance(&self, instance: &Instance) -> Result<()> {
        let request = InstanceReleaseRequest { id: instance.id.clone(), ..InstanceReleaseRequest::default() };
        self.tenant()?.release_instance(request).await?;
        Ok(())
    }

    /// An instance as its tenant sees it; `None` once it is gone.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn instance(&self, instance: &Instance) -> Result<Option<Instance>> {
        let request = InstancesByIdsRequest { instance_ids: instance.id.clone().into_iter().collect() };
        Ok(self.tenant()?.find_instances_by_ids(request).await?.into_inner().instances.into_iter().next())
    }

    /// The instance on a host.
    ///
    /// # Errors
    /// If there is none.
    pub async fn instance_on(&self, host: &HostPlan) -> Result<Instance> {
        let mut tenant = self.tenant()?;
        let ids = tenant.find_instance_ids(InstanceSearchFilter::default()).await?.into_inner().instance_ids;
        let request = InstancesByIdsRequest { instance_ids: ids };
        let all = tenant.find_instances_by_ids(request).await?.into_inner().instances;
        let here = |instance: &Instance| instance.machine_id.as_ref().is_some_and(|id| id.id == host.id.as_str());
        all.into_iter().find(here).with_context(|| format!("no instance on {}", host.name))
    }

    /// The state of an instance as its tenant sees it.
    ///
    /// # Errors
    /// If it is gone.
    pub async fn tenant_state(&self, instance: &Instance) -> Result<TenantState> {
        match self.instance(instance).await?.and_then(|instance| instance.status).and_then(|status| status.tenant) {
            Some(tenant) => Ok(tenant.state()),
            None => bail!("the instance has no status"),
        }
    }

    /// Addresses that instances hold.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn instance_addresses(&self) -> Result<Vec<Address>> {
        let all = self.operator()?.list_addresses(ListAddressesRequest {}).await?.into_inner().addresses;
        Ok(all.into_iter().filter(|address| address.pool == "instance").collect())
    }
}

fn config(prefixes: &[impl AsRef<str>]) -> InstanceConfig {
    let interfaces = prefixes.iter().map(|prefix| InstanceInterfaceConfig {
        network_details: Some(NetworkDetails::VpcPrefixId(common::VpcPrefixId { value: prefix.as_ref().into() })),
        ..InstanceInterfaceConfig::default()
    });
    InstanceConfig {
        tenant: Some(TenantConfig { tenant_organization_id: TENANT.into(), ..TenantConfig::default() }),
        network: Some(InstanceNetworkConfig { interfaces: interfaces.collect(), auto: false }),
        ..InstanceConfig::default()
    }
}
