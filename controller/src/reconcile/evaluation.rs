//! Carrying out one decision: act, then commit.

use std::time::Duration;

use rules::{Action, Delete, Go, OnFailure, RuleSet, Snapshot, StatePath, Wait};
use tracing::{error, info, warn};

use super::{
    commit::{self, Move},
    counters::Counted,
    worker::{Done, Worker},
};
use crate::{
    Moment,
    act::{self, ActionError, Journal, Step},
    facts,
    store::{HostRecord, Life, StoreError},
};

/// A host that waits is looked at again this long after an action.
const AFTER_ACTION: Duration = Duration::from_secs(1);

/// One decision with what it rests on.
pub(super) struct Evaluation<'a> {
    pub(super) worker: &'a Worker,
    pub(super) rules: &'a RuleSet,
    pub(super) record: &'a HostRecord,
    pub(super) snapshot: &'a Snapshot,
}

/// An action of a decision, and which part of it.
type Part<'d> = (&'d Action, Step);

impl Evaluation<'_> {
    pub(super) async fn go(&self, go: &Go) -> Result<Done, StoreError> {
        let mut go = std::borrow::Cow::Borrowed(go);
        let mut diverted: Option<(StatePath, String)> = None;
        let host_step = Step::host(Some(&go.to));
        for action in &go.actions {
            let Err(failure) = self.run(action, &host_step).await else { continue };
            match &action.on_failure {
                OnFailure::Ignore => self.ignored(action, &failure),
                OnFailure::Stay => return self.stay_with_failure(&failure).await,
                OnFailure::Go(path) => {
                    diverted = Some((path.clone(), failure.to_string()));
                    break;
                }
            }
        }
        if diverted.is_none() {
            let mut moved = Vec::new();
            for (place, step) in go.dpus.iter().enumerate() {
                let dpu_step = Step::dpu(step.to.as_ref());
                for action in &step.actions {
                    let Err(failure) = self.run(action, &dpu_step).await else { continue };
                    match &action.on_failure {
                        OnFailure::Ignore => self.ignored(action, &failure),
                        OnFailure::Stay => return self.stay_with_failure(&failure).await,
                        OnFailure::Go(path) => {
                            moved.push((place, path.clone()));
                            break;
                        }
                    }
                }
            }
            for (place, path) in moved {
                if let Some(step) = go.to_mut().dpus.get_mut(place) {
                    step.to = Some(path);
                }
            }
        }
        let reason = match &diverted {
            Some((_, failure)) => failure.clone(),
            None => self.taken_arm(),
        };
        let actions: Vec<&Action> = match &diverted {
            Some(_) => Vec::new(),
            None => go.actions.iter().chain(go.dpus.iter().flat_map(|step| &step.actions)).collect(),
        };
        let movement = Move {
            record: self.record,
            go: &go,
            diverted: diverted.as_ref().map(|(path, _)| path),
            reason,
            pack_hash: self.rules.hash(),
            snapshot: facts::compact(self.snapshot),
        };
        match movement.commit(&self.worker.store, &actions).await {
            Ok(()) => {
                self.worker.counters.count(Counted::Transition);
                let to = movement.diverted.unwrap_or(&go.to);
                info!(host = %self.record.host.name, from = %self.record.life.state, %to, "host moved");
                Ok(Done::Moved)
            }
            Err(failure) => self.not_committed(failure).await,
        }
    }

    pub(super) async fn wait(&self, wait: &Wait) -> Result<Done, StoreError> {
        let host: Vec<Part<'_>> = wait.actions.iter().map(|action| (action, Step::host(None))).collect();
        let dpus = wait.dpus.iter().flat_map(|step| step.actions.iter().map(|action| (action, Step::dpu(None))));
        let parts: Vec<Part<'_>> = host.into_iter().chain(dpus).collect();
        for (action, step) in &parts {
            let Err(failure) = self.run(action, step).await else { continue };
            match &action.on_failure {
                OnFailure::Ignore => self.ignored(action, &failure),
                OnFailure::Stay => return self.stay_with_failure(&failure).await,
                OnFailure::Go(path) => return self.divert(path, &failure).await,
            }
        }
        self.worker.counters.count(Counted::Wait);
        let actions: Vec<&Action> = parts.iter().map(|(action, _)| *action).collect();
        if let Err(failure) = commit::change_rows(&self.worker.store, self.record, &actions).await {
            return self.not_committed(failure).await;
        }
        self.store(commit::waiting(&self.record.life, wait, Moment::now())).await?;
        let recheck = seconds(wait.recheck_after);
        // What was done can change what is next; a second keeps rules that do it over and over from spinning.
        let acted = recheck.unwrap_or(AFTER_ACTION).min(AFTER_ACTION);
        Ok(Done::Stays(if parts.is_empty() { recheck } else { Some(acted) }))
    }

    pub(super) async fn delete(&self, delete: &Delete) -> Result<Done, StoreError> {
        for action in &delete.actions {
            if let Err(failure) = self.run(action, &Step::host(None)).await {
                match &action.on_failure {
                    OnFailure::Ignore => self.ignored(action, &failure),
                    OnFailure::Stay | OnFailure::Go(_) => return self.stay_with_failure(&failure).await,
                }
            }
        }
        let mut tx = self.worker.store.write().await?;
        if tx.life(&self.record.host.id).await?.version != self.record.life.version {
            return Ok(Done::Conflict);
        }
        tx.forget_host(&self.record.host.id).await?;
        tx.commit().await?;
        info!(host = %self.record.host.name, "host deleted");
        Ok(Done::Gone)
    }

    /// A wait whose action failed and that says where to go then.
    async fn divert(&self, path: &StatePath, failure: &ActionError) -> Result<Done, StoreError> {
        let life = &self.record.life;
        let go = Go {
            to: path.clone(),
            actions: Vec::new(),
            dpus: Vec::new(),
            counters: life.counters.clone(),
            notes: life.notes.clone(),
            failure: rules::FailureChange::Keep,
        };
        let movement = Move {
            record: self.record,
            go: &go,
            diverted: None,
            reason: failure.to_string(),
            pack_hash: self.rules.hash(),
            snapshot: facts::compact(self.snapshot),
        };
        match movement.commit(&self.worker.store, &[]).await {
            Ok(()) => Ok(Done::Moved),
            Err(failure) => self.not_committed(failure).await,
        }
    }

    /// Runs the remote part of an action, once for a decision, as far as anybody can know.
    async fn run(&self, action: &Action, step: &Step) -> Result<(), ActionError> {
        let plan = act::plan(&action.name).ok_or_else(|| ActionError::Unknown(action.name.to_string()))?;
        let Some(remote) = plan.remote else { return Ok(()) };
        let journal = Journal::new(&self.worker.store, self.record);
        let bmc = self.worker.bmc.as_ref();
        let number = match journal.before(action, step) {
            act::Before::Done => return Ok(()),
            act::Before::Unknown { number, at } => {
                if remote.happened(bmc, self.record, action, at).await {
                    journal.finish(number, "", &remote.recognised(self.record, action)).await?;
                    return Ok(());
                }
                journal.finish(number, "the controller ended before the result was known", &[]).await?;
                journal.intend(action, step).await?
            }
            act::Before::New => journal.intend(action, step).await?,
        };
        let limit = self.worker.settings.action_limit;
        let late = || ActionError::Late { action: action.name.to_string(), seconds: limit.as_secs() };
        let result = tokio::time::timeout(limit, remote.run(bmc, self.record, action)).await;
        match result.unwrap_or_else(|_| Err(late())) {
            Ok(found) => {
                self.worker.counters.count(Counted::ActionDone);
                journal.finish(number, "", &found).await?;
                Ok(())
            }
            Err(failure) => {
                self.worker.counters.count(Counted::ActionFailed);
                journal.finish(number, &failure.to_string(), &[]).await?;
                Err(failure)
            }
        }
    }

    async fn not_committed(&self, failure: ActionError) -> Result<Done, StoreError> {
        match failure {
            ActionError::Store(StoreError::Conflict { .. }) => {
                self.worker.counters.count(Counted::Conflict);
                Ok(Done::Conflict)
            }
            ActionError::Store(error) if error.retryable() => Err(error),
            failure => self.stay_with_failure(&failure).await,
        }
    }

    fn ignored(&self, action: &Action, failure: &ActionError) {
        let host = &self.record.host.name;
        warn!(%host, action = %action.name, error = %failure, "action failed, and the rules say to go on");
    }

    async fn stay_with_failure(&self, failure: &ActionError) -> Result<Done, StoreError> {
        self.stay_with_error(&failure.to_string(), "", None).await
    }

    pub(super) async fn stay_with_error(
        &self,
        reason: &str,
        gate: &str,
        recheck: Option<Duration>,
    ) -> Result<Done, StoreError> {
        self.worker.counters.count(Counted::Error);
        let next = commit::failing(&self.record.life, reason, gate, Moment::now());
        if next.is_some() {
            error!(host = %self.record.host.name, state = %self.record.life.state, reason, "host stays with an error");
        }
        self.store(next).await?;
        Ok(Done::Stays(recheck))
    }

    /// Stores what is new of a host that stays. One that moved meanwhile is told by its own evaluation.
    async fn store(&self, life: Option<Life>) -> Result<(), StoreError> {
        let Some(life) = life else { return Ok(()) };
        let mut tx = self.worker.store.write().await?;
        match tx.store_stay(&self.record.host.id, &life).await {
            Err(StoreError::Conflict { .. }) => return Ok(()),
            other => other?,
        }
        tx.commit().await
    }

    /// The arm that decided, as people find it in the pack.
    fn taken_arm(&self) -> String {
        let explained = self.rules.explain(self.snapshot);
        let taken = explained.arms.into_iter().rev().find(|arm| arm.result == rules::ArmResult::Taken);
        taken.map(|arm| format!("{}: {}", arm.at, arm.arm)).unwrap_or_default()
    }
}

pub(super) fn seconds(recheck: Option<i64>) -> Option<Duration> {
    // At least a second, so that a guard at its edge does not spin.
    recheck.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or_default().max(1)))
}
