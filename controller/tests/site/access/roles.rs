//! Who may call what, with real certificates: a machine speaks of itself alone, and everybody has calls of their own.

use proto::{
    MachineId, common,
    forge::{self, forge_client::ForgeClient},
    site::{self, site_client::SiteClient},
};
use tonic::{Code, Status};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::support::{Guarded, Pair, Signer, config, dpu, healthy, host, refused, start, write_tls};

impl Guarded {
    pub(crate) async fn config(&self, pair: Option<&Pair>, dpu: &MachineId) -> Result<(), Status> {
        let request = forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some(dpu.into()) };
        ForgeClient::new(self.channel(pair)).get_managed_host_network_config(request).await.map(drop)
    }

    async fn report(&self, pair: &Pair, dpu: &MachineId) -> Result<(), Status> {
        ForgeClient::new(self.channel(Some(pair))).record_dpu_network_status(healthy(dpu)).await.map(drop)
    }

    async fn instances(&self, pair: &Pair) -> Result<(), Status> {
        let filter = forge::InstanceSearchFilter::default();
        ForgeClient::new(self.channel(Some(pair))).find_instance_ids(filter).await.map(drop)
    }

    async fn hosts(&self, pair: &Pair) -> Result<(), Status> {
        SiteClient::new(self.channel(Some(pair))).list_hosts(site::ListHostsRequest::default()).await.map(drop)
    }

    async fn fact(&self, pair: &Pair, host: &str, name: &str, value: &str) -> Result<(), Status> {
        let arguments = [("value".to_owned(), value.to_owned())].into();
        let event = site::HostEvent { host: host.into(), kind: name.into(), arguments };
        SiteClient::new(self.channel(Some(pair))).report_host_event(event).await.map(drop)
    }

    async fn event(&self, pair: &Pair, host: &str) -> Result<(), Status> {
        let event = site::HostEvent { host: host.into(), kind: "seen".into(), ..Default::default() };
        SiteClient::new(self.channel(Some(pair))).report_host_event(event).await.map(drop)
    }
}

/// What a refusal says.
fn denied(answer: Result<(), Status>) -> String {
    let status = answer.err().unwrap();
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    status.message().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_clients_that_the_ca_signed_get_in() {
    let site = Guarded::start().await;
    site.config(Some(&site.ca.machine(&dpu(1, 0))), &dpu(1, 0)).await.unwrap();
    let stranger = Signer::new("other-ca").machine(&dpu(1, 0));
    for pair in [None, Some(&stranger)] {
        // Anything but NOT_FOUND: a DPU that is not let in keeps its configuration.
        assert_ne!(site.config(pair, &dpu(1, 0)).await.unwrap_err().code(), Code::NotFound);
    }
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dpu_speaks_of_itself_alone_and_is_no_operator_or_tenant() {
    let site = Guarded::start().await;
    let (own, other, unknown) = (dpu(1, 0), dpu(1, 1), dpu(9, 0));
    let pair = site.ca.machine(&own);
    site.config(Some(&pair), &own).await.unwrap();
    site.report(&pair, &own).await.unwrap();
    for stranger in [&other, &unknown] {
        let expected = format!("DPU {own} may not speak of {stranger}");
        assert_eq!(denied(site.config(Some(&pair), stranger).await), expected);
        assert_eq!(denied(site.report(&pair, stranger).await), expected);
    }
    assert_eq!(denied(site.instances(&pair).await), format!("DPU {own} may not call /forge.Forge/FindInstanceIds"));
    assert_eq!(denied(site.hosts(&pair).await), format!("DPU {own} may not call /site.Site/ListHosts"));
    assert_eq!(denied(site.event(&pair, "host-1").await), format!("DPU {own} may not call /site.Site/ReportHostEvent"));
    // A DPU that the site does not know hears so: it is to isolate its host.
    let forgotten = site.ca.machine(&unknown);
    assert_eq!(site.config(Some(&forgotten), &unknown).await.unwrap_err().code(), Code::NotFound);
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dpu_calls_home_for_its_own_hosts_instance_alone() {
    let site = Guarded::start().await;
    let id = common::InstanceId { value: "00000000-0000-0000-0000-000000000001".into() };
    let call = forge::InstancePhoneHomeLastContactRequest { instance_id: Some(id) };
    let mut agent = ForgeClient::new(site.channel(Some(&site.ca.machine(&dpu(1, 0)))));
    let refusal = agent.update_instance_phone_home_last_contact(call).await.unwrap_err();
    assert_eq!(refusal.code(), Code::PermissionDenied, "whether there is such an instance is not for it to know");
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_role_has_calls_of_its_own() {
    let site = Guarded::start().await;
    let (tenant, observer) = (site.ca.unit("tenants"), site.ca.unit("observers"));
    let (operator, scout) = (site.ca.unit("operators"), site.ca.machine(&host(1)));

    site.instances(&tenant).await.unwrap();
    let config = denied(site.config(Some(&tenant), &dpu(1, 0)).await);
    assert_eq!(config, "a tenants' service may not call /forge.Forge/GetManagedHostNetworkConfig");
    denied(site.hosts(&tenant).await);

    site.event(&observer, "host-1").await.unwrap();
    denied(site.report(&observer, &dpu(1, 0)).await);

    site.event(&scout, "host-1").await.unwrap();
    let fact = |pair| site.fact(pair, "host-1", "attestation.measurement", "measured");
    let told = format!("host {} may not report `attestation.measurement`: observers do", host(1));
    assert_eq!(denied(fact(&scout).await), told, "a host does not vouch for itself");
    fact(&observer).await.unwrap();
    denied(site.hosts(&scout).await);
    let strange = site.ca.machine(&host(2));
    assert_eq!(denied(site.event(&strange, "host-1").await), format!("host {} may not speak of {}", host(2), host(1)));

    site.hosts(&operator).await.unwrap();
    site.instances(&operator).await.unwrap();
    site.config(Some(&operator), &dpu(1, 0)).await.unwrap();

    let nobody = site.ca.unit("guests");
    let told = denied(site.config(Some(&nobody), &dpu(1, 0)).await);
    assert_eq!(told, "the client's certificate names OU=guests: the controller's [access] gives that no role");
    let check = HealthCheckRequest { service: "forge.Forge".into() };
    let answer = HealthClient::new(site.channel(Some(&nobody))).check(check).await.unwrap().into_inner();
    assert_eq!(answer.status, 1, "anybody may ask whether the site is served");
    site.daemon.stop().await;
}

#[tokio::test]
async fn roles_that_make_no_sense_are_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let open = config(dir.path(), "[access]\noperators = ['OU=staff']\n");
    assert_eq!(refused(open).await, "[access] needs tls.client_ca: without certificates nobody is known");
    let tls = write_tls(dir.path(), &Signer::new("site-ca"));
    let wrong = config(dir.path(), &format!("{tls}[access]\noperators = ['staff']\n"));
    assert_eq!(refused(wrong).await, "access.operators: `staff` is neither OU=NAME nor a URI");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_certificate_is_let_in_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Signer::new("site-ca");
    let tls = write_tls(dir.path(), &ca);
    let list = dir.path().join("refused");
    std::fs::write(&list, "").unwrap();
    let daemon = start(dir.path(), config(dir.path(), &format!("{tls}[access]\nrefused = 'refused'\n"))).await;
    let site = Guarded { ca, daemon, _dir: dir };
    let (lost, other) = (site.ca.machine(&dpu(1, 0)), site.ca.machine(&dpu(1, 1)));
    site.config(Some(&lost), &dpu(1, 0)).await.unwrap();
    let uri = format!("spiffe://forge.local/forge-system/machine/{}", dpu(1, 0));
    std::fs::write(&list, format!("{uri}  # stolen\n")).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    assert_eq!(denied(site.config(Some(&lost), &dpu(1, 0)).await), "the client's certificate is refused here");
    site.config(Some(&other), &dpu(1, 1)).await.unwrap();
    site.daemon.stop().await;
    let dir = tempfile::tempdir().unwrap();
    let tls = write_tls(dir.path(), &Signer::new("site-ca"));
    let missing = config(dir.path(), &format!("{tls}[access]\nrefused = 'nowhere'\n"));
    assert!(refused(missing).await.contains("/nowhere: No such file"), "the file is named");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_never_hears_that_something_is_not_there() {
    let site = Guarded::start().await;
    let scout = site.ca.machine(&host(1));
    for (name, dpu) in [("host-1", "no-such-dpu"), ("no-such-host", "")] {
        let mut event = site::HostEvent { host: name.into(), kind: "seen".into(), ..Default::default() };
        event.arguments.extend((!dpu.is_empty()).then(|| ("dpu".to_owned(), dpu.to_owned())));
        denied(SiteClient::new(site.channel(Some(&scout))).report_host_event(event).await.map(drop));
    }
    site.daemon.stop().await;
}

#[tokio::test]
async fn an_address_for_everybody_needs_certificates_or_a_word() {
    let dir = tempfile::tempdir().unwrap();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let mut open = config(dir.path(), "");
        open.listen = listen.parse().unwrap();
        let told = refused(open).await;
        assert!(told.starts_with(listen) && told.ends_with("or `open = true` if that is meant"), "{told}");
    }
}
