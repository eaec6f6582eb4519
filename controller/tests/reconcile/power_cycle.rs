//! Time between power commands is counted from when the BMC was told, whoever counts, and old readings are not believed.

use std::time::Duration;

use controller::{Timestamp, store::Transition};

use crate::site::{TestSite, host_id, settings};

const POWER_CYCLE: &str = "Assigned/HostPlatformConfiguration/PowerCycle";
/// Seconds that power has to stay away.
const DRAIN: u64 = 3;

#[tokio::test]
async fn a_host_is_powered_on_no_sooner_than_power_has_drained_and_a_restart_does_not_begin_anew() {
    let site = TestSite::with_drain(1, "Ready", DRAIN).await;
    let vpc = site.create_vpc().await;
    let instance = site.create_instance(0, &vpc).await;
    site.release(instance).await;
    let to = Transition { to: POWER_CYCLE.into(), ..Transition::default() };
    let mut tx = site.store.write().await.unwrap();
    let read = tx.life(&host_id(0)).await.unwrap().version;
    tx.commit_transition(&host_id(0), read, &to, Timestamp::now()).await.unwrap();
    tx.commit().await.unwrap();
    let entered = site.record(0).await.life.version;
    let machine = std::sync::Arc::clone(&site.bmcs[0].machine);

    let running = site.reconcile(settings());
    let off = |record: &controller::store::HostRecord| record.life.outcome.reason.contains("power to drain");
    site.until(0, "power off", off).await;
    assert_eq!(machine.resets(), ["ForceOff"]);
    let told = site.record(0).await.actions[0].intended_at;
    // The controller ends and comes back while power drains.
    running.kill().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let site = site.reopen().await;
    assert_eq!(site.record(0).await.life.version, entered, "time in the state goes on from when it was entered");
    let running = site.reconcile(settings());
    site.until(0, "power on", |_| machine.resets().len() > 1).await;
    assert_eq!(machine.resets(), ["ForceOff", "On"]);
    let waited = Timestamp::now().since(told);
    assert!(waited >= Duration::from_secs(DRAIN), "powered on after {waited:?}");
    assert!(waited < Duration::from_secs(2 * DRAIN), "the time before the restart did not count: {waited:?}");
    site.until(0, "the next state", |record| record.life.state.as_str() != POWER_CYCLE).await;
    running.stop().await;
}
