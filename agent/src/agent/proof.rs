//! The proof that a change on trial leaves the DPU connected: the same uplinks are up and the controller responds.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use crate::{Settings, controller::Site, health::established_uplinks};

/// Uplinks whose session is up before a change, and must be up after it.
pub(crate) async fn uplinks_up(settings: &Settings) -> BTreeSet<String> {
    if settings.hbn.confirm.is_zero() || settings.hbn.vtysh.is_empty() {
        return BTreeSet::new();
    }
    established_uplinks(settings).await
}

/// Waits until the DPU reaches the site as before: the same uplinks are up and the controller responds.
///
/// # Errors
/// What is still missing when `time` has passed.
pub(crate) async fn prove(
    site: &mut Site,
    settings: &Settings,
    before: &BTreeSet<String>,
    time: Duration,
) -> Result<(), String> {
    const PAUSE: Duration = Duration::from_millis(500);
    let deadline = Instant::now() + time;
    loop {
        let up = if before.is_empty() { BTreeSet::new() } else { established_uplinks(settings).await };
        let missing: Vec<&str> = before.difference(&up).map(String::as_str).collect();
        let silent = if missing.is_empty() { site.responds().await.err() } else { None };
        let left = deadline.saturating_duration_since(Instant::now());
        match (missing.is_empty(), silent) {
            (true, None) => return Ok(()),
            (true, Some(why)) if left.is_zero() => return Err(format!("the controller does not answer: {why}")),
            (false, _) if left.is_zero() => return Err(format!("no BGP session on {}", missing.join(", "))),
            _ => tokio::time::sleep(PAUSE.min(left)).await,
        }
    }
}
