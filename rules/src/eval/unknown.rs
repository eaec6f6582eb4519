//! Names the facts that a host waits for because nobody has told them. For decisions.

use crate::{
    eval::{RuleSet, env::Env, evaluate::Observer, evidence::dpu_name},
    ir::{
        expr::{Expr, FactRef},
        guard::Guard,
        pack::Arm,
        snapshot::Value,
    },
};

/// Collects unknown facts, each with its supplier.
#[derive(Default)]
struct UnknownFacts(Vec<String>);

impl Observer for UnknownFacts {
    const EXPLAINS: bool = true;

    fn fact(&mut self, at: &FactRef, env: &Env<'_>) {
        let dpu = env.dpu(at.depth);
        if (at.fact.get)(env.host, dpu) != Value::Unknown {
            return;
        }
        let of = at.dpu().map(|_| format!(" of {}", dpu_name(dpu))).unwrap_or_default();
        let told = format!("`{}.{}`{of} by {}", at.fact.area, at.fact.name, at.fact.supplier);
        if !self.0.contains(&told) {
            self.0.push(told);
        }
    }
}

impl UnknownFacts {
    /// Adds those that leave an expression without an answer.
    fn add(&mut self, expr: &Expr, env: &Env<'_>) {
        if expr.holds(env).is_err_and(|error| error.is_unknown()) {
            let _ = expr.eval(env, self);
        }
    }
}

impl RuleSet {
    /// Why a host waits that has an arm, or its gate, without an answer.
    pub(crate) fn waits_to_be_told(&self, arm: &Arm, gate: Option<&Guard>, env: &Env<'_>) -> String {
        let mut unknown = UnknownFacts::default();
        for guard in arm.conditions.iter().map(|(guard, _)| guard).chain(gate) {
            unknown.add(&guard.expr, env);
        }
        let selections = arm.select.iter().map(|(guard, _)| guard).chain(arm.split.iter().map(|(guard, _)| guard));
        for guard in selections {
            for dpu in &env.host.dpus {
                unknown.add(&guard.expr, &env.with(0, dpu));
            }
        }
        format!("Waiting to be told {}", unknown.0.join(", "))
    }
}
