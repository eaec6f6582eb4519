//! Checks of the state graph: unreachable states, undeclared dead ends, cycles that never hold a host.

use std::collections::BTreeSet;

use crate::{
    ir::{
        diagnostic::Diagnostics,
        expr::Expr,
        pack::{Arm, DeclaredState, Pack, StateKind, Verb, targets},
        specialise::Specialise,
    },
    lang::resolve::AnyRule,
};

pub(super) fn check(rules: &Pack, any: &[AnyRule], diagnostics: &mut Diagnostics) {
    unreachable(rules, any, diagnostics);
    dead_ends(rules, diagnostics);
    cycles(rules, diagnostics);
    any_state_cycles(rules, any, diagnostics);
}

impl Pack {
    /// It is not a duplicate declaration, which is reported elsewhere.
    fn is_first(&self, state: usize) -> bool {
        self.states.get(state).is_some_and(|is| self.by_path.get(is.path.as_str()) == Some(&state))
    }
}

fn unreachable(rules: &Pack, any: &[AnyRule], diagnostics: &mut Diagnostics) {
    let mut reached = BTreeSet::new();
    let mut next = Vec::new();
    next.extend(rules.by_path.get(rules.initial.as_str()));
    for (number, state) in rules.states.iter().enumerate() {
        if state.entry || matches!(state.kind, StateKind::Legacy | StateKind::Deprecated) {
            next.push(number);
        }
    }
    let of = |arms: &[usize]| {
        arms.iter().filter_map(|arm| rules.arms.get(*arm)).flat_map(|arm| targets(arm, rules)).collect::<Vec<_>>()
    };
    for rule in any {
        next.extend(of(&rule.arms));
    }
    while let Some(number) = next.pop() {
        if reached.insert(number)
            && let Some(state) = rules.states.get(number)
        {
            next.extend(of(&state.arms));
        }
    }
    for (number, state) in rules.states.iter().enumerate() {
        if !reached.contains(&number) && rules.is_first(number) {
            let message = format!("no host can reach state `{}`", state.path);
            let hint = "add an arm that goes there, or `.entry()` if hosts enter it by other means, or `.legacy()` if only old hosts are in it";
            diagnostics.error("unreachable", &state.place, message, hint);
        }
    }
}

fn dead_ends(rules: &Pack, diagnostics: &mut Diagnostics) {
    for state in rules.states.iter().enumerate().filter(|(number, _)| rules.is_first(*number)).map(|(_, state)| state) {
        let deletes = |arm: &usize| rules.arms.get(*arm).is_some_and(|arm| matches!(arm.verb, Verb::Delete));
        let leaves = leaves_by_move(state, rules) || state.arms.iter().any(deletes);
        if leaves_by_move(state, rules) && state.kind == StateKind::Terminal {
            let message = format!("state `{}` is terminal, and an arm leaves it", state.path);
            diagnostics.error("not-terminal", &state.place, message, "remove `.terminal()`, or the arm");
        }
        if !leaves && matches!(state.kind, StateKind::Normal | StateKind::Legacy) && !state.aside {
            let message = format!("no arm leaves state `{}`", state.path);
            let hint = "add one, or `.terminal()` or `.waits_for_operator()`";
            diagnostics.error("dead-end", &state.place, message, hint);
        }
    }
}

fn leaves_by_move(state: &DeclaredState, rules: &Pack) -> bool {
    state
        .arms
        .iter()
        .filter_map(|arm| rules.arms.get(*arm))
        .any(|arm| targets(arm, rules).iter().any(|to| rules.states.get(*to).is_some_and(|to| to.path != state.path)))
}

/// The unconditional arm by which hosts leave a state, if no arm holds them.
struct ImmediateExit<'r> {
    to: usize,
    arm: &'r Arm,
    /// Other arms can lead elsewhere.
    is_last_resort: bool,
}

impl<'r> ImmediateExit<'r> {
    fn of(state: &DeclaredState, rules: &'r Pack) -> Option<Self> {
        let arms = state.arms.iter().filter_map(|arm| rules.arms.get(*arm));
        let mut before = 0;
        for arm in arms {
            match arm.verb {
                Verb::Go(to) | Verb::HostGo(to) if arm.is_unconditional() => {
                    return Some(Self { to, arm, is_last_resort: before > 0 });
                }
                Verb::Go(_) | Verb::HostGo(_) => before += 1,
                _ => return None,
            }
        }
        None
    }
}

/// Cycles of states that never hold a host. If other arms can leave the cycle, it is an error only if nothing changes on
/// the way.
fn cycles(rules: &Pack, diagnostics: &mut Diagnostics) {
    let step = |number: usize| ImmediateExit::of(rules.states.get(number)?, rules);
    for start in 0..rules.states.len() {
        let (mut seen, mut can_end) = (vec![start], false);
        let (mut exits, mut at) = (false, start);
        while let Some(passage) = step(at) {
            exits |= passage.is_last_resort;
            can_end |= changes(passage.arm);
            if passage.to == start {
                // Reported once, at the first state of the cycle.
                if seen.iter().min() == Some(&start) && !(exits && can_end) {
                    let path =
                        seen.iter().filter_map(|number| rules.states.get(*number)).map(|state| state.path.as_str());
                    let path = path.collect::<Vec<_>>().join(" -> ");
                    let message = format!("hosts loop forever: {path}");
                    diagnostics.error("circle", &passage.arm.place, message, "add a condition, or `wait` for one");
                }
                break;
            }
            if seen.contains(&passage.to) {
                break;
            }
            seen.push(passage.to);
            at = passage.to;
        }
    }
}

/// The arm has effects that can change the value of guards.
fn changes(arm: &Arm) -> bool {
    !arm.actions.is_empty()
        || arm.changes_counters()
        || !arm.notes.is_empty()
        || arm.cause.is_some()
        || arm.clears_failure
}

/// Rules for any state whose target they apply to again, with nothing changed.
fn any_state_cycles(rules: &Pack, any: &[AnyRule], diagnostics: &mut Diagnostics) {
    for (rule, arm) in any.iter().flat_map(|rule| rule.arms.iter().map(move |arm| (rule, arm))) {
        let Some(arm) = rules.arms.get(*arm) else { continue };
        let (Verb::Go(to) | Verb::HostGo(to)) = arm.verb else { continue };
        let Some(target) = rules.states.get(to).filter(|target| rule.applies(&target.path)) else { continue };
        let there = Specialise { path: Some(&target.path), reports: &rules.reports };
        let never =
            arm.conditions.iter().any(|(guard, polarity)| there.expr(&guard.condition(*polarity)) == Expr::Bool(false));
        let guards = crate::ir::pack::arm_guards(arm, &rules.gates);
        if !never && !changes(arm) && !guards.into_iter().any(|guard| guard.reads.change_on_move()) {
            let message = format!("in state `{}` this arm applies again: hosts loop forever", target.path);
            diagnostics.error("circle", &arm.place, message, format!("add `.except(\"{}\")` to the rule", target.path));
        }
    }
}
