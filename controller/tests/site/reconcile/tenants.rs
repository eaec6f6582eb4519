//! What a tenant's host is never put through, and what the next tenant never sees.

use std::time::Duration;

use controller::{Timestamp, store};
use proto::forge::{self, forge_server::Forge as _};
use testbed::BmcFaults;
use tokio::time::sleep;
use tonic::{Code, Request};

use crate::support::{ManagedSite, dpu, eventually, healthy, host, settings};

#[tokio::test]
async fn a_bmc_that_fails_for_a_while_costs_a_tenant_nothing() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let (_, instance) = site.instance_in_use().await;
    let before = (site.bmc(1).resets(), site.path(1).await);
    let (down, hangs) =
        (BmcFaults { down: true, ..Default::default() }, BmcFaults { hangs: true, ..Default::default() });
    for fault in [down, hangs] {
        site.bmc(1).set_faults(|faults| *faults = fault);
        site.event("seen", &[]).await.unwrap();
        sleep(Duration::from_millis(700)).await;
        site.bmc(1).set_faults(|faults| *faults = BmcFaults::default());
    }
    sleep(Duration::from_millis(700)).await;
    assert_eq!((site.bmc(1).resets(), site.path(1).await), before);
    assert_eq!(site.record(1).await.instance.unwrap().id.to_string(), instance.value);
    running.stop().await;
}

#[tokio::test]
async fn evidence_prevents_a_release_but_no_force_deletion() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    let (_, instance) = site.instance_in_use().await;
    site.put_alert("SkuValidation", "PreventInstanceDeletion").await.unwrap();
    let refusal = site.release(&instance).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    assert!(
        refusal.message().contains("alert SkuValidation has PreventInstanceDeletion: to be looked at"),
        "{refusal}"
    );
    assert_eq!(site.state(1).await, "Assigned/Ready");

    site.request("force_delete", &[]).await.unwrap();
    let gone = async || site.store.read().await.unwrap().host(&host(1)).await.unwrap().is_none();
    eventually("the host to be gone", gone).await;
    // Nobody has said that the DPUs let go: the address is held until an operator frees it.
    assert_eq!(site.instance_addresses().await.len(), 1);
    running.stop().await;
}

#[tokio::test]
async fn an_instance_waits_for_a_dpu_that_it_needs_and_is_forgotten() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.instance_under_way(1).await;
    site.forget_dpu(&dpu(1, 0)).await;
    site.acknowledge(&dpu(1, 1)).await;
    sleep(Duration::from_millis(700)).await;
    let life = site.record(1).await.life;
    assert_eq!(life.state.as_str(), "Assigned/WaitingForNetworkConfig");
    assert_eq!(life.outcome.gate, "managed_host_config_synced", "{:?}", life.outcome);
    running.stop().await;
}

#[tokio::test]
async fn an_ipxe_request_comes_and_goes_with_an_instance() {
    let site = ManagedSite::start(1, "Ready").await;
    let refused = site.request("custom_ipxe", &[]).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(refused.message(), "host-1 has no instance that could boot into an iPXE script");
    let running = site.reconcile(settings());
    let (_, instance) = site.instance_in_use().await;
    running.stop().await;
    site.request("custom_ipxe", &[]).await.unwrap();
    assert_eq!(site.record(1).await.requests.len(), 1);
    site.drop_instance(&instance).await;
    assert_eq!(site.record(1).await.requests, [], "the next tenant's host goes through all checks");
}

#[tokio::test]
async fn an_ipxe_request_from_before_the_instance_skips_no_check() {
    let site = ManagedSite::start(1, "Ready").await;
    let left_over = store::Request { kind: "custom_ipxe".into(), at: Timestamp::now(), arguments: [].into() };
    site.write(async |tx| tx.put_request(&host(1), &left_over).await.unwrap()).await;
    let vpc = site.create_vpc().await;
    site.create_instance(1, &vpc).await;
    site.put_alert("SkuValidation", "PreventHostStateChanges").await.unwrap();
    site.put_in_state(&host(1), "Assigned/WaitingForRebootToReady").await;
    let running = site.reconcile(settings());
    site.until(1, "the check of health", |record| record.life.outcome.gate == "no_blocking_health").await;
    assert_eq!(site.state(1).await, "Assigned/WaitingForRebootToReady");
    // What is asked for with the instance skips it.
    site.request("custom_ipxe", &[]).await.unwrap();
    site.until_state(1, "Assigned/Ready").await;
    running.stop().await;
}

#[tokio::test]
async fn a_free_host_without_its_primary_dpu_says_so() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.acknowledge_all(1).await;
    site.forget_dpu(&dpu(1, 0)).await;
    site.event("seen", &[]).await.unwrap();
    let listed = site.list_hosts().await.remove(0);
    assert_eq!(listed.withheld, "the site knows no primary DPU of it");
    assert_eq!(site.explain(1).await.withheld, listed.withheld);
    eventually("it to be counted", async || running.counters.hosts_withheld() == 1).await;
    running.stop().await;
}

#[tokio::test]
async fn a_free_host_that_nobody_can_have_says_so() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    site.acknowledge_all(1).await;
    let list = async || site.list_hosts().await.remove(0).withheld;
    let counted = async |number: u64| {
        eventually("hosts to be counted", async || running.counters.hosts_withheld() == number).await;
    };
    counted(0).await;
    assert_eq!((list().await.as_str(), site.explain(1).await.withheld.as_str()), ("", ""));
    site.put_alert("SkuValidation", "PreventAllocations").await.unwrap();
    counted(1).await;
    let why = "alert SkuValidation has PreventAllocations: to be looked at";
    assert_eq!((list().await.as_str(), site.explain(1).await.withheld.as_str()), (why, why));
    let remove =
        forge::RemoveMachineHealthReportRequest { machine_id: Some((&host(1)).into()), source: "operator".into() };
    site.forge.remove_machine_health_report(Request::new(remove)).await.unwrap();
    counted(0).await;
    assert_eq!(list().await, "");
    running.stop().await;
}

#[tokio::test]
async fn a_dpu_that_could_not_apply_its_configuration_is_not_healthy() {
    let site = ManagedSite::start(1, "Ready").await;
    let error = "NVUE refused the configuration at `nv config apply`: no such vlan";
    let status = forge::DpuNetworkStatus { network_config_error: Some(error.into()), ..healthy(&dpu(1, 0)) };
    site.report(status).await.unwrap();
    let dpus = site.list_dpus().await;
    assert_eq!((dpus[0].healthy, dpus[0].network_config_error.as_str()), (false, error));
    assert!(dpus[1].healthy);
}
