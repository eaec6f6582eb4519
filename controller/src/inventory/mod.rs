//! Takes machines into the site: all of a description or nothing, with the addresses that its DPUs need.

pub(crate) mod machine_addresses;

use proto::MachineId;

use crate::{
    Timestamp,
    network::{AddressError, PoolError, SiteNetwork, give_admin_address, give_asn, give_loopback},
    store::{Added, NewHost, Store, StoreError, Tx},
};

use machine_addresses::refuse_shared;

/// How many hosts an addition added, changed, and found as described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddedHosts {
    /// Hosts that were not known.
    pub added: u32,
    /// Known hosts that were described differently.
    pub changed: u32,
    /// Known hosts that are just so.
    pub unchanged: u32,
}

/// Adds hosts, or brings known ones up to date, all or none, and gives their DPUs loopback and admin addresses. DPUs
/// for which the site has no address left are known but cannot be configured until it has.
///
/// # Errors
/// If a name, a DPU or an address of a machine belongs to another one, or the database fails; then nothing changed.
pub async fn add_hosts(
    store: &Store,
    site: Option<&SiteNetwork>,
    hosts: &[NewHost],
    now: Timestamp,
) -> Result<AddedHosts, StoreError> {
    let mut tx = store.write().await?;
    refuse_shared(&mut tx, hosts).await?;
    let mut counts = AddedHosts::default();
    for host in hosts {
        match tx.add_host(host, now).await? {
            Added::New => counts.added += 1,
            Added::Changed => counts.changed += 1,
            Added::Unchanged => counts.unchanged += 1,
        }
        let Some(site) = site else { continue };
        for dpu in &host.dpus {
            give_dpu_addresses(&mut tx, site, &dpu.id, now).await?;
        }
    }
    tx.commit().await?;
    Ok(counts)
}

/// Gives loopback and admin addresses to DPUs that lack them, e.g. because the site file had none left when they came.
///
/// # Errors
/// If the database fails.
pub(crate) async fn give_missing_addresses(
    store: &Store,
    site: &SiteNetwork,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut tx = store.write().await?;
    for dpu in tx.dpus().await? {
        give_dpu_addresses(&mut tx, site, &dpu.id, now).await?;
    }
    tx.commit().await
}

async fn give_dpu_addresses(
    tx: &mut Tx,
    site: &SiteNetwork,
    dpu: &MachineId,
    now: Timestamp,
) -> Result<(), StoreError> {
    for given in [give_loopback(tx, site, dpu, now).await, give_admin_address(tx, site, dpu, now).await] {
        match given {
            Ok(_) => {}
            Err(AddressError::Store(error)) => return Err(error),
            Err(error) => tracing::warn!(%dpu, %error, "DPU cannot be configured yet"),
        }
    }
    match give_asn(tx, site, dpu, now).await {
        Ok(_) => Ok(()),
        Err(PoolError::Store(error)) => Err(error),
        Err(error) => {
            tracing::warn!(%dpu, %error, "DPU cannot be configured yet");
            Ok(())
        }
    }
}
