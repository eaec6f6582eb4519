//! When each waiting host is due without an event. For the reconciler alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use proto::MachineId;

/// The next moment at which each host has to be decided although nothing happened to it. One moment a host.
#[derive(Debug, Default)]
pub(super) struct Timers {
    order: BTreeSet<(Instant, MachineId)>,
    by_host: BTreeMap<MachineId, Instant>,
}

impl Timers {
    /// Sets, moves or (with `None`) takes away the moment of a host.
    pub(super) fn set(&mut self, host: &MachineId, at: Option<Instant>) {
        if let Some(old) = self.by_host.remove(host) {
            self.order.remove(&(old, host.clone()));
        }
        if let Some(at) = at {
            self.by_host.insert(host.clone(), at);
            self.order.insert((at, host.clone()));
        }
    }

    /// The earliest moment of all.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes out one host whose moment has come.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<MachineId> {
        if self.next()? > now {
            return None;
        }
        let (_, host) = self.order.pop_first()?;
        self.by_host.remove(&host);
        Some(host)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_host_is_due_once_at_its_latest_setting() {
        let host = |n: u8| -> MachineId { format!("fm100hs{:0>52}", n).parse().unwrap() };
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut timers = Timers::default();
        timers.set(&host(1), Some(at(10)));
        timers.set(&host(2), Some(at(5)));
        timers.set(&host(1), Some(at(3)));
        timers.set(&host(3), Some(at(1)));
        timers.set(&host(3), None);
        assert_eq!(timers.next(), Some(at(3)));
        assert_eq!(timers.take_due(at(2)), None);
        assert_eq!(timers.take_due(at(5)), Some(host(1)));
        assert_eq!(timers.take_due(at(5)), Some(host(2)));
        assert_eq!((timers.take_due(at(99)), timers.next()), (None, None));
    }
}
