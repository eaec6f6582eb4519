//! `GetManagedHostNetworkConfig`: what a DPU is to run, or `NotFound` if the site does not know it.

use proto::{MachineId, forge};
use tonic::Status;

use super::{
    ForgeService,
    answer::from_store,
    fields::dpu_id,
    held::{Runs, hold, refusal},
};
use crate::{
    Timestamp,
    access::Caller,
    network::{DesiredInput, desired_config},
    store::{AddressPool, NumberPool, Tx},
};

impl ForgeService {
    pub(super) async fn network_config(
        &self,
        caller: &Caller,
        request: forge::ManagedHostNetworkConfigRequest,
        runs: Runs,
    ) -> Result<forge::ManagedHostNetworkConfigResponse, Status> {
        let id = dpu_id("dpu_machine_id", request.dpu_machine_id.as_ref())?;
        caller.speaks_of(&id)?;
        let mut tx = self.store.read().await.map_err(from_store)?;
        let Some(dpu) = tx.dpu(&id).await.map_err(from_store)? else { return Err(unknown(&mut tx, &id).await) };
        let host = tx.host(&dpu.host).await.map_err(from_store)?.ok_or_else(|| lacks(&id, "host with an"))?;
        let instance = tx.instance_on(&host.id).await.map_err(from_store)?;
        if let Some(held) = tx.held(&id).await.map_err(from_store)? {
            return Err(refusal(&id, &dpu.name, &held));
        }
        if let Some(held) = runs.never_given(&host, instance.as_ref(), Timestamp::now()) {
            drop(tx);
            let mut tx = self.store.write().await.map_err(from_store)?;
            hold(&mut tx, &dpu, &held).await.map_err(from_store)?;
            tx.commit().await.map_err(from_store)?;
            self.dirty.mark(dpu.host);
            return Err(refusal(&id, &dpu.name, &held));
        }
        let site = self.site()?;
        let addresses = tx.addresses_of(id.as_str()).await.map_err(from_store)?;
        let held = |pool| addresses.iter().find(|held| held.pool == pool).map(|held| held.address);
        let loopback = held(AddressPool::Loopback).ok_or_else(|| lacks(&id, "loopback"))?;
        let admin_address = held(AddressPool::Admin).ok_or_else(|| lacks(&id, "admin"))?;
        let asn = tx.number_of(NumberPool::Asn, id.as_str()).await.map_err(from_store)?;
        if site.routed.is_some() && asn.is_none() {
            return Err(Status::failed_precondition(format!("DPU {id} is known but has no AS number yet")));
        }
        let (vpcs, groups) = match &instance {
            Some(_) => (tx.vpcs().await.map_err(from_store)?, tx.security_groups().await.map_err(from_store)?),
            None => Default::default(),
        };
        Ok(desired_config(DesiredInput {
            site,
            host: &host,
            dpu: &dpu,
            loopback,
            admin_address,
            asn,
            instance: instance.as_ref(),
            vpcs: &vpcs,
            groups: &groups,
        }))
    }
}

/// The one answer that makes a DPU isolate its host. A site that never had any DPU does not say so: its database is not
/// the one that was meant, and it would cut off every tenant.
pub(super) async fn unknown(tx: &mut Tx, dpu: &MachineId) -> Status {
    match tx.has_had_dpus().await {
        Ok(true) => Status::not_found(format!("the site does not know DPU {dpu}")),
        Ok(false) => Status::failed_precondition(format!(
            "the site knows no DPU at all, so that it does not know {dpu} says nothing: it is new, or its database is not \
             the one that was meant"
        )),
        Err(error) => from_store(error),
    }
}

fn lacks(dpu: &MachineId, what: &str) -> Status {
    Status::failed_precondition(format!("DPU {dpu} is known but has no {what} address yet"))
}
