//! Which addresses are held by whom, and the release of one that is held for nobody.

use std::{collections::HashMap, net::IpAddr};

use proto::site;
use tonic::Status;

use super::{SiteService, answer::from_store, summary::time};

impl SiteService {
    pub(super) async fn addresses(&self) -> Result<site::ListAddressesResponse, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let addresses = tx.addresses().await.map_err(from_store)?;
        let hosts = tx.hosts().await.map_err(from_store)?;
        let dpus = tx.dpus().await.map_err(from_store)?;
        let instances = tx.instances().await.map_err(from_store)?;
        drop(tx);
        let mut names: HashMap<String, String> = HashMap::new();
        names.extend(hosts.into_iter().map(|host| (host.id.to_string(), host.name)));
        names.extend(dpus.into_iter().map(|dpu| (dpu.id.to_string(), dpu.name)));
        for instance in instances {
            let id = instance.id.to_string();
            let name = Some(instance.metadata.name).filter(|name| !name.is_empty()).unwrap_or_else(|| id.clone());
            names.insert(id, name);
        }
        let view = |address: crate::store::Address| site::Address {
            address: address.address.to_string(),
            pool: address.pool.to_string(),
            owner: names.get(&address.owner).cloned().unwrap_or(address.owner),
            since: address.since.to_string(),
            forgotten_at: time(address.forgotten_at),
        };
        Ok(site::ListAddressesResponse { addresses: addresses.into_iter().map(view).collect() })
    }

    /// Frees an address of an owner that the site has forgotten. Whoever still has an owner here gives its addresses
    /// back by its own word only.
    pub(super) async fn free_address(&self, request: site::ReleaseAddressRequest) -> Result<(), Status> {
        let fault = |_| Status::invalid_argument(format!("address: `{}` is no IP address", request.address));
        let wanted: IpAddr = request.address.parse().map_err(fault)?;
        let mut tx = self.store.write().await.map_err(from_store)?;
        let held = tx.addresses().await.map_err(from_store)?.into_iter().find(|held| held.address == wanted);
        let Some(held) = held else {
            return Err(Status::not_found(format!("nobody holds address {wanted}")));
        };
        if !tx.release_forgotten(wanted).await.map_err(from_store)? {
            return Err(Status::failed_precondition(format!(
                "address {wanted} is held by {}, which is still here",
                held.owner
            )));
        }
        tx.commit().await.map_err(from_store)?;
        tracing::info!(address = %wanted, owner = held.owner, "address freed by an operator");
        Ok(())
    }
}
