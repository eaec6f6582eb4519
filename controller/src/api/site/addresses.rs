use std::collections::HashMap;

use proto::site;
use tonic::Status;

use super::{SiteService, answer::from_store};

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
        };
        Ok(site::ListAddressesResponse { addresses: addresses.into_iter().map(view).collect() })
    }
}
