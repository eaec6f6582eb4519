//! The set of hosts to decide again. Whoever commits a change marks its host; the reconciler alone takes.

use std::{
    collections::HashSet,
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
    hosts: Mutex<Marked>,
    marked: Notify,
}

/// Hosts in the order in which they were first marked.
#[derive(Debug, Default)]
struct Marked {
    order: Vec<MachineId>,
    known: HashSet<MachineId>,
}

impl DirtyHosts {
    /// Something about `host` changed: it is to be decided again.
    pub fn mark(&self, host: MachineId) {
        let mut marked = self.shared.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if marked.known.insert(host.clone()) {
            marked.order.push(host);
        }
        drop(marked);
        self.shared.marked.notify_one();
    }

    /// Waits until at least one host is marked, and takes all that are, the one that waited longest first. For one consumer.
    pub async fn take(&self) -> Vec<MachineId> {
        loop {
            let taken = std::mem::take(&mut *self.shared.hosts.lock().unwrap_or_else(PoisonError::into_inner));
            if !taken.order.is_empty() {
                return taken.order;
            }
            self.shared.marked.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hosts_are_taken_once_and_in_the_order_they_were_marked() {
        let host = |n: u8| -> MachineId { format!("fm100hs{n:0>52}").parse().unwrap() };
        let dirty = DirtyHosts::default();
        for n in [2, 9, 1, 9, 2] {
            dirty.mark(host(n));
        }
        assert_eq!(dirty.take().await, [host(2), host(9), host(1)]);
        dirty.mark(host(9));
        assert_eq!(dirty.take().await, [host(9)]);
    }
}
