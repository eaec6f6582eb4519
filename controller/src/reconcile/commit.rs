//! From a decision to the rows that keep it. The pure part says what a move or a stay looks like; the other writes it,
//! with the rows its actions change, in one transaction that only holds if nobody moved the host meanwhile and, where
//! rows change, if what the decision rests on is still so. Nor does it hold if other rules were activated meanwhile.

use std::collections::BTreeMap;

use rules::{Action, DpuStep, FailureChange, Go, Wait};

use super::preconditions::Preconditions;
use crate::rule_packs::ActiveRules;
use crate::{
    Timestamp,
    act::{self, ActionError, Rows},
    store::{DpuLife, FailureRecord, HostRecord, Life, Outcome, OutcomeKind, Store, StoreError, Transition, Tx},
};

/// A move as it is to be committed.
pub(super) struct Move<'a> {
    pub(super) record: &'a HostRecord,
    pub(super) go: &'a Go,
    pub(super) reason: String,
    /// Rules that decided.
    pub(super) pack_hash: &'a str,
    pub(super) in_force: &'a ActiveRules,
    /// What the rules saw.
    pub(super) snapshot: String,
}

impl Move<'_> {
    /// The transition, made at `now`.
    pub(super) fn transition(&self, now: Timestamp) -> Transition {
        let (record, go) = (self.record, self.go);
        let failure = match &go.failure {
            FailureChange::Keep => record.life.failure.clone(),
            FailureChange::Clear => None,
            FailureChange::Set { cause, dpu } => {
                Some(FailureRecord { cause: cause.to_string(), dpu: dpu.clone(), at: now })
            }
        };
        Transition {
            to: go.to.clone(),
            // A state of the host alone: its DPUs have none of their own any more.
            dpus: if go.dpus.is_empty() { BTreeMap::new() } else { dpu_lives(&record.life, &go.dpus, now) },
            counters: go.counters.clone(),
            notes: go.notes.clone(),
            failure,
            outcome: Outcome { kind: OutcomeKind::Go, reason: self.reason.clone(), gate: String::new(), at: now },
            pack_hash: self.pack_hash.to_owned(),
            snapshot: Some(self.snapshot.clone()),
        }
    }

    /// Commits the move, and with it the rows that its actions change. Nothing is kept if the host moved meanwhile.
    pub(super) async fn commit(&self, store: &Store, actions: &[&Action]) -> Result<(), ActionError> {
        let host = &self.record.host.id;
        let read = self.record.life.version;
        // The clock may go backwards; a host's states do not.
        let now = Timestamp::now().max(Timestamp::from_micros(read.micros().saturating_add(1)));
        let mut tx = store.write().await?;
        // First the compare-and-set: a loser must not even try the rows.
        tx.commit_transition(host, read, &self.transition(now), now).await?;
        // Rules change in a transaction of their own, so they cannot change before this one ends.
        if self.in_force.replaced_since(self.pack_hash) {
            return Err(StoreError::Conflict { what: "rules for host", id: host.to_string() }.into());
        }
        change(&mut tx, self.record, &row_changes(actions), now).await?;
        tx.commit().await?;
        Ok(())
    }
}

fn row_changes<'a>(actions: &[&'a Action]) -> Vec<(&'a Action, Rows)> {
    let rows = |action: &'a Action| act::plan(&action.name).and_then(|plan| plan.rows).map(|rows| (action, rows));
    actions.iter().copied().filter_map(rows).collect()
}

/// Changes rows, if what the decision rests on is still so.
async fn change(
    tx: &mut Tx,
    record: &HostRecord,
    changes: &[(&Action, Rows)],
    now: Timestamp,
) -> Result<(), ActionError> {
    if changes.is_empty() {
        return Ok(());
    }
    let id = &record.host.id;
    let fresh = tx.host_record(id).await?;
    if Preconditions::of(&fresh) != Preconditions::of(record) {
        return Err(StoreError::Conflict { what: "facts of host", id: id.to_string() }.into());
    }
    for (action, rows) in changes {
        rows.change(tx, record, action, now).await?;
    }
    Ok(())
}

/// Rows that the actions of a decision to stay change.
pub(super) async fn change_rows(store: &Store, record: &HostRecord, actions: &[&Action]) -> Result<(), ActionError> {
    let changes = row_changes(actions);
    if changes.is_empty() {
        return Ok(());
    }
    let mut tx = store.write().await?;
    if tx.life(&record.host.id).await?.version != record.life.version {
        return Err(StoreError::Conflict { what: "state of host", id: record.host.id.to_string() }.into());
    }
    change(&mut tx, record, &changes, Timestamp::now()).await?;
    tx.commit().await?;
    Ok(())
}

fn dpu_lives(life: &Life, steps: &[DpuStep], now: Timestamp) -> BTreeMap<String, DpuLife> {
    let mut lives = life.dpus.clone();
    for step in steps {
        let before = lives.remove(&step.dpu);
        let state = step.to.as_ref().or(before.as_ref().map(|before| &before.state)).unwrap_or(&life.state).clone();
        let moves = step.to.is_some() || before.is_none();
        let (since, counters, notes) = match before {
            Some(before) if !moves => (before.since, before.counters, before.notes),
            Some(before) => (now, before.counters, before.notes),
            None => (now, BTreeMap::new(), BTreeMap::new()),
        };
        lives.insert(
            step.dpu.clone(),
            DpuLife {
                state,
                since,
                counters: step.counters.clone().unwrap_or(counters),
                notes: step.notes.clone().unwrap_or(notes),
            },
        );
    }
    lives
}

/// What is stored of a host that waits; nothing if all of it is stored already.
pub(super) fn waiting(life: &Life, wait: &Wait, now: Timestamp) -> Option<Life> {
    let mut next = life.clone();
    if let Some(counters) = &wait.counters {
        next.counters.clone_from(counters);
    }
    for step in &wait.dpus {
        if step.counters.is_none() && step.notes.is_none() {
            continue;
        }
        let state = life.state.clone();
        let since = Timestamp::from_micros(life.version.micros());
        let entry = next.dpus.entry(step.dpu.clone());
        let own = entry.or_insert_with(|| DpuLife { state, since, counters: BTreeMap::new(), notes: BTreeMap::new() });
        if let Some(counters) = &step.counters {
            own.counters.clone_from(counters);
        }
        if let Some(notes) = &step.notes {
            own.notes.clone_from(notes);
        }
    }
    let gate = wait.gate.as_deref().unwrap_or_default();
    next.outcome = outcome(life, OutcomeKind::Wait, &wait.reason, gate, now);
    (next != *life).then_some(next)
}

/// What is stored of a host that stays and waits for what a service does; nothing if it is stored already.
pub(super) fn staying(life: &Life, reason: &str, now: Timestamp) -> Option<Life> {
    let next = Life { outcome: outcome(life, OutcomeKind::Wait, reason, "", now), ..life.clone() };
    (next != *life).then_some(next)
}

/// What is stored of a host that stays because of an error; nothing if it is stored already.
pub(super) fn failing(life: &Life, reason: &str, gate: &str, now: Timestamp) -> Option<Life> {
    let outcome = outcome(life, OutcomeKind::Error, reason, gate, now);
    (outcome != life.outcome).then(|| Life { outcome, ..life.clone() })
}

/// The same outcome as before keeps the time when it began.
fn outcome(life: &Life, kind: OutcomeKind, reason: &str, gate: &str, now: Timestamp) -> Outcome {
    let same = life.outcome.kind == kind && life.outcome.reason == reason && life.outcome.gate == gate;
    if same {
        return life.outcome.clone();
    }
    Outcome { kind, reason: reason.to_owned(), gate: gate.to_owned(), at: now }
}

#[cfg(test)]
mod tests {
    use proto::ConfigVersion;

    use super::*;

    fn life() -> Life {
        let own = |state: &str, since| DpuLife {
            state: state.into(),
            since: Timestamp::from_micros(since),
            counters: BTreeMap::from([("reboots".to_owned(), 1)]),
            notes: BTreeMap::new(),
        };
        Life {
            state: "DPUInit/Init".into(),
            version: ConfigVersion::first(10),
            dpus: BTreeMap::from([
                ("a".to_owned(), own("DPUInit/Init", 10)),
                ("b".to_owned(), own("DPUInit/Done", 20)),
            ]),
            counters: BTreeMap::new(),
            notes: BTreeMap::new(),
            failure: None,
            outcome: Outcome::default(),
        }
    }

    fn step(dpu: &str, to: Option<&str>) -> DpuStep {
        DpuStep { dpu: dpu.into(), to: to.map(Into::into), reason: None, actions: vec![], counters: None, notes: None }
    }

    #[test]
    fn a_dpu_that_moves_starts_a_new_stay() {
        let now = Timestamp::from_micros(99);
        let steps = [step("a", Some("DPUInit/Done")), step("b", None), step("c", Some("DPUInit/Init"))];
        let lives = dpu_lives(&life(), &steps, now);
        let seen: Vec<_> =
            lives.iter().map(|(id, own)| (id.as_str(), own.state.as_str(), own.since.micros())).collect();
        assert_eq!(seen, [("a", "DPUInit/Done", 99), ("b", "DPUInit/Done", 20), ("c", "DPUInit/Init", 99)]);
        let entered = DpuStep { counters: Some(BTreeMap::new()), ..step("a", Some("DPUInit/Done")) };
        assert!(dpu_lives(&life(), &[entered], now)["a"].counters.is_empty());
    }

    #[test]
    fn waiting_on_for_the_same_reason_writes_nothing() {
        let wait = Wait {
            reason: "BGP is down".into(),
            gate: Some("p0".into()),
            actions: vec![],
            dpus: vec![],
            counters: None,
            recheck_after: None,
        };
        let first = waiting(&life(), &wait, Timestamp::from_micros(50)).unwrap();
        assert_eq!((first.outcome.kind, first.outcome.at.micros()), (OutcomeKind::Wait, 50));
        assert_eq!(first.version, life().version);
        assert_eq!(waiting(&first, &wait, Timestamp::from_micros(60)), None);
        let other = Wait { reason: "BGP is still down".into(), ..wait };
        assert_eq!(waiting(&first, &other, Timestamp::from_micros(60)).unwrap().outcome.at.micros(), 60);
    }
}
