//! The hosts to decide, in order, none twice at a time. For the reconciler alone.

use std::collections::{BTreeSet, VecDeque};

use proto::MachineId;

/// Hosts to be decided: each at most once, in the order they came, and none twice at the same time.
#[derive(Debug, Default)]
pub(super) struct Queue {
    order: VecDeque<MachineId>,
    queued: BTreeSet<MachineId>,
    running: BTreeSet<MachineId>,
    /// Marked while they were worked on: what was read for them may be out of date.
    again: BTreeSet<MachineId>,
}

impl Queue {
    /// Marks a host. One that is queued keeps its place; one that is worked on is queued again afterwards.
    pub(super) fn push(&mut self, host: MachineId) {
        if self.running.contains(&host) {
            self.again.insert(host);
        } else if self.queued.insert(host.clone()) {
            self.order.push_back(host);
        }
    }

    /// Takes the host that waited longest. It counts as worked on until [`Queue::finish`].
    pub(super) fn start(&mut self) -> Option<MachineId> {
        let host = self.order.pop_front()?;
        self.queued.remove(&host);
        self.running.insert(host.clone());
        Some(host)
    }

    /// Work on a host has ended; it is queued again if asked for, or if it was marked meanwhile.
    pub(super) fn finish(&mut self, host: &MachineId, again: bool) {
        self.running.remove(host);
        if self.again.remove(host) || again {
            self.push(host.clone());
        }
    }

    /// How many hosts are worked on.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// How many hosts wait for a permit.
    pub(super) fn waiting(&self) -> usize {
        self.order.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(n: u8) -> MachineId {
        format!("fm100hs{:0>52}", n).parse().unwrap()
    }

    #[test]
    fn hosts_come_out_once_and_in_order() {
        let mut queue = Queue::default();
        for n in [2, 1, 2, 3, 1] {
            queue.push(host(n));
        }
        assert_eq!(queue.waiting(), 3);
        assert_eq!(
            [queue.start(), queue.start(), queue.start(), queue.start()],
            [Some(host(2)), Some(host(1)), Some(host(3)), None]
        );
    }

    #[test]
    fn a_host_marked_while_worked_on_comes_again_afterwards() {
        let mut queue = Queue::default();
        queue.push(host(1));
        assert_eq!(queue.start(), Some(host(1)));
        queue.push(host(1));
        assert_eq!((queue.start(), queue.running()), (None, 1));
        queue.finish(&host(1), false);
        assert_eq!(queue.start(), Some(host(1)));
        queue.finish(&host(1), false);
        assert_eq!((queue.start(), queue.running()), (None, 0));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push(u8),
        Start,
        Finish(bool),
    }

    proptest! {
        #[test]
        fn no_mark_is_lost_and_no_host_is_worked_on_twice_at_once(steps in prop::collection::vec(
            prop_oneof![(0u8..5).prop_map(Step::Push), Just(Step::Start), any::<bool>().prop_map(Step::Finish)], 0..200)
        ) {
            let (mut queue, mut running, mut owed) = (Queue::default(), VecDeque::new(), BTreeSet::new());
            for step in steps {
                match step {
                    Step::Push(n) => { queue.push(host(n)); owed.insert(host(n)); }
                    Step::Start => if let Some(next) = queue.start() {
                        prop_assert!(!running.contains(&next));
                        prop_assert!(owed.remove(&next));
                        running.push_back(next);
                    },
                    Step::Finish(again) => if let Some(done) = running.pop_front() {
                        queue.finish(&done, again);
                        if again { owed.insert(done); }
                    },
                }
            }
            while let Some(done) = running.pop_front() { queue.finish(&done, false); }
            let mut rest = BTreeSet::new();
            while let Some(next) = queue.start() { prop_assert!(rest.insert(next)); }
            prop_assert_eq!(rest, owed);
        }
    }
}
