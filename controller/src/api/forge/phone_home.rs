//! An instance's operating system says that it is up.

use proto::forge;
use tonic::Status;

use super::{ForgeService, answer::from_store, fields::instance_id};
use crate::{Timestamp, access::Caller};

impl ForgeService {
    /// Records that the tenant's operating system is up.
    pub(super) async fn phone_home(
        &self,
        caller: &Caller,
        request: forge::InstancePhoneHomeLastContactRequest,
    ) -> Result<forge::InstancePhoneHomeLastContactResponse, Status> {
        let id = instance_id("instance_id", request.instance_id.as_ref())?;
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        let found = tx.instance(id).await.map_err(from_store)?;
        if let Caller::Machine(dpu) = caller {
            let dpu_host = tx.dpu(dpu).await.map_err(from_store)?.map(|dpu| dpu.host);
            if dpu_host.is_none() || found.as_ref().map(|instance| &instance.host) != dpu_host.as_ref() {
                return Err(Status::permission_denied(format!("{caller} carries no instance {id}")));
            }
        }
        let mut instance = found.ok_or_else(|| Status::not_found(format!("there is no instance {id}")))?;
        instance.phone_home_at = Some(now);
        tx.store_instance(&instance, instance.config_version, instance.network_version).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(instance.host);
        Ok(forge::InstancePhoneHomeLastContactResponse { timestamp: Some(now.into()) })
    }
}
