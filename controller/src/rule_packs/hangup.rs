use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info, warn};

use super::RulePacks;

/// Reads the configured directory of rules again each time the process gets SIGHUP. Ends never.
pub(crate) async fn reload_on_hangup(packs: Arc<RulePacks>) {
    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(error) => return error!(%error, "cannot wait for SIGHUP: rules are reloaded by `sitectl rules apply` only"),
    };
    while hangups.recv().await.is_some() {
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
