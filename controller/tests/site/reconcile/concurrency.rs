use std::{sync::atomic::Ordering, time::Duration};

use controller::{
    ReconcileSettings, Timestamp,
    store::{StoreError, Transition},
};

use crate::site::{Report, TestSite, host_id, settings};

#[tokio::test]
async fn a_move_that_lost_against_another_leaves_no_trace_and_is_decided_again() {
    let site = TestSite::start(1, "Ready").await;
    let before = site.record(0).await;
    let read = before.life.version;
    let to = |state: &str| Transition { to: state.into(), ..Transition::default() };
    let mut tx = site.store.write().await.unwrap();
    let version = tx.commit_transition(&host_id(0), read, &to("Ready"), Timestamp::now()).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = site.store.write().await.unwrap();
    let lost = tx.commit_transition(&host_id(0), read, &to("Failed"), Timestamp::now()).await;
    assert!(matches!(lost, Err(StoreError::Conflict { .. })));
    drop(tx);
    assert_eq!(site.record(0).await.life.version, version);
    assert_eq!(site.path(0).await, ["Ready"]);
}

#[tokio::test]
async fn a_dpu_that_takes_its_word_back_while_the_host_restarts_keeps_the_address_held() {
    let site = TestSite::start(1, "Ready").await;
    let vpc = site.create_vpc().await;
    let instance = site.create_instance(0, &vpc).await;
    site.release(instance).await;
    let to = Transition { to: "Assigned/WaitingForNetworkReconfig".into(), ..Transition::default() };
    let mut tx = site.store.write().await.unwrap();
    let read = tx.life(&host_id(0)).await.unwrap().version;
    tx.commit_transition(&host_id(0), read, &to, Timestamp::now()).await.unwrap();
    tx.commit().await.unwrap();
    site.acknowledge_all(0).await;

    let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
    machine.holds_resets.store(true, Ordering::SeqCst);
    let running = site.reconcile(settings());
    let intended = |record: &controller::store::HostRecord| {
        record.actions.iter().any(|action| action.name == "instance.release_and_force_restart")
    };
    site.until(0, "restart under way", intended).await;
    site.report(0, 1, Report { network: None, instance: None, alert: None }).await;
    machine.holds_resets.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(machine.resets(), ["ForceRestart"]);
    assert_eq!(site.instance_addresses().await.len(), 1, "a DPU does not run the admin network any more");
    assert_eq!(site.state(0).await, "Assigned/WaitingForNetworkReconfig");

    site.acknowledge(0, 1).await;
    site.until(0, "release", |record| record.instance.is_none()).await;
    assert_eq!(machine.resets(), ["ForceRestart"]);
    running.stop().await;
}

#[tokio::test]
async fn two_reconcilers_on_one_database_move_each_host_once() {
    let site = TestSite::start(4, "Ready").await;
    let (one, other) = (site.reconcile(settings()), site.reconcile(settings()));
    let vpc = site.create_vpc().await;
    for host in 0..4 {
        site.create_instance(host, &vpc).await;
    }
    for host in 0..4 {
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
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    site.create_instance(0, &vpc).await;
    site.until_state(0, "Assigned/WaitingForNetworkConfig").await;
    let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
    machine.holds_resets.store(true, Ordering::SeqCst);
    site.acknowledge_all(0).await;
    let intended = |record: &controller::store::HostRecord| {
        record.actions.iter().any(|action| action.name == "redfish.force_restart")
    };
    site.until(0, "restart under way", intended).await;
    // There is one writer at a time: a transaction that was open now would hold this one up.
    for _ in 0..10 {
        let turn = tokio::time::timeout(Duration::from_millis(500), site.store.write()).await;
        drop(turn.expect("a transaction is open").unwrap());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    machine.holds_resets.store(false, Ordering::SeqCst);
    site.until_state(0, "Assigned/Ready").await;
    running.stop().await;
}

#[tokio::test]
async fn a_site_where_nothing_happens_decides_nothing() {
    let site = TestSite::start(2, "Ready").await;
    let running = site.reconcile(ReconcileSettings { sweep: Duration::from_millis(50), ..settings() });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let first = running.figures();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let later = running.figures();
    assert_eq!((later.decisions, later.transitions), (first.decisions, first.transitions));
    assert!(later.unchanged > first.unchanged);
    running.stop().await;
}
