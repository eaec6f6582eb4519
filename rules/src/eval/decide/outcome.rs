//! Turns the deciding arm into a decision: moves, waits, counters and notes.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    eval::{
        RuleSet,
        decide::{ArmsOutcome, actions},
        env::Env,
    },
    ir::{
        decision::{Decision, Delete, DpuStep, FailureChange, Fault, FaultKind, Go, Wait},
        expr::GuardError,
        pack::{Arm, DeclaredState, Retained, Verb},
        snapshot::Snapshot,
        state_path::StatePath,
    },
};

impl RuleSet {
    /// The decision for the host as a whole.
    pub(super) fn conclude(&self, outcome: ArmsOutcome<'_>, state: &DeclaredState, env: &Env<'_>) -> Decision {
        match outcome {
            ArmsOutcome::Arm(arm) => self.carry_out(arm, state, env),
            ArmsOutcome::Closed(arm, gate) => self.closed(arm, gate, state, env),
            ArmsOutcome::Failed(error, arm, gate) => self.failed(&error, arm, gate, state, env),
            ArmsOutcome::Nothing => Decision::Wait(self.wait("no rule of this state applies".into(), state, env)),
        }
    }

    #[inline]
    fn carry_out(&self, arm: &Arm, state: &DeclaredState, env: &Env<'_>) -> Decision {
        let actions = match actions(arm, env, None) {
            Ok(actions) => actions,
            Err(error) => return self.failed(&error, arm, None, state, env),
        };
        match &arm.verb {
            Verb::Go(to) | Verb::HostGo(to) => {
                self.go(arm, *to, actions, env, None).unwrap_or_else(|error| self.failed(&error, arm, None, state, env))
            }
            Verb::Wait(reason) => {
                let counters = arm.changes_counters().then(|| counted(env.host.state.counters.clone(), arm));
                Decision::Wait(Wait { actions, counters, ..self.wait(reason.clone(), state, env) })
            }
            Verb::Fail(reason) => Decision::Error(Fault {
                reason: reason.clone(),
                gate: None,
                kind: FaultKind::Declared,
                recheck_after: self.recheck_after(state, env),
            }),
            Verb::Delete => Decision::Delete(Delete { actions }),
            Verb::Pass { .. } => Decision::Wait(self.wait("".into(), state, env)),
        }
    }

    /// A move of the whole host. `cause_of` is the DPU that a failure belongs to, if any.
    #[inline]
    pub(super) fn go(
        &self,
        arm: &Arm,
        to: usize,
        actions: Vec<crate::ir::decision::Action>,
        env: &Env<'_>,
        cause_of: Option<&str>,
    ) -> Result<Decision, GuardError> {
        let host = env.host;
        let target = self.states.get(to);
        let mut to = target.map_or_else(StatePath::default, |state| state.path.clone());
        let counters = match host.state.counters.is_empty() && !arm.changes_counters() {
            true => BTreeMap::new(),
            false => counted(kept(&host.state.counters, &self.counters, &to), arm),
        };
        let notes = match host.state.notes.is_empty() && arm.notes.is_empty() {
            true => BTreeMap::new(),
            false => noted(kept(&host.state.notes, &self.notes, &to), &arm.notes),
        };
        let mut dpus = Vec::new();
        if target.is_some_and(|state| state.of_dpu) {
            dpus = self.enter_all(arm, &to, env)?;
            to = self.least_advanced(host, &dpus).unwrap_or(to);
        }
        Ok(Decision::Go(Go { to, actions, dpus, counters, notes, failure: failure(arm, cause_of) }))
    }

    /// All DPUs enter the target; those that `for_dpus` does not select enter the state of `others`.
    fn enter_all(&self, arm: &Arm, to: &StatePath, env: &Env<'_>) -> Result<Vec<DpuStep>, GuardError> {
        let mut steps = Vec::new();
        for dpu in &env.host.dpus {
            let meant = match &arm.split {
                Some((guard, _)) => guard.holds(&env.with(0, dpu))?,
                // Without `for_dpus`, DPUs in an `aside` state stay where they are.
                None => !dpu.state.as_ref().and_then(|path| self.state(path)).is_some_and(|state| state.aside),
            };
            let others = arm.split.as_ref().and_then(|(_, others)| self.states.get((*others)?));
            let to = if meant { Some(to) } else { others.map(|state| &state.path) };
            let Some(to) = to else { continue };
            steps.push(DpuStep {
                dpu: dpu.id.clone(),
                to: Some(to.clone()),
                reason: None,
                actions: Vec::new(),
                counters: Some(kept(&dpu.counters, &self.counters, to)),
                notes: Some(kept(&dpu.notes, &self.notes, to)),
            });
        }
        Ok(steps)
    }

    /// The least advanced state of the DPUs after their moves, those in `aside` states excepted.
    pub(super) fn least_advanced(&self, host: &Snapshot, steps: &[DpuStep]) -> Option<StatePath> {
        let after = host.dpus.iter().map(|dpu| {
            let step = steps.iter().find(|step| step.dpu == dpu.id).and_then(|step| step.to.as_ref());
            step.or(dpu.state.as_ref()).unwrap_or(&host.state.path)
        });
        let taking_part = after.filter(|path| self.state(path).is_none_or(|state| !state.aside));
        taking_part.min_by_key(|path| self.by_path.get(path.as_str())).cloned()
    }

    pub(super) fn wait(&self, reason: Arc<str>, state: &DeclaredState, env: &Env<'_>) -> Wait {
        Wait {
            reason,
            gate: None,
            actions: Vec::new(),
            dpus: Vec::new(),
            counters: None,
            recheck_after: self.recheck_after(state, env),
        }
    }

    fn closed(&self, arm: &Arm, gate: usize, state: &DeclaredState, env: &Env<'_>) -> Decision {
        let Some(gate) = self.gates.get(gate) else { return Decision::Wait(self.wait("".into(), state, env)) };
        if matches!(arm.verb, Verb::Pass { or_fail: true, .. }) {
            return Decision::Error(Fault {
                reason: gate.reason.clone(),
                gate: Some(gate.name.clone()),
                kind: FaultKind::Declared,
                recheck_after: self.recheck_after(state, env),
            });
        }
        Decision::Wait(Wait { gate: Some(gate.name.clone()), ..self.wait(gate.reason.clone(), state, env) })
    }

    pub(super) fn failed(
        &self,
        error: &GuardError,
        arm: &Arm,
        gate: Option<usize>,
        state: &DeclaredState,
        env: &Env<'_>,
    ) -> Decision {
        let gate = gate.and_then(|gate| self.gates.get(gate));
        if error.is_unknown() {
            let reason = self.waits_to_be_told(arm, gate.map(|gate| &gate.guard), env);
            return Decision::Wait(Wait {
                gate: gate.map(|gate| gate.name.clone()),
                ..self.wait(reason.into(), state, env)
            });
        }
        let at = gate.map_or(&arm.place, |gate| &gate.place);
        let mut conditions = arm.conditions.iter().map(|(guard, _)| guard);
        let failing = gate.map(|gate| &gate.guard).or_else(|| conditions.find(|guard| guard.holds(env).is_err()));
        let at = failing.map_or(at, |guard| &guard.place);
        Decision::Error(Fault {
            reason: Arc::from(format!("the guard at {at} failed on host {}: {error}", env.host.id)),
            gate: gate.map(|gate| gate.name.clone()),
            kind: FaultKind::Guard,
            recheck_after: self.recheck_after(state, env),
        })
    }
}

pub(super) fn failure(arm: &Arm, dpu: Option<&str>) -> FailureChange {
    match &arm.cause {
        Some(cause) => FailureChange::Set { cause: cause.clone(), dpu: dpu.map(str::to_owned) },
        None if arm.clears_failure => FailureChange::Clear,
        None => FailureChange::Keep,
    }
}

/// The values that survive a move to a state.
pub(super) fn kept<T: Clone>(values: &BTreeMap<String, T>, rules: &[Retained], to: &StatePath) -> BTreeMap<String, T> {
    if values.is_empty() {
        return BTreeMap::new();
    }
    values
        .iter()
        .filter(|(name, _)| {
            rules.iter().any(|kept| *kept.name == ***name && kept.within.iter().any(|prefix| to.is_within(prefix)))
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The counters after an arm's resets and increments.
pub(super) fn counted(mut counters: BTreeMap<String, i64>, arm: &Arm) -> BTreeMap<String, i64> {
    for counter in &arm.resets {
        counters.remove(&**counter);
    }
    for counter in &arm.counts {
        let value = counters.entry(counter.to_string()).or_default();
        *value = value.saturating_add(1);
    }
    counters
}

pub(super) fn noted(mut notes: BTreeMap<String, String>, add: &[(Arc<str>, String)]) -> BTreeMap<String, String> {
    for (note, value) in add {
        if value.is_empty() {
            notes.remove(&**note);
        } else {
            notes.insert(note.to_string(), value.clone());
        }
    }
    notes
}
