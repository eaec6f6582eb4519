//! One host, one evaluation: read what is known, ask BMCs what only they know, decide, and have it carried out.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use proto::MachineId;
use rules::{Decision, RuleSet, Snapshot};
use tracing::warn;

use super::{
    commit,
    context::{Context, Evaluated},
    counters::ReconcileEvent,
    evaluation::{Evaluation, seconds},
    observe::Questions,
    permits::Permit,
};
use crate::{
    Timestamp, facts, rule_packs,
    store::{HostRecord, Outcome, OutcomeKind, StoreError, Transition},
};

/// Most rounds of questions to BMCs for one decision.
const MOST_ROUNDS: usize = 6;

/// Evaluates hosts, one call a host.
pub(super) struct Worker {
    pub(super) context: Context,
    /// What waiting hosts looked like when they were last decided.
    last: Mutex<HashMap<MachineId, LastDecision>>,
}

/// A host as it was when it was last decided to wait.
struct LastDecision {
    snapshot: Snapshot,
    pack_hash: String,
    due: Option<Instant>,
    /// What the decision wanted to know from BMCs.
    questions: Questions,
}

impl Worker {
    pub(super) fn new(context: Context) -> Self {
        Self { context, last: Mutex::default() }
    }

    /// Evaluates a host once. An error is the database's: nothing was decided, the next sweep tries again.
    pub(super) async fn evaluate(&self, host: &MachineId, permit: &Permit) -> Result<Evaluated, StoreError> {
        let read = async {
            let mut tx = self.context.store.read().await?;
            tx.host_record(host).await
        };
        let mut record = match read.await {
            Ok(record) => record,
            Err(StoreError::Missing { .. }) => {
                self.context.counters.overdue(host, None);
                self.context.counters.withheld(host, false);
                self.context.counters.undeclared(host, 0);
                return Ok(Evaluated::Gone);
            }
            Err(error) => return Err(error),
        };
        if record.is_ahead(Timestamp::now()) {
            return self.clamp_future_timestamps(&record).await;
        }
        let rules = self.context.rules.current();
        if record.life.state.as_str().is_empty() {
            return self.begin(&record, &rules).await;
        }
        let mut questions = self.asked_before(host);
        questions.ask(&self.context, permit, &mut record).await?;
        let snapshot_of = |record: &HostRecord| facts::snapshot(record, &self.context.settings.site, Timestamp::now());
        let mut snapshot = snapshot_of(&record);
        let late = facts::is_overdue(&snapshot, &rules);
        self.context.counters.overdue(host, late.then_some(&record.life.state));
        self.context.counters.withheld(host, rule_packs::is_withheld(&rules, &record, &snapshot));
        self.context.counters.undeclared(host, rule_packs::undeclared(&rules, &record).len());
        if let Some(rest) = self.nothing_new(host, &snapshot, &rules) {
            self.context.counters.count(ReconcileEvent::Unchanged);
            return Ok(questions.poll(Evaluated::Stays(rest)));
        }
        // What a BMC tells can make other arms look at what it has not told yet.
        for _ in 0..MOST_ROUNDS {
            let wanted = Questions::of(&rules.explain(&snapshot));
            if wanted == questions {
                break;
            }
            questions = wanted;
            questions.ask(&self.context, permit, &mut record).await?;
            snapshot = snapshot_of(&record);
        }
        self.context.counters.count(ReconcileEvent::Decision);
        let evaluation =
            Evaluation { context: &self.context, permit, rules: &rules, record: &record, snapshot: &snapshot };
        let decision = rules.decision(&snapshot);
        let done = match &decision {
            Decision::Go(go) => evaluation.go(&decision, go).await,
            Decision::Wait(wait) => evaluation.wait(&decision, wait).await,
            Decision::Delete(delete) => evaluation.delete(delete).await,
            Decision::Error(fault) => {
                let gate = fault.gate.as_deref().unwrap_or_default();
                evaluation.stay_with_error(&fault.reason, gate, seconds(fault.recheck_after)).await
            }
        }?;
        let quiet = match &decision {
            Decision::Wait(wait) => wait.actions.is_empty() && wait.dpus.iter().all(|step| step.actions.is_empty()),
            Decision::Error(_) => true,
            Decision::Go(_) | Decision::Delete(_) => false,
        };
        let polled = questions.poll(done);
        self.remember(host, (quiet && done != Evaluated::Conflict).then_some(snapshot), &rules, done, questions);
        Ok(polled)
    }

    /// Times in the future are from a clock that was ahead: nothing that comes in now would count as later.
    async fn clamp_future_timestamps(&self, record: &HostRecord) -> Result<Evaluated, StoreError> {
        let mut tx = self.context.store.write().await?;
        let times = tx.clamp_future_timestamps(&record.host.id).await?;
        tx.commit().await?;
        warn!(host = %record.host.name, times, "the clock was ahead: times in the future count as now, in their order");
        Ok(Evaluated::Conflict)
    }

    /// The first state of a host that has none.
    async fn begin(&self, record: &HostRecord, rules: &RuleSet) -> Result<Evaluated, StoreError> {
        let now = Timestamp::now().max(Timestamp::from_micros(record.life.version.micros().saturating_add(1)));
        let outcome =
            Outcome { kind: OutcomeKind::Go, reason: "new in the site".to_owned(), at: now, ..Outcome::default() };
        let transition = Transition {
            to: rules.initial().clone(),
            outcome,
            pack_hash: rules.hash().to_owned(),
            ..Transition::default()
        };
        let mut tx = self.context.store.write().await?;
        match tx.commit_transition(&record.host.id, record.life.version, &transition, now).await {
            Err(StoreError::Conflict { .. }) => return Ok(Evaluated::Conflict),
            other => other?,
        };
        if self.context.rules.replaced_since(rules.hash()) {
            return Ok(Evaluated::Conflict);
        }
        tx.commit().await?;
        Ok(Evaluated::Moved)
    }

    /// Nothing that rules can see of a waiting host has changed, and no time guard is due: how long until one is.
    #[allow(clippy::option_option, reason = "the outer one is the answer, the inner one is whether there is a timer")]
    fn nothing_new(&self, host: &MachineId, snapshot: &Snapshot, rules: &RuleSet) -> Option<Option<Duration>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.get(host)?;
        let now = Instant::now();
        if last.pack_hash != rules.hash() || last.due.is_some_and(|due| due <= now) {
            return None;
        }
        let same = rules.sees_no_change(&last.snapshot, snapshot);
        same.then(|| last.due.map(|due| due.saturating_duration_since(now)))
    }

    fn asked_before(&self, host: &MachineId) -> Questions {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.get(host).map(|last| last.questions.clone()).unwrap_or_default()
    }

    fn remember(
        &self,
        host: &MachineId,
        snapshot: Option<Snapshot>,
        rules: &RuleSet,
        done: Evaluated,
        questions: Questions,
    ) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match (snapshot, done) {
            (Some(snapshot), Evaluated::Stays(recheck)) => {
                let due = recheck.map(|rest| Instant::now() + rest);
                last.insert(
                    host.clone(),
                    LastDecision { snapshot, pack_hash: rules.hash().to_owned(), due, questions },
                );
            }
            _ => drop(last.remove(host)),
        }
    }

    /// Stores that handling a host took too long.
    pub(super) async fn cut_off(&self, host: &MachineId) -> Result<(), StoreError> {
        self.context.counters.count(ReconcileEvent::Late);
        let limit = self.context.settings.step_limit.as_secs();
        let mut tx = self.context.store.write().await?;
        let life = tx.life(host).await?;
        let reason = format!("handling the host did not end within {limit} s; it is tried again");
        if let Some(life) = commit::failing(&life, &reason, "", Timestamp::now()) {
            tx.store_stay(host, &life).await?;
        }
        tx.commit().await
    }
}
