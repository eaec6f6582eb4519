//! Reports that come late, twice or never.

use std::time::Duration;

use controller::{
    Timestamp,
    store::{FailureRecord, Transition},
};
use proto::ConfigVersion;
use tokio::time::sleep;
use tonic::Code;

use crate::support::{ManagedSite, host, settings};

#[tokio::test]
async fn a_report_counts_once_and_not_for_a_later_state() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    // The end of an earlier cleanup.
    site.event("cleaned", &[]).await.unwrap();
    site.put_in_state(&host(1), "WaitingForCleanup/HostCleanup").await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(site.state(1).await, "WaitingForCleanup/HostCleanup");

    site.event("cleaned", &[]).await.unwrap();
    site.event("cleaned", &[]).await.unwrap();
    site.until_state(1, "BomValidating/UpdatingInventory").await;
    site.event("cleaned", &[]).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    let path = site.path(1).await;
    assert_eq!(path.iter().filter(|state| state.starts_with("BomValidating")).count(), 1, "{path:?}");
    running.stop().await;
}

#[tokio::test]
async fn a_report_of_a_run_that_was_given_up_is_refused() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let cleaned = async |run: ConfigVersion| site.event("cleaned", &[("run", &run.to_string())]).await;
    site.put_in_state(&host(1), "WaitingForCleanup/HostCleanup").await;
    let first = site.record(1).await.life.version;
    site.put_in_state(&host(1), "WaitingForCleanup/HostCleanup").await;
    let second = site.record(1).await.life.version;
    let refused = cleaned(first).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let said =
        format!("this is not of the run that host-1 is in: it is in WaitingForCleanup/HostCleanup since {second}");
    assert_eq!(refused.message(), said);
    cleaned(second).await.unwrap();
    site.until_state(1, "BomValidating/UpdatingInventory").await;
    running.stop().await;
}

#[tokio::test]
async fn a_failed_host_is_let_out_by_what_its_cause_asks_for_alone() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let failure = FailureRecord { cause: "MachineValidation".into(), dpu: None, at: Timestamp::now() };
    let to = Transition { to: "Failed".into(), failure: Some(failure), ..Transition::default() };
    site.go(&host(1), to, Timestamp::now()).await;
    site.event("discovered", &[]).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    assert_eq!(site.state(1).await, "Failed");
    assert_eq!(site.explain(1).await.reason, "An operator is needed");

    site.request("machine_validation", &[]).await.unwrap();
    site.until(1, "way out", |record| record.life.state.as_str() != "Failed").await;
    let record = site.record(1).await;
    assert_eq!((record.life.failure, record.requests), (None, vec![]), "both are over with the move");
    running.stop().await;
}

#[tokio::test]
async fn after_a_clock_was_ahead_only_later_reports_count() {
    let site = ManagedSite::start(1, "Ready").await;
    site.event("cleaned", &[]).await.unwrap();
    let year = Duration::from_secs(365 * 86_400);
    let ahead = Timestamp::from_micros(Timestamp::now().micros() + u64::try_from(year.as_micros()).unwrap());
    site.put_in_state_at(&host(1), "WaitingForCleanup/HostCleanup", ahead).await;
    let running = site.reconcile(settings());
    site.until(1, "time to go by", |record| record.life.version.micros() <= Timestamp::now().micros()).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(site.state(1).await, "WaitingForCleanup/HostCleanup");
    site.event("cleaned", &[]).await.unwrap();
    site.until_state(1, "BomValidating/UpdatingInventory").await;
    running.stop().await;
}
