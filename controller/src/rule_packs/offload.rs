//! Loads and tests a pack on a thread of its own, within a time limit. For this room alone.

use std::{thread, time::Duration};

use rules::{LoadOptions, RuleSet};
use tokio::{sync::oneshot, time::timeout};

use super::files::{compile, failing_tests};
use crate::store::PackFile;

/// Longest time that anybody waits for a pack to be read, or to be loaded and tested. What a pack may come to is limited,
/// so it ends later all the same.
const LONGEST: Duration = Duration::from_secs(60);

/// Why a pack that is offered goes no further: what to say of it, and its faults or the tests that fail.
pub(super) struct RejectedPack {
    pub(super) why: String,
    pub(super) faults: Vec<String>,
}

/// Does what can take long on a thread of its own: neither the runtime nor a stop waits for it. `doing` says what it is.
pub(super) async fn offload<T: Send + 'static>(
    doing: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (answer, answered) = oneshot::channel();
    let started = thread::Builder::new().name("rule-pack".to_owned()).spawn(move || {
        // Nobody may be waiting any more.
        let _ = answer.send(work());
    });
    started.map_err(|error| format!("{doing} could not be started: {error}"))?;
    match timeout(LONGEST, answered).await {
        Ok(answer) => answer.map_err(|_| format!("{doing} broke off")),
        Err(_) => Err(format!("{doing} did not end within {} s", LONGEST.as_secs())),
    }
}

/// Loads a pack and runs its own tests.
pub(super) async fn examine(files: &[PackFile], options: &LoadOptions) -> Result<RuleSet, RejectedPack> {
    let (files, options) = (files.to_vec(), options.clone());
    let examined = offload("loading and testing the pack", move || {
        let rules = compile(&files, &options).map_err(|faults| {
            let why = format!("the pack has {} fault{}", faults.len(), if faults.len() == 1 { "" } else { "s" });
            RejectedPack { why, faults }
        })?;
        let failing = failing_tests(&files).unwrap_or_else(|faults| faults);
        if failing.is_empty() {
            return Ok(rules);
        }
        Err(RejectedPack { why: format!("{} of the pack's own tests fail", failing.len()), faults: failing })
    });
    examined.await.unwrap_or_else(|why| Err(RejectedPack { why, faults: Vec::new() }))
}
