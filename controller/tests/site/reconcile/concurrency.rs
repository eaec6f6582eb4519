//! Several who move hosts at once, and facts that change while an action is under way.

use std::time::Duration;

use controller::{
    ReconcileSettings, Timestamp,
    store::{StoreError, Transition, Tx},
};

use tokio::time::{sleep, timeout};

use crate::support::{ManagedSite, dpu, healthy, host, settings};

#[tokio::test]
async fn a_move_that_lost_against_another_leaves_no_trace() {
    let site = ManagedSite::start(1, "Ready").await;
    let before = site.record(1).await;
    let read = before.life.version;
    let to = |state: &str| Transition { to: state.into(), ..Transition::default() };
    let moved = async |tx: &mut Tx| tx.commit_transition(&host(1), read, &to("Ready"), Timestamp::now()).await;
    let version = site.write(moved).await.unwrap();
    let mut tx = site.store.write().await.unwrap();
    let lost = tx.commit_transition(&host(1), read, &to("Failed"), Timestamp::now()).await;
    assert!(matches!(lost, Err(StoreError::Conflict { .. })));
    drop(tx);
    assert_eq!(site.record(1).await.life.version, version);
    assert_eq!(site.path(1).await, ["Ready"]);
}

#[tokio::test]
async fn a_dpu_that_takes_its_word_back_keeps_the_address_held() {
    let site = ManagedSite::start(1, "Ready").await;
    let vpc = site.create_vpc().await;
    let instance = site.create_instance(1, &vpc).await;
    site.release(&instance).await.unwrap();
    site.put_in_state(&host(1), "Assigned/WaitingForNetworkReconfig").await;
    site.acknowledge_all(1).await;

    let bmc = site.bmc(1);
    bmc.set_faults(|faults| faults.holds_resets = true);
    let running = site.reconcile(settings());
    site.until_intended(1, "instance.release_and_force_restart").await;
    site.report(healthy(&dpu(1, 1))).await.unwrap();
    bmc.set_faults(|faults| faults.holds_resets = false);
    sleep(Duration::from_millis(600)).await;
    assert_eq!(bmc.resets(), ["ForceRestart"]);
    assert_eq!(site.instance_addresses().await.len(), 1, "a DPU does not run the admin network any more");
    assert_eq!(site.state(1).await, "Assigned/WaitingForNetworkReconfig");

    site.acknowledge(&dpu(1, 1)).await;
    site.until(1, "release", |record| record.instance.is_none()).await;
    assert_eq!(bmc.resets(), ["ForceRestart"]);
    running.stop().await;
}

#[tokio::test]
async fn two_reconcilers_on_one_database_move_each_host_once() {
    let site = ManagedSite::start(4, "Ready").await;
    let (one, other) = (site.reconcile(settings()), site.reconcile(settings()));
    let vpc = site.create_vpc().await;
    for host in 1..=4 {
        site.create_instance(host, &vpc).await;
    }
    for host in 1..=4 {
        site.until_state(host, "Assigned/WaitingForNetworkConfig").await;
        site.acknowledge_all(host).await;
        site.until_state(host, "Assigned/Ready").await;
        let path = site.path(host).await;
        let mut once = path.clone();
        once.dedup();
        assert_eq!(path, once);
        assert_eq!(path.iter().filter(|state| *state == "Assigned/Ready").count(), 1);
    }
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn nobody_waits_for_the_database_while_a_bmc_takes_its_time() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.instance_under_way(1).await;
    let bmc = site.bmc(1);
    bmc.set_faults(|faults| faults.holds_resets = true);
    site.acknowledge_all(1).await;
    site.until_intended(1, "redfish.force_restart").await;
    // There is one writer at a time: a transaction that was open now would hold this one up.
    for _ in 0..10 {
        let permit = timeout(Duration::from_millis(500), site.store.write()).await;
        drop(permit.expect("a transaction is open").unwrap());
        sleep(Duration::from_millis(20)).await;
    }
    bmc.set_faults(|faults| faults.holds_resets = false);
    site.until_state(1, "Assigned/Ready").await;
    running.stop().await;
}

#[tokio::test]
async fn a_site_where_nothing_happens_decides_nothing() {
    let site = ManagedSite::start(2, "Ready").await;
    let running = site.reconcile(ReconcileSettings { sweep: Duration::from_millis(50), ..settings() });
    sleep(Duration::from_millis(500)).await;
    let first = running.figures();
    sleep(Duration::from_millis(500)).await;
    let later = running.figures();
    assert_eq!((later.decisions, later.transitions), (first.decisions, first.transitions));
    assert!(later.unchanged > first.unchanged);
    running.stop().await;
}
