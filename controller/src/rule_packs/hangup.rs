use std::{sync::Arc, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, timeout},
};
use tracing::{error, info, warn};

use super::RulePacks;

/// Whoever writes several files may say so several times: rules are read once nothing was said for this long.
const QUIET: Duration = Duration::from_millis(200);
/// Longest wait for that.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Reads the configured directory of rules again when the process gets SIGHUP. Ends never.
pub(crate) async fn reload_on_hangup(packs: Arc<RulePacks>) {
    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(error) => return error!(%error, "cannot wait for SIGHUP: rules are reloaded by `sitectl rules apply` only"),
    };
    while hangups.recv().await.is_some() {
        quiet(&mut hangups).await;
        match packs.reload().await {
            Ok(verdict) if verdict.applied => info!(hash = verdict.hash, "rules were reloaded"),
            Ok(verdict) => {
                let faults = verdict.faults.join("\n\n");
                warn!(refusal = verdict.refusal.unwrap_or_default(), "rules stay as they are\n{faults}");
            }
            Err(error) => error!(%error, "rules were not reloaded"),
        }
    }
}

async fn quiet(hangups: &mut Signal) {
    let latest = Instant::now() + LONGEST_WAIT;
    while timeout(QUIET, hangups.recv()).await.is_ok() && Instant::now() < latest {}
}
