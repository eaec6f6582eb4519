//! What decides whether an arm applies, put together from its conditions when the pack is loaded.

use crate::{
    declare::Wanted,
    guard::{
        Body, Env,
        compile::Ask,
        predicate::{Answer, BoolExpr},
    },
    ruleset::{Arm, Gate, Verb},
};

/// One arm with its test.
#[derive(Debug)]
pub(crate) struct Tested {
    /// Number of the arm.
    pub(crate) number: usize,
    holds: Holds,
    /// It asks about a DPU of its own.
    of_dpu: bool,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
enum Holds {
    Always,
    Native(Ask),
    /// Some condition is interpreted: they are asked one by one.
    Mixed,
}

/// What the arm does if it applies, as far as reading on depends on it.
#[derive(Debug)]
pub(crate) enum Outcome {
    Stays,
    Moves,
    /// With the gate's question, if it is native.
    Gate(usize, Option<Ask>),
}

impl Tested {
    pub(crate) fn all(numbers: &[usize], arms: &[Arm], gates: &[Gate]) -> Box<[Self]> {
        numbers.iter().filter_map(|number| Some(Self::of(*number, arms.get(*number)?, gates))).collect()
    }

    fn of(number: usize, arm: &Arm, gates: &[Gate]) -> Self {
        let mut parts = Vec::new();
        let mut native = true;
        for (guard, wanted) in &arm.conditions {
            match &guard.body {
                Body::Native(expr) if *wanted == Wanted::Yes => parts.push(expr.clone()),
                Body::Native(expr) => parts.push(expr.clone().not()),
                Body::Script(_) => native = false,
            }
        }
        match arm.select.as_ref().map(|(guard, _)| &guard.body) {
            Some(Body::Native(expr)) => parts.push(BoolExpr::Any(0, Box::new(expr.clone()))),
            Some(Body::Script(_)) => native = false,
            None => {}
        }
        let holds = match parts.len() {
            _ if !native => Holds::Mixed,
            0 => Holds::Always,
            1 => parts.pop().map_or(Holds::Always, |part| Holds::Native(part.compile())),
            _ => Holds::Native(BoolExpr::And(parts.into()).compile()),
        };
        Self {
            number,
            holds,
            of_dpu: arm.conditions.iter().any(|(guard, _)| guard.of_dpu),
            outcome: match arm.verb {
                Verb::Pass { gate, .. } => {
                    Outcome::Gate(gate, gates.get(gate).and_then(|gate| gate.guard.body.compile()))
                }
                Verb::Wait(_) | Verb::Fail(_) => Outcome::Stays,
                Verb::Go(_) | Verb::HostGo(_) | Verb::Delete => Outcome::Moves,
            },
        }
    }

    /// The arm's conditions hold, and some DPU fits if the arm chooses DPUs.
    #[inline]
    pub(crate) fn applies(&self, arms: &[Arm], env: &Env<'_>, dpu_bound: bool) -> Answer<bool> {
        if self.of_dpu && !dpu_bound {
            return Ok(false);
        }
        match &self.holds {
            Holds::Always => Ok(true),
            Holds::Native(ask) => ask.of(env),
            Holds::Mixed => arms.get(self.number).map_or(Ok(false), |arm| one_by_one(arm, env)),
        }
    }
}

fn one_by_one(arm: &Arm, env: &Env<'_>) -> Answer<bool> {
    for (guard, wanted) in &arm.conditions {
        if guard.holds(env)? != (*wanted == Wanted::Yes) {
            return Ok(false);
        }
    }
    let Some((guard, _)) = &arm.select else { return Ok(true) };
    for dpu in &env.host.dpus {
        if guard.holds(&env.with(0, dpu))? {
            return Ok(true);
        }
    }
    Ok(false)
}
