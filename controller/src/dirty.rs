use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use proto::MachineId;
use tokio::sync::Notify;

/// Hosts about which something changed. A host is in it once however often it is marked, so it never holds more than
/// the site has hosts.
#[derive(Debug, Clone, Default)]
pub struct DirtyHosts {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    hosts: Mutex<BTreeSet<MachineId>>,
    marked: Notify,
}

impl DirtyHosts {
    /// Something about `host` changed: it is to be decided again.
    pub fn mark(&self, host: MachineId) {
        self.shared.hosts.lock().unwrap_or_else(PoisonError::into_inner).insert(host);
        self.shared.marked.notify_one();
    }

    /// Waits until at least one host is marked, and takes all that are. For one consumer.
    pub async fn take(&self) -> BTreeSet<MachineId> {
        loop {
            let taken = std::mem::take(&mut *self.shared.hosts.lock().unwrap_or_else(PoisonError::into_inner));
            if !taken.is_empty() {
                return taken;
            }
            self.shared.marked.notified().await;
        }
    }
}
