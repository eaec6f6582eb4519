//! Free addresses of prefixes and pools. Only the database says that one is free.

use std::{collections::HashSet, net::IpAddr};

use ipnet::{IpNet, Ipv4AddrRange, Ipv6AddrRange};
use proto::MachineId;

use super::SiteNetwork;
use crate::{
    Timestamp,
    store::{Address, AddressPool, StoreError, Tx},
};

/// Why no address was given.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// All addresses of the prefix are held.
    #[error("prefix {0} has no free address")]
    UsedUp(IpNet),
    /// The wanted address is not one that the prefix can give.
    #[error("address {address} cannot be given: it is not one for hosts in {prefix}")]
    Unusable {
        /// Wanted address.
        address: IpAddr,
        /// Prefix that was to give it.
        prefix: IpNet,
    },
    /// The wanted address is held.
    #[error("address {0} is held already")]
    Held(IpAddr),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Longest search for a free address; a prefix this full is as good as used up.
const LONGEST_SEARCH: usize = 1 << 20;

/// Which addresses of a prefix are given out.
pub(super) enum Usable {
    /// All of hosts, but for those of the DPUs themselves.
    Hosts { without: Vec<IpAddr> },
    /// The host's end of links of two addresses.
    LinkEnds,
}

impl Usable {
    fn allows(&self, prefix: IpNet, address: IpAddr) -> bool {
        match self {
            Self::Hosts { without } => !without.contains(&address) && is_host_address(prefix, address),
            Self::LinkEnds => prefix.contains(&address) && is_host_end(address),
        }
    }
}

/// Gives `owner` an address of `prefix`, the `wanted` one or the lowest free one.
pub(super) async fn give_address(
    tx: &mut Tx,
    prefix: IpNet,
    usable: Usable,
    wanted: Option<IpAddr>,
    pool: AddressPool,
    owner: &str,
    now: Timestamp,
) -> Result<IpAddr, AddressError> {
    let usable = |address: IpAddr| usable.allows(prefix, address);
    let address = match wanted {
        Some(address) if !usable(address) => return Err(AddressError::Unusable { address, prefix }),
        Some(address) => address,
        None => {
            let held: HashSet<IpAddr> = tx.addresses().await?.into_iter().map(|held| held.address).collect();
            subnet_addresses(prefix)
                .take(LONGEST_SEARCH)
                .find(|address| usable(*address) && !held.contains(address))
                .ok_or(AddressError::UsedUp(prefix))?
        }
    };
    match tx.claim_address(&Address { address, pool, owner: owner.to_owned(), since: now, forgotten_at: None }).await {
        Ok(()) => Ok(address),
        Err(StoreError::Taken { .. }) => Err(AddressError::Held(address)),
        Err(error) => Err(error.into()),
    }
}

/// All addresses of a prefix, rising.
fn subnet_addresses(prefix: IpNet) -> Box<dyn Iterator<Item = IpAddr> + Send> {
    match prefix {
        IpNet::V4(net) => Box::new(Ipv4AddrRange::new(net.network(), net.broadcast()).map(IpAddr::V4)),
        IpNet::V6(net) => Box::new(Ipv6AddrRange::new(net.network(), net.broadcast()).map(IpAddr::V6)),
    }
}

/// The first host address of a prefix: where its gateway stands. In IPv6 the prefix's own address is that of all its routers.
pub(super) fn gateway_of(prefix: IpNet) -> Option<IpAddr> {
    prefix.hosts().find(|address| is_host_address(prefix, *address))
}

/// Whether the address is the upper one of its link of two, which is the host's.
pub(super) fn is_host_end(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.to_bits() & 1 == 1,
        IpAddr::V6(address) => address.to_bits() & 1 == 1,
    }
}

/// Whether prefixes share addresses.
pub(crate) fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}

/// Whether a host can have the address: in the prefix, and neither its network nor its broadcast address.
pub(crate) fn is_host_address(prefix: IpNet, address: IpAddr) -> bool {
    let spare = match prefix {
        IpNet::V4(net) => net.prefix_len() >= 31,
        IpNet::V6(net) => net.prefix_len() >= 127,
    };
    prefix.contains(&address) && (spare || (address != prefix.network() && address != prefix.broadcast()))
}

/// The loopback of a DPU; given now if it has none.
///
/// # Errors
/// If the site's loopback prefix is used up or the database fails.
pub async fn give_loopback(
    tx: &mut Tx,
    site: &SiteNetwork,
    dpu: &MachineId,
    now: Timestamp,
) -> Result<IpAddr, AddressError> {
    match held(tx, AddressPool::Loopback, dpu).await? {
        Some(address) => Ok(address),
        None => {
            let usable = Usable::Hosts { without: Vec::new() };
            give_address(tx, site.loopbacks, usable, None, AddressPool::Loopback, dpu.as_str(), now).await
        }
    }
}

/// The admin address of the host's interface behind a DPU; given now if it has none.
///
/// # Errors
/// If the admin segment is used up or the database fails.
pub async fn give_admin_address(
    tx: &mut Tx,
    site: &SiteNetwork,
    dpu: &MachineId,
    now: Timestamp,
) -> Result<IpAddr, AddressError> {
    match held(tx, AddressPool::Admin, dpu).await? {
        Some(address) => Ok(address),
        None => {
            let admin = &site.admin;
            let usable = Usable::Hosts { without: [Some(admin.gateway), admin.svi].into_iter().flatten().collect() };
            give_address(tx, admin.prefix, usable, None, AddressPool::Admin, dpu.as_str(), now).await
        }
    }
}

async fn held(tx: &mut Tx, pool: AddressPool, owner: &MachineId) -> Result<Option<IpAddr>, StoreError> {
    let held = tx.addresses_of(owner.as_str()).await?;
    Ok(held.into_iter().find(|address| address.pool == pool).map(|address| address.address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn network_and_broadcast_are_no_host_addresses() {
        for (prefix, address, usable) in [
            ("192.0.2.0/29", "192.0.2.0", false),
            ("192.0.2.0/29", "192.0.2.1", true),
            ("192.0.2.0/29", "192.0.2.7", false),
            ("192.0.2.0/29", "192.0.2.8", false),
            ("192.0.2.0/31", "192.0.2.0", true),
            ("192.0.2.5/32", "192.0.2.5", true),
            ("2001:db8::/64", "2001:db8::", false),
            ("2001:db8::/64", "192.0.2.1", false),
        ] {
            assert_eq!(
                is_host_address(prefix.parse().unwrap(), address.parse().unwrap()),
                usable,
                "{prefix} {address}"
            );
        }
    }

    #[tokio::test]
    async fn addresses_rise_skip_the_gateway_and_end() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let mut tx = store.write().await.unwrap();
        let prefix: IpNet = "192.0.2.0/29".parse().unwrap();
        let usable = || Usable::Hosts { without: gateway_of(prefix).into_iter().collect() };
        let mut given = Vec::new();
        for _ in 0..5 {
            let pool = AddressPool::Instance;
            let address = give_address(&mut tx, prefix, usable(), None, pool, "i", Timestamp::default()).await.unwrap();
            given.push(address.to_string());
        }
        assert_eq!(given, ["192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"]);
        let pool = AddressPool::Instance;
        let error = give_address(&mut tx, prefix, usable(), None, pool, "i", Timestamp::default()).await.unwrap_err();
        assert_eq!(error.to_string(), "prefix 192.0.2.0/29 has no free address");
    }

    #[tokio::test]
    async fn a_wanted_address_is_given_unless_it_is_held_or_not_a_hosts() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let mut tx = store.write().await.unwrap();
        let prefix: IpNet = "192.0.2.0/24".parse().unwrap();
        let usable = || Usable::Hosts { without: gateway_of(prefix).into_iter().collect() };
        for (wanted, answer) in [
            ("192.0.2.77", Ok(())),
            ("192.0.2.77", Err("address 192.0.2.77 is held already")),
            ("192.0.2.1", Err("address 192.0.2.1 cannot be given: it is not one for hosts in 192.0.2.0/24")),
            ("192.0.3.1", Err("address 192.0.3.1 cannot be given: it is not one for hosts in 192.0.2.0/24")),
        ] {
            let wanted: IpAddr = wanted.parse().unwrap();
            let pool = AddressPool::Instance;
            let given = give_address(&mut tx, prefix, usable(), Some(wanted), pool, "i", Timestamp::default()).await;
            assert_eq!(given.map(drop).map_err(|error| error.to_string()), answer.map_err(str::to_owned), "{wanted}");
        }
    }
}
