//! Waiting until something is so, and no longer: [`until`] in asynchronous code, [`block_until`] in tests of real parts,
//! which are plain threads.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use tokio::time::sleep;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks `look` again and again until it gives an answer. `look` may fail, as a controller that starts does.
///
/// # Errors
/// If there is no answer within `secs`: what was waited for, and the last failure.
pub async fn until<T>(what: &str, secs: f64, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + Duration::from_secs_f64(secs);
    loop {
        let failure = match look().await {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if Instant::now() >= deadline {
            match failure {
                Some(error) => return Err(error.context(format!("waited {secs} s for {what}"))),
                None => bail!("waited {secs} s for {what}"),
            }
        }
        sleep(PAUSE).await;
    }
}

/// The same for a thread: blocks it until `look` gives an answer instead of the reason why there is none yet.
///
/// # Panics
/// If there is no answer within `limit`: what was waited for, and the last reason.
#[allow(clippy::panic, reason = "a harness fails the test that it works for")]
pub fn block_until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        match look() {
            Ok(found) => return found,
            Err(why) if Instant::now() >= deadline => panic!("{what}: not within {limit:?}; last seen: {why}"),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
