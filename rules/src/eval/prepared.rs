//! Compiled states: the conditions of all arms, compiled for the state that they are evaluated in. Built once at load.

use std::sync::Arc;

use crate::{
    eval::{compile::Conjunction, env::Env, time::Timed},
    ir::{
        expr::Evaluated,
        guard::{Guard, Polarity},
        health::Reports,
        pack::{Arm, DeclaredState, Pack, Verb, arm_guards},
        snapshot::predicate::Predicate,
        specialise::Specialise,
        state_path::StatePath,
    },
};

/// The compiled arms of one state.
#[derive(Debug)]
pub(crate) struct PreparedState {
    /// Arms of rules for any state, in order.
    pub(crate) any_steps: Box<[PreparedArm]>,
    /// Whether any of those applies, as one closure: mostly none does.
    pub(crate) any_arm_applies: Option<AnyArmApplies>,
    /// Its own arms.
    pub(crate) steps: Box<[PreparedArm]>,
    /// Its expressions that change with time.
    pub(crate) timed: Timed,
}

/// The context of compilation: the state, if it is known.
struct Preparing<'a> {
    path: Option<&'a StatePath>,
    pack: &'a Pack,
    reports: &'a Arc<Reports>,
    /// Expressions of each report that change with time.
    timed_reports: &'a [Timed],
}

impl Preparing<'_> {
    fn condition(&self, guard: &Guard, polarity: Polarity) -> Conjunction {
        let state = Specialise { path: self.path, reports: self.reports };
        state.expr(&guard.condition(polarity)).compile(self.reports)
    }

    /// The conditions of an arm, including that some DPU matches its selection.
    fn conditions(&self, arm: &Arm) -> Conjunction {
        let conditions = arm.conditions.iter().map(|(guard, polarity)| self.condition(guard, *polarity));
        let select = arm.select.iter().map(|(guard, _)| self.condition(guard, Polarity::When).for_any_dpu(0));
        Conjunction::all(conditions.chain(select))
    }

    /// The arms that can apply.
    fn arms(&self, numbers: &[usize]) -> Box<[PreparedArm]> {
        numbers.iter().filter_map(|number| self.arm(*number)).collect()
    }

    fn arm(&self, number: usize) -> Option<PreparedArm> {
        let arm = self.pack.arms.get(number)?;
        let conditions = self.conditions(arm);
        if conditions.is_never() {
            return None;
        }
        let outcome = match arm.verb {
            Verb::Pass { gate, .. } => {
                ArmOutcome::Gate(gate, self.condition(&self.pack.gates.get(gate)?.guard, Polarity::When))
            }
            Verb::Wait(_) | Verb::Fail(_) => ArmOutcome::Stays,
            Verb::Go(_) | Verb::HostGo(_) | Verb::Delete => ArmOutcome::Moves,
        };
        Some(PreparedArm { number, conditions, outcome })
    }

    fn timed(&self, numbers: &[usize], timed: &mut Timed) {
        let state = Specialise { path: self.path, reports: self.reports };
        for arm in numbers.iter().filter_map(|number| self.pack.arms.get(*number)) {
            let timed_report = |report: &usize| self.timed_reports.get(*report).is_some_and(|timed| !timed.is_empty());
            let is_timed = |guard: &&Guard| guard.reads.ages || guard.reads.reports.iter().any(timed_report);
            for guard in arm_guards(arm, &self.pack.gates).filter(is_timed) {
                timed.add(&state.expr(&guard.expr), guard.of_dpu, self.timed_reports);
            }
        }
    }

    /// None if a condition can fail.
    fn any_applies(&self, numbers: &[usize]) -> Option<AnyArmApplies> {
        let arms = numbers.iter().filter_map(|number| self.pack.arms.get(*number));
        let condition = arms.map(|arm| self.conditions(arm)).filter(|condition| !condition.is_never());
        Conjunction::one_of(condition.collect()).into_dpu_predicate(0).ok().map(AnyArmApplies)
    }
}

impl PreparedState {
    pub(crate) fn of(state: &DeclaredState, pack: &Pack, timed_reports: &[Timed]) -> Self {
        let in_state = Preparing { path: Some(&state.path), pack, reports: &pack.reports, timed_reports };
        // A DPU can be in another state than its host.
        let own = Preparing { path: Some(&state.path).filter(|_| !state.of_dpu), ..in_state };
        let mut timed = Timed::default();
        in_state.timed(&state.any_arms, &mut timed);
        own.timed(&state.arms, &mut timed);
        Self {
            any_steps: in_state.arms(&state.any_arms),
            any_arm_applies: in_state.any_applies(&state.any_arms),
            steps: own.arms(&state.arms),
            timed,
        }
    }
}

/// One arm with its conditions.
#[derive(Debug)]
pub(crate) struct PreparedArm {
    /// Number of the arm.
    pub(crate) number: usize,
    /// Its conditions, including that some DPU matches its selection.
    conditions: Conjunction,
    pub(crate) outcome: ArmOutcome,
}

/// What happens if the arm applies.
#[derive(Debug)]
pub(crate) enum ArmOutcome {
    Stays,
    Moves,
    /// Continues if the gate's condition holds.
    Gate(usize, Conjunction),
}

impl PreparedArm {
    #[inline]
    pub(crate) fn applies(&self, env: &Env<'_>) -> Evaluated<bool> {
        self.conditions.hold(env)
    }
}

/// Whether one of several arms applies, as one closure.
pub(crate) struct AnyArmApplies(Predicate);

impl std::fmt::Debug for AnyArmApplies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SomeApplies")
    }
}

impl AnyArmApplies {
    #[inline]
    pub(crate) fn to(&self, env: &Env<'_>) -> bool {
        (self.0)(env.host, env.dpu(0))
    }
}
