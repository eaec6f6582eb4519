use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

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
