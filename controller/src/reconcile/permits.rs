//! How many hosts are decided, and how many BMCs asked, at once. For the reconciler alone.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many hosts are decided, and how many BMCs' answers are waited for, at the same time. Each is first come, first
/// served.
#[derive(Debug)]
pub(super) struct Permits {
    deciding: Arc<Semaphore>,
    asking: Semaphore,
}

impl Permits {
    pub(super) fn new(deciding: usize, asking: usize) -> Self {
        Self { deciding: Arc::new(Semaphore::new(deciding.max(1))), asking: Semaphore::new(asking.max(1)) }
    }

    /// The next turn to decide a host. There is always one to come.
    pub(super) fn next(&self) -> impl Future<Output = Option<OwnedSemaphorePermit>> + use<> {
        let deciding = Arc::clone(&self.deciding);
        async move { deciding.acquire_owned().await.ok() }
    }
}

/// An evaluation's turn to decide its host, which it gives to others while it waits for a BMC.
#[derive(Debug)]
pub(super) struct Permit {
    permits: Arc<Permits>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Permit {
    pub(super) fn new(permits: Arc<Permits>, taken: OwnedSemaphorePermit) -> Self {
        Self { permits, taken: Mutex::new(Some(taken)) }
    }

    /// Waits for what a BMC does, and then for a turn to go on.
    pub(super) async fn away<T>(&self, at_bmc: impl Future<Output = T>) -> T {
        self.keep(None);
        let done = {
            let _asking = self.permits.asking.acquire().await;
            at_bmc.await
        };
        self.keep(self.permits.next().await);
        done
    }

    fn keep(&self, taken: Option<OwnedSemaphorePermit>) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_permit_is_given_up_while_a_bmc_is_waited_for() {
        let permits = Arc::new(Permits::new(1, 1));
        let permit = Permit::new(Arc::clone(&permits), permits.next().await.unwrap());
        assert_eq!(permits.deciding.available_permits(), 0);
        let (answer, answered) = tokio::sync::oneshot::channel();
        let away = tokio::spawn(async move {
            let answer: &str = permit.away(answered).await.unwrap();
            (answer, permit)
        });
        let other = permits.next().await.unwrap();
        answer.send("on").unwrap();
        tokio::task::yield_now().await;
        assert!(!away.is_finished(), "the turn is another one's");
        drop(other);
        let (answer, permit) = away.await.unwrap();
        assert_eq!((answer, permits.deciding.available_permits(), permits.asking.available_permits()), ("on", 0, 1));
        drop(permit);
        assert_eq!(permits.deciding.available_permits(), 1);
    }
}
