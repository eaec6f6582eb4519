//! When each background task last ran. Tasks beat; the metrics page shows.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTask {
    task: &'static str,
}

/// The last run of every task, by name. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskRuns(Family<OfTask, Gauge>);

/// What a task says that it runs with.
#[derive(Debug, Clone)]
pub(crate) struct Heartbeat(Gauge);

impl TaskRuns {
    /// The heartbeat of a task, which has just started.
    pub(crate) fn heartbeat(&self, task: &'static str) -> Heartbeat {
        let heartbeat = Heartbeat(self.0.get_or_create_owned(&OfTask { task }));
        heartbeat.beat();
        heartbeat
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "When a background task started or last did its work, in seconds since 1970";
        registry.register("task_last_run_timestamp_seconds", help, self.0.clone());
    }
}

impl Heartbeat {
    /// The task has done its work once more.
    pub(crate) fn beat(&self) {
        self.0.set(i64::try_from(Timestamp::now().micros() / 1_000_000).unwrap_or(i64::MAX));
    }
}
