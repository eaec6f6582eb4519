//! The site protocol between DPU agents, tenants and the controller. One file a concern.

mod allocate;
mod answer;
mod dpu_status;
mod fields;
mod find;
mod health_reports;
mod held;
mod network_config;
mod phone_home;
mod quarantine;
mod release;
mod renew;
mod reports;
mod update;
mod view;

use std::sync::Arc;

use held::Runs;
use proto::{
    common,
    forge::{self, forge_server::Forge},
};
use tonic::{Request, Response, Status, async_trait};

use crate::{
    DirtyHosts, Judge,
    access::{Caller, Issuer},
    network::SiteNetwork,
    store::Store,
};

/// The site protocol's server.
#[derive(Clone)]
pub struct ForgeService {
    store: Store,
    site: Option<Arc<SiteNetwork>>,
    judge: Judge,
    dirty: DirtyHosts,
    issuer: Option<Arc<Issuer>>,
}

impl ForgeService {
    /// Serves from a database. Without network settings no DPU can be configured and no instance allocated.
    #[must_use]
    pub fn new(store: Store, site: Option<Arc<SiteNetwork>>, judge: Judge, dirty: DirtyHosts) -> Self {
        Self { store, site, judge, dirty, issuer: None }
    }

    /// Renews machines' certificates, too, if there is something to sign them with.
    #[must_use]
    pub(crate) fn renewing(self, issuer: Option<Arc<Issuer>>) -> Self {
        Self { issuer, ..self }
    }

    fn site(&self) -> Result<&SiteNetwork, Status> {
        self.site.as_deref().ok_or_else(|| {
            Status::failed_precondition("the site has no network settings: give a site file with `network`")
        })
    }
}

type ForgeResult<T> = Result<Response<T>, Status>;

#[async_trait]
impl Forge for ForgeService {
    async fn version(&self, _: Request<forge::VersionRequest>) -> ForgeResult<forge::BuildInfo> {
        Ok(Response::new(forge::BuildInfo {
            build_version: env!("CARGO_PKG_VERSION").to_owned(),
            rust_version: env!("CARGO_PKG_RUST_VERSION").to_owned(),
            ..Default::default()
        }))
    }

    async fn get_managed_host_network_config(
        &self,
        request: Request<forge::ManagedHostNetworkConfigRequest>,
    ) -> ForgeResult<forge::ManagedHostNetworkConfigResponse> {
        let runs = Runs::of_request(request.metadata());
        self.network_config(&Caller::of(&request), request.into_inner(), runs).await.map(Response::new)
    }

    async fn record_dpu_network_status(&self, request: Request<forge::DpuNetworkStatus>) -> ForgeResult<()> {
        self.record_status(&Caller::of(&request), request.into_inner()).await.map(Response::new)
    }

    async fn get_all_managed_host_network_status(
        &self,
        _: Request<forge::ManagedHostNetworkStatusRequest>,
    ) -> ForgeResult<forge::ManagedHostNetworkStatusResponse> {
        self.all_statuses().await.map(Response::new)
    }

    async fn allocate_instance(
        &self,
        request: Request<forge::InstanceAllocationRequest>,
    ) -> ForgeResult<forge::Instance> {
        self.allocate(request.into_inner()).await.map(Response::new)
    }

    async fn release_instance(
        &self,
        request: Request<forge::InstanceReleaseRequest>,
    ) -> ForgeResult<forge::InstanceReleaseResult> {
        self.release(request.into_inner()).await.map(Response::new)
    }

    async fn update_instance_config(
        &self,
        request: Request<forge::InstanceConfigUpdateRequest>,
    ) -> ForgeResult<forge::Instance> {
        self.update(request.into_inner()).await.map(Response::new)
    }

    async fn find_instance_ids(
        &self,
        request: Request<forge::InstanceSearchFilter>,
    ) -> ForgeResult<forge::InstanceIdList> {
        self.find_ids(request.into_inner()).await.map(Response::new)
    }

    async fn find_instances_by_ids(
        &self,
        request: Request<forge::InstancesByIdsRequest>,
    ) -> ForgeResult<forge::InstanceList> {
        self.find_by_ids(request.into_inner()).await.map(Response::new)
    }

    async fn list_machine_health_reports(
        &self,
        request: Request<common::MachineId>,
    ) -> ForgeResult<forge::ListHealthReportResponse> {
        self.list_reports(request.into_inner()).await.map(Response::new)
    }

    async fn insert_machine_health_report(
        &self,
        request: Request<forge::InsertMachineHealthReportRequest>,
    ) -> ForgeResult<()> {
        self.insert_report(request.into_inner()).await.map(Response::new)
    }

    async fn remove_machine_health_report(
        &self,
        request: Request<forge::RemoveMachineHealthReportRequest>,
    ) -> ForgeResult<()> {
        self.remove_report(request.into_inner()).await.map(Response::new)
    }

    async fn get_managed_host_quarantine_state(
        &self,
        request: Request<forge::GetManagedHostQuarantineStateRequest>,
    ) -> ForgeResult<forge::GetManagedHostQuarantineStateResponse> {
        self.quarantine(request.into_inner()).await.map(Response::new)
    }

    async fn set_managed_host_quarantine_state(
        &self,
        request: Request<forge::SetManagedHostQuarantineStateRequest>,
    ) -> ForgeResult<forge::SetManagedHostQuarantineStateResponse> {
        self.set_quarantine(request.into_inner()).await.map(Response::new)
    }

    async fn clear_managed_host_quarantine_state(
        &self,
        request: Request<forge::ClearManagedHostQuarantineStateRequest>,
    ) -> ForgeResult<forge::ClearManagedHostQuarantineStateResponse> {
        self.clear_quarantine(request.into_inner()).await.map(Response::new)
    }

    async fn update_instance_phone_home_last_contact(
        &self,
        request: Request<forge::InstancePhoneHomeLastContactRequest>,
    ) -> ForgeResult<forge::InstancePhoneHomeLastContactResponse> {
        self.phone_home(&Caller::of(&request), request.into_inner()).await.map(Response::new)
    }

    async fn renew_machine_certificate(
        &self,
        request: Request<forge::MachineCertificateRenewRequest>,
    ) -> ForgeResult<forge::MachineCertificateResult> {
        self.renew(&Caller::of(&request), request.metadata()).await.map(Response::new)
    }
}
