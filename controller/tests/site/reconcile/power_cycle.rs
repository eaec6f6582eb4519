//! Time between power commands is counted from when the BMC was told, whoever counts, and old readings are not believed.

use std::time::Duration;

use controller::Timestamp;
use tokio::time::sleep;

use crate::support::{ManagedSite, host, settings};

const POWER_CYCLE: &str = "Assigned/HostPlatformConfiguration/PowerCycle";
/// Seconds that power has to stay away.
const DRAIN: u64 = 3;

#[tokio::test]
async fn power_drains_for_its_time_whether_the_controller_restarts() {
    let site = ManagedSite::with_drain(1, "Ready", DRAIN).await;
    let vpc = site.create_vpc().await;
    let instance = site.create_instance(1, &vpc).await;
    site.release(&instance).await.unwrap();
    site.put_in_state(&host(1), POWER_CYCLE).await;
    let entered = site.record(1).await.life.version;
    let bmc = site.bmc(1);

    let running = site.reconcile(settings());
    site.until(1, "power off", |record| record.life.outcome.reason.contains("power to drain")).await;
    assert_eq!(bmc.resets(), ["ForceOff"]);
    let told = site.record(1).await.actions[0].intended_at;
    // The controller ends and comes back while power drains.
    running.kill().await;
    sleep(Duration::from_secs(1)).await;
    let site = site.reopen().await;
    assert_eq!(site.record(1).await.life.version, entered, "time in the state goes on from when it was entered");
    let running = site.reconcile(settings());
    site.until(1, "power on", |_| bmc.resets().len() > 1).await;
    assert_eq!(bmc.resets(), ["ForceOff", "On"]);
    let waited = Timestamp::now().since(told);
    assert!(waited >= Duration::from_secs(DRAIN), "powered on after {waited:?}");
    assert!(waited < Duration::from_secs(2 * DRAIN), "the time before the restart did not count: {waited:?}");
    site.until(1, "the next state", |record| record.life.state.as_str() != POWER_CYCLE).await;
    running.stop().await;
}

#[tokio::test]
async fn maintenance_cycles_the_power_as_a_whole_and_leaves_it_on() {
    for (name, lacks, off, expected) in [
        ("on", false, false, ["PowerCycle"].as_slice()),
        ("on, by halves", true, false, &["ForceOff", "On"]),
        ("off", false, true, &["PowerCycle", "On"]),
        ("off, by halves", true, true, &["On"]),
    ] {
        let site = ManagedSite::start(1, "Ready").await;
        let bmc = site.bmc(1);
        bmc.set_faults(|faults| faults.lacks_power_cycle = lacks);
        if off {
            bmc.turn_off();
        }
        let running = site.reconcile(settings());
        site.request("maintenance", &[("operation", "power_cycle")]).await.unwrap();
        site.until(1, "the end of maintenance", |record| record.requests.is_empty()).await;
        site.until_state(1, "Ready").await;
        assert_eq!(bmc.resets(), expected, "{name}");
        assert!(!bmc.is_off(), "{name}");
        running.stop().await;
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_power_cycle_leaves_no_host_off() {
    let site = ManagedSite::start(1, "Ready").await;
    let bmc = site.bmc(1);
    bmc.set_faults(|faults| (faults.lacks_power_cycle, faults.never_quite_off, faults.terse) = (true, true, false));
    let running = site.reconcile(settings());
    site.request("maintenance", &[("operation", "power_cycle")]).await.unwrap();
    site.until(1, "power off", |_| bmc.resets() == ["ForceOff"]).await;
    running.kill().await;
    // The BMC knows of a reset since then, and the machine is still on its way down.
    let site = site.reopen().await;
    let running = site.reconcile(settings());
    sleep(Duration::from_millis(700)).await;
    bmc.set_faults(|faults| faults.never_quite_off = false);
    site.until(1, "the end of maintenance", |record| record.requests.is_empty()).await;
    site.until_state(1, "Ready").await;
    assert_eq!((bmc.resets().last().map(String::as_str), bmc.is_off()), (Some("On"), false));
    running.stop().await;
}

#[tokio::test]
async fn a_power_drain_is_off_cycle_and_on_once() {
    for (lacks, resets) in [(false, ["ForceOff", "PowerCycle", "On"].as_slice()), (true, &["ForceOff", "On"])] {
        for drains in [1, 2] {
            let site = ManagedSite::start(1, "Ready").await;
            let bmc = site.bmc(1);
            bmc.set_faults(|faults| faults.lacks_power_cycle = lacks);
            for (fact, value) in [("power_drains_left", &*drains.to_string()), ("component_type", "uefi")] {
                site.event(&format!("firmware.{fact}"), &[("value", value)]).await.unwrap();
            }
            site.put_in_state(&host(1), "HostReprovision/ResetForNewFirmware").await;
            let running = site.reconcile(settings());
            // Whether the component took its firmware is for the service that reads it to say.
            site.until_state(1, "HostReprovision/NewFirmwareReportedWait").await;
            let drained: Vec<String> = bmc.resets().into_iter().take(resets.len() * drains).collect();
            assert_eq!(drained, resets.repeat(drains), "lacks: {lacks}");
            assert!(!bmc.resets()[drained.len()..].contains(&"ForceOff".to_owned()), "{:?}", bmc.resets());
            running.stop().await;
        }
    }
}
