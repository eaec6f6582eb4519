use sha2::{Digest, Sha256};

use super::SiteNetwork;
use crate::{
    Moment,
    store::{AddressPool, Store, StoreError, Tx},
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
/// If addresses or VLANs that are given out do not fit the settings; then nothing changed.
pub async fn adopt_settings(store: &Store, site: &SiteNetwork, now: Moment) -> Result<bool, AdoptError> {
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
    let mut misfits = Vec::new();
    for held in tx.addresses().await? {
        let (prefix, what) = match held.pool {
            AddressPool::Loopback => (site.loopbacks, "loopback_prefix"),
            AddressPool::Admin => (site.admin.prefix, "admin.prefix"),
            AddressPool::VrfLoopback => match &site.routed {
                Some(routed) => (routed.vrf_loopbacks, "fnn.vrf_loopback_prefix"),
                None => continue,
            },
            AddressPool::Instance => continue,
        };
        if !prefix.contains(&held.address) {
            misfits.push(format!("{what}: {} of {} is not in {prefix}", held.address, held.owner));
        }
        if held.pool == AddressPool::Admin && held.address == site.admin.gateway {
            misfits.push(format!("admin.gateway: {} is held by {}", held.address, held.owner));
        }
    }
    for vpc in tx.vpcs().await? {
        for segment in &vpc.prefixes {
            if segment.vlan == site.admin.vlan {
                misfits
                    .push(format!("admin.vlan: {} is that of {} in VPC `{}`", segment.vlan, segment.prefix, vpc.name));
            }
            for (prefix, what) in [(site.loopbacks, "loopback_prefix"), (site.admin.prefix, "admin.prefix")] {
                if prefix.contains(&segment.prefix) || segment.prefix.contains(&prefix) {
                    misfits.push(format!("{what}: {prefix} overlaps with {} of VPC `{}`", segment.prefix, vpc.name));
                }
            }
        }
    }
    Ok(misfits)
}
