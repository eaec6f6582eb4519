//! Task `hosts`: the reconciler, for as long as this controller holds the leader lock.

use std::time::Duration;

use tracing::{error, info, warn};

use super::{super::ServeError, Stop};
use crate::{
    Reconciler,
    store::{LeaderLock, Store},
};

/// Works on hosts until it is to stop, and gives the lock back; none if work was cut off after `drain`.
pub(in crate::serve) async fn run(
    reconciler: Reconciler,
    lock: LeaderLock,
    store: Store,
    stop: Stop,
    drain: Duration,
) -> Result<Option<LeaderLock>, ServeError> {
    tokio::select! {
        lock = under_lock(reconciler, lock, &store, &stop) => lock.map(Some),
        () = stop.drained(drain) => {
            warn!("host work was cut off after {} s: the journal says what was under way", drain.as_secs_f64());
            Ok(None)
        }
    }
}

/// Works on hosts as long as no other controller may.
async fn under_lock(
    reconciler: Reconciler,
    mut lock: LeaderLock,
    store: &Store,
    stop: &Stop,
) -> Result<LeaderLock, ServeError> {
    loop {
        let delay = lock.fencing_delay();
        let working = async {
            tokio::select! {
                () = tokio::time::sleep(delay) => reconciler.clone().run(stop.requested()).await,
                () = stop.requested() => {}
            }
        };
        // At once and in the middle of whatever it is: who comes after reads in the journal what was under way.
        let fault = tokio::select! {
            () = working => return Ok(lock),
            fault = lock.lost() => fault,
        };
        error!(%fault, "the lock on the database is lost: hosts are left alone until it is held again");
        tokio::select! {
            () = stop.requested() => return Ok(lock),
            reacquired = lock.reacquired(store) => match reacquired {
                true => info!("the lock on the database is held again"),
                false => return Err(ServeError::LockLost(fault)),
            },
        }
    }
}
