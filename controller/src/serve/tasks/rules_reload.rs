//! Task `rules`: reads the directory of rules again on SIGHUP.

use std::{sync::Arc, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, timeout},
};
use tracing::{error, info, warn};

use super::super::ServeError;
use crate::{RulePacks, metrics::Heartbeat};

/// Whoever writes several files may say so several times: rules are read once nothing was said for this long.
const QUIET: Duration = Duration::from_millis(200);
/// Longest wait for that.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Waits for SIGHUP for ever. Where that is impossible, the site goes on.
pub(in crate::serve) async fn run(packs: Arc<RulePacks>, heartbeat: Heartbeat) -> Result<(), ServeError> {
    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(error) => {
            error!(%error, "cannot wait for SIGHUP: rules are reloaded by `sitectl rules apply` only");
            return std::future::pending().await;
        }
    };
    while hangups.recv().await.is_some() {
        quiet(&mut hangups).await;
        heartbeat.beat();
        match packs.reload().await {
            Ok(verdict) if verdict.applied => info!(hash = verdict.hash, "rules were reloaded"),
            Ok(verdict) => {
                let faults = verdict.faults.join("\n\n");
                warn!(refusal = verdict.refusal.unwrap_or_default(), "rules stay as they are\n{faults}");
            }
            Err(error) => error!(%error, "rules were not reloaded"),
        }
    }
    Ok(())
}

async fn quiet(hangups: &mut Signal) {
    let latest = Instant::now() + LONGEST_WAIT;
    while timeout(QUIET, hangups.recv()).await.is_ok() && Instant::now() < latest {}
}
