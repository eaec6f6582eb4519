//! Hosts of each maker, from their discovery to `Ready`: what is really set afterwards is asked behind the controller's back.

use std::time::Duration;

use serde_json::json;
use testbed::MakerBmc;

use crate::support::{ManagedSite, UEFI_PASSWORD, settings};

/// Plays the host's discovery image, and its DPUs if it has some, until the host is in a state: it reports what each state
/// waits for.
async fn with_discovery_image(site: &ManagedSite, until: &str) {
    for _ in 0..600 {
        let record = site.record(1).await;
        let state = record.life.state.as_str();
        if state == until {
            return;
        }
        let event = match state {
            "HostInit/WaitingForDiscovery" | "BomValidating/UpdatingInventory" => Some("discovered"),
            "HostInit/Discovered" | "Assigned/BootingWithDiscoveryImage" => Some("rebooted"),
            "WaitingForCleanup/HostCleanup" => Some("cleaned"),
            _ => None,
        };
        if let Some(event) = event {
            site.event(event, &[]).await.unwrap();
        }
        if !record.dpus.is_empty() {
            site.acknowledge_all(1).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    site.until_state(1, until).await;
}

fn locks(maker: &str, bmc: &MakerBmc) -> bool {
    let is = |path: &str, pointer: &str, value: serde_json::Value| bmc.property(path, pointer) == Some(value);
    let bios = |name: &str, value: &str| bmc.attributes().get(name) == Some(&json!(value));
    match maker {
        "dell" => is(
            "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/iDRAC.Embedded.1",
            "/Attributes/Lockdown.1.SystemLockdown",
            json!("Enabled"),
        ),
        "hpe" => {
            bios("UsbBoot", "Disabled") && is("/redfish/v1/Managers/1", "/Oem/Hpe/VirtualNICEnabled", json!(false))
        }
        "lenovo" => is("/redfish/v1/Managers/1", "/Oem/Lenovo/KCSEnabled", json!("Disabled")),
        "ami" => bios("KCSACP", "Deny All") && bios("USB000", "Disabled"),
        "supermicro" => is("/redfish/v1/Managers/1/Oem/Supermicro/SysLockdown", "/SysLockdownEnabled", json!(true)),
        _ => true,
    }
}

async fn reaches_ready(maker: &str) {
    let site = ManagedSite::of_maker(maker, false, "HostInit/EnableIpmiOverLan").await;
    let running = site.reconcile(settings());
    with_discovery_image(&site, "Ready").await;
    let bmc = site.maker();
    assert!(locks(maker, &bmc), "{maker} is locked: {:?}", bmc.changes());
    assert_eq!(bmc.uefi_password(), UEFI_PASSWORD, "{maker}");
    let http = match maker {
        "dell" => ("HttpDev1Interface", json!("NIC.Slot.5-1")),
        "hpe" => ("HttpSupport", json!("Auto")),
        "lenovo" => ("NetworkStackSettings_IPv4HTTPSupport", json!("Enabled")),
        "ami" => ("NWSK006", json!("Enabled")),
        "supermicro" => ("IPv4HTTPSupport_009F", json!("Enabled")),
        _ => ("Socket0Pcie6DisableOptionROM", json!(false)),
    };
    assert_eq!(bmc.attributes().get(http.0), Some(&http.1), "{maker}");
    // It stays as it is.
    let (boots, changes) = (bmc.boots(), bmc.changes().len());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((site.state(1).await.as_str(), bmc.boots(), bmc.changes().len()), ("Ready", boots, changes), "{maker}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dell_host_reaches_ready() {
    reaches_ready("dell").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_hpe_host_reaches_ready() {
    reaches_ready("hpe").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lenovo_host_reaches_ready() {
    reaches_ready("lenovo").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ami_host_reaches_ready() {
    reaches_ready("ami").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supermicro_host_reaches_ready() {
    reaches_ready("supermicro").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grace_host_reaches_ready() {
    reaches_ready("grace").await;
}

/// From discovery to a tenant and back: what a tenant could have changed is put in order, and the host is locked again.
async fn is_lent_and_comes_back(maker: &str, erases: &[&str]) {
    let site = ManagedSite::of_maker(maker, true, "HostInit/EnableIpmiOverLan").await;
    let running = site.reconcile(settings());
    with_discovery_image(&site, "Ready").await;
    let vpc = site.vpc("a", &["10.180.1.0/24"]).await;
    let instance = site.rent(1, &vpc).await;
    with_discovery_image(&site, "Assigned/Ready").await;
    let bmc = site.maker();
    assert!(locks(maker, &bmc), "{maker}: a tenant's host is locked");
    let before = bmc.changes().len();
    site.release(&instance.id.unwrap()).await.unwrap();
    site.until(1, "the release", |record| record.life.state.as_str() != "Assigned/Ready").await;
    with_discovery_image(&site, "Ready").await;
    assert!(locks(maker, &bmc), "{maker}: a host that came back is locked");
    assert_eq!(bmc.uefi_password(), UEFI_PASSWORD, "{maker}");
    let storage: Vec<String> = bmc.changes()[before..].iter().filter(|it| it.contains("/Storage/")).cloned().collect();
    assert_eq!(storage.len(), erases.len(), "{maker}: {storage:?}");
    for (request, part) in storage.iter().zip(erases) {
        assert!(request.ends_with(part), "{maker}: {storage:?}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dell_host_is_lent_and_its_boot_storage_erased_once() {
    let storage = ["DellStorage.ControllerDrivesDecommission", "BOSS.SL.14-1/Volumes"];
    is_lent_and_comes_back("dell", &storage).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_hpe_host_is_lent_and_comes_back() {
    is_lent_and_comes_back("hpe", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_leaves_is_unlocked_and_without_a_password() {
    for maker in ["dell", "hpe", "supermicro"] {
        let site = ManagedSite::of_maker(maker, false, "HostInit/EnableIpmiOverLan").await;
        let running = site.reconcile(settings());
        with_discovery_image(&site, "Ready").await;
        // One from before: of another time.
        site.event("dhcp_suppressed", &[("mac", "02:00:00:00:01:01")]).await.unwrap();
        site.request("decommission", &[]).await.unwrap();
        site.until_intended(1, "suppress.oob_dhcp").await;
        site.event("work_done", &[("action", "suppress.oob_dhcp")]).await.unwrap();
        site.until_state(1, "Decommissioning/SuppressingBmcDhcp").await;
        let bmc = site.maker();
        assert!(!locks(maker, &bmc), "{maker}: {:?}", bmc.changes());
        assert_eq!(bmc.uefi_password(), "", "{maker}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_taken_over_in_ready_is_left_alone() {
    for maker in MakerBmc::MAKERS {
        let site = ManagedSite::of_maker(maker, false, "Ready").await;
        let running = site.reconcile(settings());
        tokio::time::sleep(Duration::from_secs(2)).await;
        let bmc = site.maker();
        assert_eq!((site.state(1).await.as_str(), bmc.boots(), bmc.changes()), ("Ready", 0, Vec::new()), "{maker}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bmc_that_cannot_be_read_is_waited_for_by_name() {
    let site = ManagedSite::of_maker("dell", false, "HostInit/WaitingForPlatformConfiguration").await;
    site.maker().set_faults(|faults| faults.down = true);
    let running = site.reconcile(settings());
    site.until(1, "the wait to say why", |record| {
        let reason = &record.life.outcome.reason;
        reason.starts_with("Waiting to be told `bmc.lockdown` by the BMC; last try: host-1: BMC http://127.0.0.1:")
            && reason.ends_with("answered 503 while reading settings: Try again later.")
    })
    .await;
    assert_eq!(site.maker().boots(), 0);
    site.maker().set_faults(|faults| faults.down = false);
    with_discovery_image(&site, "Ready").await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bios_that_never_takes_its_settings_fails_after_three_recoveries() {
    let site = ManagedSite::of_maker("dell", false, "HostInit/WaitingForPlatformConfiguration").await;
    site.maker().set_faults(|faults| faults.failing_jobs = 100);
    let running = site.reconcile(settings());
    site.until_state(1, "Failed").await;
    let record = site.record(1).await;
    assert_eq!(record.life.failure.as_ref().map(|failure| failure.cause.as_str()), Some("BiosSetupFailed"));
    let recoveries = site.path(1).await;
    let recoveries = recoveries.iter().filter(|state| state.ends_with("HandleBiosJobFailure")).count();
    assert_eq!(recoveries, 3);
    // It does not cure itself: the BIOS is still wrong.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(site.state(1).await, "Failed");
    running.stop().await;
}
