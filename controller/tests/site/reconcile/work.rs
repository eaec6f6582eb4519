//! Work that is handed over to services of the site: asked for once, and done when it is reported and not before.

use controller::store::ActionStatus;
use tonic::Code;

use crate::support::{ManagedSite, settings};

const STATE: &str = "Decommissioning/SuppressingOobDhcp";
const WORK: &str = "suppress.oob_dhcp";

async fn lines(site: &ManagedSite) -> Vec<(ActionStatus, String)> {
    let actions = site.record(1).await.actions.into_iter().rev();
    actions.filter(|action| action.name == WORK).map(|action| (action.status, action.error)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handed_over_work_is_done_when_it_is_reported() {
    let site = ManagedSite::start(1, STATE).await;
    let running = site.reconcile(settings());
    let waits = "Waiting for a service of the site to do `suppress.oob_dhcp`";
    site.until(1, "the work to be asked for", |record| record.life.outcome.reason == waits).await;
    running.kill().await;
    // A controller that starts again does not ask a second time.
    let site = site.reopen().await;
    let running = site.reconcile(settings());
    site.until_intended(1, WORK).await;
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    assert_eq!(lines(&site).await, [(ActionStatus::Intended, String::new())]);
    assert_eq!(site.state(1).await, STATE, "it is not done because it was asked for");

    // One that failed is asked for again, and its reason is kept.
    site.event("work_failed", &[("action", WORK), ("reason", "the DHCP server is away")]).await.unwrap();
    site.until(1, "another try", |record| record.actions.iter().filter(|action| action.name == WORK).count() == 2)
        .await;
    let failed = (ActionStatus::Failed, "the DHCP server is away".to_owned());
    assert_eq!(lines(&site).await, [failed.clone(), (ActionStatus::Intended, String::new())]);

    site.event("work_done", &[("action", WORK)]).await.unwrap();
    site.until(1, "the next state", |record| record.life.state.as_str() != STATE).await;
    assert_eq!(lines(&site).await, [failed, (ActionStatus::Done, String::new())]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_work_that_is_open_can_be_ended() {
    let site = ManagedSite::start(1, "Ready").await;
    for (kind, arguments, code, words) in [
        (
            "work_done",
            vec![("action", WORK)],
            Code::FailedPrecondition,
            "no work `suppress.oob_dhcp` of host-1 is open",
        ),
        ("work_done", vec![], Code::InvalidArgument, "needs the argument `action`"),
        ("work_failed", vec![("action", WORK)], Code::InvalidArgument, "needs the argument `reason`"),
        ("work_done", vec![("action", "redfish.force_restart")], Code::FailedPrecondition, "no work"),
    ] {
        let refused = site.event(kind, &arguments).await.unwrap_err();
        assert_eq!(refused.code(), code, "{kind} {arguments:?}");
        assert!(refused.message().contains(words), "{}", refused.message());
    }
}
