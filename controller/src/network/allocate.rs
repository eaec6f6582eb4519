//! Addresses for an instance's interfaces, in the transaction that stores the instance.

use ipnet::IpNet;
use uuid::Uuid;

use super::{
    AddressError, DesiredInterface, SiteNetwork,
    addresses::{Usable, gateway_of, give_address},
};
use crate::{
    InstanceId, Timestamp,
    store::{AddressPool, InstanceInterface, StoreError, Tx, Virtualization, Vpc},
};

/// Gives an instance the addresses of its wanted interfaces. An interface that stays as it is among `present` keeps its
/// address; addresses of those that go stay held until they are released.
///
/// # Errors
/// If a prefix is used up, or a wanted address is held.
pub async fn allocate_interfaces(
    tx: &mut Tx,
    site: &SiteNetwork,
    vpcs: &[Vpc],
    instance: InstanceId,
    wanted: &[DesiredInterface],
    present: &[InstanceInterface],
    now: Timestamp,
) -> Result<Vec<InstanceInterface>, AddressError> {
    let owner = instance.to_string();
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
        let usable = |net: IpNet| match vpc.virtualization {
            Virtualization::Etv => Usable::Hosts { without: gateway_of(net).into_iter().collect() },
            Virtualization::Fnn => Usable::LinkEnds,
        };
        let address = match kept {
            Some(has) => has.address,
            None => {
                let (net, pool) = (prefix.prefix, AddressPool::Instance);
                give_address(tx, net, usable(net), want.address, pool, &owner, now).await?
            }
        };
        let ipv6 = match (prefix.ipv6, kept.and_then(|has| has.ipv6)) {
            (None, _) => None,
            (Some(_), Some(has)) => Some(has),
            (Some(net), None) => {
                Some(give_address(tx, net, usable(net), None, AddressPool::Instance, &owner, now).await?)
            }
        };
        let vrf_loopback = match (&site.routed, vpc.virtualization) {
            (Some(routed), Virtualization::Fnn) => {
                let shared = interfaces.iter().chain(present).find(|has: &&InstanceInterface| {
                    has.vpc == vpc.id && has.dpu_position == want.dpu_position && has.vrf_loopback.is_some()
                });
                match shared.and_then(|has| has.vrf_loopback) {
                    Some(loopback) => Some(loopback),
                    None => {
                        let (prefix, usable) = (routed.vrf_loopbacks, Usable::Hosts { without: Vec::new() });
                        let pool = AddressPool::VrfLoopback;
                        Some(give_address(tx, prefix, usable, None, pool, &owner, now).await?)
                    }
                }
            }
            _ => None,
        };
        interfaces.push(InstanceInterface {
            dpu_position: want.dpu_position,
            function: want.function,
            vpc: vpc.id,
            prefix: prefix.id,
            address,
            ipv6,
            vrf_loopback,
            anycast_prefixes: want.anycast_prefixes.clone(),
            internal_uuid: kept.map_or_else(Uuid::new_v4, |has| has.internal_uuid),
            device: want.device.clone(),
            device_instance: want.device_instance,
        });
    }
    Ok(interfaces)
}
