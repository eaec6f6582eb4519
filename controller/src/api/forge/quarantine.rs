//! Blocks all traffic of a host, and lets it pass again.

use proto::{MachineId, MachineKind, common, forge};
use tonic::Status;

use super::{
    ForgeService,
    answer::from_store,
    fields::{invalid, machine_id, name},
};
use crate::{
    Timestamp,
    store::{Host, Quarantine, Tx},
};

impl ForgeService {
    pub(super) async fn quarantine(
        &self,
        request: forge::GetManagedHostQuarantineStateRequest,
    ) -> Result<forge::GetManagedHostQuarantineStateResponse, Status> {
        let id = host_id(request.machine_id.as_ref())?;
        let mut tx = self.store.read().await.map_err(from_store)?;
        let host = known(&mut tx, &id).await?;
        Ok(forge::GetManagedHostQuarantineStateResponse { quarantine_state: host.quarantine.as_ref().map(to_wire) })
    }

    /// Blocks all traffic of a host by a new version of its network. What that means for tenants is for the rules to say.
    pub(super) async fn set_quarantine(
        &self,
        request: forge::SetManagedHostQuarantineStateRequest,
    ) -> Result<forge::SetManagedHostQuarantineStateResponse, Status> {
        let id = host_id(request.machine_id.as_ref())?;
        let wanted = request.quarantine_state.ok_or_else(|| invalid("quarantine_state", "is missing"))?;
        if forge::ManagedHostQuarantineMode::try_from(wanted.mode).is_err() {
            return Err(invalid("quarantine_state.mode", format_args!("unknown value {}", wanted.mode)));
        }
        let reason = wanted.reason.as_deref().map(|text| name("quarantine_state.reason", text)).transpose()?;
        let prior = self.change(&id, Some(Quarantine { reason })).await?;
        Ok(forge::SetManagedHostQuarantineStateResponse { prior_quarantine_state: prior.as_ref().map(to_wire) })
    }

    pub(super) async fn clear_quarantine(
        &self,
        request: forge::ClearManagedHostQuarantineStateRequest,
    ) -> Result<forge::ClearManagedHostQuarantineStateResponse, Status> {
        let id = host_id(request.machine_id.as_ref())?;
        let prior = self.change(&id, None).await?;
        Ok(forge::ClearManagedHostQuarantineStateResponse { prior_quarantine_state: prior.as_ref().map(to_wire) })
    }

    /// What the host's quarantine was before.
    async fn change(&self, id: &MachineId, wanted: Option<Quarantine>) -> Result<Option<Quarantine>, Status> {
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        let host = known(&mut tx, id).await?;
        if host.quarantine == wanted {
            return Ok(host.quarantine);
        }
        tx.set_host_network(id, host.network_version, host.use_admin_network, wanted.as_ref(), now)
            .await
            .map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(id.clone());
        Ok(host.quarantine)
    }
}

fn host_id(id: Option<&common::MachineId>) -> Result<MachineId, Status> {
    let id = machine_id("machine_id", id)?;
    if id.kind() == MachineKind::Dpu {
        return Err(invalid("machine_id", format_args!("`{id}` is not a host")));
    }
    Ok(id)
}

async fn known(tx: &mut Tx, id: &MachineId) -> Result<Host, Status> {
    let host = tx.host(id).await.map_err(from_store)?;
    host.ok_or_else(|| Status::not_found(format!("the site does not know host {id}")))
}

fn to_wire(quarantine: &Quarantine) -> forge::ManagedHostQuarantineState {
    forge::ManagedHostQuarantineState {
        mode: forge::ManagedHostQuarantineMode::BlockAllTraffic as i32,
        reason: quarantine.reason.clone(),
    }
}
