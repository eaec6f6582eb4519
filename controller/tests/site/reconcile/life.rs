//! The life of an instance on a host: each step waits for what every DPU has said, and explain says for what.

use std::time::Duration;

use proto::{
    common, forge, health,
    site::{ApplyRulesRequest, site_server::Site as _},
};
use tokio::time::sleep;
use tonic::{Code, Request};

use super::operators::shipped_files;
use crate::support::{DPUS, ManagedSite, alert, dpu, healthy, settings};

/// A healthy report of a DPU of the first host that runs these versions.
fn runs(place: usize, network: Option<String>, instance: Option<String>) -> forge::DpuNetworkStatus {
    forge::DpuNetworkStatus {
        network_config_version: network,
        instance_network_config_version: instance,
        ..healthy(&dpu(1, place))
    }
}

#[tokio::test]
async fn an_instance_is_ready_only_after_its_dpus_have_acknowledged() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.instance_under_way(1).await;

    // Stale, half and unhealthy acknowledgements change nothing.
    site.report(runs(0, Some("V0-T1".into()), None)).await.unwrap();
    site.acknowledge(&dpu(1, 0)).await;
    sleep(Duration::from_millis(600)).await;
    assert_eq!(site.state(1).await, "Assigned/WaitingForNetworkConfig");
    assert_eq!(site.bmc(1).resets(), [""; 0]);
    let explained = site.explain(1).await;
    assert_eq!((explained.outcome.as_str(), explained.next_state.as_str()), ("wait", ""));
    assert!(explained.facts.iter().any(|fact| fact.dpu == "host-1-dpu1"), "{explained:#?}");

    site.acknowledge(&dpu(1, 1)).await;
    site.until_state(1, "Assigned/Ready").await;
    assert_eq!(site.bmc(1).resets(), ["ForceRestart"]);
    assert!(!site.record(1).await.host.use_admin_network);
    let path = site.path(1).await;
    let chain = ["Assigned/WaitingForNetworkSegmentToBeReady", "Assigned/WaitingForNetworkConfig"];
    assert_eq!(path[..2], chain, "{path:?}");
    running.stop().await;
}

#[tokio::test]
async fn p0_of_the_primary_dpu_holds_the_host_up_and_explain_names_it() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.instance_under_way(1).await;
    let record = site.record(1).await;
    // The versions are right, but the session to the top-of-rack switch is down.
    let versions = (
        record.host.desired_network_version.to_string(),
        record.instance.unwrap().desired_instance_version.to_string(),
    );
    let mut report = runs(0, Some(versions.0), Some(versions.1));
    let alerts = vec![alert("BgpPeeringTor", "p0_if", &["PreventAllocations"])];
    report.dpu_health = Some(health::HealthReport { alerts, ..Default::default() });
    site.report(report).await.unwrap();
    site.acknowledge(&dpu(1, 1)).await;
    site.until(1, "p0 as the reason", |record| record.life.outcome.gate == "primary_p0_ready").await;
    let explained = site.explain(1).await;
    assert_eq!((explained.outcome.as_str(), explained.gate.as_str()), ("wait", "primary_p0_ready"));
    let alert = explained.alerts.first().expect("the alert is named");
    assert_eq!((alert.probe.as_str(), alert.dpu.as_str()), ("BgpPeeringTor", "host-1-dpu0"));
    assert!(!alert.since.is_empty());

    site.acknowledge(&dpu(1, 0)).await;
    site.until_state(1, "Assigned/Ready").await;
    running.stop().await;
}

/// Releases an instance and lets its host come as far as waiting for its DPUs to let go. The agents go on reporting what
/// they did, and the discovery image reports when it is there.
async fn release(site: &ManagedSite, instance: common::InstanceId) {
    site.release(&instance).await.unwrap();
    let busy = async {
        loop {
            for place in 0..DPUS {
                let record = site.record(1).await;
                let network = record.observations.get(&dpu(1, place)).and_then(|seen| seen.observed_network_version);
                let instance = record.instance.map(|instance| instance.desired_instance_version.to_string());
                site.report(runs(place, network.map(|version| version.to_string()), instance)).await.unwrap();
            }
            for event in ["discovered", "rebooted"] {
                site.event(event, &[]).await.unwrap();
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = busy => {}
        () = site.until_state(1, "Assigned/WaitingForNetworkReconfig") => {}
    }
}

/// Activates rules that release an instance at once.
async fn do_not_wait_for_dpus(site: &ManagedSite) {
    let mut files = shipped_files();
    // The pack's own tests would not let this through.
    files.retain(|file| !file.path.starts_with("tests/"));
    let file = files.iter_mut().find(|file| file.path == "assigned_release.rhai").unwrap();
    let hasty = file.text.replace("    .pass(\"managed_host_config_synced\")\n", "");
    assert_ne!(file.text, hasty);
    file.text = hasty;
    let request = ApplyRulesRequest { files, dry_run: false, force: true };
    let applied = site.operators.apply_rules(Request::new(request)).await.unwrap().into_inner();
    assert!(applied.applied, "{applied:?}");
}

#[tokio::test]
async fn rules_that_do_not_wait_for_the_dpus_free_no_address() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let (_, instance) = site.instance_in_use().await;

    do_not_wait_for_dpus(&site).await;
    release(&site, instance).await;
    site.acknowledge(&dpu(1, 0)).await;
    let restarts = site.bmc(1).resets().len();
    site.until(1, "refusal", |record| {
        record.life.outcome.reason.starts_with("addresses stay held: DPU host-1-dpu1 has host network V")
    })
    .await;
    assert_eq!(site.instance_addresses().await.len(), 1);
    assert_eq!(site.state(1).await, "Assigned/WaitingForNetworkReconfig");
    assert_eq!(site.bmc(1).resets().len(), restarts, "the host is not restarted either");

    site.acknowledge(&dpu(1, 1)).await;
    site.until(1, "release", |record| record.instance.is_none()).await;
    assert_eq!(site.instance_addresses().await, [""; 0]);
    running.stop().await;
}

#[tokio::test]
async fn the_word_of_one_dpu_frees_no_address_of_an_unknown_one() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let (_, instance) = site.instance_in_use().await;
    do_not_wait_for_dpus(&site).await;
    release(&site, instance).await;
    site.forget_dpu(&dpu(1, 0)).await;
    site.acknowledge(&dpu(1, 1)).await;
    site.until(1, "refusal", |record| {
        record.life.outcome.reason.starts_with("addresses stay held: DPU at place 0 is not known")
    })
    .await;
    assert_eq!(site.instance_addresses().await.len(), 1);
    running.stop().await;
}

#[tokio::test]
async fn addresses_are_free_only_after_every_dpu_has_let_go() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let (vpc, instance) = site.instance_in_use().await;
    assert_eq!(site.instance_addresses().await.len(), 1);

    release(&site, instance).await;
    assert!(site.record(1).await.host.use_admin_network);
    site.acknowledge(&dpu(1, 0)).await;
    sleep(Duration::from_millis(600)).await;
    assert_eq!(site.instance_addresses().await.len(), 1, "one DPU has not acknowledged the admin network");
    assert_eq!(site.state(1).await, "Assigned/WaitingForNetworkReconfig");

    site.acknowledge(&dpu(1, 1)).await;
    site.until(1, "release", |record| record.instance.is_none()).await;
    assert_eq!(site.instance_addresses().await, [""; 0]);

    // Cleaned and counted again, the host is free for the next tenant.
    site.until_state(1, "WaitingForCleanup/HostCleanup").await;
    site.event("cleaned", &[]).await.unwrap();
    site.until_state(1, "BomValidating/UpdatingInventory").await;
    site.event("discovered", &[]).await.unwrap();
    site.until_state(1, "Ready").await;
    site.create_instance(1, &vpc).await;
    site.until_state(1, "Assigned/WaitingForNetworkConfig").await;
    running.stop().await;
}

#[tokio::test]
async fn a_live_update_keeps_the_old_addresses_until_all_dpus_change() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let (vpc, instance) = site.instance_in_use().await;
    let before = site.record(1).await;
    let resets = site.bmc(1).resets().len();

    site.change(&instance, &vpc, &[0]).await;
    assert_eq!(site.instance_addresses().await.len(), 2);
    site.until_state(1, "Assigned/NetworkConfigUpdate/WaitingForConfigSynced").await;
    let promoted = site.record(1).await;
    assert_ne!(promoted.host.desired_network_version, before.host.desired_network_version);
    assert_ne!(promoted.instance.unwrap().desired_instance_version, before.instance.unwrap().desired_instance_version);
    site.acknowledge(&dpu(1, 0)).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(site.state(1).await, "Assigned/NetworkConfigUpdate/WaitingForConfigSynced");

    site.acknowledge(&dpu(1, 1)).await;
    site.until_state(1, "Assigned/Ready").await;
    let after = site.record(1).await.instance.unwrap();
    assert_eq!((after.network_update, after.interfaces.len()), (None, 2));
    assert_eq!(site.bmc(1).resets().len(), resets, "a live update restarts nothing");

    // Back to one interface: its address is held until both have let go of it.
    site.change(&instance, &vpc, &[]).await;
    site.until_state(1, "Assigned/NetworkConfigUpdate/WaitingForConfigSynced").await;
    assert_eq!(site.instance_addresses().await.len(), 2);
    site.acknowledge_all(1).await;
    site.until_state(1, "Assigned/Ready").await;
    assert_eq!(site.instance_addresses().await.len(), 1);
    running.stop().await;
}

#[tokio::test]
async fn the_history_of_a_failed_host_says_how_often_it_was_tried() {
    let site = ManagedSite::of_maker("dell", false, "HostInit/WaitingForPlatformConfiguration").await;
    site.maker().set_faults(|faults| faults.failing_jobs = 100);
    let running = site.reconcile(settings());
    site.until_state(1, "Failed").await;
    let why = site.why_it_went("Failed").await;
    let (place, why) = why.split_once(": ").unwrap();
    assert!(place.starts_with("host_init.rhai:"), "{place}");
    assert_eq!(why, "go Failed, BiosSetupFailed: bmc.bios_job_state = \"failed\", counter(bios_config_retries) = 3");

    // Another try starts the count again, and is asked for once.
    site.maker().set_faults(|faults| faults.failing_jobs = 1);
    site.request("retry", &[]).await.unwrap();
    site.until(1, "another try", |record| {
        record.life.state.as_str() == "HostInit/WaitingForDiscovery" && record.requests.is_empty()
    })
    .await;
    let refused = site.request("retry", &[]).await.unwrap_err();
    let said = "host-1 has not failed: it is in state HostInit/WaitingForDiscovery";
    assert_eq!((refused.code(), refused.message()), (Code::FailedPrecondition, said));
    running.stop().await;
}
