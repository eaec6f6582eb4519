//! The life of an instance on a whole site: what its tenant sees follows from what the DPUs said, and from nothing else.

use anyhow::{Result, ensure};
use proto::{
    forge::{DpuNetworkStatus, Instance, TenantState},
    health::{HealthProbeSuccess, HealthReport},
    site::DpuStatus,
};
use testbed::{DpuPlan, Fault, FaultKind, HostPlan, SECS, Scenario, Site, SitePlan, Step, is_current, on_site, until};
use tokio::time::{Duration, Instant, sleep};

/// How long something that must not happen is waited for.
const NEVER: Duration = Duration::from_secs(4);

/// A host with its DPUs in order, and a VPC with two prefixes.
async fn ready_host(site: &Site) -> Result<(HostPlan, Vec<String>)> {
    let host = site.ready_host().await?;
    let vpc = site.create_vpc("blue", &["10.20.0.0/24", "10.20.1.0/24"]).await?;
    Ok((host, vpc.prefixes.into_iter().map(|prefix| prefix.id).collect()))
}

async fn ready_instance(site: &Site) -> Result<(HostPlan, Instance, Vec<String>)> {
    let (host, prefixes) = ready_host(site).await?;
    let instance = site.create_instance(&host, "web", &[&prefixes[0]]).await?;
    site.reaches(&host, "Assigned/Ready", SECS).await?;
    Ok((host, instance, prefixes))
}

async fn held(site: &Site) -> Result<Vec<String>> {
    Ok(site.instance_addresses().await?.into_iter().map(|address| address.address).collect())
}

/// Fails if `wrong` is ever the case within a few seconds.
async fn never(what: &str, mut wrong: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + NEVER;
    while Instant::now() < deadline {
        ensure!(!wrong().await?, "{what}");
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

#[tokio::test]
async fn an_instance_is_ready_only_after_both_dpus_said_so() -> Result<()> {
    on_site(SitePlan::new(1, 2), async |site| {
        let (host, prefixes) = ready_host(site).await?;
        let instance = site.create_instance(&host, "web", &[&prefixes[0]]).await?;
        ensure!(site.tenant_state(&instance).await? == TenantState::Provisioning, "not provisioning at first");
        until("the instance to be ready", SECS, async || {
            let state = site.tenant_state(&instance).await?;
            if state == TenantState::Ready {
                let dpus = site.dpu_status(&host).await?;
                ensure!(dpus.len() == 2 && dpus.iter().all(is_current), "ready before its DPUs: {dpus:?}");
            }
            Ok((state == TenantState::Ready).then_some(()))
        })
        .await?;
        let side = site.host_side(host.primary()?)?;
        let address = held(site).await?;
        ensure!(side.announced.contains(&format!("{}/32", address[0])), "{address:?} is not announced: {side:?}");
        let served = std::fs::read_to_string(site.dpu(host.primary()?)?.join("kea-dhcp4.running"))?;
        ensure!(served.contains(&address[0]), "DHCP does not serve {address:?}: {served}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_stale_acknowledgement_never_makes_an_instance_ready() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let (host, prefixes) = ready_host(site).await?;
        let before = site.dpu_status(&host).await?;
        let dpu = host.primary()?.clone();
        site.agent(&dpu)?.kill();
        let instance = site.create_instance(&host, "web", &[&prefixes[0]]).await?;
        let old = before[0].applied_network_config_version.clone();
        // An acknowledgement of what was there before, and of something that was never asked for.
        for version in [old.as_str(), "V0-T1"] {
            never("a stale acknowledgement made the instance ready", async || {
                site.tenant()?.record_dpu_network_status(healthy_report(&dpu, version, &instance)).await?;
                Ok(site.tenant_state(&instance).await? == TenantState::Ready)
            })
            .await?;
        }
        let seen = site.explain(&host).await?;
        ensure!(seen.state == "Assigned/WaitingForNetworkConfig" && seen.outcome == "wait", "{seen:?}");
        site.start_agents()?;
        site.reaches(&host, "Assigned/Ready", SECS).await
    })
    .await
}

fn healthy_report(dpu: &DpuPlan, version: &str, instance: &Instance) -> DpuNetworkStatus {
    let success = HealthProbeSuccess { id: "BgpStats".into(), target: None };
    DpuNetworkStatus {
        dpu_machine_id: Some((&dpu.id).into()),
        network_config_version: Some(version.into()),
        instance_network_config_version: Some(instance.network_config_version.clone()),
        instance_id: instance.id.clone(),
        dpu_health: Some(HealthReport {
            source: "forge-dpu-agent".into(),
            successes: vec![success],
            ..HealthReport::default()
        }),
        ..DpuNetworkStatus::default()
    }
}

#[tokio::test]
async fn a_deleted_instance_keeps_its_address_until_every_dpu_let_go() -> Result<()> {
    on_site(SitePlan::new(1, 2), async |site| {
        let (host, instance, _) = ready_instance(site).await?;
        let address = held(site).await?;
        ensure!(address.len() == 1, "{address:?}");
        let second = host.dpus[1].clone();
        site.agent(&second)?.kill();
        site.release_instance(&instance).await?;
        let release_guard = |dpus: &[DpuStatus]| {
            dpus.iter().all(|dpu| dpu.applied_network_config_version == dpu.desired_network_config_version)
        };
        // The controller cannot know what the silent DPU runs.
        never("an address was free although a DPU is silent", async || Ok(held(site).await? != address)).await?;
        site.start_agents()?;
        until("the address to be free", SECS, async || {
            let free = held(site).await?.is_empty();
            if free {
                let dpus = site.dpu_status(&host).await?;
                ensure!(release_guard(&dpus), "free before every DPU acknowledged: {dpus:?}");
            }
            Ok(free.then_some(()))
        })
        .await?;
        site.reaches(&host, "Ready", SECS).await?;
        ensure!(site.instance(&instance).await?.is_none(), "the instance is still there");
        ensure!(!site.host_side(host.primary()?)?.announced.contains(&format!("{}/32", address[0])), "still announced");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_live_update_keeps_the_old_address_until_all_dpus_change() -> Result<()> {
    on_site(SitePlan::new(1, 2), async |site| {
        let (host, instance, prefixes) = ready_instance(site).await?;
        let old = held(site).await?;
        let second = host.dpus[1].clone();
        site.agent(&second)?.kill();
        site.update_instance(&instance, &[&prefixes[1]]).await?;
        never("the old address was free although a DPU is silent", async || Ok(!held(site).await?.contains(&old[0])))
            .await?;
        ensure!(held(site).await?.len() == 2, "the new address is not there: {:?}", held(site).await?);
        ensure!(site.tenant_state(&instance).await? != TenantState::Ready, "ready during the update");
        site.start_agents()?;
        until("the old address to be free", SECS, async || {
            let free = !held(site).await?.contains(&old[0]);
            if free {
                let dpus = site.dpu_status(&host).await?;
                ensure!(dpus.iter().all(is_current), "free before every DPU acknowledged: {dpus:?}");
            }
            Ok(free.then_some(()))
        })
        .await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let new = held(site).await?;
        ensure!(new.len() == 1 && new[0].starts_with("10.20.1."), "{new:?}");
        ensure!(site.instance(&instance).await?.is_some(), "the update lost the instance");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_configuration_that_nvue_refuses_is_never_acknowledged() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let (host, prefixes) = ready_host(site).await?;
        let dpu = host.primary()?;
        let before = site.host_side(dpu)?;
        let mut scenario = Scenario::default();
        scenario.nv.faults.push(Fault {
            on: Step::Apply,
            kind: FaultKind::ExitZeroError,
            times: None,
            reason: Some("Config invalid at interface.pf0hpf_if: too many".into()),
            secs: 0.0,
        });
        site.dpu(dpu)?.set_scenario(&scenario)?;
        let instance = site.create_instance(&host, "web", &[&prefixes[0]]).await?;
        let reported = until("the refusal to be reported", SECS, async || {
            let dpus = site.dpu_status(&host).await?;
            Ok(dpus.into_iter().map(|dpu| dpu.network_config_error).find(|error| !error.is_empty()))
        })
        .await?;
        ensure!(reported.contains("interface.pf0hpf_if: too many"), "the reason is lost: {reported}");
        never("a refused configuration made the instance ready", async || {
            Ok(site.tenant_state(&instance).await? == TenantState::Ready)
        })
        .await?;
        ensure!(site.host_side(dpu)? == before, "what ran before does not run any more");
        site.dpu(dpu)?.set_scenario(&Scenario::default())?;
        site.reaches(&host, "Assigned/Ready", SECS).await
    })
    .await
}

#[tokio::test]
async fn a_configuration_that_cuts_a_dpu_off_is_taken_back() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let (host, prefixes) = ready_host(site).await?;
        let dpu = host.primary()?;
        let before = site.host_side(dpu)?;
        // Only a tenant's configuration has access lists.
        let mut scenario = Scenario::default();
        scenario.bgp.cut_while = Some(vec!["acl".into()]);
        site.dpu(dpu)?.set_scenario(&scenario)?;
        let instance = site.create_instance(&host, "web", &prefixes[..1]).await?;
        until("the failure to be reported", SECS, async || {
            let dpus = site.dpu_status(&host).await?;
            Ok(dpus.iter().any(|dpu| !dpu.network_config_error.is_empty()).then_some(()))
        })
        .await?;
        ensure!(site.host_side(dpu)? == before, "what ran before does not run again");
        ensure!(site.tenant_state(&instance).await? != TenantState::Ready, "ready although the DPU was cut off");
        site.dpu(dpu)?.set_scenario(&Scenario::default())?;
        site.reaches(&host, "Assigned/Ready", SECS).await
    })
    .await
}

#[tokio::test]
async fn an_uplink_that_is_down_holds_the_host_and_explain_says_so() -> Result<()> {
    on_site(SitePlan::new(1, 2), async |site| {
        let (host, prefixes) = ready_host(site).await?;
        let dpu = host.primary()?;
        site.create_instance(&host, "web", &[&prefixes[0]]).await?;
        let mut scenario = Scenario::default();
        scenario.bgp.peers.insert("p0_if".into(), "Active".into());
        site.dpu(dpu)?.set_scenario(&scenario)?;
        let alert = until("explain to name the uplink", SECS, async || {
            let seen = site.explain(&host).await?;
            Ok(seen.alerts.into_iter().find(|alert| alert.probe == "BgpPeeringTor" && alert.target == "p0_if"))
        })
        .await?;
        ensure!(alert.dpu == dpu.name, "wrong DPU: {alert:?}");
        ensure!(alert.classifications == ["PreventAllocations"], "{alert:?}");
        ensure!(!alert.since.is_empty(), "since when? {alert:?}");
        never("the host went on although p0 is down", async || Ok(site.state(&host).await? == "Assigned/Ready"))
            .await?;
        site.dpu(dpu)?.set_scenario(&Scenario::default())?;
        site.reaches(&host, "Assigned/Ready", SECS).await
    })
    .await
}

#[tokio::test]
async fn instances_never_share_an_address_or_a_host() -> Result<()> {
    on_site(SitePlan::new(3, 1), async |site| {
        let (_, prefixes) = ready_host(site).await?;
        let hosts = site.plan.hosts.clone();
        for host in &hosts {
            site.dpus_ready(host, SECS).await?;
        }
        let create = |host: usize| site.create_instance(&hosts[host], "web", &prefixes[..1]);
        let (first, second, third, again) = tokio::join!(create(0), create(1), create(2), create(0));
        ensure!(first.is_ok() != again.is_ok(), "one host for two instances: {first:?} {again:?}");
        second?;
        third?;
        for host in &hosts {
            site.reaches(host, "Assigned/Ready", SECS).await?;
        }
        let mut addresses = held(site).await?;
        addresses.sort();
        addresses.dedup();
        ensure!(addresses.len() == 3, "{addresses:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_new_host_is_discovered_and_becomes_ready() -> Result<()> {
    on_site(SitePlan { initial_state: String::new(), ..SitePlan::new(1, 2) }, async |site| {
        let host = site.host(0)?;
        site.reaches(&host, "Ready", 90.0).await?;
        let steps = site.history(&host).await?;
        ensure!(steps.iter().any(|step| step.from.contains("Discover")), "nobody discovered it: {steps:#?}");
        site.dpus_ready(&host, SECS).await
    })
    .await
}
