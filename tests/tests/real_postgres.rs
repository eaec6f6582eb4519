//! A site whose controller keeps it in PostgreSQL. The store's own tests run there too, see `with-postgres`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use proto::site::HostHistoryRequest;
use testbed::{
    Binaries, HostSide, Process, Revisions, Site, SitePlan,
    real::{Part, Postgres, missing},
    until,
};
use tokio::time::{Duration, sleep};

const SECS: f64 = 40.0;

/// Starts a site whose controller uses `database`, and does something with it.
async fn on_site(database: &str, test: impl AsyncFnOnce(&mut Site) -> Result<()>) -> Result<()> {
    let binaries = Binaries::ready(false)?;
    let mut controller = Command::new(binaries.path("site-controller"));
    let mut site = Site::prepare(SitePlan::new(1, 1), binaries)?;
    controller.arg("--config").arg(site.directory().join("controller.toml")).args(["--database", database]);
    site.controller = Process::new("controller", controller, site.directory().join("logs/controller.log"));
    site.controller.add_once("--new-site");
    let outcome = async {
        site.start_hosts().await?;
        site.start_controller().await?;
        site.start_agents()?;
        test(&mut site).await
    }
    .await;
    outcome.map_err(|error| error.context(site.tails()))
}

#[tokio::test]
async fn needs_postgres_a_site_outlives_controller_and_database() -> Result<()> {
    if missing(&[Part::Postgres]) {
        return Ok(());
    }
    let mut server = Postgres::start();
    let database = server.new_database();
    on_site(&database, async |site| {
        let host = site.host(0)?;
        site.reaches(&host, "Ready", SECS).await?;
        site.dpus_ready(&host, SECS).await?;
        let vpc = site.create_vpc("blue", &["10.20.0.0/24"]).await?;
        let instance = site.create_instance(&host, "web", &[&vpc.prefixes[0].id]).await?;
        let addresses = site.instance_addresses().await?;
        ensure!(addresses.len() == 1, "{addresses:?}");

        site.controller.kill();
        site.start_controller().await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        ensure!(site.instance_addresses().await? == addresses, "other addresses");

        // A site that cannot look a DPU up must not say that it does not know it.
        let dpu = site.dpu(&host.dpus[0])?;
        let before = Revisions::open(&dpu)?.running()?;
        ensure!(!HostSide::of(&before).is_closed(), "the host is cut off already");
        server.pause();
        sleep(Duration::from_secs(2)).await;
        ensure!(Revisions::open(&dpu)?.running()? == before, "the DPU changed while the database was away");
        ensure!(site.controller.is_running(), "the controller ended with its database");
        server.resume();

        until("the controller to find its database again", SECS, async || {
            Ok(site.list_hosts().await.is_ok().then_some(()))
        })
        .await?;
        site.dpus_ready(&host, SECS).await?;
        site.release_instance(&instance).await?;
        site.reaches(&host, "Ready", SECS).await?;
        ensure!(site.instance_addresses().await?.is_empty(), "an address was lost");
        let request = HostHistoryRequest { host: host.name.clone(), limit: 200, ..HostHistoryRequest::default() };
        let mut steps = site.operator()?.get_host_history(request).await?.into_inner().transitions;
        steps.reverse();
        ensure!(steps.windows(2).all(|pair| pair[0].to == pair[1].from), "the history has a gap: {steps:#?}");
        Ok(())
    })
    .await
    .context("on PostgreSQL")
}
