//! Counters, notes and action records that can never have the value that a guard compares with: retry limits that are
//! never reached, steps that never happen.

use std::{collections::BTreeMap, sync::Arc};

use crate::ir::{
    diagnostic::{Diagnostics, Place},
    expr::Owner,
    guard::Guard,
    pack::{Arm, DeclaredState, Pack, Verb},
    read_set::{ReadSet, RecordKind},
    specialise::Specialise,
};

pub(super) fn check(rules: &Pack, diagnostics: &mut Diagnostics) {
    never_written(rules, diagnostics);
    for state in &rules.states {
        lost_on_move(state, rules, diagnostics);
    }
    never_above_one(rules, diagnostics);
    always_absent(rules, diagnostics);
}

impl Pack {
    fn arms_in<'r>(&'r self, state: &'r DeclaredState) -> impl Iterator<Item = &'r Arm> {
        state.any_arms.iter().chain(&state.arms).filter_map(|arm| self.arms.get(*arm))
    }

    fn is_kept(&self, counter: &str, state: &DeclaredState) -> bool {
        let kept = self.counters.iter().filter(|kept| *kept.name == *counter);
        kept.flat_map(|kept| &kept.within).any(|prefix| state.path.is_within(prefix))
    }

    /// A host can be in the state with the counter above zero.
    fn can_have(&self, counter: &str, state: &DeclaredState) -> bool {
        let waits = |arm: &Arm| matches!(arm.verb, Verb::Wait(_)) && counts(arm, counter);
        self.is_kept(counter, state) || self.arms_in(state).any(waits)
    }
}

fn counts(arm: &Arm, counter: &str) -> bool {
    arm.counts.iter().any(|counted| **counted == *counter)
}

fn target<'r>(arm: &Arm, rules: &'r Pack) -> Option<&'r DeclaredState> {
    match arm.verb {
        Verb::Go(to) | Verb::HostGo(to) => rules.states.get(to),
        _ => None,
    }
}

/// Counters that are read and never counted, notes that are read and never written.
fn never_written(rules: &Pack, diagnostics: &mut Diagnostics) {
    let of_arms = rules.arms.iter().flat_map(|arm| crate::ir::pack::arm_guards(arm, &rules.gates));
    for guard in of_arms.chain(&rules.no_sla_while) {
        for (kind, name, _) in &guard.reads.records {
            let (says, hint) = match kind {
                RecordKind::Counter if !rules.arms.iter().any(|arm| counts(arm, name)) => {
                    ("counter", format!("no arm counts it: add `.count(\"{name}\")`"))
                }
                RecordKind::Note if !rules.arms.iter().any(|arm| writes(arm, name)) => {
                    ("note", format!("no arm writes it: add `.note(\"{name}\", …)`"))
                }
                _ => continue,
            };
            let message = format!("{says} `{name}` is read, and never has a value");
            diagnostics.error("never-set", &guard.place, message, hint);
        }
    }
}

fn writes(arm: &Arm, note: &str) -> bool {
    arm.notes.iter().any(|(name, value)| **name == *note && !value.is_empty())
}

/// Counters that an arm increments while it moves to a state that does not keep them.
fn lost_on_move(state: &DeclaredState, rules: &Pack, diagnostics: &mut Diagnostics) {
    for arm in rules.arms_in(state) {
        let Some(target) = target(arm, rules) else { continue };
        for counter in arm.counts.iter().filter(|counter| !rules.is_kept(counter, target)) {
            let message = format!("counter `{counter}` is not kept in `{}`: each time it starts again", target.path);
            let hint = format!("keep it there: `.kept_in([…, \"{}\"])`", target.path);
            diagnostics.error("never-set", &arm.place, message, hint);
        }
    }
}

/// Counters that never exceed 1, so limits on them are never reached.
fn never_above_one(rules: &Pack, diagnostics: &mut Diagnostics) {
    for counter in &rules.counters {
        let name = &counter.name;
        let mut counting = Vec::new();
        for state in &rules.states {
            let arms = rules.arms_in(state).filter(|arm| counts(arm, name));
            counting.extend(arms.map(|arm| (arm, rules.can_have(name, state))));
        }
        let kept = |arm: &Arm| target(arm, rules).is_none_or(|target| rules.is_kept(name, target));
        // Counters that are lost on the move have been reported.
        if let Some((arm, _)) = counting.first()
            && counting.iter().all(|(arm, had)| !had && kept(arm))
        {
            let message = format!("counter `{name}` never exceeds 1: it is not kept where it is counted");
            let hint = "keep it in that state as well, or use a note to remember where the host came from";
            diagnostics.error("never-set", &arm.place, message, hint);
        }
    }
}

/// Records that guards read, and that no state of the guard can have. Steps, gates and rules for any state have many.
fn always_absent(rules: &Pack, diagnostics: &mut Diagnostics) {
    let mut asked: BTreeMap<(&Place, RecordKind, Arc<str>), (&DeclaredState, bool)> = BTreeMap::new();
    for state in &rules.states {
        let here = Specialise { path: Some(&state.path).filter(|_| !state.of_dpu), reports: &rules.reports };
        for guard in
            rules.arms_in(state).flat_map(|arm| conditions(arm, rules)).filter(|guard| !guard.reads.records.is_empty())
        {
            for (kind, name, owner) in ReadSet::of(&here.expr(&guard.expr)).records {
                let alone = state.of_dpu && !state.barrier;
                let own = match owner {
                    Owner::Host => !alone,
                    Owner::Dpu(depth) => guard.of_dpu && depth == 0,
                };
                let can_be = match kind {
                    _ if !own => true,
                    RecordKind::Counter => rules.can_have(&name, state),
                    RecordKind::Action => {
                        rules.arms_in(state).any(|arm| arm.actions.iter().any(|action| action.name == name))
                    }
                    RecordKind::Note => true,
                };
                asked.entry((&guard.place, kind, name)).or_insert((state, false)).1 |= can_be;
            }
        }
    }
    for ((place, kind, name), (state, can_be)) in asked {
        match kind {
            _ if can_be => {}
            RecordKind::Counter => {
                let message = format!("counter `{name}` is always 0 in state `{}`", state.path);
                let hint = format!("keep it there: `.kept_in([…, \"{}\"])`", state.path);
                diagnostics.error("never-set", place, message, hint);
            }
            _ => {
                let message = format!("no arm of state `{}` does `{name}`", state.path);
                let hint = format!("results of actions end with the state: add `.does(\"{name}\")`, or use another");
                diagnostics.error("never-set", place, message, hint);
            }
        }
    }
}

/// The guards that decide whether an arm applies.
fn conditions<'r>(arm: &'r Arm, rules: &'r Pack) -> impl Iterator<Item = &'r Guard> {
    let gate = match arm.verb {
        Verb::Pass { gate, .. } => rules.gates.get(gate).map(|gate| &gate.guard),
        _ => None,
    };
    arm.conditions.iter().map(|(guard, _)| guard).chain(gate)
}
