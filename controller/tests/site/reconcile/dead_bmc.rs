use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use controller::store::OutcomeKind;
use proto::site::{HostHistoryRequest, HostRequest, site_server::Site as _};
use tonic::Request;

use crate::{
    bmc::PASSWORD,
    site::{TestSite, settings},
};

#[tokio::test]
async fn a_host_with_a_dead_bmc_stays_with_the_reason_and_others_go_on() {
    let site = TestSite::start(3, "Ready").await;
    site.bmcs[0].machine.broken.store(true, Ordering::SeqCst);
    site.bmcs[1].machine.hangs.store(true, Ordering::SeqCst);
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    for host in 0..3 {
        site.create_instance(host, &vpc).await;
        site.until_state(host, "Assigned/WaitingForNetworkConfig").await;
        site.acknowledge_all(host).await;
    }
    site.until_state(2, "Assigned/Ready").await;
    site.until(0, "reason", |record| record.life.outcome.kind == OutcomeKind::Error).await;
    let record = site.record(0).await;
    assert_eq!(record.life.state.as_str(), "Assigned/WaitingForRebootToReady");
    let reason = &record.life.outcome.reason;
    assert!(reason.contains("503") && reason.contains("The service is shutting down."), "{reason}");
    assert!(!format!("{record:?}").contains(PASSWORD));
    let detail = site.explain(0).await;
    assert!(detail.action_error.contains("redfish.force_restart on host-0"), "{detail:#?}");

    site.bmcs[0].machine.broken.store(false, Ordering::SeqCst);
    site.until_state(0, "Assigned/Ready").await;
    site.bmcs[1].machine.hangs.store(false, Ordering::SeqCst);
    site.until_state(1, "Assigned/Ready").await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_hosts_with_bmcs_that_never_answer_hold_up_nobody() {
    const DEAD: usize = 40;
    let site = TestSite::start(DEAD + 1, "Ready").await;
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    for host in 0..DEAD {
        site.create_instance(host, &vpc).await;
    }
    for host in 0..DEAD {
        site.until_state(host, "Assigned/WaitingForNetworkConfig").await;
        site.bmcs[host].machine.hangs.store(true, Ordering::SeqCst);
        site.acknowledge_all(host).await;
    }
    for host in 0..DEAD {
        site.until(host, "question to its BMC", |_| site.bmcs[host].machine.requests.load(Ordering::SeqCst) > 0).await;
    }
    let started = Instant::now();
    site.create_instance(DEAD, &vpc).await;
    site.until_state(DEAD, "Assigned/WaitingForNetworkConfig").await;
    site.acknowledge_all(DEAD).await;
    site.until_state(DEAD, "Assigned/Ready").await;
    let took = started.elapsed();
    assert!(took < Duration::from_secs(4), "a healthy host took {took:?}");
    assert_eq!(site.state(0).await, "Assigned/WaitingForRebootToReady");
    running.kill().await;
}

#[tokio::test]
async fn a_host_goes_where_the_arm_says_when_its_action_fails() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.bmcs[0].machine.broken.store(true, Ordering::SeqCst);
    let request = HostRequest {
        host: "host-0".into(),
        kind: "maintenance".into(),
        arguments: [("operation".to_owned(), "power_off".to_owned())].into(),
        ..HostRequest::default()
    };
    site.site.request_host(Request::new(request)).await.unwrap();
    site.until_state(0, "Failed").await;
    // The request is still there, and no reason to try it over and over.
    assert_eq!(site.record(0).await.requests.len(), 1);
    assert_eq!(site.path(0).await, ["Maintenance", "Failed"]);
    let request = HostHistoryRequest { host: "host-0".into(), ..HostHistoryRequest::default() };
    let history = site.site.get_host_history(Request::new(request)).await.unwrap().into_inner();
    let why = &history.transitions.iter().find(|transition| transition.to == "Failed").unwrap().reason;
    assert!(why.contains("redfish.power_off failed: ") && why.contains("503"), "{why}");
    running.stop().await;
}
