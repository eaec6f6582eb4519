//! Time between power commands is counted from when the BMC was told, whoever counts, and old readings are not believed.

use std::{sync::atomic::Ordering, time::Duration};

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

#[tokio::test]
async fn maintenance_cycles_the_power_as_a_whole_whatever_the_bmc_has_for_it() {
    for (lacks, resets) in [(false, vec!["PowerCycle"]), (true, vec!["ForceOff", "On"])] {
        let site = TestSite::start(1, "Ready").await;
        let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
        machine.lacks_power_cycle.store(lacks, Ordering::SeqCst);
        let running = site.reconcile(settings());
        site.request("maintenance", &[("operation", "power_cycle")]).await.unwrap();
        site.until(0, "the end of maintenance", |record| record.requests.is_empty()).await;
        site.until_state(0, "Ready").await;
        assert_eq!(machine.resets(), resets, "lacks: {lacks}");
        running.stop().await;
    }
}

#[tokio::test]
async fn maintenance_leaves_a_host_on_that_was_off_before_its_power_cycle() {
    for (lacks, resets) in [(false, ["PowerCycle", "On"].as_slice()), (true, &["On"])] {
        let site = TestSite::start(1, "Ready").await;
        let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
        machine.lacks_power_cycle.store(lacks, Ordering::SeqCst);
        machine.turn_off();
        let running = site.reconcile(settings());
        site.request("maintenance", &[("operation", "power_cycle")]).await.unwrap();
        site.until(0, "the end of maintenance", |record| record.requests.is_empty()).await;
        site.until_state(0, "Ready").await;
        assert_eq!(machine.resets(), resets, "lacks: {lacks}");
        assert!(!machine.is_off(), "lacks: {lacks}");
        running.stop().await;
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_power_cycle_leaves_no_host_off() {
    let site = TestSite::start(1, "Ready").await;
    let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
    for knob in [&machine.lacks_power_cycle, &machine.tells_last_reset, &machine.takes_time_to_power_off] {
        knob.store(true, Ordering::SeqCst);
    }
    let running = site.reconcile(settings());
    site.request("maintenance", &[("operation", "power_cycle")]).await.unwrap();
    site.until(0, "power off", |_| machine.resets() == ["ForceOff"]).await;
    running.kill().await;
    // The BMC knows of a reset since then, and the machine is still on its way down.
    let site = site.reopen().await;
    let running = site.reconcile(settings());
    tokio::time::sleep(Duration::from_millis(700)).await;
    machine.takes_time_to_power_off.store(false, Ordering::SeqCst);
    site.until(0, "the end of maintenance", |record| record.requests.is_empty()).await;
    site.until_state(0, "Ready").await;
    assert_eq!((machine.resets().last().map(String::as_str), machine.is_off()), (Some("On"), false));
    running.stop().await;
}

#[tokio::test]
async fn a_power_drain_is_off_cycle_and_on_once() {
    for (lacks, resets) in [(false, ["ForceOff", "PowerCycle", "On"].as_slice()), (true, &["ForceOff", "On"])] {
        for drains in [1, 2] {
            let site = TestSite::start(1, "Ready").await;
            let machine = std::sync::Arc::clone(&site.bmcs[0].machine);
            machine.lacks_power_cycle.store(lacks, Ordering::SeqCst);
            let value = drains.to_string();
            let report = proto::site::HostEvent {
                host: "host-0".into(),
                kind: "firmware.power_drains_left".into(),
                arguments: [("value".to_owned(), value)].into(),
            };
            use proto::site::site_server::Site as _;
            site.site.report_host_event(tonic::Request::new(report)).await.unwrap();
            site.put_in_state("HostReprovision/ResetForNewFirmware").await;
            let running = site.reconcile(settings());
            site.until_state(0, "Ready").await;
            let drained: Vec<String> = machine.resets().into_iter().take(resets.len() * drains).collect();
            assert_eq!(drained, resets.repeat(drains), "lacks: {lacks}");
            assert!(!machine.resets()[drained.len()..].contains(&"ForceOff".to_owned()), "{:?}", machine.resets());
            running.stop().await;
        }
    }
}
