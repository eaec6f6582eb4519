use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many hosts are decided, and how many BMCs' answers are waited for, at the same time. Each is first come, first
/// served.
#[derive(Debug)]
pub(super) struct Turns {
    deciding: Arc<Semaphore>,
    asking: Semaphore,
}

impl Turns {
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
pub(super) struct Turn {
    turns: Arc<Turns>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Turn {
    pub(super) fn new(turns: Arc<Turns>, taken: OwnedSemaphorePermit) -> Self {
        Self { turns, taken: Mutex::new(Some(taken)) }
    }

    /// Waits for what a BMC does, and then for a turn to go on.
    pub(super) async fn away<T>(&self, at_bmc: impl Future<Output = T>) -> T {
        self.keep(None);
        let done = {
            let _asking = self.turns.asking.acquire().await;
            at_bmc.await
        };
        self.keep(self.turns.next().await);
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
    async fn who_waits_for_a_bmc_gives_its_turn_away_and_goes_on_when_there_is_one() {
        let turns = Arc::new(Turns::new(1, 1));
        let turn = Turn::new(Arc::clone(&turns), turns.next().await.unwrap());
        assert_eq!(turns.deciding.available_permits(), 0);
        let (answer, answered) = tokio::sync::oneshot::channel();
        let away = tokio::spawn(async move {
            let answer: &str = turn.away(answered).await.unwrap();
            (answer, turn)
        });
        let other = turns.next().await.unwrap();
        answer.send("on").unwrap();
        tokio::task::yield_now().await;
        assert!(!away.is_finished(), "the turn is another one's");
        drop(other);
        let (answer, turn) = away.await.unwrap();
        assert_eq!((answer, turns.deciding.available_permits(), turns.asking.available_permits()), ("on", 0, 1));
        drop(turn);
        assert_eq!(turns.deciding.available_permits(), 1);
    }
}
