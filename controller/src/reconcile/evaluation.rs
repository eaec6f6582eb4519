//! Carrying out one decision: act, then commit.

use std::time::Duration;

use rules::{
    Action, ArmResult, Decision, Delete, DpuStep, FailureChange, Fallback, Go, OnFailure, RuleSet, Snapshot, Wait,
};
use tracing::{error, info, warn};

use super::{
    commit::{self, Move},
    context::{Context, Evaluated},
    counters::ReconcileEvent,
    permits::Permit,
};
use crate::{
    Timestamp,
    act::{self, ActionError, Journal, Step},
    facts,
    store::{HostRecord, Life, StoreError},
};

/// A host that waits is looked at again this long after an action.
const AFTER_ACTION: Duration = Duration::from_secs(1);

/// One decision with what it rests on.
pub(super) struct Evaluation<'a> {
    pub(super) context: &'a Context,
    pub(super) permit: &'a Permit,
    pub(super) rules: &'a RuleSet,
    pub(super) record: &'a HostRecord,
    pub(super) snapshot: &'a Snapshot,
}

/// What running a decision's actions came to.
enum Ran {
    /// The decision stands; it is to be committed.
    Stands,
    /// An action failed, and its arm keeps the host where it is.
    Stays(ActionError),
    /// A service of the site has yet to do an action: what is behind it waits.
    Awaits(ActionError),
    /// Actions failed whose arms say where to go then.
    Goes { fallbacks: Vec<Fallback>, why: String },
}

impl Evaluation<'_> {
    pub(super) async fn go(&self, decision: &Decision, go: &Go) -> Result<Evaluated, StoreError> {
        match self.run_all(Step::host(Some(&go.to)), &go.actions, &go.dpus).await {
            Ran::Stands => self.commit(go, self.taken_arm(go)).await,
            Ran::Awaits(awaited) => self.wait_for_service(&awaited).await,
            Ran::Stays(failure) => self.stay_with_failure(&failure).await,
            Ran::Goes { fallbacks, why } => self.fall_back(decision, &fallbacks, why).await,
        }
    }

    pub(super) async fn wait(&self, decision: &Decision, wait: &Wait) -> Result<Evaluated, StoreError> {
        match self.run_all(Step::host(None), &wait.actions, &wait.dpus).await {
            Ran::Stands => {}
            // The arm waits anyway, and says for what.
            Ran::Awaits(_) => {
                self.context.counters.count(ReconcileEvent::Wait);
                self.store(commit::waiting(&self.record.life, wait, Timestamp::now())).await?;
                return Ok(Evaluated::Stays(seconds(wait.recheck_after)));
            }
            Ran::Stays(failure) => return self.stay_with_failure(&failure).await,
            Ran::Goes { fallbacks, why } => return self.fall_back(decision, &fallbacks, why).await,
        }
        self.context.counters.count(ReconcileEvent::Wait);
        let actions = all_actions(&wait.actions, &wait.dpus);
        if let Err(failure) = commit::change_rows(&self.context.store, self.record, &actions).await {
            return self.not_committed(failure).await;
        }
        let wait = &Wait { reason: facts::with_bmc_faults(self.record, &wait.reason), ..wait.clone() };
        self.store(commit::waiting(&self.record.life, wait, Timestamp::now())).await?;
        let recheck = seconds(wait.recheck_after);
        // What was done can change what is next; a second keeps rules that do it over and over from spinning.
        let acted = recheck.unwrap_or(AFTER_ACTION).min(AFTER_ACTION);
        Ok(Evaluated::Stays(if actions.is_empty() { recheck } else { Some(acted) }))
    }

    pub(super) async fn delete(&self, delete: &Delete) -> Result<Evaluated, StoreError> {
        for action in &delete.actions {
            if let Err(failure) = self.run(action, &Step::host(None)).await {
                if let ActionError::Awaited { .. } = failure {
                    return self.wait_for_service(&failure).await;
                }
                match &action.on_failure {
                    OnFailure::Ignore => self.ignored(action, &failure),
                    OnFailure::Stay | OnFailure::Go(_) => return self.stay_with_failure(&failure).await,
                }
            }
        }
        let mut tx = self.context.store.write().await?;
        if tx.life(&self.record.host.id).await?.version != self.record.life.version
            || self.context.rules.replaced_since(self.rules.hash())
        {
            return Ok(Evaluated::Conflict);
        }
        tx.forget_host(&self.record.host.id).await?;
        tx.commit().await?;
        info!(host = %self.record.host.name, "host deleted");
        Ok(Evaluated::Gone)
    }

    async fn fall_back(
        &self,
        decision: &Decision,
        fallbacks: &[Fallback],
        why: String,
    ) -> Result<Evaluated, StoreError> {
        self.commit(&self.rules.fall_back(self.snapshot, decision, fallbacks), why).await
    }

    async fn commit(&self, go: &Go, reason: String) -> Result<Evaluated, StoreError> {
        let movement = Move {
            record: self.record,
            go,
            reason,
            pack_hash: self.rules.hash(),
            in_force: &self.context.rules,
            snapshot: facts::compact(self.snapshot),
        };
        match movement.commit(&self.context.store, &all_actions(&go.actions, &go.dpus)).await {
            Ok(()) => {
                self.context.counters.count(ReconcileEvent::Transition);
                info!(host = %self.record.host.name, from = %self.record.life.state, to = %go.to, "host moved");
                Ok(Evaluated::Moved)
            }
            Err(failure) => self.not_committed(failure).await,
        }
    }

    /// Runs the actions of the host and then those of its DPUs. A DPU that is to go elsewhere stops nobody else.
    async fn run_all(&self, host_step: Step, host: &[Action], dpus: &[DpuStep]) -> Ran {
        let mut fallbacks = Vec::new();
        let mut failures = Vec::new();
        let mut awaited = None;
        let of_host = std::iter::once((None, host_step, host));
        let of_dpus = dpus.iter().map(|step| (Some(&step.dpu), Step::dpu(step.to.as_ref()), step.actions.as_slice()));
        'all: for (dpu, step, actions) in of_host.chain(of_dpus) {
            for action in actions {
                let Err(failure) = self.run(action, &step).await else { continue };
                if let ActionError::Awaited { .. } = failure {
                    awaited = Some(failure);
                    break;
                }
                match &action.on_failure {
                    OnFailure::Ignore => self.ignored(action, &failure),
                    OnFailure::Stay => return Ran::Stays(failure),
                    OnFailure::Go(to) => {
                        fallbacks.push(Fallback { dpu: dpu.cloned(), to: to.clone() });
                        failures.push(format!("{} failed: {failure}", action.name));
                        if dpu.is_none() || !self.rules.is_dpu_state(to) {
                            break 'all;
                        }
                        break;
                    }
                }
            }
        }
        match (fallbacks.is_empty(), awaited) {
            (false, _) => Ran::Goes { fallbacks, why: failures.join("; ") },
            (true, Some(awaited)) => Ran::Awaits(awaited),
            (true, None) => Ran::Stands,
        }
    }

    /// Runs the remote part of an action, once for a decision, as far as anybody can know.
    async fn run(&self, action: &Action, step: &Step) -> Result<(), ActionError> {
        let plan = act::plan(&action.name).ok_or_else(|| ActionError::Unknown(action.name.to_string()))?;
        if let Some(rows) = plan.rows {
            // Before anything is done that cannot be undone, and again with the rows.
            rows.permitted(self.record)?;
        }
        let Some(remote) = plan.remote else { return Ok(()) };
        let journal = Journal::new(&self.context.store, self.record);
        let bmc = self.context.bmc.as_ref();
        let awaited = || ActionError::Awaited { action: action.name.to_string() };
        let number = match journal.before(action, step) {
            act::Before::Done => return Ok(()),
            act::Before::Unknown { .. } if act::is_handed_over(&action.name) => return Err(awaited()),
            act::Before::Unknown { number, at } => {
                if self.permit.away(remote.happened(bmc, self.record, action, at)).await {
                    journal.finish(number, "", &remote.recognised(self.record, action)).await?;
                    return Ok(());
                }
                journal.finish(number, "the controller ended before the result was known", &[]).await?;
                journal.intend(action, step).await?
            }
            act::Before::New => journal.intend(action, step).await?,
        };
        if act::is_handed_over(&action.name) {
            return Err(awaited());
        }
        let limit = self.context.settings.action_limit;
        let late = || ActionError::Late { action: action.name.to_string(), seconds: limit.as_secs() };
        let limited = async { tokio::time::timeout(limit, remote.run(bmc, self.record, action)).await };
        let result = self.permit.away(limited).await;
        match result.unwrap_or_else(|_| Err(late())) {
            Ok(found) => {
                self.context.counters.count(ReconcileEvent::ActionDone);
                journal.finish(number, "", &found).await?;
                Ok(())
            }
            Err(failure) => {
                self.context.counters.count(ReconcileEvent::ActionFailed);
                journal.finish(number, &failure.to_string(), &[]).await?;
                Err(failure)
            }
        }
    }

    async fn not_committed(&self, failure: ActionError) -> Result<Evaluated, StoreError> {
        match failure {
            ActionError::Store(StoreError::Conflict { .. }) => {
                self.context.counters.count(ReconcileEvent::Conflict);
                Ok(Evaluated::Conflict)
            }
            ActionError::Store(error) if error.retryable() => Err(error),
            failure => self.stay_with_failure(&failure).await,
        }
    }

    fn ignored(&self, action: &Action, failure: &ActionError) {
        let host = &self.record.host.name;
        warn!(%host, action = %action.name, error = %failure, "action failed, and the rules say to go on");
    }

    /// The host stays until a service has reported: its report marks the host.
    async fn wait_for_service(&self, awaited: &ActionError) -> Result<Evaluated, StoreError> {
        self.context.counters.count(ReconcileEvent::Wait);
        let next = commit::staying(&self.record.life, &awaited.to_string(), Timestamp::now());
        self.store(next).await?;
        Ok(Evaluated::Stays(None))
    }

    async fn stay_with_failure(&self, failure: &ActionError) -> Result<Evaluated, StoreError> {
        self.stay_with_error(&failure.to_string(), "", None).await
    }

    pub(super) async fn stay_with_error(
        &self,
        reason: &str,
        gate: &str,
        recheck: Option<Duration>,
    ) -> Result<Evaluated, StoreError> {
        self.context.counters.count(ReconcileEvent::Error);
        let next = commit::failing(&self.record.life, reason, gate, Timestamp::now());
        if next.is_some() {
            error!(host = %self.record.host.name, state = %self.record.life.state, reason, "host stays with an error");
        }
        self.store(next).await?;
        Ok(Evaluated::Stays(recheck))
    }

    /// Stores what is new of a host that stays. One that moved meanwhile is told by its own evaluation.
    async fn store(&self, life: Option<Life>) -> Result<(), StoreError> {
        let Some(life) = life else { return Ok(()) };
        let mut tx = self.context.store.write().await?;
        match tx.store_stay(&self.record.host.id, &life).await {
            Err(StoreError::Conflict { .. }) => return Ok(()),
            other => other?,
        }
        tx.commit().await
    }

    /// The arm that decided, as people find it in the pack; of a failure also what it was decided on.
    fn taken_arm(&self, go: &Go) -> String {
        let explained = self.rules.explain(self.snapshot);
        let Some(taken) = explained.arms.into_iter().rev().find(|arm| arm.result == ArmResult::Taken) else {
            return String::new();
        };
        let FailureChange::Set { cause, .. } = &go.failure else { return format!("{}: {}", taken.at, taken.arm) };
        let facts = taken.facts.iter().map(|fact| format!("{} = {}", fact.name, fact.value)).collect::<Vec<_>>();
        format!("{}: {}, {cause}: {}", taken.at, taken.arm, facts.join(", "))
    }
}

fn all_actions<'a>(host: &'a [Action], dpus: &'a [DpuStep]) -> Vec<&'a Action> {
    host.iter().chain(dpus.iter().flat_map(|step| &step.actions)).collect()
}

pub(super) fn seconds(recheck: Option<i64>) -> Option<Duration> {
    // At least a second, so that a guard at its edge does not spin.
    recheck.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or_default().max(1)))
}
