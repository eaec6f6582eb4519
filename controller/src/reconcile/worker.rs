//! One host, one evaluation: read what is known, ask BMCs what only they know, decide, and have it carried out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use proto::MachineId;
use rules::{Decision, RuleSet, Snapshot};
use tracing::warn;

use super::{
    ReconcileCounters, ReconcileSettings, RulesInForce, commit,
    counters::Counted,
    evaluation::{Evaluation, seconds},
    observe::Questions,
    turns::{Turn, Turns},
};
use crate::{
    Timestamp,
    act::Bmc,
    ask::ask,
    facts, judge,
    store::{HostRecord, Outcome, OutcomeKind, Store, StoreError, Transition},
};

/// What an evaluation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// The host moved: it is decided again at once.
    Moved,
    /// The host stays; rules can change their mind by time alone after that long.
    Stays(Option<Duration>),
    /// Somebody else changed the host meanwhile: it is decided again at once.
    Conflict,
    /// The host is not there any more.
    Gone,
}

/// What all evaluations share.
pub(super) struct Worker {
    pub(super) store: Store,
    pub(super) rules: Arc<RulesInForce>,
    pub(super) bmc: Arc<dyn Bmc>,
    pub(super) settings: ReconcileSettings,
    pub(super) turns: Arc<Turns>,
    pub(super) counters: Arc<ReconcileCounters>,
    /// What waiting hosts looked like when they were last decided.
    pub(super) seen: Mutex<HashMap<MachineId, Seen>>,
}

/// A host as it was when it was last decided to wait.
pub(super) struct Seen {
    snapshot: Snapshot,
    pack_hash: String,
    due: Option<Instant>,
    /// What the decision wanted to know from BMCs.
    questions: Questions,
}

impl Worker {
    /// Evaluates a host once. An error is the database's: nothing was decided, the next sweep tries again.
    pub(super) async fn evaluate(&self, host: &MachineId, turn: &Turn) -> Result<Done, StoreError> {
        let read = async {
            let mut tx = self.store.read().await?;
            tx.host_record(host).await
        };
        let mut record = match read.await {
            Ok(record) => record,
            Err(StoreError::Missing { .. }) => {
                self.counters.overdue(host, None);
                self.counters.withheld(host, false);
                self.counters.undeclared(host, 0);
                return Ok(Done::Gone);
            }
            Err(error) => return Err(error),
        };
        if record.is_ahead(Timestamp::now()) {
            return self.bring_back(&record).await;
        }
        let rules = self.rules.current();
        if record.life.state.as_str().is_empty() {
            return self.begin(&record, &rules).await;
        }
        let mut questions = self.asked_before(host);
        questions.ask(self, turn, &mut record).await?;
        let snapshot_of = |record: &HostRecord| facts::snapshot(record, &self.settings.site, Timestamp::now());
        let mut snapshot = snapshot_of(&record);
        let late = ask(&rules, |rules| facts::is_overdue(&snapshot, rules));
        self.counters.overdue(host, late.then_some(&record.life.state));
        self.counters.withheld(host, ask(&rules, |rules| judge::is_withheld(rules, &record, &snapshot)));
        self.counters.undeclared(host, judge::undeclared(&rules, &record).len());
        if let Some(rest) = self.nothing_new(host, &snapshot, &rules) {
            self.counters.count(Counted::Unchanged);
            return Ok(questions.poll(Done::Stays(rest)));
        }
        let wanted = Questions::of(&ask(&rules, |rules| rules.explain(&snapshot)));
        if wanted != questions {
            questions = wanted;
            questions.ask(self, turn, &mut record).await?;
            snapshot = snapshot_of(&record);
        }
        self.counters.count(Counted::Decision);
        let evaluation = Evaluation { worker: self, turn, rules: &rules, record: &record, snapshot: &snapshot };
        let decision = ask(&rules, |rules| rules.decision(&snapshot));
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
        self.remember(host, (quiet && done != Done::Conflict).then_some(snapshot), &rules, done, questions);
        Ok(polled)
    }

    /// Times in the future are from a clock that was ahead: nothing that comes in now would count as later.
    async fn bring_back(&self, record: &HostRecord) -> Result<Done, StoreError> {
        let mut tx = self.store.write().await?;
        let times = tx.bring_back(&record.host.id).await?;
        tx.commit().await?;
        warn!(host = %record.host.name, times, "the clock was ahead: times in the future count as now, in their order");
        Ok(Done::Conflict)
    }

    /// The first state of a host that has none.
    async fn begin(&self, record: &HostRecord, rules: &RuleSet) -> Result<Done, StoreError> {
        let now = Timestamp::now().max(Timestamp::from_micros(record.life.version.micros().saturating_add(1)));
        let outcome =
            Outcome { kind: OutcomeKind::Go, reason: "new in the site".to_owned(), at: now, ..Outcome::default() };
        let transition = Transition {
            to: rules.initial().clone(),
            outcome,
            pack_hash: rules.hash().to_owned(),
            ..Transition::default()
        };
        let mut tx = self.store.write().await?;
        match tx.commit_transition(&record.host.id, record.life.version, &transition, now).await {
            Err(StoreError::Conflict { .. }) => return Ok(Done::Conflict),
            other => other?,
        };
        if self.rules.superseded(rules.hash()) {
            return Ok(Done::Conflict);
        }
        tx.commit().await?;
        Ok(Done::Moved)
    }

    /// Nothing that rules can see of a waiting host has changed, and no time guard is due: how long until one is.
    #[allow(clippy::option_option, reason = "the outer one is the answer, the inner one is whether there is a timer")]
    fn nothing_new(&self, host: &MachineId, snapshot: &Snapshot, rules: &RuleSet) -> Option<Option<Duration>> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let last = seen.get(host)?;
        let now = Instant::now();
        if last.pack_hash != rules.hash() || last.due.is_some_and(|due| due <= now) {
            return None;
        }
        let same = rules.sees_no_change(&last.snapshot, snapshot);
        same.then(|| last.due.map(|due| due.saturating_duration_since(now)))
    }

    fn asked_before(&self, host: &MachineId) -> Questions {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(host).map(|last| last.questions.clone()).unwrap_or_default()
    }

    fn remember(
        &self,
        host: &MachineId,
        snapshot: Option<Snapshot>,
        rules: &RuleSet,
        done: Done,
        questions: Questions,
    ) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match (snapshot, done) {
            (Some(snapshot), Done::Stays(recheck)) => {
                let due = recheck.map(|rest| Instant::now() + rest);
                seen.insert(host.clone(), Seen { snapshot, pack_hash: rules.hash().to_owned(), due, questions });
            }
            _ => drop(seen.remove(host)),
        }
    }

    /// Stores that handling a host took too long.
    pub(super) async fn cut_off(&self, host: &MachineId) -> Result<(), StoreError> {
        self.counters.count(Counted::Late);
        let limit = self.settings.step_limit.as_secs();
        let mut tx = self.store.write().await?;
        let life = tx.life(host).await?;
        let reason = format!("handling the host did not end within {limit} s; it is tried again");
        if let Some(life) = commit::failing(&life, &reason, "", Timestamp::now()) {
            tx.store_stay(host, &life).await?;
        }
        tx.commit().await
    }
}
