//! Gives instances' networks their next version.

use crate::{
    Timestamp,
    store::{Instance, StoreError, Tx},
};

/// Gives the networks of instances their next version, which their DPUs are to confirm.
pub(super) async fn renew_networks(
    tx: &mut Tx,
    now: Timestamp,
    affected: impl Fn(&Instance) -> bool,
) -> Result<(), StoreError> {
    for mut instance in tx.instances().await?.into_iter().filter(|instance| affected(instance)) {
        let read = instance.network_version;
        instance.network_version = read.next(now.micros());
        tx.store_instance(&instance, instance.config_version, read).await?;
    }
    Ok(())
}
