//! BMCs that fail or never answer: their hosts wait with the reason, and nobody else does.

use std::time::{Duration, Instant};

use controller::store::OutcomeKind;
use testbed::BMC_PASSWORD;

use crate::support::{ManagedSite, settings};

#[tokio::test]
async fn a_host_with_a_dead_bmc_waits_with_the_reason_and_alone() {
    let site = ManagedSite::start(3, "Ready").await;
    site.bmc(1).set_faults(|faults| faults.down = true);
    site.bmc(2).set_faults(|faults| faults.hangs = true);
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    for host in 1..=3 {
        site.create_instance(host, &vpc).await;
        site.until_state(host, "Assigned/WaitingForNetworkConfig").await;
        site.acknowledge_all(host).await;
    }
    site.until_state(3, "Assigned/Ready").await;
    site.until(1, "reason", |record| record.life.outcome.kind == OutcomeKind::Error).await;
    let record = site.record(1).await;
    assert_eq!(record.life.state.as_str(), "Assigned/WaitingForRebootToReady");
    let reason = &record.life.outcome.reason;
    assert!(reason.contains("503") && reason.contains("The service is shutting down."), "{reason}");
    assert!(!format!("{record:?}").contains(BMC_PASSWORD));
    let detail = site.explain(1).await;
    assert!(detail.action_error.contains("redfish.force_restart on host-1"), "{detail:#?}");

    site.bmc(1).set_faults(|faults| faults.down = false);
    site.until_state(1, "Assigned/Ready").await;
    site.bmc(2).set_faults(|faults| faults.hangs = false);
    site.until_state(2, "Assigned/Ready").await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_hosts_with_bmcs_that_never_answer_hold_up_nobody() {
    const DEAD: usize = 40;
    let site = ManagedSite::start(DEAD + 1, "Ready").await;
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    for host in 1..=DEAD {
        site.create_instance(host, &vpc).await;
    }
    for host in 1..=DEAD {
        site.until_state(host, "Assigned/WaitingForNetworkConfig").await;
        site.bmc(host).set_faults(|faults| faults.hangs = true);
        site.acknowledge_all(host).await;
    }
    for host in 1..=DEAD {
        site.until(host, "question to its BMC", |_| site.bmc(host).requests() > 0).await;
    }
    let started = Instant::now();
    site.create_instance(DEAD + 1, &vpc).await;
    site.until_state(DEAD + 1, "Assigned/WaitingForNetworkConfig").await;
    site.acknowledge_all(DEAD + 1).await;
    site.until_state(DEAD + 1, "Assigned/Ready").await;
    let took = started.elapsed();
    assert!(took < Duration::from_secs(4), "a healthy host took {took:?}");
    assert_eq!(site.state(1).await, "Assigned/WaitingForRebootToReady");
    running.kill().await;
}

#[tokio::test]
async fn a_host_goes_where_the_arm_says_when_its_action_fails() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.bmc(1).set_faults(|faults| faults.down = true);
    site.request("maintenance", &[("operation", "power_off")]).await.unwrap();
    site.until_state(1, "Failed").await;
    // The request is still there, and no reason to try it over and over.
    assert_eq!(site.record(1).await.requests.len(), 1);
    assert_eq!(site.path(1).await, ["Maintenance", "Failed"]);
    let why = site.why_it_went("Failed").await;
    assert!(why.contains("redfish.power_off failed: ") && why.contains("503"), "{why}");
    running.stop().await;
}
