//! Redundant conditions: constant ones, and those that earlier arms of the state already decide.

use std::collections::BTreeMap;

use crate::ir::{
    diagnostic::{Diagnostics, Place},
    expr::Expr,
    guard::{Guard, Polarity},
    operators::Op,
    pack::{Arm, DeclaredState, Pack, Verb, arm_guards},
    specialise::Specialise,
};

pub(super) fn check(rules: &Pack, diagnostics: &mut Diagnostics) {
    constant(rules, diagnostics);
    implied(rules, diagnostics);
}

/// Conditions with a constant value.
fn constant(rules: &Pack, diagnostics: &mut Diagnostics) {
    let anywhere = Specialise { path: None, reports: &rules.reports };
    // `each_dpu(|h, d| true)` is how a rule selects all DPUs.
    let of_arms = rules.arms.iter().flat_map(|arm| &arm.conditions).map(|(guard, _)| guard);
    let of_gates = rules.gates.iter().map(|gate| &gate.guard);
    let parts = rules.reports.reports.iter().flat_map(|report| &report.parts);
    let of_reports = parts.flat_map(|part| part.when.iter().chain(&part.unclassified));
    let of_views = rules.views.tenant.iter().map(|view| &view.guard);
    let guards = of_arms.chain(of_gates).chain(of_reports).chain(of_views).chain(&rules.no_sla_while);
    for guard in guards.filter(|guard| guard.lintable) {
        let message = match anywhere.expr(&guard.expr) {
            Expr::Bool(true) => "this condition holds for every host",
            Expr::Bool(false) => "this condition holds for no host",
            _ => continue,
        };
        diagnostics.error("constant", &guard.place, message, "remove it, or use a fact");
    }
}

/// An expression with a known value, and the arm that implies it.
#[derive(Clone)]
struct Implied<'r> {
    expr: Expr,
    holds: bool,
    by: &'r Arm,
}

/// What earlier arms imply about a host that reaches an arm.
#[derive(Default)]
struct Assumptions<'r> {
    facts: Vec<Implied<'r>>,
}

impl<'r> Assumptions<'r> {
    fn assume(&mut self, expr: &Expr, holds: bool, by: &'r Arm) {
        match (expr, holds) {
            (Expr::Bool(_), _) => {}
            (Expr::Apply(Op::Not, parts), _) => parts.iter().for_each(|part| self.assume(part, !holds, by)),
            (Expr::Apply(Op::And, parts), true) | (Expr::Apply(Op::Or, parts), false) => {
                parts.iter().for_each(|part| self.assume(part, holds, by));
            }
            (expr, holds) => self.facts.push(Implied { expr: expr.clone(), holds, by }),
        }
    }

    /// The implied value of an expression, if there is one, and the arm that implies it.
    fn value(&self, expr: &Expr) -> Option<(bool, &'r Arm)> {
        if let Some(fact) = self.facts.iter().find(|fact| fact.expr == *expr) {
            return Some((fact.holds, fact.by));
        }
        let Expr::Apply(op, parts) = expr else { return None };
        let deciding = match op {
            Op::Not => return self.value(parts.first()?).map(|(holds, by)| (!holds, by)),
            Op::And => false,
            Op::Or => true,
            _ => return None,
        };
        let answers: Vec<_> = parts.iter().map(|part| self.value(part)).collect();
        let decides = answers.iter().flatten().find(|(holds, _)| *holds == deciding);
        decides.copied().or_else(|| answers.into_iter().collect::<Option<Vec<_>>>()?.pop())
    }
}

/// Normalises comparisons, so that equivalent and opposite ones are recognised.
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

/// Conditions and gates whose value earlier arms imply, in every state that uses them.
fn implied(rules: &Pack, diagnostics: &mut Diagnostics) {
    let mut found: BTreeMap<(&Place, bool), Option<(bool, &Place)>> = BTreeMap::new();
    for state in &rules.states {
        let mut assumptions = Assumptions::default();
        for arm in state.arms.iter().filter_map(|arm| rules.arms.get(*arm)) {
            let own = ArmConditions::of(arm, state, rules);
            let conditions = own.conditions.iter().map(|(place, expr)| (*place, false, assumptions.value(expr)));
            // Several states use a gate, so it is no mistake if conditions of one state imply it.
            let gate =
                own.gate.iter().map(|gate| (&arm.place, true, assumptions.value(gate).filter(|(_, by)| is_gate(by))));
            for (place, is_gate, answer) in conditions.chain(gate) {
                let answer = answer.map(|(holds, by)| (holds, &by.place));
                let before = found.entry((place, is_gate)).or_insert(answer);
                if before.map(|(holds, _)| holds) != answer.map(|(holds, _)| holds) {
                    *before = None;
                }
            }
            // A site's settings could change what follows from this arm.
            if arm_guards(arm, &rules.gates).all(|guard| guard.lintable) {
                own.assume_passed(arm, state, &mut assumptions);
            }
        }
    }
    for ((place, is_gate), answer) in found {
        let (message, hint) = match answer {
            Some((true, by)) if is_gate => {
                (format!("this gate is always open here, because of the arm at {by}"), "remove it")
            }
            Some((true, by)) => (format!("this condition always holds here, because of the arm at {by}"), "remove it"),
            Some((false, by)) => (
                format!("this condition never holds here, because of the arm at {by}"),
                "remove the arm, or move it up",
            ),
            None => continue,
        };
        if is_lintable(place, rules) {
            diagnostics.error("settled", place, message, hint);
        }
    }
}

fn is_gate(arm: &Arm) -> bool {
    matches!(arm.verb, Verb::Pass { .. })
}

/// All guards at the place are lintable.
fn is_lintable(place: &Place, rules: &Pack) -> bool {
    let here = |arm: &&Arm| arm.place == *place || arm.conditions.iter().any(|(guard, _)| guard.place == *place);
    rules.arms.iter().filter(here).flat_map(|arm| arm_guards(arm, &rules.gates)).all(|guard| guard.lintable)
}

/// The conditions of an arm, specialised for a state.
struct ArmConditions<'r> {
    conditions: Vec<(&'r Place, Expr)>,
    gate: Option<Expr>,
}

impl<'r> ArmConditions<'r> {
    fn of(arm: &'r Arm, state: &DeclaredState, rules: &Pack) -> Self {
        // A DPU can be in another state than its host.
        let here = Specialise { path: Some(&state.path).filter(|_| !state.of_dpu), reports: &rules.reports };
        let expr = |guard: &Guard, polarity| canonical(&here.expr(&guard.condition(polarity)));
        let conditions = arm.conditions.iter().map(|(guard, polarity)| (&guard.place, expr(guard, *polarity)));
        let gate = match arm.verb {
            Verb::Pass { gate, .. } => rules.gates.get(gate).map(|gate| expr(&gate.guard, Polarity::When)),
            _ => None,
        };
        Self { conditions: conditions.collect(), gate }
    }

    /// Adds what is implied about hosts that pass the arm.
    fn assume_passed(self, arm: &'r Arm, state: &DeclaredState, assumptions: &mut Assumptions<'r>) {
        // A host without DPUs skips arms of states of DPUs, so nothing follows for it.
        let for_all = !state.of_dpu || state.barrier;
        if !for_all || arm.select.is_some() {
            return;
        }
        match (self.gate, <[(&Place, Expr); 1]>::try_from(self.conditions)) {
            (Some(gate), Err(conditions)) if conditions.is_empty() => assumptions.assume(&gate, true, arm),
            (None, Ok([(_, condition)])) => assumptions.assume(&condition, false, arm),
            _ => {}
        }
    }
}
