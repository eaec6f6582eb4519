//! Who may still use a VPC's numbers and prefixes: not only instances with an interface in it. A forgotten instance holds
//! what it had until an operator frees its addresses, and the DPUs of an instance in a VPC that was its peer know of it
//! until they have confirmed the end.

use super::{VpcError, first_unconverged};
use crate::{
    InstanceId,
    store::{HostRecord, Instance, StoreError, Tx, UpdateStage, Vpc},
};

/// Notes that whatever is in `vpc` holds its former `peer`, too.
pub(super) async fn hold_former_peer(tx: &mut Tx, vpc: &Vpc, peer: &Vpc) -> Result<(), StoreError> {
    for instance in tx.instances().await?.into_iter().filter(|instance| is_in(instance, vpc)) {
        tx.add_vpc_holder(peer.id, &instance.id.to_string()).await?;
    }
    for held in tx.addresses().await? {
        if held.forgotten_at.is_some() && vpc.has(held.address) {
            tx.add_vpc_holder(peer.id, &held.owner).await?;
        }
    }
    Ok(())
}

/// Refuses as long as a DPU may use the VPC.
///
/// # Errors
/// [`VpcError::InUse`] or [`VpcError::Held`] with the first who may.
pub(super) async fn check_unused(tx: &mut Tx, vpc: &Vpc) -> Result<(), VpcError> {
    if let Some(instance) = tx.instances().await?.into_iter().find(|instance| is_in(instance, vpc)) {
        return Err(VpcError::InUse { name: vpc.name.clone(), instance: instance.id.to_string() });
    }
    let held = |why: String| Err(VpcError::Held { name: vpc.name.clone(), why });
    let forgotten = |address, owner: &str| {
        held(format!("{owner}, which the site forgot, may still use {address}: free it once nothing does"))
    };
    for address in tx.addresses().await? {
        if vpc.has(address.address) {
            return forgotten(address.address, &address.owner);
        }
    }
    for owner in tx.vpc_holders(vpc.id).await? {
        let id: Option<InstanceId> = owner.parse().ok();
        let known = match id {
            Some(id) => tx.instance(id).await?,
            None => None,
        };
        match known {
            Some(instance) => {
                let record = tx.host_record(&instance.host).await?;
                if let Some(dpu) = unconfirmed(&instance, &record) {
                    return held(format!("{dpu} has not confirmed that a peering with it ended"));
                }
            }
            None => {
                if let Some(address) = tx.addresses_of(&owner).await?.first() {
                    return forgotten(address.address, &owner);
                }
            }
        }
    }
    Ok(())
}

/// Whether the instance has, had or is to have an interface in the VPC.
fn is_in(instance: &Instance, vpc: &Vpc) -> bool {
    instance.all_interfaces().any(|interface| interface.vpc == vpc.id)
}

/// A DPU that may run something else than what it is to run now, for people.
fn unconfirmed(instance: &Instance, record: &HostRecord) -> Option<String> {
    if let Some(place) = instance.missing_dpus(&record.dpus).first() {
        return Some(format!("the DPU at place {place} of host {}", record.host.name));
    }
    if instance.network_update.as_ref().is_some_and(|update| update.stage == UpdateStage::Promoted) {
        return Some(format!("host {}, whose network is being changed,", record.host.name));
    }
    first_unconverged(record).map(|(dpu, _)| format!("DPU {}", dpu.name))
}
