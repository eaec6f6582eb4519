//! What decides whether an arm applies, put together from its conditions when the pack is loaded.

use crate::{
    eval::{compile::Asks, env::Env},
    ir::{
        guard::Wanted,
        pack::{Arm, Gate, Pack, State, Verb},
        predicate::Answer,
        snapshot::question::Test,
        specialise::Fold,
    },
};

/// What is asked in one state, put together from its arms.
#[derive(Debug)]
pub(crate) struct PreparedState {
    /// Arms of rules for any state, to be read one after the other.
    pub(crate) any_steps: Box<[Tested]>,
    /// Tells in one go whether one of those applies: mostly none does.
    pub(crate) some_any_applies: Option<SomeApplies>,
    /// Its own arms.
    pub(crate) steps: Box<[Tested]>,
}

impl PreparedState {
    pub(crate) fn of(state: &State, pack: &Pack) -> Self {
        let (arms, gates, reports) = (&pack.arms, &pack.gates, &pack.reports);
        let in_state = Fold { path: Some(&state.path), reports };
        // A DPU can be in another state than its host.
        let own = Fold { path: Some(&state.path).filter(|_| !state.of_dpu), reports };
        Self {
            any_steps: Tested::all(&state.any_arms, arms, gates, &in_state),
            some_any_applies: SomeApplies::of(&state.any_arms, arms, &in_state),
            steps: Tested::all(&state.arms, arms, gates, &own),
        }
    }
}

/// One arm with its test.
#[derive(Debug)]
pub(crate) struct Tested {
    /// Number of the arm.
    pub(crate) number: usize,
    /// Its conditions hold, and some DPU fits if the arm chooses DPUs.
    conditions: Asks,
    pub(crate) outcome: Outcome,
}

/// What the arm does if it applies, as far as reading on depends on it.
#[derive(Debug)]
pub(crate) enum Outcome {
    Stays,
    Moves,
    /// With the gate's question.
    Gate(usize, Asks),
}

impl Tested {
    /// Tests of arms as they are asked in one state; of those that can apply there.
    pub(crate) fn all(numbers: &[usize], arms: &[Arm], gates: &[Gate], state: &Fold<'_>) -> Box<[Self]> {
        numbers.iter().filter_map(|number| Self::of(*number, arms.get(*number)?, gates, state)).collect()
    }

    fn of(number: usize, arm: &Arm, gates: &[Gate], state: &Fold<'_>) -> Option<Self> {
        let conditions = conditions(arm, state);
        if conditions.is_never() {
            return None;
        }
        Some(Self {
            number,
            conditions,
            outcome: match arm.verb {
                Verb::Pass { gate, .. } => Outcome::Gate(gate, gates.get(gate)?.guard.asks_in(state, Wanted::Yes)),
                Verb::Wait(_) | Verb::Fail(_) => Outcome::Stays,
                Verb::Go(_) | Verb::HostGo(_) | Verb::Delete => Outcome::Moves,
            },
        })
    }

    #[inline]
    pub(crate) fn applies(&self, env: &Env<'_>) -> Answer<bool> {
        self.conditions.hold(env)
    }
}

fn conditions(arm: &Arm, state: &Fold<'_>) -> Asks {
    let conditions = arm.conditions.iter().map(|(guard, wanted)| guard.asks_in(state, *wanted));
    let select = arm.select.iter().map(|(guard, _)| guard.asks_in(state, Wanted::Yes).of_some_dpu(0));
    Asks::all(conditions.chain(select))
}

/// Tells in one go whether one of several arms applies.
pub(crate) struct SomeApplies(Test);

impl std::fmt::Debug for SomeApplies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SomeApplies")
    }
}

impl SomeApplies {
    /// None if it cannot be told without failing.
    pub(crate) fn of(numbers: &[usize], arms: &[Arm], state: &Fold<'_>) -> Option<Self> {
        let asks = numbers.iter().filter_map(|number| arms.get(*number)).map(|arm| conditions(arm, state));
        Asks::one_of(asks.filter(|asks| !asks.is_never()).collect()).into_test_of_each(0).ok().map(Self)
    }

    #[inline]
    pub(crate) fn to(&self, env: &Env<'_>) -> bool {
        (self.0)(env.host, env.dpu(0))
    }
}
