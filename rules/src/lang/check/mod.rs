//! Checks of the pack as a whole: graph, arms, conditions, unused names. Called by `resolve`.

mod arms;
mod conditions;
pub(crate) mod graph;
mod records;

use crate::{
    ir::{
        diagnostic::Diagnostics,
        pack::{Pack, Verb},
    },
    lang::resolve::AnyRule,
};

pub(crate) fn check(rules: &Pack, any: &[AnyRule], diagnostics: &mut Diagnostics) {
    graph::check(rules, any, diagnostics);
    arms::check(rules, any, diagnostics);
    records::check(rules, diagnostics);
    conditions::check(rules, diagnostics);
    for (number, gate) in rules.gates.iter().enumerate() {
        let used = rules.arms.iter().any(|arm| matches!(arm.verb, Verb::Pass { gate, .. } if gate == number));
        let twice = rules.gates[..number].iter().any(|other| other.name == gate.name);
        if !used && !twice {
            let message = format!("no state passes gate `{}`", gate.name);
            diagnostics.error("unused-gate", &gate.place, message, "remove it, or add `.pass(…)` where it is needed");
        }
    }
}
