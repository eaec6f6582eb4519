use std::{sync::atomic::Ordering, time::Duration};

use controller::ReconcileSettings;

use crate::site::{TestSite, settings};

#[tokio::test]
async fn a_crash_between_restart_and_commit_loses_nothing() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    site.create_instance(0, &vpc).await;
    site.until_state(0, "Assigned/WaitingForNetworkConfig").await;
    // The BMC takes the request and never answers: the controller is in the middle of the action.
    let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
    machine.hangs.store(true, Ordering::SeqCst);
    site.acknowledge_all(0).await;
    site.until(0, "intent in the journal", |record| {
        record.actions.iter().any(|action| action.name == "redfish.force_restart")
    })
    .await;
    running.kill().await;
    assert_eq!(site.state(0).await, "Assigned/WaitingForRebootToReady");
    assert_eq!(machine.resets(), [""; 0]);

    machine.hangs.store(false, Ordering::SeqCst);
    let site = site.reopen().await;
    let running = site.reconcile(settings());
    site.until_state(0, "Assigned/Ready").await;
    assert_eq!(machine.resets(), ["ForceRestart"]);
    let path = site.path(0).await;
    assert_eq!(path.iter().filter(|state| *state == "Assigned/Ready").count(), 1, "{path:?}");
    running.stop().await;
}

#[tokio::test]
async fn a_restart_that_happened_before_the_crash_is_not_done_twice() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    site.create_instance(0, &vpc).await;
    site.until_state(0, "Assigned/WaitingForNetworkConfig").await;
    let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
    machine.tells_last_reset.store(true, Ordering::SeqCst);
    machine.hangs.store(true, Ordering::SeqCst);
    site.acknowledge_all(0).await;
    site.until(0, "intent in the journal", |record| {
        record.actions.iter().any(|action| action.name == "redfish.force_restart")
    })
    .await;
    running.kill().await;
    // What the BMC had been asked it did after all.
    machine.hangs.store(false, Ordering::SeqCst);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", site.bmcs[0].url);
    let body = serde_json::json!({"ResetType": "ForceRestart"});
    let sent = client.post(url).basic_auth(crate::bmc::USER, Some(crate::bmc::PASSWORD)).json(&body).send();
    assert!(sent.await.unwrap().status().is_success());

    let site = site.reopen().await;
    let running = site.reconcile(settings());
    site.until_state(0, "Assigned/Ready").await;
    assert_eq!(machine.resets(), ["ForceRestart"]);
    running.stop().await;
}

#[tokio::test]
async fn an_action_that_hangs_is_cut_off_and_tried_again() {
    let site = TestSite::start(1, "Ready").await;
    let limits = ReconcileSettings { action_limit: Duration::from_millis(300), ..settings() };
    let running = site.reconcile(limits);
    let vpc = site.create_vpc().await;
    site.create_instance(0, &vpc).await;
    site.until_state(0, "Assigned/WaitingForNetworkConfig").await;
    let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
    machine.hangs.store(true, Ordering::SeqCst);
    site.acknowledge_all(0).await;
    site.until(0, "error", |record| record.life.outcome.reason.contains("did not end within")).await;
    machine.hangs.store(false, Ordering::SeqCst);
    site.until_state(0, "Assigned/Ready").await;
    running.stop().await;
}
