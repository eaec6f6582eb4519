//! Task `tls`: looks whether the TLS files have changed, and reads them again.

use std::{sync::Arc, time::Duration};

use super::super::ServeError;
use crate::{listen::TlsFiles, metrics::Heartbeat};

const PAUSE: Duration = Duration::from_secs(1);

/// Looks for ever.
pub(in crate::serve) async fn run(tls: Arc<TlsFiles>, heartbeat: Heartbeat) -> Result<(), ServeError> {
    let mut known = tls.modified();
    loop {
        tokio::time::sleep(PAUSE).await;
        known = tls.reload_if_changed(known);
        heartbeat.beat();
    }
}
