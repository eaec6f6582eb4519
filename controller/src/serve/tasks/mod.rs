//! Background tasks, one file each. [`super::serve`] starts them here by name; each tells the metrics when it last ran.

pub(super) mod database_health;
pub(super) mod host_work;
pub(super) mod metrics_page;
pub(super) mod rules_reload;
pub(super) mod tls_reload;

use std::{future::Future, time::Duration};

use tokio::{sync::watch, task::JoinSet};
use tracing::error;

use super::ServeError;
use crate::metrics::{Heartbeat, TaskRuns};

/// Says when the daemon is to stop. Clones say the same.
#[derive(Debug, Clone)]
pub(super) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// The signal, and what gives it.
    pub(super) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Waits for it.
    pub(super) async fn requested(&self) {
        // The sender is gone only when the process ends.
        let _ = self.0.clone().wait_for(|stopped| *stopped).await;
    }

    /// Waits for it, and then as long as work in hand may take.
    pub(super) async fn drained(&self, drain: Duration) {
        self.requested().await;
        tokio::time::sleep(drain).await;
    }
}

/// The registry of tasks. Those that still run end with it.
pub(super) struct Tasks {
    running: JoinSet<(&'static str, Result<(), ServeError>)>,
    runs: TaskRuns,
    stop: Stop,
}

impl Tasks {
    pub(super) fn new(runs: TaskRuns, stop: Stop) -> Self {
        Self { running: JoinSet::new(), runs, stop }
    }

    /// Starts a task that runs until the daemon is to stop. Its error ends the daemon.
    pub(super) fn start<F>(&mut self, name: &'static str, task: impl FnOnce(Heartbeat) -> F)
    where
        F: Future<Output = Result<(), ServeError>> + Send + 'static,
    {
        let (stop, work) = (self.stop.clone(), task(self.runs.heartbeat(name)));
        self.running.spawn(async move {
            tokio::select! {
                () = stop.requested() => (name, Ok(())),
                ended = work => (name, ended),
            }
        });
    }

    /// Waits until the daemon is to stop, or for the first error.
    pub(super) async fn failed(&mut self) -> Result<(), ServeError> {
        loop {
            tokio::select! {
                () = self.stop.requested() => return Ok(()),
                Some(ended) = self.running.join_next() => match ended {
                    Ok((_, Err(fault))) => return Err(fault),
                    Ok((task, Ok(()))) => error!(task, "a background task ended before the daemon"),
                    Err(error) => error!(%error, "a background task broke off"),
                },
            }
        }
    }
}
