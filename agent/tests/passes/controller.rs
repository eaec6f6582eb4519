use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    thread::JoinHandle,
    time::Duration,
};

use proto::forge::{
    self, BuildInfo, DpuNetworkStatus, FlatInterfaceConfig, MachineCertificate, MachineCertificateRenewRequest,
    MachineCertificateResult, ManagedHostNetworkConfig, ManagedHostNetworkConfigRequest,
    ManagedHostNetworkConfigResponse, VersionRequest,
    forge_server::{Forge, ForgeServer},
};
use tokio::{net::TcpListener, sync::oneshot};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Code, Request, Response, Status,
    transport::{Server, ServerTlsConfig},
};

/// A controller that answers what a test says and remembers what it was told.
#[derive(Clone, Default)]
pub(crate) struct Controller(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) answer: Option<Result<ManagedHostNetworkConfigResponse, Code>>,
    pub(crate) asked: usize,
    pub(crate) reports: Vec<DpuNetworkStatus>,
    pub(crate) delay: Duration,
    /// What is sent to whoever asks for a new certificate; nobody gets one without it.
    pub(crate) renewed: Option<MachineCertificate>,
    /// Who asked: the certificate that was shown in the request, if there was one.
    pub(crate) renewals: Vec<Option<Vec<u8>>>,
}

/// A listening controller. When it is stopped all its connections are gone, as with a process that ended.
pub(crate) struct Serving {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Serving {
    pub(crate) fn stop(self) {
        drop(self.stop);
        self.thread.join().unwrap();
    }
}

impl Controller {
    /// A running one, and where it listens.
    pub(crate) async fn start() -> (Self, String) {
        let controller = Self::default();
        let (address, serving) = controller.listen("127.0.0.1:0", None).await;
        // It serves until the test ends.
        std::mem::forget(serving);
        (controller, format!("http://{address}"))
    }

    /// Listens at an address, with TLS or without, until it is stopped.
    pub(crate) async fn listen(&self, address: &str, tls: Option<ServerTlsConfig>) -> (SocketAddr, Serving) {
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let server = server.add_service(ForgeServer::new(self.clone()).max_encoding_message_size(64 << 20));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let incoming = TcpListenerStream::new(TcpListener::from_std(listener).unwrap());
                tokio::select! {
                    served = server.serve_with_incoming(incoming) => served.unwrap(),
                    _ = stopped => (),
                }
            });
        });
        (address, Serving { stop, thread })
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

#[tonic::async_trait]
impl Forge for Controller {
    async fn version(&self, _: Request<VersionRequest>) -> Result<Response<BuildInfo>, Status> {
        Ok(Response::new(BuildInfo::default()))
    }

    async fn get_managed_host_network_config(
        &self,
        _: Request<ManagedHostNetworkConfigRequest>,
    ) -> Result<Response<ManagedHostNetworkConfigResponse>, Status> {
        let delay = self.state().delay;
        tokio::time::sleep(delay).await;
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

    async fn renew_machine_certificate(
        &self,
        request: Request<MachineCertificateRenewRequest>,
    ) -> Result<Response<MachineCertificateResult>, Status> {
        let shown = request.metadata().get_bin(proto::FORMER_CERTIFICATE);
        let mut state = self.state();
        state.renewals.push(shown.map(|former| former.to_bytes().unwrap().to_vec()));
        let renewed = state.renewed.clone().ok_or_else(|| Status::unimplemented("says the test"))?;
        Ok(Response::new(MachineCertificateResult { machine_certificate: Some(renewed) }))
    }
}
