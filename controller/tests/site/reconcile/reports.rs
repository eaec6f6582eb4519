//! Reports that come late, twice or never.

use std::time::Duration;

use controller::{Timestamp, store::Transition};
use proto::{
    ConfigVersion,
    site::{self, site_server::Site as _},
};
use tonic::{Code, Request};

use crate::site::{TestSite, host_id, settings};

async fn put_in_state(site: &TestSite, state: &str) {
    put_in_state_at(site, state, Timestamp::now()).await;
}

async fn put_in_state_at(site: &TestSite, state: &str, at: Timestamp) {
    let to = Transition { to: state.into(), ..Transition::default() };
    let mut tx = site.store.write().await.unwrap();
    let read = tx.life(&host_id(0)).await.unwrap().version;
    tx.commit_transition(&host_id(0), read, &to, at).await.unwrap();
    tx.commit().await.unwrap();
    site.dirty.mark(host_id(0));
}

#[tokio::test]
async fn a_report_from_before_the_state_counts_for_nothing_and_one_that_comes_twice_counts_once() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    // The end of an earlier cleanup.
    site.event(0, "cleaned").await;
    put_in_state(&site, "WaitingForCleanup/HostCleanup").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(site.state(0).await, "WaitingForCleanup/HostCleanup");

    site.event(0, "cleaned").await;
    site.event(0, "cleaned").await;
    site.until_state(0, "BomValidating/UpdatingInventory").await;
    site.event(0, "cleaned").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let path = site.path(0).await;
    assert_eq!(path.iter().filter(|state| state.starts_with("BomValidating")).count(), 1, "{path:?}");
    running.stop().await;
}

#[tokio::test]
async fn a_report_of_a_run_that_was_given_up_is_refused() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let cleaned = |run: ConfigVersion| {
        let arguments = [("run".to_owned(), run.to_string())].into();
        Request::new(site::HostEvent { host: "host-0".into(), kind: "cleaned".into(), arguments })
    };
    put_in_state(&site, "WaitingForCleanup/HostCleanup").await;
    let first = site.record(0).await.life.version;
    put_in_state(&site, "WaitingForCleanup/HostCleanup").await;
    let second = site.record(0).await.life.version;
    let refused = site.site.report_host_event(cleaned(first)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let said =
        format!("this is not of the run that host-0 is in: it is in WaitingForCleanup/HostCleanup since {second}");
    assert_eq!(refused.message(), said);
    site.site.report_host_event(cleaned(second)).await.unwrap();
    site.until_state(0, "BomValidating/UpdatingInventory").await;
    running.stop().await;
}

#[tokio::test]
async fn a_host_that_failed_is_let_out_by_what_its_cause_asks_for_and_by_nothing_else() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let failure =
        controller::store::FailureRecord { cause: "MachineValidation".into(), dpu: None, at: Timestamp::now() };
    let to = Transition { to: "Failed".into(), failure: Some(failure), ..Transition::default() };
    let mut tx = site.store.write().await.unwrap();
    let read = tx.life(&host_id(0)).await.unwrap().version;
    tx.commit_transition(&host_id(0), read, &to, Timestamp::now()).await.unwrap();
    tx.commit().await.unwrap();
    site.event(0, "discovered").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(site.state(0).await, "Failed");
    assert_eq!(site.explain(0).await.reason, "An operator is needed");

    let request = site::HostRequest { host: "host-0".into(), kind: "machine_validation".into(), ..Default::default() };
    site.site.request_host(Request::new(request)).await.unwrap();
    site.until(0, "way out", |record| record.life.state.as_str() != "Failed").await;
    let record = site.record(0).await;
    assert_eq!((record.life.failure, record.requests), (None, vec![]), "both are over with the move");
    running.stop().await;
}

#[tokio::test]
async fn what_comes_after_a_clock_was_ahead_counts_and_what_came_before_does_not() {
    let site = TestSite::start(1, "Ready").await;
    site.event(0, "cleaned").await;
    let year = Duration::from_secs(365 * 86_400);
    let ahead = Timestamp::from_micros(Timestamp::now().micros() + u64::try_from(year.as_micros()).unwrap());
    put_in_state_at(&site, "WaitingForCleanup/HostCleanup", ahead).await;
    let running = site.reconcile(settings());
    site.until(0, "time to go by", |record| record.life.version.micros() <= Timestamp::now().micros()).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(site.state(0).await, "WaitingForCleanup/HostCleanup");
    site.event(0, "cleaned").await;
    site.until_state(0, "BomValidating/UpdatingInventory").await;
    running.stop().await;
}
