//! A site file beside a database that is not the one that was meant, or that knows better than the file.

use std::{fs, path::Path, time::Duration};

use controller::{Config, ServeError, SiteFile, Timestamp, serve};
use proto::{
    forge::{self, forge_server::Forge},
    site,
};
use tonic::{Code, Request, Status};

use crate::support::{
    Database, TestSite, config, dpu, healthy, host, new_hosts, ready_site, refused, site_text, start,
};

on_each_database! {
    a_dpu_that_runs_what_the_site_never_gave_is_held,
    a_request_that_says_what_runs_is_held_before_any_report,
    a_foreign_instance_network_holds_its_own_instances_dpu,
    what_comes_back_goes_on_where_its_versions_ended,
}

/// What a start comes to that is not told to begin a new site.
async fn restart(config: &Config) -> Result<(), String> {
    let config = config.clone();
    let serving = serve(config, std::future::pending());
    match tokio::time::timeout(Duration::from_secs(3), serving).await {
        Err(_) => Ok(()),
        Ok(ended) => Err(ended.map_err(|error: ServeError| error.to_string()).unwrap_err()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_database_is_not_made_again_beside_known_hosts() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 3] = [
        ("lost", |file| fs::remove_file(file).unwrap()),
        ("emptied", |file| drop(fs::File::create(file).unwrap())),
        ("another one without a host", |file| {
            fs::remove_file(file).unwrap();
            let url = format!("sqlite:{}", file.display());
            tokio::task::block_in_place(|| {
                let opened = controller::store::Store::open(&url);
                tokio::runtime::Handle::current().block_on(opened).unwrap();
            });
        }),
    ];
    for (what, harm) in harms {
        let dir = tempfile::tempdir().unwrap();
        start(dir.path(), config(dir.path(), "")).await.stop().await;
        restart(&config(dir.path(), "")).await.unwrap();
        let settings = config(dir.path(), "");
        harm(&dir.path().join("site.db"));
        let why = restart(&settings).await.expect_err(what);
        assert!(why.contains(&dir.path().join("site.db").display().to_string()), "{what}: {why}");
        assert!(why.contains("--new-site"), "{what}: {why}");
        if what == "lost" {
            assert!(!dir.path().join("site.db").exists(), "a start that is refused makes nothing");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_begins_once() {
    let dir = tempfile::tempdir().unwrap();
    let first = Config { new_site: true, ..config(dir.path(), "") };
    // A first start that fails later on can be tried again.
    let faulty = Config { rules: Some(dir.path().join("nowhere")), ..first.clone() };
    assert!(refused(faulty).await.contains("nowhere"));
    start(dir.path(), first.clone()).await.stop().await;
    let why = refused(first).await;
    let file = dir.path().join("site.db");
    assert!(why.starts_with(&format!("--new-site: database sqlite:{}", file.display())), "{why}");
    restart(&config(dir.path(), "")).await.unwrap();
    // Without hosts in the site file nobody is cut off.
    let dir = tempfile::tempdir().unwrap();
    let bare = Config { new_site: false, ..config(dir.path(), "") };
    fs::write(dir.path().join("site.yaml"), site_text(0).replace("hosts:\n", "")).unwrap();
    restart(&bare).await.unwrap();
}

fn running(n: usize, network: &str, instance: Option<(&str, &forge::Instance)>) -> forge::DpuNetworkStatus {
    forge::DpuNetworkStatus {
        network_config_version: Some(network.to_owned()),
        instance_network_config_version: instance.map(|(version, _)| version.to_owned()),
        instance_id: instance.and_then(|(_, instance)| instance.id.clone()),
        ..healthy(&dpu(n, 0))
    }
}

async fn a_dpu_that_runs_what_the_site_never_gave_is_held(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let given = site.config(&dpu(1, 0)).await.unwrap().managed_host_config_version;
    assert!(given.starts_with("V1-T"), "{given}");
    // What it was given, nothing at all, and what cannot be read, hold nobody up.
    for version in [given.as_str(), "", "latest"] {
        site.report(running(1, version, None)).await.unwrap();
        site.config(&dpu(1, 0)).await.unwrap();
    }
    for (n, newer) in [(1, "V7-T1733950583707475"), (2, "V1-T1733950583707475")] {
        site.report(running(n, newer, None)).await.unwrap();
        let refusal = site.config(&dpu(n, 0)).await.unwrap_err();
        assert_eq!(refusal.code(), Code::FailedPrecondition);
        assert!(refusal.message().contains(newer), "{refusal}");
        site.config(&dpu(n, 1)).await.unwrap();
        // For good, whatever else it reports and however many versions the site makes by itself.
        site.report(running(n, "", None)).await.unwrap();
        for _ in 0..8 {
            site.use_admin_network(&host(n), true).await;
        }
        assert_eq!(site.config(&dpu(n, 0)).await.unwrap_err().code(), Code::FailedPrecondition);
    }
}

async fn ask(site: &TestSite, n: usize, told: &[(&'static str, &str)]) -> Result<String, Status> {
    let request = forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some((&dpu(n, 0)).into()) };
    let mut request = Request::new(request);
    for (name, value) in told {
        request.metadata_mut().insert(*name, value.parse().unwrap());
    }
    let answer = site.forge.get_managed_host_network_config(request).await?;
    Ok(answer.into_inner().managed_host_config_version)
}

async fn a_request_that_says_what_runs_is_held_before_any_report(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let given = ask(&site, 1, &[]).await.unwrap();
    for told in [given.as_str(), "latest", ""] {
        assert_eq!(ask(&site, 1, &[(proto::RUNNING_VERSION, told)]).await.unwrap(), given);
    }
    let refusal = ask(&site, 1, &[(proto::RUNNING_VERSION, "V7-T1733950583707475")]).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    let text = "it runs V7-T1733950583707475, which this site never gave: the database may be another one or a former one. \
                It keeps what it runs until `sitectl dpu accept host-1-dpu0`";
    assert!(refusal.message().ends_with(text), "{refusal}");
    assert_eq!(ask(&site, 1, &[]).await.unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(site.dirty.take().await, [host(1)]);
    let mut tx = site.store.read().await.unwrap();
    assert_eq!(tx.stats(Timestamp::default()).await.unwrap().dpus_held, 1);
    let shown = &tx.health_reports(&dpu(1, 0)).await.unwrap()[0].report;
    assert_eq!(shown.alerts[0].id, "NeverGivenVersion");
    assert_eq!(shown.alerts[0].classifications, ["PreventAllocations", "PreventHostStateChanges"]);
}

async fn a_foreign_instance_network_holds_its_own_instances_dpu(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let given = site.config(&dpu(1, 0)).await.unwrap().managed_host_config_version;
    let other = forge::Instance {
        id: Some(proto::common::InstanceId { value: uuid::Uuid::new_v4().to_string() }),
        ..Default::default()
    };
    site.report(running(1, &given, Some(("V9-T1733950583707475", &other)))).await.unwrap();
    site.config(&dpu(1, 0)).await.unwrap();
    site.report(running(1, &given, Some(("V9-T1733950583707475", &instance)))).await.unwrap();
    let refusal = site.config(&dpu(1, 0)).await.unwrap_err();
    assert!(refusal.message().contains("it runs instance network V9-T1733950583707475, which"), "{refusal}");
}

async fn what_comes_back_goes_on_where_its_versions_ended(database: &Database) {
    let site = TestSite::start(&database.url).await;
    for _ in 0..4 {
        site.use_admin_network(&host(1), true).await;
    }
    let ran = site.config(&dpu(1, 0)).await.unwrap().managed_host_config_version;
    assert!(ran.starts_with("V5-T"), "{ran}");
    site.forget_host(1).await;
    // The host comes back as it was, or its first DPU behind another host.
    let known = new_hosts(2);
    let mut moved = known[1].clone();
    moved.dpus[1] = known[0].dpus[0].clone();
    site.forget_dpu(&dpu(2, 1)).await;
    site.add(&[moved]).await;
    let version = site.config(&dpu(1, 0)).await.unwrap().managed_host_config_version;
    assert!(version.starts_with("V6-T"), "{version}");
    site.report(running(1, &ran, None)).await.unwrap();
    site.config(&dpu(1, 0)).await.unwrap();

    let mut back = known[0].clone();
    back.dpus.remove(0);
    site.add(&[back]).await;
    let version = site.config(&dpu(1, 1)).await.unwrap().managed_host_config_version;
    assert!(version.starts_with("V6-T"), "{version}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_has_a_held_dpu_run_what_the_site_says() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = start(dir.path(), config(dir.path(), "")).await;
    let (mut site, mut agents) = (daemon.operators().await, daemon.forge().await);
    let accept = || site::AcceptDpuRequest { dpu: "host-1-dpu0".into() };
    assert_eq!(site.accept_dpu(accept()).await.unwrap_err().code(), Code::FailedPrecondition);
    agents.record_dpu_network_status(running(1, "V7-T1733950583707475", None)).await.unwrap();
    let ask = || forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some((&dpu(1, 0)).into()) };
    assert_eq!(agents.get_managed_host_network_config(ask()).await.unwrap_err().code(), Code::FailedPrecondition);
    let told = site.explain_host(site::HostRef { host: "host-1".into() }).await.unwrap().into_inner();
    assert!(told.alerts.iter().any(|alert| alert.probe == "NeverGivenVersion"), "{told:?}");
    let dpus = site.list_dpus(site::ListDpusRequest::default()).await.unwrap().into_inner().dpus;
    assert_eq!(dpus[0].alerts.iter().map(|alert| alert.probe.as_str()).collect::<Vec<_>>(), ["NeverGivenVersion"]);

    site.accept_dpu(accept()).await.unwrap();
    let version = agents.get_managed_host_network_config(ask()).await.unwrap().into_inner().managed_host_config_version;
    assert!(version.starts_with("V8-T"), "{version}");
    agents.record_dpu_network_status(running(1, "V7-T1733950583707475", None)).await.unwrap();
    agents.get_managed_host_network_config(ask()).await.unwrap();
    let dpus = site.list_dpus(site::ListDpusRequest::default()).await.unwrap().into_inner().dpus;
    assert_eq!(dpus[0].alerts, []);
    drop((site, agents));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_host_stays_deleted_though_the_site_file_has_it() {
    let dir = tempfile::tempdir().unwrap();
    start(dir.path(), config(dir.path(), "")).await.stop().await;
    let url = format!("sqlite:{}", dir.path().join("site.db").display());
    let store = controller::store::Store::open(&url).await.unwrap();
    let mut tx = store.write().await.unwrap();
    tx.forget_host(&host(1)).await.unwrap();
    tx.commit().await.unwrap();
    store.close().await;

    let daemon = start(dir.path(), config(dir.path(), "")).await;
    let mut site = daemon.operators().await;
    let hosts = site.list_hosts(site::ListHostsRequest::default()).await.unwrap().into_inner().hosts;
    assert!(hosts.is_empty(), "{hosts:?}");
    let again = site::AddHostsRequest { hosts: SiteFile::parse("s", &site_text(1)).unwrap().hosts };
    let refusal = site.add_hosts(again.clone()).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    assert!(refusal.message().contains("`sitectl host restore host-1` lets it come back"), "{refusal}");
    let restore = |name: &str| site::HostRef { host: name.into() };
    assert_eq!(site.restore_host(restore("host-7")).await.unwrap_err().code(), Code::NotFound);
    site.restore_host(restore("host-1")).await.unwrap();
    assert_eq!(site.add_hosts(again).await.unwrap().into_inner().added, 1);
    drop(site);
    daemon.stop().await;
}
