//! Task `database`: tells health whether the database can be written, and ends with an error if it is not in its file any more.

use std::time::Duration;

use proto::{forge::forge_server::ForgeServer, site::site_server::SiteServer};
use tonic_health::server::HealthReporter;
use tracing::{error, info};

use super::super::ServeError;
use crate::{ForgeService, SiteService, metrics::Heartbeat, store::Store};

const PAUSE: Duration = Duration::from_secs(1);

/// Both services serve as long as the database can be written.
///
/// # Errors
/// [`StoreError::Gone`](crate::store::StoreError::Gone), which only another start can mend.
pub(in crate::serve) async fn run(
    store: Store,
    health: HealthReporter,
    heartbeat: Heartbeat,
) -> Result<(), ServeError> {
    let mut serving = true;
    loop {
        tokio::time::sleep(PAUSE).await;
        let writable = store.can_be_written().await?;
        heartbeat.beat();
        if writable == std::mem::replace(&mut serving, writable) {
            continue;
        }
        if writable {
            info!("the database can be written again");
            health.set_serving::<ForgeServer<ForgeService>>().await;
            health.set_serving::<SiteServer<SiteService>>().await;
        } else {
            error!("the database cannot be written: health says NOT_SERVING until it can");
            health.set_not_serving::<ForgeServer<ForgeService>>().await;
            health.set_not_serving::<SiteServer<SiteService>>().await;
        }
    }
}
