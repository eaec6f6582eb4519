//! DPUs as operators list them, and the end of one that the site forgets.

use std::collections::HashMap;

use proto::site;
use tonic::Status;

use super::{SiteService, answer::from_store, summary};
use crate::store::AddressPool;

impl SiteService {
    pub(super) async fn dpus(&self, request: site::ListDpusRequest) -> Result<site::ListDpusResponse, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let hosts = if request.host.is_empty() {
            tx.hosts().await.map_err(from_store)?
        } else {
            vec![tx.find_host(&request.host).await.map_err(from_store)?]
        };
        let held = tx.addresses().await.map_err(from_store)?;
        let loopbacks: HashMap<&str, String> = held
            .iter()
            .filter(|address| address.pool == AddressPool::Loopback)
            .map(|address| (address.owner.as_str(), address.address.to_string()))
            .collect();
        let mut dpus = Vec::new();
        for host in hosts {
            let record = tx.host_record(&host.id).await.map_err(from_store)?;
            for dpu in &record.dpus {
                let mut status = summary::dpu(&record, dpu).status;
                status.loopback_ip = loopbacks.get(dpu.id.as_str()).cloned().unwrap_or_default();
                dpus.push(status);
            }
        }
        Ok(site::ListDpusResponse { dpus })
    }

    pub(super) async fn forget(&self, request: site::ForgetDpuRequest) -> Result<(), Status> {
        let mut tx = self.store.write().await.map_err(from_store)?;
        let dpu = tx.find_dpu(&request.dpu).await.map_err(from_store)?;
        // Without the DPU among the host's, the others' word would be enough to give the instance's addresses away.
        if let Some(instance) = tx.instance_on(&dpu.host).await.map_err(from_store)? {
            return Err(Status::failed_precondition(format!(
                "DPU {} carries instance {}: delete the instance first, or force-delete the host",
                dpu.name, instance.id
            )));
        }
        tx.forget_dpu(&dpu.id).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        tracing::info!(dpu = %dpu.name, id = %dpu.id, "DPU forgotten");
        self.dirty.mark(dpu.host);
        Ok(())
    }
}
