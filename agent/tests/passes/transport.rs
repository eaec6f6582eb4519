//! The agent against controllers that are slow, dead, restarted, large or not who they should be.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use agent::Agent;
use proto::forge::{FlatInterfaceConfig, ManagedHostNetworkConfigResponse};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tonic::Code;

use super::{
    authority::Authority,
    controller::{Controller, admin},
    dpu::{Dpu, running},
};

/// Certificate files of a DPU.
pub(crate) struct Files {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Files {
    pub(crate) fn write(&self, (cert, key): &(String, String)) {
        for (path, text) in [(&self.cert, cert), (&self.key, key)] {
            fs::write(path, text).unwrap();
            // Some file systems tell times apart only coarsely.
            let later = std::time::SystemTime::now() + Duration::from_secs(NEXT.fetch_add(1, Ordering::Relaxed));
            fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
        }
    }
}

static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

pub(crate) fn with_tls(dpu: &Dpu, authority: &Authority, pair: &(String, String)) -> (Agent, Files) {
    let files = Files { cert: dpu.path().join("cert.pem"), key: dpu.path().join("key.pem") };
    files.write(pair);
    dpu.write("ca.pem", &authority.pem());
    let agent = dpu.agent_with(|settings| {
        settings.tls.ca = Some(dpu.path().join("ca.pem"));
        (settings.tls.cert, settings.tls.key) = (Some(files.cert.clone()), Some(files.key.clone()));
    });
    (agent, files)
}

pub(crate) fn said(dpu: &Dpu) -> String {
    agent::StatusFile::read(&dpu.path().join("state")).unwrap().controller.answer
}

#[tokio::test(flavor = "current_thread")]
async fn both_sides_know_each_other_by_certificate() {
    let (site, other) = (Authority::new(), Authority::new());
    for (case, server, pair, known) in [
        ("all is well", site.server("localhost"), site.issue("dpu"), true),
        ("an impostor", other.server("localhost"), site.issue("dpu"), false),
        ("another name", site.server("elsewhere"), site.issue("dpu"), false),
        ("a DPU of another site", site.server("localhost"), other.issue("dpu"), false),
    ] {
        let controller = Controller::default();
        controller.says(admin(1, 11));
        let (address, _serving) = controller.listen("127.0.0.1:0", Some(server)).await;
        let dpu = Dpu::new(&format!("https://localhost:{}", address.port()));
        let (mut agent, _) = with_tls(&dpu, &site, &pair);
        agent.pass().await;
        assert_eq!(dpu.read("applied").is_some(), known, "{case}: {}", said(&dpu));
        assert_eq!(controller.state().reports.len(), usize::from(known), "{case}");
        if known {
            let told = controller.told();
            assert!(told.client_certificate_expiry_unix_epoch_secs.is_some_and(|end| end > 60_000_000_000));
        } else {
            assert!(said(&dpu).contains("no answer"), "{case}: {}", said(&dpu));
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_certificate_that_is_over_is_shown_as_such() {
    let site = Authority::new();
    let controller = Controller::default();
    let (address, _serving) = controller.listen("127.0.0.1:0", Some(site.server("localhost"))).await;
    let dpu = Dpu::new(&format!("https://localhost:{}", address.port()));
    let (mut agent, files) = with_tls(&dpu, &site, &site.issue_until("dpu", 2020));
    agent.pass().await;
    let status = agent::StatusFile::read(&dpu.path().join("state")).unwrap();
    assert!(status.alerts.iter().any(|alert| alert.contains("certificate expired ")), "{:?}", status.alerts);
    // A new one is taken up at once.
    controller.says(admin(1, 11));
    files.write(&site.issue("dpu"));
    agent.pass().await;
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"), "{}", said(&dpu));
}

#[tokio::test(flavor = "current_thread")]
async fn new_certificates_are_taken_up_and_half_written_ones_are_not() {
    let site = Authority::new();
    let controller = Controller::default();
    controller.says(admin(1, 11));
    let (address, serving) = controller.listen("127.0.0.1:0", Some(site.server("localhost"))).await;
    let dpu = Dpu::new(&format!("https://localhost:{}", address.port()));
    let old = site.issue("dpu");
    let (mut agent, files) = with_tls(&dpu, &site, &old);
    agent.pass().await;
    let new = site.issue("dpu");
    for (case, pair) in [
        ("a new certificate with the old key", (new.0.clone(), old.1.clone())),
        ("an empty certificate", (String::new(), old.1.clone())),
        ("no end of line", (new.0.trim_end().to_owned(), old.1.clone())),
    ] {
        files.write(&pair);
        let asked = controller.state().asked;
        agent.pass().await;
        assert_eq!(controller.state().asked, asked + 1, "{case}: the old pair works on: {}", said(&dpu));
    }
    files.write(&new);
    let asked = controller.state().asked;
    agent.pass().await;
    assert_eq!(controller.state().asked, asked + 1, "{}", said(&dpu));
    // The site changes hands: all certificates are new, and the old connection is gone.
    serving.stop();
    let successor = Authority::new();
    agent.pass().await;
    let (_, _serving) = controller.listen(&address.to_string(), Some(successor.server("localhost"))).await;
    agent.pass().await;
    assert!(said(&dpu).contains("no answer"), "the new authority is not known yet");
    dpu.write("ca.pem", &successor.pem());
    files.write(&successor.issue("dpu"));
    let asked = controller.state().asked;
    agent.pass().await;
    assert_eq!(controller.state().asked, asked + 1, "{}", said(&dpu));
}

#[tokio::test(flavor = "current_thread")]
async fn a_slow_controller_costs_its_limit_and_changes_nothing() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let mut agent = dpu.agent_with(|settings| settings.rpc.call_timeout = Duration::from_millis(200));
    agent.pass().await;
    let runs = dpu.read("applied");
    controller.state().delay = Duration::from_secs(600);
    controller.says(admin(2, 12));
    let begun = Instant::now();
    agent.pass().await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(dpu.read("applied"), runs);
    controller.state().delay = Duration::ZERO;
    agent.pass().await;
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V2-T2"));
}

/// Passes bytes on between the agent and a controller, as long as it is let.
async fn proxy(to: SocketAddr, open: &'static AtomicBool) -> SocketAddr {
    async fn pass_on(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, open: &'static AtomicBool) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            // A path that is cut swallows what is sent and closes nothing.
            if open.load(Ordering::Relaxed) && to.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(to).await.unwrap();
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            tokio::spawn(pass_on(near_in, far_out, open));
            tokio::spawn(pass_on(far_in, near_out, open));
        }
    });
    address
}

#[tokio::test(flavor = "current_thread")]
async fn a_path_that_is_cut_heals_without_a_restart() {
    static OPEN: AtomicBool = AtomicBool::new(true);
    let controller = Controller::default();
    controller.says(admin(1, 11));
    let (address, _serving) = controller.listen("127.0.0.1:0", None).await;
    let dpu = Dpu::new(&format!("http://{}", proxy(address, &OPEN).await));
    let mut agent = dpu.agent_with(|settings| settings.rpc.call_timeout = Duration::from_millis(300));
    agent.pass().await;
    let runs = dpu.read("applied");
    OPEN.store(false, Ordering::Relaxed);
    for _ in 0..2 {
        let begun = Instant::now();
        agent.pass().await;
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        assert_eq!(dpu.read("applied"), runs);
    }
    OPEN.store(true, Ordering::Relaxed);
    controller.says(admin(2, 11));
    agent.pass().await;
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V2-T2"), "{}", said(&dpu));
}

#[tokio::test(flavor = "current_thread")]
async fn a_controller_that_comes_later_or_again_is_found() {
    let controller = Controller::default();
    let (address, serving) = controller.listen("127.0.0.1:0", None).await;
    serving.stop();
    let dpu = Dpu::new(&format!("http://{address}"));
    let mut agent = dpu.agent();
    for _ in 0..2 {
        agent.pass().await;
    }
    assert!(said(&dpu).contains("no answer"));
    controller.says(admin(1, 11));
    for version in [1, 2] {
        let (_, serving) = controller.listen(&address.to_string(), None).await;
        controller.says(admin(version, 11));
        agent.pass().await;
        let wanted = format!("V{version}-T{version}");
        assert_eq!(controller.told().network_config_version, Some(wanted), "{}", said(&dpu));
        // The connection is cut as well, not only the listener closed.
        serving.stop();
        agent.pass().await;
    }
}

/// A configuration of about `mib` MiB.
fn large(version: u64, mib: usize) -> ManagedHostNetworkConfigResponse {
    let mut response = admin(version, 11);
    response.dhcp_servers = vec!["x".repeat(1024); mib * 1024];
    response
}

#[tokio::test(flavor = "current_thread")]
async fn an_answer_of_five_mib_is_taken_and_one_over_the_limit_is_not() {
    let (controller, uri) = Controller::start().await;
    controller.says(large(1, 5));
    let dpu = Dpu::new(&uri);
    let mut agent = dpu.agent_with(|settings| settings.rpc.call_timeout = Duration::from_secs(10));
    agent.pass().await;
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"));
    controller.says(large(2, 33));
    agent.pass().await;
    assert!(said(&dpu).contains("no answer"), "{}", said(&dpu));
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"));
    controller.says(admin(3, 11));
    agent.pass().await;
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V3-T3"));
}

#[tokio::test(flavor = "current_thread")]
async fn numbers_that_are_not_known_are_no_zeros() {
    type Change = fn(&mut ManagedHostNetworkConfigResponse);
    let (controller, dpu, mut agent) = running().await;
    let runs = dpu.read("applied");
    for (field, change) in [
        ("network_virtualization_type", (|it| it.network_virtualization_type = Some(99)) as Change),
        ("vpc_isolation_behavior", |it| it.vpc_isolation_behavior = 99),
        ("tenant_interfaces[0].function_type", |it| {
            it.use_admin_network = false;
            let port = it.admin_interface.take().unwrap_or_default();
            it.tenant_interfaces = vec![FlatInterfaceConfig { function_type: 99, ..port }];
        }),
    ] {
        let mut response = admin(2, 12);
        change(&mut response);
        controller.says(response);
        agent.pass().await;
        let error = controller.told().network_config_error.unwrap_or_default();
        assert!(error.contains(field) && error.contains("99"), "{field}: {error}");
        assert_eq!(dpu.read("applied"), runs, "{field}");
    }
    // Health goes on while a configuration is not usable.
    assert!(!controller.told().dpu_health.unwrap().successes.is_empty());
    controller.fails(Code::Internal);
    agent.pass().await;
    assert_eq!(dpu.read("applied"), runs);
    assert!(Path::new(&dpu.path().join("state/intent.pb")).exists());
}
