//! A booted host: what it asks of the controller and reports to it, as the discovery image of a site does. The BMC's
//! service starts it.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use proto::site::{HostEvent, HostRef, site_client::SiteClient};
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;

use super::bmc::{Bmc, BootedAs};

/// Longest time for one call to the controller.
const CALL: Duration = Duration::from_secs(5);
/// How often a booted host tries to reach the controller before it gives up.
const TRIES: u32 = 600;

/// What a booted discovery image is asked to do in a state, by the start of the state's name, and what it reports then.
const WORK: [(&str, &str); 3] =
    [("WaitingForCleanup", "cleaned"), ("HostInit/WaitingForDiscovery", "discovered"), ("Validation/", "validated")];

/// Boots the system: after its boot time it is up, and a host reports to the controller until the next power change.
pub(super) async fn boot(bmc: Arc<Bmc>, generation: u64) {
    sleep(bmc.boot).await;
    if !bmc.is_up(generation) {
        return;
    }
    let Some(booted) = bmc.host.clone() else { return };
    let mut failures = 0;
    let mut host = BootedHost { booted, announced: false, worked_in: None };
    while failures < TRIES && bmc.with(|state| state.generation) == generation {
        if !bmc.faults().silent {
            match host.look().await {
                Ok(Next::Again) => failures = 0,
                Ok(Next::TenantRuns) => return,
                Err(error) => {
                    failures += 1;
                    eprintln!("{}: {error:#}", host.booted.host);
                }
            }
        }
        sleep(host.booted.poll).await;
    }
}

enum Next {
    Again,
    /// The host runs its tenant's system, which does not report.
    TenantRuns,
}

/// A booted host and what it has reported so far.
struct BootedHost {
    booted: BootedAs,
    announced: bool,
    /// Version of the state for which it has done its work.
    worked_in: Option<String>,
}

impl BootedHost {
    /// One look at the controller: reports that it is up, then does what the host's state asks of it.
    async fn look(&mut self) -> Result<Next> {
        let address = controller_address(&self.booted.controller_file)?;
        let channel = timeout(CALL, Channel::from_shared(format!("http://{address}"))?.connect()).await??;
        let mut site = SiteClient::new(channel);
        let host = timeout(CALL, site.get_host(HostRef { host: self.booted.host.clone() })).await??.into_inner();
        let state = host.summary.unwrap_or_default().state;
        if !self.announced {
            self.report(&mut site, "rebooted", None).await?;
            self.announced = true;
            if boots_tenant(&state) {
                return Ok(Next::TenantRuns);
            }
            self.report(&mut site, "discovered", None).await?;
        }
        let work = WORK.iter().find(|(prefix, _)| state.starts_with(prefix)).map(|(_, event)| *event);
        if let Some(event) = work
            && self.worked_in.as_ref() != Some(&host.state_version)
        {
            self.report(&mut site, event, Some(&host.state_version)).await?;
            self.worked_in = Some(host.state_version);
        }
        Ok(Next::Again)
    }

    /// Reports what happened; if it is work, of the run of the state that it was done for.
    async fn report(&self, site: &mut SiteClient<Channel>, kind: &str, run: Option<&str>) -> Result<()> {
        let arguments = run.map(|run| ("run".to_owned(), run.to_owned())).into_iter().collect();
        let event = HostEvent { host: self.booted.host.clone(), kind: kind.into(), arguments };
        timeout(CALL, site.report_host_event(event)).await??;
        println!("{}: reported {kind}", self.booted.host);
        Ok(())
    }
}

/// Whether a host in this state finds its tenant's system when it boots, and not the discovery image.
fn boots_tenant(state: &str) -> bool {
    matches!(state, "Assigned/Ready" | "Assigned/WaitingForRebootToReady")
}

/// Reads where the controller serves gRPC from the file in which it says so: the first of its `name=address` lines.
pub(crate) fn controller_address(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let line = text.lines().next().context("the controller has not said its address yet")?;
    Ok(line.rsplit('=').next().unwrap_or(line).trim().to_owned())
}
