//! What a tenant's host is never put through, and what the next tenant never sees.

use std::{sync::atomic::Ordering, time::Duration};

use controller::{Timestamp, store};
use proto::{
    common, forge,
    forge::forge_server::Forge as _,
    site::{self, site_server::Site as _},
};
use tonic::{Code, Request};

use crate::site::{TestSite, dpu_id, host_id, settings};

async fn with_instance(site: &TestSite) -> common::InstanceId {
    let (_, instance) = site.instance_in_use().await;
    instance
}

#[tokio::test]
async fn a_bmc_that_fails_for_a_while_costs_a_tenant_nothing() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let instance = with_instance(&site).await;
    let before = (site.bmcs[0].machine.resets(), site.path(0).await);
    for fault in [&site.bmcs[0].machine.broken, &site.bmcs[0].machine.hangs] {
        fault.store(true, Ordering::SeqCst);
        site.event(0, "seen").await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        fault.store(false, Ordering::SeqCst);
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!((site.bmcs[0].machine.resets(), site.path(0).await), before);
    assert_eq!(site.record(0).await.instance.unwrap().id.to_string(), instance.value);
    running.stop().await;
}

#[tokio::test]
async fn evidence_keeps_an_instance_from_its_tenants_release_but_not_from_force_deletion() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let instance = with_instance(&site).await;
    site.put_alert("SkuValidation", "PreventInstanceDeletion").await.unwrap();
    let release = forge::InstanceReleaseRequest { id: Some(instance), ..Default::default() };
    let refusal = site.forge.release_instance(Request::new(release)).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    assert!(
        refusal.message().contains("alert SkuValidation has PreventInstanceDeletion: to be looked at"),
        "{refusal}"
    );
    assert_eq!(site.state(0).await, "Assigned/Ready");

    let force = site::HostRequest { host: "host-0".into(), kind: "force_delete".into(), ..Default::default() };
    site.site.request_host(Request::new(force)).await.unwrap();
    for _ in 0..400 {
        if site.store.read().await.unwrap().host(&host_id(0)).await.unwrap().is_none() {
            // Nobody has said that the DPUs let go: the address is held until an operator frees it.
            assert_eq!(site.instance_addresses().await.len(), 1);
            running.stop().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the host is still in {}", site.state(0).await);
}

#[tokio::test]
async fn an_instance_waits_for_a_dpu_that_it_needs_and_the_site_no_longer_knows() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let vpc = site.create_vpc().await;
    site.create_instance(0, &vpc).await;
    site.until_state(0, "Assigned/WaitingForNetworkConfig").await;
    let mut tx = site.store.write().await.unwrap();
    tx.forget_dpu(&dpu_id(0, 0)).await.unwrap();
    tx.commit().await.unwrap();
    site.acknowledge(0, 1).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let life = site.record(0).await.life;
    assert_eq!(life.state.as_str(), "Assigned/WaitingForNetworkConfig");
    assert_eq!(life.outcome.gate, "managed_host_config_synced", "{:?}", life.outcome);
    running.stop().await;
}

#[tokio::test]
async fn an_ipxe_script_is_asked_for_with_an_instance_and_gone_with_it() {
    let site = TestSite::start(1, "Ready").await;
    let refused = site.request("custom_ipxe", &[]).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(refused.message(), "host-0 has no instance that could boot into an iPXE script");
    let running = site.reconcile(settings());
    let instance = with_instance(&site).await;
    running.stop().await;
    site.request("custom_ipxe", &[]).await.unwrap();
    assert_eq!(site.record(0).await.requests.len(), 1);
    let mut tx = site.store.write().await.unwrap();
    tx.release_instance(instance.value.parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(site.record(0).await.requests, [], "the next tenant's host goes through all checks");
}

#[tokio::test]
async fn an_ipxe_request_from_before_the_instance_skips_no_check() {
    let site = TestSite::start(1, "Ready").await;
    let left_over = store::Request { kind: "custom_ipxe".into(), at: Timestamp::now(), arguments: [].into() };
    let mut tx = site.store.write().await.unwrap();
    tx.put_request(&host_id(0), &left_over).await.unwrap();
    tx.commit().await.unwrap();
    let vpc = site.create_vpc().await;
    site.create_instance(0, &vpc).await;
    site.put_alert("SkuValidation", "PreventHostStateChanges").await.unwrap();
    site.put_in_state("Assigned/WaitingForRebootToReady").await;
    let running = site.reconcile(settings());
    site.until(0, "the check of health", |record| record.life.outcome.gate == "no_blocking_health").await;
    assert_eq!(site.state(0).await, "Assigned/WaitingForRebootToReady");
    // What is asked for with the instance skips it.
    site.request("custom_ipxe", &[]).await.unwrap();
    site.until_state(0, "Assigned/Ready").await;
    running.stop().await;
}

#[tokio::test]
async fn a_free_host_without_its_primary_dpu_says_so() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.acknowledge_all(0).await;
    let mut tx = site.store.write().await.unwrap();
    tx.forget_dpu(&dpu_id(0, 0)).await.unwrap();
    tx.commit().await.unwrap();
    site.event(0, "seen").await;
    let request = Request::new(site::ListHostsRequest::default());
    let listed = site.site.list_hosts(request).await.unwrap().into_inner().hosts.remove(0);
    assert_eq!(listed.withheld, "the site knows no primary DPU of it");
    assert_eq!(site.explain(0).await.withheld, listed.withheld);
    for _ in 0..200 {
        if running.counters().hosts_withheld() == 1 {
            return running.stop().await;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{} hosts are withheld", running.counters().hosts_withheld());
}

#[tokio::test]
async fn a_free_host_that_nobody_can_have_says_so() {
    let site = TestSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.acknowledge_all(0).await;
    let list = async || {
        let request = Request::new(site::ListHostsRequest::default());
        site.site.list_hosts(request).await.unwrap().into_inner().hosts.remove(0).withheld
    };
    let counted = async |number: u64| {
        for _ in 0..200 {
            if running.counters().hosts_withheld() == number {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{} hosts are withheld", running.counters().hosts_withheld());
    };
    counted(0).await;
    assert_eq!((list().await.as_str(), site.explain(0).await.withheld.as_str()), ("", ""));
    site.put_alert("SkuValidation", "PreventAllocations").await.unwrap();
    counted(1).await;
    let why = "alert SkuValidation has PreventAllocations: to be looked at";
    assert_eq!((list().await.as_str(), site.explain(0).await.withheld.as_str()), (why, why));
    let remove =
        forge::RemoveMachineHealthReportRequest { machine_id: Some((&host_id(0)).into()), source: "operator".into() };
    site.forge.remove_machine_health_report(Request::new(remove)).await.unwrap();
    counted(0).await;
    assert_eq!(list().await, "");
    running.stop().await;
}

#[tokio::test]
async fn a_dpu_that_could_not_apply_its_configuration_is_not_healthy() {
    let site = TestSite::start(1, "Ready").await;
    let error = "NVUE refused the configuration at `nv config apply`: no such vlan";
    let status = forge::DpuNetworkStatus {
        dpu_machine_id: Some((&dpu_id(0, 0)).into()),
        network_config_error: Some(error.into()),
        dpu_health: Some(proto::health::HealthReport::default()),
        ..Default::default()
    };
    site.forge.record_dpu_network_status(Request::new(status)).await.unwrap();
    let dpus = site.site.list_dpus(Request::new(site::ListDpusRequest::default())).await.unwrap().into_inner().dpus;
    assert_eq!((dpus[0].healthy, dpus[0].network_config_error.as_str()), (false, error));
    assert!(dpus[1].healthy);
}
