//! Connections that have not said anything yet: so many and no more, the oldest makes room.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::task::AbortHandle;

/// Handshakes in the order in which they began.
#[derive(Debug)]
pub(super) struct Pending {
    most: usize,
    tasks: Mutex<Handshakes>,
}

#[derive(Debug, Default)]
struct Handshakes {
    next: u64,
    running: VecDeque<(u64, AbortHandle)>,
}

impl Pending {
    pub(super) fn new(most: usize) -> Self {
        Self { most, tasks: Mutex::default() }
    }

    /// Runs a task, and ends the oldest one if there are too many.
    pub(super) fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let number = tasks.next;
        tasks.next += 1;
        let all = Arc::clone(self);
        let task = tokio::spawn(async move {
            work.await;
            all.ended(number);
        });
        tasks.running.push_back((number, task.abort_handle()));
        if tasks.running.len() > self.most
            && let Some((_, oldest)) = tasks.running.pop_front()
        {
            oldest.abort();
        }
    }

    /// Ends the oldest task, if there is one.
    pub(super) fn end_oldest(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, oldest)) = tasks.running.pop_front() {
            oldest.abort();
        }
    }

    fn ended(&self, number: u64) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(place) = tasks.running.binary_search_by_key(&number, |(number, _)| *number) {
            tasks.running.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use super::*;

    #[tokio::test]
    async fn the_oldest_makes_room_and_who_is_done_takes_none() {
        let pendings = Arc::new(Pending::new(2));
        let (first, ended) = tokio::sync::oneshot::channel::<()>();
        pendings.spawn(async move {
            let _first = first;
            pending::<()>().await;
        });
        for _ in 0..5 {
            pendings.spawn(async {});
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(pendings.tasks.lock().unwrap().running.len(), 1);
        for _ in 0..2 {
            pendings.spawn(pending());
        }
        assert!(tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap().is_err(), "the first was ended");
        assert_eq!(pendings.tasks.lock().unwrap().running.len(), 2);
    }
}
