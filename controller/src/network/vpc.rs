//! Makes, peers and removes VPCs, with the numbers that they hold.

use ipnet::IpNet;

use super::{
    SiteNetwork,
    addresses::overlap,
    pools::{PoolError, next_number},
    renew::renew_networks,
    vpc_holders::{check_unused, hold_former_peer},
};
use crate::{
    Timestamp, VpcId, VpcPrefixId,
    store::{Instance, NumberPool, StoreError, Tx, Virtualization, Vpc, VpcPrefix},
};

/// Why a VPC cannot be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum VpcError {
    /// A prefix shares addresses with another use of them.
    #[error("prefix {prefix} overlaps with {with}")]
    Overlap {
        /// Prefix that was asked for.
        prefix: IpNet,
        /// What it overlaps with.
        with: String,
    },
    /// A prefix is not usable.
    #[error("prefix {prefix}: {fault}")]
    Prefix {
        /// Prefix that was asked for.
        prefix: IpNet,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The site cannot route VPCs.
    #[error("VPC `{0}` cannot be routed: the site file gives no `fnn` settings")]
    NotRouted(String),
    /// Instances have interfaces in it.
    #[error("VPC `{name}` is used by instance {instance}")]
    InUse {
        /// Name of the VPC.
        name: String,
        /// One of its instances.
        instance: String,
    },
    /// DPUs may still use its numbers and prefixes.
    #[error("VPC `{name}` is held: {why}")]
    Held {
        /// Name of the VPC.
        name: String,
        /// Who may use them, and what ends that.
        why: String,
    },
    /// Its hosts reach those of another VPC.
    #[error("VPC `{name}` is peered with VPC `{peer}`")]
    Peered {
        /// Name of the VPC.
        name: String,
        /// Name of the other.
        peer: String,
    },
    /// Two VPCs cannot be peered.
    #[error("VPCs `{name}` and `{peer}` cannot be peered: {fault}")]
    Unlike {
        /// Name of the VPC.
        name: String,
        /// Name of the other.
        peer: String,
        /// Why.
        fault: &'static str,
    },
    /// The site has no number left.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The database failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a VPC: a VNI for its routes, and a VNI and a VLAN for the segment of each IPv4 prefix. An IPv6 prefix gives hosts in
/// the segment of the one before it an address of that family, too.
///
/// # Errors
/// If the name is taken, a prefix overlaps with another one, or a pool is used up.
pub async fn create_vpc(
    tx: &mut Tx,
    site: &SiteNetwork,
    name: &str,
    tenant: &str,
    virtualization: Virtualization,
    prefixes: &[IpNet],
    now: Timestamp,
) -> Result<Vpc, VpcError> {
    let others = tx.vpcs().await?;
    if virtualization == Virtualization::Fnn && site.routed.is_none() {
        return Err(VpcError::NotRouted(name.to_owned()));
    }
    check_prefixes(site, &others, prefixes)?;
    // Of a VPC that is gone: no prefix of those that are there holds it.
    for held in tx.addresses().await? {
        if let Some(prefix) = prefixes.iter().find(|prefix| prefix.contains(&held.address)) {
            let with = format!("address {}, which {} holds", held.address, held.owner);
            return Err(VpcError::Overlap { prefix: *prefix, with });
        }
    }
    let mut vnis = Vec::new();
    let mut vlans = Vec::new();
    let vni = next_number(tx, NumberPool::Vni, &site.vnis, &vnis).await?;
    vnis.push(vni);
    let mut segments = Vec::new();
    for prefix in prefixes {
        if let (IpNet::V6(_), Some(segment)) = (prefix, segments.last_mut()) {
            let segment: &mut VpcPrefix = segment;
            segment.ipv6 = Some(*prefix);
            continue;
        }
        let segment = VpcPrefix {
            id: VpcPrefixId::random(),
            prefix: *prefix,
            ipv6: None,
            vni: next_number(tx, NumberPool::Vni, &site.vnis, &vnis).await?,
            vlan: next_vlan(tx, site, &vlans).await?,
        };
        vnis.push(segment.vni);
        vlans.push(segment.vlan.into());
        segments.push(segment);
    }
    let vpc = Vpc {
        id: VpcId::random(),
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        virtualization,
        vni,
        prefixes: segments,
        security_group: None,
        peers: Vec::new(),
        created_at: now,
    };
    tx.add_vpc(&vpc).await?;
    Ok(vpc)
}

async fn next_vlan(tx: &mut Tx, site: &SiteNetwork, also_taken: &[u32]) -> Result<u16, PoolError> {
    let number = next_number(tx, NumberPool::Vlan, &site.vlans, also_taken).await?;
    let beyond = PoolError::UsedUp { pool: "VLAN", first: *site.vlans.start(), last: u16::MAX.into() };
    u16::try_from(number).map_err(|_| beyond)
}

/// Lets the hosts of two VPCs reach each other, or ends that. The networks of the instances in either get a new version,
/// which their DPUs are to confirm.
///
/// # Errors
/// If the VPCs cannot be peered, are already, or are not.
pub async fn peer_vpcs(tx: &mut Tx, one: &Vpc, other: &Vpc, peered: bool, now: Timestamp) -> Result<(), VpcError> {
    let unlike = |fault| Err(VpcError::Unlike { name: one.name.clone(), peer: other.name.clone(), fault });
    match peered {
        true if one.id == other.id => return unlike("they are the same"),
        true if one.virtualization != other.virtualization => return unlike("one is bridged, the other routed"),
        true => tx.add_vpc_peering(one.id, other.id).await?,
        false => {
            tx.remove_vpc_peering(one.id, other.id).await?;
            hold_former_peer(tx, one, other).await?;
            hold_former_peer(tx, other, one).await?;
        }
    }
    let in_either =
        |instance: &Instance| instance.interfaces.iter().any(|interface| [one.id, other.id].contains(&interface.vpc));
    Ok(renew_networks(tx, now, in_either).await?)
}

/// Removes a VPC that no DPU uses: its numbers and prefixes are free then.
///
/// # Errors
/// [`VpcError::InUse`] as long as an instance has, had or is to have an interface in it and its addresses are held,
/// [`VpcError::Peered`] as long as it has a peer, [`VpcError::Held`] as long as DPUs that were told of it have not confirmed
/// that they no longer use it.
pub async fn delete_vpc(tx: &mut Tx, vpc: &Vpc) -> Result<(), VpcError> {
    if let Some(peer) = vpc.peers.first() {
        let known = tx.vpcs().await?.into_iter().find(|known| known.id == *peer);
        let peer = known.map_or_else(|| peer.to_string(), |known| known.name);
        return Err(VpcError::Peered { name: vpc.name.clone(), peer });
    }
    check_unused(tx, vpc).await?;
    tx.remove_vpc(vpc).await?;
    Ok(())
}

fn check_prefixes(site: &SiteNetwork, others: &[Vpc], prefixes: &[IpNet]) -> Result<(), VpcError> {
    for (place, prefix) in prefixes.iter().enumerate() {
        let refuse = |fault| Err(VpcError::Prefix { prefix: *prefix, fault });
        if prefix.network() != prefix.addr() {
            return refuse("bits are set beyond the prefix length");
        }
        let before = place.checked_sub(1).and_then(|before| prefixes.get(before));
        if matches!(prefix, IpNet::V6(_)) && !matches!(before, Some(IpNet::V4(_))) {
            return refuse("an IPv6 prefix stands after the IPv4 prefix of its segment");
        }
        if prefix.hosts().take(2).count() < 2 {
            return refuse("it is too small for a gateway and a host");
        }
        let mut taken = vec![(site.loopbacks, "the site's loopbacks"), (site.admin.prefix, "the admin segment")];
        taken.extend(site.routed.iter().map(|routed| (routed.vrf_loopbacks, "the loopbacks within VPCs")));
        if let Some((_, with)) = taken.iter().find(|(other, _)| overlap(other, prefix)) {
            return Err(VpcError::Overlap { prefix: *prefix, with: (*with).to_owned() });
        }
        if let Some(other) = prefixes.iter().take(place).find(|other| overlap(other, prefix)) {
            return Err(VpcError::Overlap { prefix: *prefix, with: format!("prefix {other} of the same VPC") });
        }
        for vpc in others {
            let mut nets = vpc.prefixes.iter().flat_map(VpcPrefix::nets);
            if let Some(other) = nets.find(|other| overlap(other, prefix)) {
                let with = format!("prefix {other} of VPC `{}`", vpc.name);
                return Err(VpcError::Overlap { prefix: *prefix, with });
            }
        }
    }
    Ok(())
}
