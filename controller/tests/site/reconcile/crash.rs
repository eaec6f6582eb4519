//! Controllers that end in the middle of an action, and actions that never end.

use std::time::Duration;

use controller::ReconcileSettings;

use crate::support::{ManagedSite, settings};

#[tokio::test]
async fn a_crash_between_restart_and_commit_loses_nothing() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.instance_under_way(1).await;
    // The BMC takes the request and never answers: the controller is in the middle of the action.
    let bmc = site.bmc(1);
    bmc.set_faults(|faults| faults.hangs = true);
    site.acknowledge_all(1).await;
    site.until_intended(1, "redfish.force_restart").await;
    running.kill().await;
    assert_eq!(site.state(1).await, "Assigned/WaitingForRebootToReady");
    assert_eq!(bmc.resets(), [""; 0]);

    bmc.set_faults(|faults| faults.hangs = false);
    let site = site.reopen().await;
    let running = site.reconcile(settings());
    site.until_state(1, "Assigned/Ready").await;
    assert_eq!(bmc.resets(), ["ForceRestart"]);
    let path = site.path(1).await;
    assert_eq!(path.iter().filter(|state| *state == "Assigned/Ready").count(), 1, "{path:?}");
    running.stop().await;
}

#[tokio::test]
async fn a_restart_that_happened_before_the_crash_is_not_done_twice() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.instance_under_way(1).await;
    let bmc = site.bmc(1);
    bmc.set_faults(|faults| (faults.terse, faults.hangs) = (false, true));
    site.acknowledge_all(1).await;
    site.until_intended(1, "redfish.force_restart").await;
    running.kill().await;
    // What the BMC had been asked it did after all.
    bmc.set_faults(|faults| faults.hangs = false);
    bmc.reset("ForceRestart");

    let site = site.reopen().await;
    let running = site.reconcile(settings());
    site.until_state(1, "Assigned/Ready").await;
    assert_eq!(bmc.resets(), ["ForceRestart"]);
    running.stop().await;
}

#[tokio::test]
async fn an_action_that_hangs_is_cut_off_and_tried_again() {
    let site = ManagedSite::start(1, "Ready").await;
    let limits = ReconcileSettings { action_limit: Duration::from_millis(300), ..settings() };
    let running = site.reconcile(limits);
    site.instance_under_way(1).await;
    let bmc = site.bmc(1);
    bmc.set_faults(|faults| faults.hangs = true);
    site.acknowledge_all(1).await;
    site.until(1, "error", |record| record.life.outcome.reason.contains("did not end within")).await;
    bmc.set_faults(|faults| faults.hangs = false);
    site.until_state(1, "Assigned/Ready").await;
    running.stop().await;
}
