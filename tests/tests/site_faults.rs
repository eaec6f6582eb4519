//! What a whole site does when parts of it are killed, or forget.

use anyhow::{Result, ensure};
use testbed::{
    BmcFaults, DpuPlan, Fault, FaultKind, HostPlan, SECS, Services, Site, SitePlan, Step, on_site, sessions, until,
};
use tokio::time::{Duration, sleep};

/// A host with an instance on its way.
async fn with_instance(site: &Site) -> Result<HostPlan> {
    let host = site.ready_host().await?;
    site.rent(&host).await?;
    Ok(host)
}

/// Commands that change what a DPU runs, so far.
fn changes(site: &Site, dpu: &DpuPlan) -> Result<Vec<String>> {
    let journal = site.dpu(dpu)?.journal()?.into_iter().map(|(_, command)| command);
    Ok(journal.filter(|command| command.contains("config apply") || command.contains("start kea")).collect())
}

#[tokio::test]
async fn a_forgotten_dpu_isolates_its_host_and_stays_reachable() -> Result<()> {
    on_site(SitePlan::new(1, 2), async |site| {
        let host = site.ready_host().await?;
        let (dpu, other) = (host.primary()?, &host.dpus[1]);
        let dir = site.dpu(dpu)?;
        let before = site.host_side(dpu)?;
        ensure!(before.open_ports == ["pf0hpf_if"] && !before.announced.is_empty(), "{before:?}");
        ensure!(Services::of(&dir)?.dhcp_runs(), "DHCP does not run");
        let other_before = site.runs(other)?;

        site.forget(dpu).await?;
        until("the DPU to isolate its host", SECS, async || {
            Ok((site.host_side(dpu)?.is_closed() && !Services::of(&dir)?.dhcp_runs()).then_some(()))
        })
        .await?;
        let up: Vec<_> =
            sessions(&dir)?.into_iter().filter(|session| session.is_up()).map(|session| session.peer).collect();
        ensure!(up.contains(&"p0_if".to_owned()) && up.contains(&"p1_if".to_owned()), "the underlay is gone: {up:?}");
        ensure!(site.runs(other)? == other_before, "the other DPU changed, too");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_dpu_that_carries_an_instance_is_not_forgotten() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = with_instance(site).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let dpu = host.primary()?;
        let refused = site.forget(dpu).await;
        ensure!(refused.is_err(), "the site forgot a DPU that a tenant needs");
        ensure!(site.dpu_status(&host).await?.len() == 1, "the DPU is gone all the same");
        ensure!(site.host_side(dpu)?.open_ports == ["pf0hpf_if"], "the host is cut off");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_controller_that_is_away_changes_nothing_on_a_dpu() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = with_instance(site).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let dpu = host.primary()?.clone();
        let (before, changed) = (site.runs(&dpu)?, changes(site, &dpu)?);

        site.controller.kill();
        sleep(Duration::from_secs(2)).await;
        // An agent that starts meanwhile has nobody to ask, too.
        site.agent(&dpu)?.kill();
        site.agent(&dpu)?.start()?;
        sleep(Duration::from_secs(2)).await;
        ensure!(site.runs(&dpu)? == before, "the configuration changed without a controller");
        ensure!(Services::of(&site.dpu(&dpu)?)?.dhcp_runs(), "DHCP stopped without a controller");
        ensure!(changes(site, &dpu)? == changed, "{:?}", changes(site, &dpu)?);

        site.start_controller().await?;
        site.dpus_ready(&host, SECS).await?;
        ensure!(
            changes(site, &dpu)? == changed,
            "the same configuration was applied again: {:?}",
            changes(site, &dpu)?
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_agent_that_is_killed_while_nvue_applies_ends_up_right() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = site.ready_host().await?;
        let dpu = host.primary()?.clone();
        let mut scenario = testbed::Scenario::default();
        scenario.nv.apply_secs = 1.5;
        site.dpu(&dpu)?.set_scenario(&scenario)?;
        let before = changes(site, &dpu)?.len();
        site.rent(&host).await?;
        until("the agent to apply", SECS, async || Ok((changes(site, &dpu)?.len() > before).then_some(()))).await?;
        site.agent(&dpu)?.kill();
        sleep(Duration::from_millis(500)).await;
        ensure!(site.state(&host).await? != "Assigned/Ready", "ready while the agent was dead");
        site.start_agents()?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let side = site.host_side(&dpu)?;
        let address = site.instance_addresses().await?;
        ensure!(side.announced.contains(&format!("{}/32", address[0].address)), "{side:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn what_nvue_did_without_saying_so_is_found_out() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = site.ready_host().await?;
        let dpu = host.primary()?.clone();
        let mut scenario = testbed::Scenario::default();
        let fails = |on| Fault { on, kind: FaultKind::FailsApplied, times: Some(1), reason: None, secs: 0.0 };
        scenario.nv.faults = [Step::Apply, Step::Confirm, Step::RollBack].map(fails).into();
        site.dpu(&dpu)?.set_scenario(&scenario)?;
        site.rent(&host).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let side = site.host_side(&dpu)?;
        let address = site.instance_addresses().await?;
        ensure!(side.announced.contains(&format!("{}/32", address[0].address)), "{side:?}");
        ensure!(Services::of(&site.dpu(&dpu)?)?.dhcp_runs(), "no DHCP server answers");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_controller_that_is_killed_again_and_again_loses_nothing() -> Result<()> {
    on_site(SitePlan::new(1, 2), async |site| {
        let host = with_instance(site).await?;
        let (addresses, instance) = (site.instance_addresses().await?, site.instance_on(&host).await?);
        for pause in [0, 300, 700, 1100, 1500] {
            sleep(Duration::from_millis(pause)).await;
            site.controller.kill();
            site.start_controller().await?;
            let after = site.instance_on(&host).await?;
            ensure!(after.id == instance.id, "another instance");
            ensure!(site.instance_addresses().await? == addresses, "other addresses");
        }
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        site.release_instance(&instance).await?;
        sleep(Duration::from_millis(200)).await;
        site.controller.kill();
        site.start_controller().await?;
        site.reaches(&host, "Ready", SECS).await?;
        ensure!(site.instance_addresses().await?.is_empty(), "an address was lost");
        // Each transition is there once, and each starts where the one before it ended.
        let steps = site.history(&host).await?;
        ensure!(steps.windows(2).all(|pair| pair[0].to == pair[1].from), "the history has a gap: {steps:#?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn tenants_keep_their_network_when_the_database_is_lost() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = with_instance(site).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let dpu = host.primary()?.clone();
        let before = site.runs(&dpu)?;
        site.controller.kill();
        for file in ["site.db", "site.db-wal", "site.db-shm"] {
            // The log is not always there.
            let _ = std::fs::remove_file(site.directory().join(file));
        }
        site.controller.start()?;
        until("the controller to refuse", SECS, async || Ok((!site.controller.is_running()).then_some(()))).await?;
        let refusal = site.controller.tail(1);
        ensure!(refusal.contains("start with --new-site only if the site itself is new"), "{refusal}");

        // Even if somebody takes it for a new one: the DPU says what it runs.
        site.controller.add_once("--new-site");
        site.start_controller().await?;
        until("the DPU to be held", SECS, async || {
            let request = proto::site::ListDpusRequest::default();
            let dpus = site.operator()?.list_dpus(request).await?.into_inner().dpus;
            Ok(dpus[0].alerts.iter().any(|alert| alert.probe == "NeverGivenVersion").then_some(()))
        })
        .await?;
        sleep(Duration::from_secs(3)).await;
        ensure!(site.runs(&dpu)? == before, "the tenant's network changed");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn both_daemons_stop_when_they_are_asked_to() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = site.ready_host().await?;
        let dpu = host.primary()?.clone();
        ensure!(site.agent(&dpu)?.stop().await, "the agent did not end well");
        ensure!(site.controller.stop().await, "the controller did not end well");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_dpu_that_the_site_knows_again_serves_its_host_again() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = site.ready_host().await?;
        let (dpu, dir) = (host.primary()?, site.dpu(host.primary()?)?);
        let before = site.host_side(dpu)?;
        site.forget(dpu).await?;
        until("the DPU to isolate its host", SECS, async || Ok(site.host_side(dpu)?.is_closed().then_some(()))).await?;
        site.add_hosts().await?;
        until("the host to be let out again", SECS, async || {
            Ok((site.host_side(dpu)?.open_ports == before.open_ports && Services::of(&dir)?.dhcp_runs()).then_some(()))
        })
        .await
    })
    .await
}

#[tokio::test]
async fn a_bmc_that_refuses_for_a_while_holds_the_host_and_no_longer() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = with_instance(site).await?;
        site.set_bmc_faults(&host.name, &BmcFaults { refuse_resets: 3, ..BmcFaults::default() })?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let actions = site.host_detail(&host).await?.actions;
        let restarts = |status: &str| {
            actions.iter().filter(|action| action.name.contains("restart") && action.status == status).count()
        };
        ensure!((restarts("failed"), restarts("done")) == (3, 1), "{actions:#?}");
        Ok(())
    })
    .await
}
