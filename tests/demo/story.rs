//! The acts of the demo: each does something to the site, shows what came of it, and checks that.

use anyhow::{Result, ensure};
use proto::{
    forge::{Instance, TenantState},
    site::Explanation,
};
use testbed::{DpuPlan, HostPlan, HostSide, Scenario, Services, Site, is_acknowledged, is_current, until};

use crate::timeline::Timeline;

/// Longest time that an act waits for something, in seconds.
const PATIENCE: u64 = 60;
const PREFIXES: [&str; 2] = ["10.20.0.0/24", "10.20.1.0/24"];

/// The whole story. Every claim is checked; the first that does not hold ends it.
pub(crate) async fn tell(site: &mut Site, timeline: &mut Timeline) -> Result<()> {
    site_comes_up(site, timeline).await?;
    let (host, forgotten) = (site.host(0)?, site.host(1)?);
    let instance = instance_becomes_ready(site, timeline, &host).await?;
    instance_is_updated(site, timeline, &host, &instance).await?;
    instance_is_deleted(site, timeline, &host, &instance).await?;
    dpu_is_forgotten(site, timeline, &forgotten).await?;
    timeline.begin("Summary");
    println!("{}", timeline.summary());
    Ok(())
}

async fn site_comes_up(site: &mut Site, timeline: &mut Timeline) -> Result<()> {
    timeline.begin("A site comes up");
    site.start_hosts().await?;
    site.start_controller().await?;
    timeline.say(format_args!("site-controller serves {}, its database is a file", site.url()));
    site.start_agents()?;
    let all = site.plan.dpus().count();
    timeline.say(format_args!("{all} dpu-agents start, each on its own simulated DPU"));
    let mut told = None;
    until("all DPUs to report the admin network", PATIENCE as f64, async || {
        let mut ready = 0;
        for host in site.plan.hosts.clone() {
            ready += site.dpu_status(&host).await?.iter().filter(|dpu| is_current(dpu)).count();
        }
        if told != Some(ready) {
            timeline
                .say(format_args!("{ready} of {all} DPUs report the configuration they should run, and are healthy"));
            told = Some(ready);
        }
        Ok((ready == all).then_some(()))
    })
    .await?;
    timeline.sitectl(site, &["host", "list"]).await?;
    timeline.proves("a site from nothing", format!("{all} DPUs run the admin network and say so"));
    Ok(())
}

async fn instance_becomes_ready(site: &Site, timeline: &mut Timeline, host: &HostPlan) -> Result<Instance> {
    timeline.begin("A tenant's instance, with an uplink that fails meanwhile");
    let [first, second] = PREFIXES;
    let vpc = ["vpc", "create", "blue", "--tenant", "acme", "--prefix", first, "--prefix", second];
    timeline.sitectl(site, &vpc).await?;
    timeline.sitectl(site, &["instance", "create", "--host", &host.name, "--vpc", "blue", "--name", "web"]).await?;
    let instance = site.instance_on(host).await?;
    let primary = host.primary()?;
    uplink(site, primary, Some("Active"))?;
    timeline.say(format_args!("p0 of {} loses its top-of-rack switch", primary.name));
    timeline
        .follow(site, host, PATIENCE, async |seen| {
            not_ready(site, &instance).await?;
            Ok(seen.outcome == "wait" && only_waits_for_p0(seen))
        })
        .await?;
    timeline.sitectl(site, &["host", "explain", &host.name]).await?;
    timeline.proves("why a host waits", format!("explain names BgpPeeringTor p0_if on {}", primary.name));

    uplink(site, primary, None)?;
    timeline.say(format_args!("p0 of {} is up again", primary.name));
    timeline.follow(site, host, PATIENCE, async |seen| Ok(seen.state == "Assigned/Ready")).await?;
    let dpus = site.dpu_status(host).await?;
    ensure!(dpus.iter().all(is_current), "{} is Ready although its DPUs are not: {dpus:?}", host.name);
    until("the tenant to see it", 5.0, async || {
        Ok((site.tenant_state(&instance).await? == TenantState::Ready).then_some(()))
    })
    .await?;
    timeline.say("the tenant sees the instance as ready");
    timeline.sitectl(site, &["dpu", "status", &host.name]).await?;
    timeline.proves("Ready only after the DPUs' word", "both DPUs reported the desired versions and good health first");
    Ok(instance)
}

async fn instance_is_updated(site: &Site, timeline: &mut Timeline, host: &HostPlan, instance: &Instance) -> Result<()> {
    timeline.begin("A live network update");
    let old = addresses(site).await?;
    timeline.sitectl(site, &["instance", "update", "web", "--vpc-prefix", PREFIXES[1]]).await?;
    let mut held = Vec::new();
    timeline
        .follow(site, host, PATIENCE, async |seen| {
            let now = addresses(site).await?;
            if held != now {
                timeline.say(format_args!("the instance holds {}", now.join(" and ")));
                held.clone_from(&now);
            }
            let released = !old.iter().any(|address| now.contains(address));
            if released {
                let dpus = site.dpu_status(host).await?;
                ensure!(dpus.iter().all(is_current), "{old:?} was released before all DPUs acknowledged: {dpus:?}");
            }
            Ok(released && seen.state == "Assigned/Ready")
        })
        .await?;
    ensure!(site.instance(instance).await?.is_some(), "the instance is gone");
    timeline
        .proves("the old address is kept until the DPUs let go", format!("{} -> {}", old.join(" "), held.join(" ")));
    Ok(())
}

async fn instance_is_deleted(site: &Site, timeline: &mut Timeline, host: &HostPlan, instance: &Instance) -> Result<()> {
    timeline.begin("The instance is deleted");
    timeline.sitectl(site, &["instance", "delete", "web"]).await?;
    let held = addresses(site).await?;
    let mut released = false;
    timeline
        .follow(site, host, PATIENCE, async |seen| {
            if !released && addresses(site).await?.is_empty() {
                released = true;
                let detail = site.host_detail(host).await?;
                ensure!(detail.use_admin_network, "the address was released while the tenant network was wanted");
                ensure!(
                    detail.dpus.iter().all(is_acknowledged),
                    "the address was released before all DPUs acknowledged"
                );
                timeline.say(format_args!("{} is free again: both DPUs run the admin network", held.join(" ")));
            }
            Ok(released && seen.state == "Ready")
        })
        .await?;
    ensure!(site.instance(instance).await?.is_none(), "the instance is still there");
    timeline.sitectl(site, &["address", "list"]).await?;
    timeline.proves("an address is free only after the DPUs' word", held.join(" "));
    Ok(())
}

async fn dpu_is_forgotten(site: &Site, timeline: &mut Timeline, host: &HostPlan) -> Result<()> {
    timeline.begin("The site forgets a DPU");
    let dpu = host.primary()?;
    let dir = site.dpu(dpu)?;
    let side = || site.host_side(dpu);
    let dhcp = || -> Result<_> { Ok(if Services::of(&dir)?.dhcp_runs() { "runs" } else { "stopped" }) };
    tell_side(timeline, dpu, &side()?, dhcp()?);
    timeline.sitectl(site, &["dpu", "forget", &dpu.name]).await?;
    until("the DPU to isolate its host", PATIENCE as f64, async || {
        Ok((side()?.is_closed() && dhcp()? == "stopped").then_some(()))
    })
    .await?;
    timeline.say(format_args!("the agent of {} hears NOT_FOUND and isolates its host", dpu.name));
    tell_side(timeline, dpu, &side()?, dhcp()?);
    let uplinks = testbed::sessions(&dir)?.iter().filter(|session| session.is_up()).count();
    ensure!(uplinks > 0, "the isolated DPU has no session left and cannot come back");
    timeline.say(format_args!("{uplinks} underlay sessions stay up, so that the DPU can come back"));
    timeline
        .proves("an unknown DPU isolates its host", "host port closed, nothing announced, DHCP stopped, underlay up");
    Ok(())
}

fn tell_side(timeline: &Timeline, dpu: &DpuPlan, side: &HostSide, dhcp: &str) {
    let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(" ") };
    timeline.say(format_args!("{} runs (nv config show --applied):", dpu.name));
    println!("            open host ports  {}", list(&side.open_ports));
    println!("            gateways         {}", list(&side.gateways));
    println!("            announced        {}", list(&side.announced));
    println!("            DHCP server      {dhcp}");
}

/// Puts the first uplink of a DPU into a state, or back to normal.
fn uplink(site: &Site, dpu: &DpuPlan, state: Option<&str>) -> Result<()> {
    let mut scenario = Scenario::default();
    scenario.bgp.peers.extend(state.map(|state| ("p0_if".to_owned(), state.to_owned())));
    site.dpu(dpu)?.set_scenario(&scenario)
}

fn only_waits_for_p0(seen: &Explanation) -> bool {
    let p0 = seen.alerts.iter().any(|alert| alert.probe == "BgpPeeringTor" && alert.target == "p0_if");
    p0 && !seen.alerts.iter().any(|alert| alert.probe == "PostConfigCheckWait")
}

async fn not_ready(site: &Site, instance: &Instance) -> Result<()> {
    let state = site.tenant_state(instance).await?;
    ensure!(state != TenantState::Ready, "the instance is ready although p0 is down");
    Ok(())
}

async fn addresses(site: &Site) -> Result<Vec<String>> {
    Ok(site.instance_addresses().await?.into_iter().map(|address| address.address).collect())
}
