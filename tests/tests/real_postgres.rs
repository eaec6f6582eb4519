//! A site whose controller keeps it in PostgreSQL. The store's own tests run there too, see `with-postgres`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use testbed::{
    Binaries, HostSide, Process, SECS, Site, SitePlan, on_prepared,
    real::{Part, Postgres, missing},
    until,
};
use tokio::time::{Duration, sleep};

/// Starts a site whose controller uses `database`, and does something with it.
async fn on_postgres(database: &str, test: impl AsyncFnOnce(&mut Site) -> Result<()>) -> Result<()> {
    let binaries = Binaries::ready(false)?;
    let mut controller = Command::new(binaries.path("site-controller"));
    let mut site = Site::prepare(SitePlan::new(1, 1), binaries)?;
    controller.arg("--config").arg(site.directory().join("controller.toml")).args(["--database", database]);
    site.controller = Process::new("controller", controller, site.directory().join("logs/controller.log"));
    site.controller.add_once("--new-site");
    on_prepared(site, async |site| {
        site.start().await?;
        test(site).await
    })
    .await
}

#[tokio::test]
async fn needs_postgres_a_site_outlives_controller_and_database() -> Result<()> {
    if missing(&[Part::Postgres]) {
        return Ok(());
    }
    let mut server = Postgres::start();
    let database = server.new_database();
    on_postgres(&database, async |site| {
        let host = site.ready_host().await?;
        let instance = site.rent(&host).await?;
        let addresses = site.instance_addresses().await?;
        ensure!(addresses.len() == 1, "{addresses:?}");

        site.controller.kill();
        site.start_controller().await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        ensure!(site.instance_addresses().await? == addresses, "other addresses");

        // A site that cannot look a DPU up must not say that it does not know it.
        let dpu = host.primary()?;
        let before = site.runs(dpu)?;
        ensure!(!HostSide::of(&before).is_closed(), "the host is cut off already");
        server.pause();
        sleep(Duration::from_secs(2)).await;
        ensure!(site.runs(dpu)? == before, "the DPU changed while the database was away");
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
        let steps = site.history(&host).await?;
        ensure!(steps.windows(2).all(|pair| pair[0].to == pair[1].from), "the history has a gap: {steps:#?}");
        Ok(())
    })
    .await
    .context("on PostgreSQL")
}
