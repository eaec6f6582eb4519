//! An operator takes what a held DPU runs for good, so that the site configures it again.

use proto::site;
use tonic::Status;

use super::{SiteService, answer::from_store};
use crate::{Timestamp, store::HELD_SOURCE};

impl SiteService {
    /// Has a DPU that runs what the site never gave run the site's configuration, as a version past that.
    pub(super) async fn accept(&self, request: site::AcceptDpuRequest) -> Result<(), Status> {
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        let dpu = tx.find_dpu(&request.dpu).await.map_err(from_store)?;
        let Some(held) = tx.held(&dpu.id).await.map_err(from_store)? else {
            return Err(Status::failed_precondition(format!("DPU {} runs nothing that the site never gave", dpu.name)));
        };
        if let Some(past) = held.network {
            tx.move_host_network_past(&dpu.host, past, now).await.map_err(from_store)?;
        }
        if let Some(past) = held.instance_network
            && let Some(mut instance) = tx.instance_on(&dpu.host).await.map_err(from_store)?
            && past.number() >= instance.desired_instance_version.number()
        {
            let read = instance.desired_instance_version;
            instance.desired_instance_version = past.next(now.micros());
            tx.store_instance(&instance, instance.config_version, read).await.map_err(from_store)?;
        }
        tx.release_hold(&dpu.id).await.map_err(from_store)?;
        tx.remove_health_report(&dpu.id, HELD_SOURCE).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        tracing::warn!(dpu = %dpu.name, "an operator has a DPU run this site's configuration in place of what it runs");
        self.dirty.mark(dpu.host);
        Ok(())
    }

    /// Lets a host that was deleted come back.
    pub(super) async fn restore(&self, request: site::HostRef) -> Result<(), Status> {
        let mut tx = self.store.write().await.map_err(from_store)?;
        let host = tx.restore_host(&request.host).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        tracing::info!(host = %host.name, id = %host.id, "a deleted host may be added again");
        Ok(())
    }
}
