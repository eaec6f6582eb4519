//! Takes changed network settings into use, or says why the site cannot run with them.

use ipnet::IpNet;
use sha2::{Digest, Sha256};

use super::{
    SiteNetwork,
    addresses::{is_host_address, overlap},
};
use crate::{
    Timestamp,
    store::{Address, AddressPool, NumberPool, Store, StoreError, Tx, Virtualization, Vpc},
};

/// Why a site cannot run with changed settings.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// Something that is given out does not fit them.
    #[error("the site's network settings do not fit what is given out:\n{}", .0.join("\n"))]
    Misfits(Vec<String>),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const NOTE: &str = "network settings";

/// Takes the site's network settings into use. If they are not those of the last time, every DPU's configuration may
/// have changed: each host's network gets a new version, so that nothing counts as applied that no DPU has confirmed.
/// Whether they had changed.
///
/// # Errors
/// If addresses or numbers that are given out, or prefixes of VPCs, do not fit the settings; then nothing changed.
pub async fn adopt_settings(store: &Store, site: &SiteNetwork, now: Timestamp) -> Result<bool, AdoptError> {
    let mut tx = store.write().await?;
    let misfits = misfits(&mut tx, site).await?;
    if !misfits.is_empty() {
        return Err(AdoptError::Misfits(misfits));
    }
    let text = serde_json::to_string(site)
        .map_err(|error| StoreError::Unreadable { column: NOTE, fault: error.to_string() })?;
    let digest = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let before = tx.site_note(NOTE).await?;
    if before.as_ref() == Some(&digest) {
        return Ok(false);
    }
    if before.is_some() {
        for host in tx.hosts().await? {
            let quarantine = host.quarantine.as_ref();
            tx.set_host_network(&host.id, host.network_version, host.use_admin_network, quarantine, now).await?;
        }
    }
    tx.put_site_note(NOTE, &digest).await?;
    tx.commit().await?;
    Ok(before.is_some())
}

async fn misfits(tx: &mut Tx, site: &SiteNetwork) -> Result<Vec<String>, StoreError> {
    let addresses = tx.addresses().await?;
    let mut misfits = misfit_addresses(site, &addresses);
    for vpc in tx.vpcs().await? {
        misfits.extend(misfits_with_vpc(site, &vpc));
    }
    if let Some(routed) = &site.routed {
        let (first, last) = (routed.asns.start(), routed.asns.end());
        let beyond = tx.numbers_taken(NumberPool::Asn).await?.into_iter().filter(|asn| !routed.asns.contains(asn));
        misfits.extend(beyond.map(|asn| format!("fnn.asn_pool: {asn} of a DPU is not in {first}-{last}")));
    }
    Ok(misfits)
}

/// Prefixes that the site gives addresses of, beside those of VPCs.
fn prefixes(site: &SiteNetwork) -> Vec<(AddressPool, IpNet, &'static str)> {
    let mut all = vec![
        (AddressPool::Loopback, site.loopbacks, "loopback_prefix"),
        (AddressPool::Admin, site.admin.prefix, "admin.prefix"),
    ];
    all.extend(
        site.routed.iter().map(|routed| (AddressPool::VrfLoopback, routed.vrf_loopbacks, "fnn.vrf_loopback_prefix")),
    );
    all
}

fn misfit_addresses(site: &SiteNetwork, addresses: &[Address]) -> Vec<String> {
    let mut misfits = Vec::new();
    for Address { address, pool, owner, .. } in addresses {
        for (of, prefix, what) in prefixes(site) {
            if of == *pool && !prefix.contains(address) {
                misfits.push(format!("{what}: {address} of {owner} is not in {prefix}"));
            } else if of == *pool && !is_host_address(prefix, *address) {
                misfits.push(format!("{what}: {address} of {owner} is not one for hosts in {prefix}"));
            } else if of != *pool && prefix.contains(address) {
                misfits.push(format!("{what}: {prefix} has {address}, which {owner} holds"));
            }
        }
        for (own, what) in [(Some(site.admin.gateway), "admin.gateway"), (site.admin.svi, "admin.svi")] {
            if own == Some(*address) {
                misfits.push(format!("{what}: {address} is held by {owner}"));
            }
        }
    }
    misfits
}

fn misfits_with_vpc(site: &SiteNetwork, vpc: &Vpc) -> Vec<String> {
    let mut misfits = Vec::new();
    let name = &vpc.name;
    if vpc.virtualization == Virtualization::Fnn && site.routed.is_none() {
        misfits.push(format!("fnn: is missing, but VPC `{name}` is routed"));
    }
    let routed = site.routed.as_ref();
    for vni in [vpc.vni].into_iter().chain(vpc.prefixes.iter().map(|segment| segment.vni)) {
        if !site.vnis.contains(&vni) {
            let (first, last) = (site.vnis.start(), site.vnis.end());
            misfits.push(format!("vni_pool: {vni} of VPC `{name}` is not in {first}-{last}"));
        }
        for (own, what) in [
            (Some(site.admin.vni), "admin.vni"),
            (Some(site.admin.vpc_vni), "admin.vpc_vni"),
            (routed.and_then(|routed| routed.site_global_vpc_vni), "fnn.site_global_vpc_vni"),
        ] {
            if own == Some(vni) {
                misfits.push(format!("{what}: {vni} is that of VPC `{name}`"));
            }
        }
    }
    for segment in &vpc.prefixes {
        if !site.vlans.contains(&segment.vlan.into()) {
            let (first, last) = (site.vlans.start(), site.vlans.end());
            misfits.push(format!("vlan_pool: {} of VPC `{name}` is not in {first}-{last}", segment.vlan));
        }
        if segment.vlan == site.admin.vlan {
            misfits.push(format!("admin.vlan: {} is that of {} in VPC `{name}`", segment.vlan, segment.prefix));
        }
        for net in segment.nets() {
            for (_, prefix, what) in prefixes(site).into_iter().filter(|(_, prefix, _)| overlap(prefix, &net)) {
                misfits.push(format!("{what}: {prefix} overlaps with {net} of VPC `{name}`"));
            }
        }
    }
    misfits
}
