use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};

use proto::{
    common::MachineId,
    forge::{
        self, BuildInfo, DpuNetworkStatus, FlatInterfaceConfig, ManagedHostNetworkConfig,
        ManagedHostNetworkConfigRequest, ManagedHostNetworkConfigResponse, VersionRequest,
        forge_server::{Forge, ForgeServer},
    },
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Response, Status, transport::Server};

/// A controller that answers what a test says and remembers what it was told.
#[derive(Clone, Default)]
pub(crate) struct Controller(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) answer: Option<Result<ManagedHostNetworkConfigResponse, Code>>,
    pub(crate) asked: usize,
    pub(crate) reports: Vec<DpuNetworkStatus>,
}

impl Controller {
    /// A running one, and where it listens.
    pub(crate) async fn start() -> (Self, String) {
        let controller = Self::default();
        let address = controller.clone().listen("127.0.0.1:0".parse().unwrap()).await;
        (controller, format!("http://{address}"))
    }

    pub(crate) async fn listen(self, address: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::builder().add_service(ForgeServer::new(self));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        address
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn says(&self, response: ManagedHostNetworkConfigResponse) {
        self.state().answer = Some(Ok(response));
    }

    pub(crate) fn fails(&self, code: Code) {
        self.state().answer = Some(Err(code));
    }

    /// The last report.
    pub(crate) fn told(&self) -> DpuNetworkStatus {
        self.state().reports.last().cloned().expect("a report")
    }
}

/// An ETV admin network, as a version number and the last octet of the loopback address make it.
pub(crate) fn admin(version: u64, octet: u8) -> ManagedHostNetworkConfigResponse {
    ManagedHostNetworkConfigResponse {
        asn: 4_200_000_101,
        managed_host_config: Some(ManagedHostNetworkConfig {
            loopback_ip: format!("192.0.2.{octet}"),
            quarantine_state: None,
        }),
        managed_host_config_version: format!("V{version}-T{version}"),
        use_admin_network: true,
        is_primary_dpu: true,
        enable_dhcp: true,
        host_interface_id: Some("3912c59c-8fc0-400d-b05f-7bf62405018f".into()),
        vpc_isolation_behavior: forge::VpcIsolationBehaviorType::VpcIsolationMutual.into(),
        network_virtualization_type: Some(0),
        admin_interface: Some(FlatInterfaceConfig {
            vlan_id: 14,
            gateway: "198.51.100.1/24".into(),
            ip: "198.51.100.49".into(),
            prefix: "198.51.100.0/24".into(),
            interface_prefix: "198.51.100.49/32".into(),
            fqdn: "host-7.example.net".into(),
            is_l2_segment: true,
            ..FlatInterfaceConfig::default()
        }),
        ..ManagedHostNetworkConfigResponse::default()
    }
}

fn unused<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("not part of these tests"))
}

#[tonic::async_trait]
impl Forge for Controller {
    async fn version(&self, _: Request<VersionRequest>) -> Result<Response<BuildInfo>, Status> {
        Ok(Response::new(BuildInfo::default()))
    }

    async fn get_managed_host_network_config(
        &self,
        _: Request<ManagedHostNetworkConfigRequest>,
    ) -> Result<Response<ManagedHostNetworkConfigResponse>, Status> {
        let mut state = self.state();
        state.asked += 1;
        match &state.answer {
            Some(Ok(response)) => Ok(Response::new(response.clone())),
            Some(Err(code)) => Err(Status::new(*code, "says the test")),
            None => Err(Status::failed_precondition("not ready")),
        }
    }

    async fn record_dpu_network_status(&self, request: Request<DpuNetworkStatus>) -> Result<Response<()>, Status> {
        self.state().reports.push(request.into_inner());
        Ok(Response::new(()))
    }

    async fn get_all_managed_host_network_status(
        &self,
        _: Request<forge::ManagedHostNetworkStatusRequest>,
    ) -> Result<Response<forge::ManagedHostNetworkStatusResponse>, Status> {
        unused()
    }

    async fn allocate_instance(
        &self,
        _: Request<forge::InstanceAllocationRequest>,
    ) -> Result<Response<forge::Instance>, Status> {
        unused()
    }

    async fn release_instance(
        &self,
        _: Request<forge::InstanceReleaseRequest>,
    ) -> Result<Response<forge::InstanceReleaseResult>, Status> {
        unused()
    }

    async fn update_instance_config(
        &self,
        _: Request<forge::InstanceConfigUpdateRequest>,
    ) -> Result<Response<forge::Instance>, Status> {
        unused()
    }

    async fn find_instance_ids(
        &self,
        _: Request<forge::InstanceSearchFilter>,
    ) -> Result<Response<forge::InstanceIdList>, Status> {
        unused()
    }

    async fn find_instances_by_ids(
        &self,
        _: Request<forge::InstancesByIdsRequest>,
    ) -> Result<Response<forge::InstanceList>, Status> {
        unused()
    }

    async fn list_machine_health_reports(
        &self,
        _: Request<MachineId>,
    ) -> Result<Response<forge::ListHealthReportResponse>, Status> {
        unused()
    }

    async fn insert_machine_health_report(
        &self,
        _: Request<forge::InsertMachineHealthReportRequest>,
    ) -> Result<Response<()>, Status> {
        unused()
    }

    async fn remove_machine_health_report(
        &self,
        _: Request<forge::RemoveMachineHealthReportRequest>,
    ) -> Result<Response<()>, Status> {
        unused()
    }
}
