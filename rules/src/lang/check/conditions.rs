//! Conditions that say nothing: they hold for every host or for none, by themselves or after the arms before them.

use std::collections::BTreeMap;

use crate::ir::{
    expr::Expr,
    fault::{Faults, Place},
    guard::{Guard, Wanted},
    operators::Op,
    pack::{Arm, DeclaredState, Pack, Verb, arm_guards},
    specialise::Specialise,
};

pub(super) fn check(rules: &Pack, faults: &mut Faults) {
    constant(rules, faults);
    settled(rules, faults);
}

/// Conditions whose answer is written in the rule.
fn constant(rules: &Pack, faults: &mut Faults) {
    let anywhere = Specialise { path: None, reports: &rules.reports };
    // That an arm is for all DPUs is said by a condition that holds for each.
    let of_arms = rules.arms.iter().flat_map(|arm| &arm.conditions).map(|(guard, _)| guard);
    let of_gates = rules.gates.iter().map(|gate| &gate.guard);
    let parts = rules.reports.reports.iter().flat_map(|report| &report.parts);
    let of_reports = parts.flat_map(|part| part.when.iter().chain(&part.unclassified));
    let of_views = rules.views.tenant.iter().map(|view| &view.guard);
    let guards = of_arms.chain(of_gates).chain(of_reports).chain(of_views).chain(&rules.no_sla_while);
    for guard in guards.filter(|guard| guard.own) {
        let message = match anywhere.expr(&guard.expr) {
            Expr::Bool(true) => "this condition holds for every host",
            Expr::Bool(false) => "this condition holds for no host",
            _ => continue,
        };
        faults.hint("constant", &guard.place, message, "leave it out, or ask for a fact");
    }
}

/// An expression of which it is known whether it holds, and by which arm.
#[derive(Clone)]
struct Settled<'r> {
    expr: Expr,
    holds: bool,
    by: &'r Arm,
}

/// What is known of a host that gets to an arm, by the arms before it.
#[derive(Default)]
struct Known<'r> {
    facts: Vec<Settled<'r>>,
}

impl<'r> Known<'r> {
    fn learn(&mut self, expr: &Expr, holds: bool, by: &'r Arm) {
        match (expr, holds) {
            (Expr::Bool(_), _) => {}
            (Expr::Apply(Op::Not, parts), _) => parts.iter().for_each(|part| self.learn(part, !holds, by)),
            (Expr::Apply(Op::And, parts), true) | (Expr::Apply(Op::Or, parts), false) => {
                parts.iter().for_each(|part| self.learn(part, holds, by));
            }
            (expr, holds) => self.facts.push(Settled { expr: expr.clone(), holds, by }),
        }
    }

    /// Whether an expression holds, as far as that is known, and by which arm.
    fn answer(&self, expr: &Expr) -> Option<(bool, &'r Arm)> {
        if let Some(fact) = self.facts.iter().find(|fact| fact.expr == *expr) {
            return Some((fact.holds, fact.by));
        }
        let Expr::Apply(op, parts) = expr else { return None };
        let deciding = match op {
            Op::Not => return self.answer(parts.first()?).map(|(holds, by)| (!holds, by)),
            Op::And => false,
            Op::Or => true,
            _ => return None,
        };
        let answers: Vec<_> = parts.iter().map(|part| self.answer(part)).collect();
        let decides = answers.iter().flatten().find(|(holds, _)| *holds == deciding);
        decides.copied().or_else(|| answers.into_iter().collect::<Option<Vec<_>>>()?.pop())
    }
}

/// Comparisons in one form, so that those that say the same, or the opposite, look so.
fn canonical(expr: &Expr) -> Expr {
    let expr = expr.map(canonical);
    let Expr::Apply(op, parts) = &expr else { return expr };
    let [left, right] = &**parts else { return expr };
    let less = |left: &Expr, right: &Expr| Expr::apply(Op::Less, [left.clone(), right.clone()]);
    match op {
        Op::Greater => less(right, left),
        Op::GreaterEqual => less(left, right).not(),
        Op::LessEqual => less(right, left).not(),
        _ => expr,
    }
}

/// Conditions and gates of which the arms before them leave one answer, in every state that reads them.
fn settled(rules: &Pack, faults: &mut Faults) {
    let mut found: BTreeMap<(&Place, bool), Option<(bool, &Place)>> = BTreeMap::new();
    for state in &rules.states {
        let mut known = Known::default();
        for arm in state.arms.iter().filter_map(|arm| rules.arms.get(*arm)) {
            let asked = Asked::of(arm, state, rules);
            let conditions = asked.conditions.iter().map(|(place, expr)| (*place, false, known.answer(expr)));
            // A gate is for several states: that other arms open it in one is no mistake.
            let gate =
                asked.gate.iter().map(|gate| (&arm.place, true, known.answer(gate).filter(|(_, by)| is_gate(by))));
            for (place, is_gate, answer) in conditions.chain(gate) {
                let answer = answer.map(|(holds, by)| (holds, &by.place));
                let before = found.entry((place, is_gate)).or_insert(answer);
                if before.map(|(holds, _)| holds) != answer.map(|(holds, _)| holds) {
                    *before = None;
                }
            }
            // A site can set what others would follow from.
            if arm_guards(arm, &rules.gates).all(|guard| guard.own) {
                asked.teach(arm, state, &mut known);
            }
        }
    }
    for ((place, is_gate), answer) in found {
        let (message, hint) = match answer {
            Some((true, by)) if is_gate => (format!("this gate is always open here, after {by}"), "leave it out"),
            Some((true, by)) => (format!("this condition always holds here, after {by}"), "leave it out"),
            Some((false, by)) => {
                (format!("this condition never holds here, after {by}"), "leave the arm out, or move it up")
            }
            None => continue,
        };
        if by_itself(place, rules) {
            faults.hint("settled", place, message, hint);
        }
    }
}

fn is_gate(arm: &Arm) -> bool {
    matches!(arm.verb, Verb::Pass { .. })
}

/// What is asked there has no fault, and a site's settings no part in it.
fn by_itself(place: &Place, rules: &Pack) -> bool {
    let here = |arm: &&Arm| arm.place == *place || arm.conditions.iter().any(|(guard, _)| guard.place == *place);
    rules.arms.iter().filter(here).flat_map(|arm| arm_guards(arm, &rules.gates)).all(|guard| guard.own)
}

/// What an arm asks in a state.
struct Asked<'r> {
    conditions: Vec<(&'r Place, Expr)>,
    gate: Option<Expr>,
}

impl<'r> Asked<'r> {
    fn of(arm: &'r Arm, state: &DeclaredState, rules: &Pack) -> Self {
        // A DPU can be in another state than its host.
        let here = Specialise { path: Some(&state.path).filter(|_| !state.of_dpu), reports: &rules.reports };
        let expr = |guard: &Guard, wanted| canonical(&here.expr(&guard.wanted(wanted)));
        let conditions = arm.conditions.iter().map(|(guard, wanted)| (&guard.place, expr(guard, *wanted)));
        let gate = match arm.verb {
            Verb::Pass { gate, .. } => rules.gates.get(gate).map(|gate| expr(&gate.guard, Wanted::Yes)),
            _ => None,
        };
        Self { conditions: conditions.collect(), gate }
    }

    /// What is known of hosts that get past the arm.
    fn teach(self, arm: &'r Arm, state: &DeclaredState, known: &mut Known<'r>) {
        // Of a host without DPUs only some arms of states of DPUs are asked.
        let for_all = !state.of_dpu || state.barrier;
        if !for_all || arm.select.is_some() {
            return;
        }
        match (self.gate, <[(&Place, Expr); 1]>::try_from(self.conditions)) {
            (Some(gate), Err(conditions)) if conditions.is_empty() => known.learn(&gate, true, arm),
            (None, Ok([(_, condition)])) => known.learn(&condition, false, arm),
            _ => {}
        }
    }
}
