use uuid::Uuid;

use super::{
    AddressError, WantedInterface,
    addresses::{gateway_of, give_address},
};
use crate::{
    InstanceId, Moment,
    store::{AddressPool, InstanceInterface, StoreError, Tx, Vpc},
};

/// Gives an instance the addresses of its wanted interfaces. An interface that stays as it is among `present` keeps its
/// address; addresses of those that go stay held until they are released.
///
/// # Errors
/// If a prefix is used up, or a wanted address is held.
pub async fn allocate_interfaces(
    tx: &mut Tx,
    vpcs: &[Vpc],
    instance: InstanceId,
    wanted: &[WantedInterface],
    present: &[InstanceInterface],
    now: Moment,
) -> Result<Vec<InstanceInterface>, AddressError> {
    let mut interfaces = Vec::with_capacity(wanted.len());
    for want in wanted {
        let (vpc, prefix) = vpcs
            .iter()
            .find_map(|vpc| vpc.prefixes.iter().find(|prefix| prefix.id == want.prefix).map(|prefix| (vpc, prefix)))
            .ok_or_else(|| StoreError::missing("VPC prefix", want.prefix))?;
        let kept = present.iter().find(|has| {
            has.dpu_position == want.dpu_position
                && has.function == want.function
                && has.prefix == want.prefix
                && want.address.is_none_or(|address| address == has.address)
        });
        let address = match kept {
            Some(has) => has.address,
            None => {
                let owner = instance.to_string();
                let gateway = gateway_of(prefix.prefix);
                give_address(tx, prefix.prefix, gateway, want.address, AddressPool::Instance, &owner, now).await?
            }
        };
        interfaces.push(InstanceInterface {
            dpu_position: want.dpu_position,
            function: want.function,
            vpc: vpc.id,
            prefix: prefix.id,
            address,
            internal_uuid: kept.map_or_else(Uuid::new_v4, |has| has.internal_uuid),
            device: want.device.clone(),
            device_instance: want.device_instance,
        });
    }
    Ok(interfaces)
}
