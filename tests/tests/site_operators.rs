//! What operators ask of a whole site, and what they see of it.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use testbed::{SECS, Site, SitePlan, on_site, until};

/// The configuration that a DPU's agent wrote last, as it was given to NVUE.
fn written(site: &Site, dpu: &str) -> Result<String> {
    let path = site.directory().join("dpus").join(dpu).join("nvue_startup.yaml");
    fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

#[tokio::test]
async fn all_dpus_cut_off_a_host_in_quarantine_until_it_ends() -> Result<()> {
    on_site(SitePlan::new(2, 2), async |site| {
        let (host, other) = (site.host(0)?, site.host(1)?);
        site.dpus_ready(&host, SECS).await?;
        site.dpus_ready(&other, SECS).await?;
        let version = async |site: &Site| Ok::<_, anyhow::Error>(site.host_detail(&host).await?.network_config_version);
        let before = (version(site).await?, written(site, "host-1-dpu0")?, written(site, "host-2-dpu0")?);

        let said = site.must("dpu quarantine host-1 --reason scan")?;
        ensure!(said.contains("block all its traffic once they have applied it"), "{said}");
        ensure!(version(site).await? != before.0, "the intent has no version of its own");
        let shown = site.must("host show host-1")?;
        ensure!(shown.contains("all traffic is blocked: scan"), "{shown}");
        ensure!(site.must("host list")?.contains("in quarantine"), "it is not in the list");
        site.dpus_ready(&host, SECS).await?;
        for dpu in ["host-1-dpu0", "host-1-dpu1"] {
            ensure!(written(site, dpu)?.contains("deny"), "{dpu} lets traffic through");
        }
        ensure!(written(site, "host-2-dpu0")? == before.2, "another host is touched");
        let vpc = site.create_vpc("blue", &["10.20.0.0/24"]).await?;
        let refused = site.create_instance(&host, "web", &[&vpc.prefixes[0].id]).await;
        let refusal = refused.err().context("a tenant got the host")?.to_string();
        ensure!(refusal.contains("alert Quarantine has PreventAllocations"), "{refusal}");

        site.must("dpu quarantine host-1 --clear")?;
        site.dpus_ready(&host, SECS).await?;
        until("the DPU to let traffic through", SECS, async || {
            Ok((written(site, "host-1-dpu0")? == before.1).then_some(()))
        })
        .await?;
        ensure!(!site.must("host list")?.contains("in quarantine"), "it is still in the list");
        ensure!(site.must("dpu quarantine host-1 --clear")?.contains("was not in quarantine"));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_host_that_is_too_long_in_its_state_shows_everywhere() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let pack = dir.path().join("rules");
    let mut plan = SitePlan::new(2, 1);
    let copied = std::process::Command::new("cp").arg("-r").args([&plan.rules, &pack]).status()?;
    ensure!(copied.success(), "the pack cannot be copied");
    plan.rules.clone_from(&pack);
    let assigned = pack.join("assigned.rhai");
    let state = "state(\"Assigned/WaitingForNetworkConfig\")\n    .sla(minutes(30))";
    let text = fs::read_to_string(&assigned)?;
    ensure!(text.contains(state), "the pack has changed");
    fs::write(&assigned, text.replace(state, &state.replace("minutes(30)", "seconds(2)")))?;
    on_site(plan, async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        // A DPU that does not report holds the host.
        site.agent(&host.dpus[0])?.kill();
        site.rent(&host).await?;
        site.reaches(&host, "Assigned/WaitingForNetworkConfig", SECS).await?;
        let late = "hosts_above_sla{state=\"Assigned/WaitingForNetworkConfig\"}";
        ensure!(site.metric(late)?.is_none(), "it counts as late too early");
        until("the host to count as late", SECS, async || Ok((site.metric(late)? == Some(1.0)).then_some(()))).await?;
        let list = site.must("host list")?;
        let line = list.lines().find(|line| line.starts_with("host-1")).context("no line")?;
        ensure!(line.contains("Assigned/WaitingForNetworkConfig !"), "{list}");
        ensure!(list.contains("! longer than the state's time limit"), "{list}");
        for shown in ["host show host-1", "host explain host-1"] {
            let said = site.must(shown)?;
            ensure!(said.contains("limit 2 s EXCEEDED"), "{shown}: {said}");
        }
        ensure!(!site.must("host show host-2")?.contains("EXCEEDED"), "another host counts as late");

        site.start_agents()?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        until("nobody to be late", SECS, async || Ok(site.metric(late)?.is_none().then_some(()))).await
    })
    .await
}

#[tokio::test]
async fn a_security_group_counts_once_the_dpus_have_confirmed_it() -> Result<()> {
    on_site(SitePlan::new(1, 2), async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        let instance = site.rent(&host).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let before = written(site, "host-1-dpu0")?;
        ensure!(!before.contains("p0005_"), "there is a security group already");

        let file = site.directory().join("web.yaml");
        let rules = "rules:\n- {direction: ingress, action: permit, protocol: tcp, destination_ports: 443}\n\
                     - {direction: egress, action: permit, protocol: any}\n";
        fs::write(&file, rules)?;
        let put = format!("security-group put web --tenant acme --file {}", file.display());
        let said = site.must(&put)?;
        ensure!(said.contains("permit ingress tcp") && said.contains("anywhere port 443"), "{said}");
        site.must("security-group attach web --vpc blue")?;
        until("the tenant to see that the DPU has the group", SECS, async || {
            let ready = site.tenant_state(&instance).await? == proto::forge::TenantState::Ready;
            Ok((ready && written(site, "host-1-dpu0")?.contains("p0005_")).then_some(()))
        })
        .await?;
        ensure!(written(site, "host-1-dpu0")?.contains("443"), "its rules are not there");
        ensure!(!site.sitectl("security-group delete web")?.0, "it is in use");

        fs::write(&file, rules.replace("443", "8443"))?;
        site.must(&put)?;
        until("the DPU to have the changed group", SECS, async || {
            let ready = site.tenant_state(&instance).await? == proto::forge::TenantState::Ready;
            Ok((ready && written(site, "host-1-dpu0")?.contains("8443")).then_some(()))
        })
        .await?;
        site.must("security-group detach --vpc blue")?;
        until("the DPU to be without it", SECS, async || {
            Ok((!written(site, "host-1-dpu0")?.contains("p0005_")).then_some(()))
        })
        .await?;
        site.must("security-group delete web").map(drop)
    })
    .await
}

#[tokio::test]
async fn an_instance_in_a_dual_stack_vpc_has_both_addresses() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        let said = site.must("vpc create blue --tenant acme --prefix 10.20.0.0/24 --prefix 2001:db8:20::/64")?;
        ensure!(said.contains("10.20.0.0/24 2001:db8:20::/64"), "{said}");
        site.must("instance create --host host-1 --vpc blue --name web")?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let config = written(site, "host-1-dpu0")?;
        ensure!(config.contains("2001:db8:20::1/64") && config.contains("10.20.0.1/24"), "{config}");
        let shown = site.must("instance show web")?;
        ensure!(shown.contains("10.20.0.2 2001:db8:20::2"), "{shown}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn with_certificates_everybody_has_calls_of_their_own() -> Result<()> {
    on_site(SitePlan { tls: true, ..SitePlan::new(1, 2) }, async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        site.rent(&host).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        ensure!(site.must("host list")?.contains("Assigned/Ready"), "an operator cannot see the host");

        // With a DPU's certificate nobody is an operator, and a DPU with another's loses nothing.
        let (fine, said) = site.sitectl_as("host list", "dpus/host-1-dpu0")?;
        ensure!(!fine && said.contains("may not call /site.Site/ListHosts"), "{said}");
        let dpu = host.dpus[0].clone();
        let before = written(site, &dpu.name)?;
        site.agent(&dpu)?.kill();
        for kind in ["pem", "key"] {
            let file = |name: &str| site.directory().join(format!("dpus/{name}.{kind}"));
            fs::copy(file(&host.dpus[1].name), file(&dpu.name))?;
        }
        site.agent(&dpu)?.start()?;
        let refused = "grpc_calls_total{method=\"forge.Forge/GetManagedHostNetworkConfig\",code=\"PermissionDenied\"}";
        until("the agent to be refused", SECS, async || Ok(site.metric(refused)?.filter(|times| *times > 2.0))).await?;
        ensure!(written(site, &dpu.name)? == before, "the DPU changed what it runs");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn dpus_with_expired_certificates_come_back_by_themselves() -> Result<()> {
    on_site(SitePlan { tls: true, certificates_over: true, ..SitePlan::new(1, 2) }, async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        let renewed = "grpc_calls_total{method=\"forge.Forge/RenewMachineCertificate\",code=\"Ok\"}";
        ensure!(site.metric(renewed)? == Some(2.0), "{:?}", site.metric(renewed)?);
        let left = site.metric("dpu_certificate_expires_in_seconds")?.unwrap_or_default();
        let month = 30.0 * 86_400.0;
        ensure!((month - 300.0..=month).contains(&left), "{left}");
        Ok(())
    })
    .await
}
