use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proto::{
    common::MachineId,
    forge::{
        BuildInfo, DpuNetworkStatus, FlatInterfaceConfig, InsertMachineHealthReportRequest, Instance,
        InstanceAllocationRequest, InstanceConfigUpdateRequest, InstanceIdList, InstanceList, InstanceReleaseRequest,
        InstanceReleaseResult, InstanceSearchFilter, InstancesByIdsRequest, ListHealthReportResponse,
        ManagedHostNetworkConfig, ManagedHostNetworkConfigRequest, ManagedHostNetworkConfigResponse,
        ManagedHostNetworkStatusRequest, ManagedHostNetworkStatusResponse, RemoveMachineHealthReportRequest,
        VersionRequest,
        forge_server::{Forge, ForgeServer},
    },
};
use tokio::{net::TcpListener, runtime::Runtime};
use tonic::{Request, Response, Status, transport::server::TcpIncoming};

use crate::block_until;

/// The controller's half of the agents' protocol, whose answers a test decides: for tests of one agent alone.
#[derive(Debug)]
pub struct ScriptedController {
    script: Script,
    address: SocketAddr,
    // Ends the server when it is dropped.
    _runtime: Runtime,
}

#[derive(Debug, Clone, Default)]
struct Script(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    answer: Option<ManagedHostNetworkConfigResponse>,
    reports: Vec<DpuNetworkStatus>,
}

/// What a controller answers for the primary DPU of a host on the admin network, with this port.
#[must_use]
pub fn admin_answer(version: u64, port: FlatInterfaceConfig) -> ManagedHostNetworkConfigResponse {
    ManagedHostNetworkConfigResponse {
        asn: 4_259_912_557,
        managed_host_config: Some(ManagedHostNetworkConfig {
            loopback_ip: "192.168.96.36".into(),
            ..ManagedHostNetworkConfig::default()
        }),
        managed_host_config_version: format!("V{version}-T1733950583707475"),
        use_admin_network: true,
        is_primary_dpu: true,
        admin_interface: Some(port),
        network_virtualization_type: Some(0),
        vpc_isolation_behavior: 2,
        ..ManagedHostNetworkConfigResponse::default()
    }
}

impl ScriptedController {
    /// Starts it on a free loopback port; it answers `NotFound` until it is told otherwise.
    ///
    /// # Panics
    /// If it does not come to listen.
    #[must_use]
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let script = Script::default();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let server = tonic::transport::Server::builder().add_service(ForgeServer::new(script.clone()));
        runtime.spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        Self { script, address, _runtime: runtime }
    }

    /// Where agents find it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What agents are told from now on.
    pub fn wants(&self, answer: ManagedHostNetworkConfigResponse) {
        self.script.state().answer = Some(answer);
    }

    /// Agents are not known from now on.
    pub fn forgets(&self) {
        self.script.state().answer = None;
    }

    /// Reports so far, oldest first.
    #[must_use]
    pub fn reports(&self) -> Vec<DpuNetworkStatus> {
        self.script.state().reports.clone()
    }

    /// Waits for a report that comes after this call and is as wanted; `look` says what is wrong with the
    /// last one, if any.
    ///
    /// # Panics
    /// If there is none within `limit`.
    pub fn wait_for_report(
        &self,
        what: &str,
        limit: Duration,
        look: impl Fn(Option<&DpuNetworkStatus>) -> Result<(), String>,
    ) -> DpuNetworkStatus {
        let before = self.script.state().reports.len();
        block_until(what, limit, || {
            let state = self.script.state();
            let news = state.reports.get(before..).unwrap_or_default();
            look(news.last())?;
            news.last().cloned().ok_or_else(|| "no report".to_owned())
        })
    }
}

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_here<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("this controller only knows agents"))
}

#[tonic::async_trait]
impl Forge for Script {
    async fn version(&self, _: Request<VersionRequest>) -> Result<Response<BuildInfo>, Status> {
        Ok(Response::new(BuildInfo::default()))
    }

    async fn get_managed_host_network_config(
        &self,
        _: Request<ManagedHostNetworkConfigRequest>,
    ) -> Result<Response<ManagedHostNetworkConfigResponse>, Status> {
        let answer = self.state().answer.clone();
        answer.map(Response::new).ok_or_else(|| Status::not_found("no such DPU"))
    }

    async fn record_dpu_network_status(&self, report: Request<DpuNetworkStatus>) -> Result<Response<()>, Status> {
        self.state().reports.push(report.into_inner());
        Ok(Response::new(()))
    }

    async fn get_all_managed_host_network_status(
        &self,
        _: Request<ManagedHostNetworkStatusRequest>,
    ) -> Result<Response<ManagedHostNetworkStatusResponse>, Status> {
        not_here()
    }

    async fn allocate_instance(&self, _: Request<InstanceAllocationRequest>) -> Result<Response<Instance>, Status> {
        not_here()
    }

    async fn release_instance(
        &self,
        _: Request<InstanceReleaseRequest>,
    ) -> Result<Response<InstanceReleaseResult>, Status> {
        not_here()
    }

    async fn update_instance_config(
        &self,
        _: Request<InstanceConfigUpdateRequest>,
    ) -> Result<Response<Instance>, Status> {
        not_here()
    }

    async fn find_instance_ids(&self, _: Request<InstanceSearchFilter>) -> Result<Response<InstanceIdList>, Status> {
        not_here()
    }

    async fn find_instances_by_ids(&self, _: Request<InstancesByIdsRequest>) -> Result<Response<InstanceList>, Status> {
        not_here()
    }

    async fn list_machine_health_reports(
        &self,
        _: Request<MachineId>,
    ) -> Result<Response<ListHealthReportResponse>, Status> {
        not_here()
    }

    async fn insert_machine_health_report(
        &self,
        _: Request<InsertMachineHealthReportRequest>,
    ) -> Result<Response<()>, Status> {
        not_here()
    }

    async fn remove_machine_health_report(
        &self,
        _: Request<RemoveMachineHealthReportRequest>,
    ) -> Result<Response<()>, Status> {
        not_here()
    }
}
