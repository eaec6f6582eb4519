//! Decides: rule set and snapshot to decision. Pure, bounded, without allocation until an arm decides.
//!
//! Arms are read top to bottom, those of rules for any state first, and the first that applies decides. A guard that
//! fails counts as a closed gate: the host stays and the failure is its outcome. A guard without an answer, because nobody
//! has told a fact that it needs, has the host wait for that fact: no later arm is tried on a guess.

mod dpus;
mod fallback;
mod outcome;

use std::sync::Arc;

pub use fallback::Fallback;

use crate::{
    eval::{
        RuleSet,
        env::Env,
        prepared::{ArmOutcome, PreparedArm},
    },
    ir::{
        decision::{Action, Decision, Fault, FaultKind},
        expr::GuardError,
        guard::Selection,
        pack::{Arm, DeclaredState},
        snapshot::{Dpu, Snapshot},
        trace::{ArmResult, Decided, Trace, TraceStep},
    },
};

/// Records the arms that were tried.
pub(crate) trait Tracer {
    fn step(&mut self, arm: usize, dpu: Option<usize>, result: ArmResult);
    /// None of these arms applies.
    fn skip(&mut self, steps: &[PreparedArm]);
}

impl Tracer for Trace {
    fn skip(&mut self, steps: &[PreparedArm]) {
        steps.iter().for_each(|step| self.step(step.number, None, ArmResult::Skipped));
    }

    fn step(&mut self, arm: usize, dpu: Option<usize>, result: ArmResult) {
        let arm = u32::try_from(arm).unwrap_or(u32::MAX);
        self.steps.push(TraceStep { arm, dpu: dpu.and_then(|dpu| u16::try_from(dpu).ok()), result });
    }
}

/// Records nothing.
struct Untraced;

impl Tracer for Untraced {
    fn skip(&mut self, _: &[PreparedArm]) {}
    fn step(&mut self, _: usize, _: Option<usize>, _: ArmResult) {}
}

/// The result of a state's arms.
pub(crate) enum ArmsOutcome<'r> {
    /// This arm decides, for the host or for the DPU it was tried for.
    Arm(&'r Arm),
    /// The gate of this arm is closed.
    Closed(&'r Arm, usize),
    /// A guard failed or has no answer, perhaps that of a gate.
    Failed(GuardError, &'r Arm, Option<usize>),
    /// No arm applies.
    Nothing,
}

impl RuleSet {
    /// What the rules want done with a host. Pure: the same snapshot gives the same decision.
    #[must_use]
    pub fn decide(&self, snapshot: &Snapshot) -> Decided {
        let mut trace = Trace { steps: Vec::with_capacity(24) };
        let decision = self.decide_with(snapshot, &mut trace);
        Decided { decision, trace }
    }

    /// [`RuleSet::decide`] without the trace.
    #[must_use]
    pub fn decision(&self, snapshot: &Snapshot) -> Decision {
        self.decide_with(snapshot, &mut Untraced)
    }

    fn decide_with(&self, snapshot: &Snapshot, tracer: &mut impl Tracer) -> Decision {
        let Some((state, prepared)) = self.prepared(&snapshot.state.path) else {
            return unknown_state(&snapshot.state.path);
        };
        let env = self.env(snapshot);
        if prepared.any_arm_applies.as_ref().is_none_or(|some| some.to(&env)) {
            let any = self.run(prepared.any_steps.iter(), &env, None, tracer);
            if !matches!(any, ArmsOutcome::Nothing) {
                return self.conclude(any, state, &env);
            }
        } else {
            tracer.skip(&prepared.any_steps);
        }
        if state.of_dpu {
            return self.decide_dpus(state, prepared, &env, tracer);
        }
        let outcome = self.run(prepared.steps.iter(), &env, None, tracer);
        self.conclude(outcome, state, &env)
    }

    /// Evaluates arms until one decides.
    fn run<'r>(
        &'r self,
        steps: impl Iterator<Item = &'r PreparedArm>,
        env: &Env<'_>,
        dpu: Option<usize>,
        tracer: &mut impl Tracer,
    ) -> ArmsOutcome<'r> {
        let arm = |number: usize| self.arms.get(number);
        for step in steps {
            let number = step.number;
            match step.applies(env) {
                Ok(true) => {}
                Ok(false) => {
                    tracer.step(number, dpu, ArmResult::Skipped);
                    continue;
                }
                Err(error) => {
                    tracer.step(number, dpu, without_answer(error));
                    return arm(number).map_or(ArmsOutcome::Nothing, |arm| ArmsOutcome::Failed(error, arm, None));
                }
            }
            let (gate, condition) = match &step.outcome {
                ArmOutcome::Gate(gate, condition) => (*gate, condition),
                ArmOutcome::Stays => {
                    tracer.step(number, dpu, ArmResult::Blocked);
                    return arm(number).map_or(ArmsOutcome::Nothing, ArmsOutcome::Arm);
                }
                ArmOutcome::Moves => {
                    tracer.step(number, dpu, ArmResult::Taken);
                    return arm(number).map_or(ArmsOutcome::Nothing, ArmsOutcome::Arm);
                }
            };
            match condition.hold(env) {
                Ok(true) => tracer.step(number, dpu, ArmResult::Passed),
                Ok(false) => {
                    tracer.step(number, dpu, ArmResult::Blocked);
                    return arm(number).map_or(ArmsOutcome::Nothing, |arm| ArmsOutcome::Closed(arm, gate));
                }
                Err(error) => {
                    tracer.step(number, dpu, without_answer(error));
                    return arm(number).map_or(ArmsOutcome::Nothing, |arm| ArmsOutcome::Failed(error, arm, Some(gate)));
                }
            }
        }
        ArmsOutcome::Nothing
    }

    /// Seconds until time alone can change which arm of this state applies.
    pub(crate) fn recheck_after(&self, state: &DeclaredState, env: &Env<'_>) -> Option<i64> {
        let (_, prepared) = self.prepared(&state.path)?;
        prepared.timed.next_flip(env)
    }
}

fn without_answer(error: GuardError) -> ArmResult {
    if error.is_unknown() { ArmResult::Unknown } else { ArmResult::Failed }
}

/// The arm's actions with their DPUs.
#[inline]
fn actions(arm: &Arm, env: &Env<'_>, dpu: Option<&Dpu>) -> Result<Vec<Action>, GuardError> {
    if arm.actions.is_empty() { Ok(Vec::new()) } else { filled_in(arm, env, dpu) }
}

fn filled_in(arm: &Arm, env: &Env<'_>, dpu: Option<&Dpu>) -> Result<Vec<Action>, GuardError> {
    let mut dpus: Vec<String> = dpu.map(|dpu| dpu.id.clone()).into_iter().collect();
    if let Some((guard, selection)) = &arm.select {
        dpus.clear();
        for dpu in &env.host.dpus {
            if guard.holds(&env.with(0, dpu))? {
                dpus.push(dpu.id.clone());
                if *selection == Selection::First {
                    break;
                }
            }
        }
    }
    Ok(arm.actions.iter().map(|action| Action { dpus: dpus.clone(), ..action.clone() }).collect())
}

fn unknown_state(path: &crate::ir::state_path::StatePath) -> Decision {
    Decision::Error(Fault {
        reason: Arc::from(format!("the rules have no state `{path}`")),
        gate: None,
        kind: FaultKind::UnknownState,
        recheck_after: None,
    })
}
