//! Resolves declared arms: their targets, gates, actions, counters and notes.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    ir::{
        decision::{Action, Argument, OnFailure},
        diagnostic::Place,
        guard::{Guard, Polarity},
        pack::{Arm, Pack, Retained, Verb},
        signature::{ArgumentType, Signature},
        state_path::StatePath,
    },
    lang::{
        declare::{ActionDecl, ArmDecl, Block, BlockKind, Named, OnFailureDecl, Use, VerbDecl},
        resolve::Resolver,
    },
};

/// How deep steps may use other steps.
const STEPS_DEPTH: usize = 4;

impl Resolver<'_> {
    pub(super) fn kept<'d>(&mut self, declared: impl Iterator<Item = (&'d Arc<str>, &'d Vec<Use>)>) -> Vec<Retained> {
        let declared = declared.collect::<Vec<_>>();
        let mut kept = Vec::new();
        for (name, within) in declared {
            kept.push(Retained { name: name.clone(), within: self.prefixes(within) });
        }
        kept
    }

    pub(super) fn state_number(&mut self, used: &Use) -> Option<usize> {
        let number = self.names.states.get(&used.name).copied();
        if number.is_none() {
            let known = self.names.states.keys().map(|state| &**state).collect::<Vec<_>>();
            self.diagnostics.unknown("unknown-state", &used.place, "state", &used.name, known);
        }
        number
    }

    /// Builds a block's arms, including those of its steps, and returns their numbers.
    pub(super) fn arms(&mut self, block: &Block, blocks: &[Block], rules: &mut Pack) -> Vec<usize> {
        let dpu_bound = matches!(&block.kind, BlockKind::State(state) if state.of_dpu && !state.barrier);
        let rule = matches!(block.kind, BlockKind::Any(_)).then_some(&block.name);
        let mut arms = Vec::new();
        self.expand(block, blocks, rules, 0, &mut arms);
        let mut numbers = Vec::new();
        for mut arm in arms {
            arm.rule = rule.cloned();
            self.check_binding(&arm, dpu_bound, rules);
            self.check_move(&arm, block, blocks);
            rules.arms.push(arm);
            numbers.push(rules.arms.len() - 1);
        }
        numbers
    }

    fn expand(&mut self, block: &Block, blocks: &[Block], rules: &Pack, depth: usize, arms: &mut Vec<Arm>) {
        for decl in &block.arms {
            if !self.budget.take(1, self.diagnostics) {
                return;
            }
            self.check_modifiers(decl);
            let VerbDecl::Steps(steps) = &decl.verb else {
                arms.extend(self.arm(decl, rules));
                continue;
            };
            let taken = blocks.iter().filter(|block| matches!(block.kind, BlockKind::Steps));
            let Some(taken) = taken.clone().find(|block| block.name == steps.name) else {
                let known = taken.map(|block| &*block.name);
                self.diagnostics.unknown("unknown-steps", &steps.place, "steps", &steps.name, known);
                continue;
            };
            if depth >= STEPS_DEPTH {
                let message = "steps use each other too deeply";
                self.diagnostics.error("recursion", &steps.place, message, "write the arms out");
                continue;
            }
            let from = arms.len();
            self.expand(taken, blocks, rules, depth + 1, arms);
            // Conditions of the steps as a whole apply to each arm.
            let conditions = self.conditions(decl);
            let parts = conditions.iter().map(|(guard, _)| guard.expr.size()).sum::<usize>();
            for arm in &mut arms[from..] {
                if !self.budget.take(parts, self.diagnostics) {
                    return;
                }
                arm.conditions.splice(0..0, conditions.iter().cloned());
            }
        }
    }

    fn conditions(&mut self, decl: &ArmDecl) -> Vec<(Guard, Polarity)> {
        let conditions = decl.conditions.iter();
        // A condition with errors still counts as one, or the arm would seem unconditional.
        conditions
            .map(|(guard, polarity)| (self.guard(guard).unwrap_or_else(|| self.placeholder(guard)), *polarity))
            .collect()
    }

    /// A guard with two parameters needs a DPU.
    fn check_binding(&mut self, arm: &Arm, dpu_bound: bool, rules: &Pack) {
        if dpu_bound {
            return;
        }
        let gate = match &arm.verb {
            Verb::Pass { gate, .. } => rules.gates.get(*gate).filter(|gate| gate.guard.of_dpu).map(|_| &arm.place),
            _ => None,
        };
        let condition = arm.conditions.iter().find(|(guard, _)| guard.of_dpu).map(|(guard, _)| &guard.place);
        if let Some(place) = gate.or(condition) {
            let message = "this guard takes a DPU, and there is none here";
            let hint = "write `|h| h.dpus.all(|d| …)`, or use it in a `dpu_state` that is no barrier";
            self.diagnostics.error("type", place, message, hint);
        }
    }

    fn arm(&mut self, decl: &ArmDecl, rules: &Pack) -> Option<Arm> {
        let verb = self.verb(decl, rules);
        let conditions = self.conditions(decl);
        let select = decl.select.as_ref().and_then(|(guard, which)| Some((self.dpu_guard(guard)?, *which)));
        let split = decl.split.as_ref().and_then(|(guard, others)| {
            let others = others.as_ref().and_then(|others| self.state_number(others));
            Some((self.dpu_guard(guard)?, others))
        });
        let actions = decl.actions.iter().filter_map(|action| self.action(action, rules)).collect();
        for counter in decl.counts.iter().chain(&decl.resets) {
            if !self.names.counters.contains_key(&counter.name) {
                let known = self.names.counters.keys().map(|name| &**name).collect::<Vec<_>>();
                self.diagnostics.unknown("unknown-counter", &counter.place, "counter", &counter.name, known);
            }
        }
        for note in &decl.notes {
            self.check_note(note);
        }
        if let Some(cause) = &decl.cause
            && !self.names.causes.contains_key(&cause.name)
        {
            let known = self.names.causes.keys().map(|name| &**name).collect::<Vec<_>>();
            self.diagnostics.unknown("unknown-cause", &cause.place, "failure cause", &cause.name, known);
        }
        Some(Arm {
            place: decl.place.clone(),
            rule: None,
            verb: verb?,
            conditions,
            select,
            split,
            actions,
            resets: decl.resets.iter().map(|counter| counter.name.clone()).collect(),
            counts: decl.counts.iter().map(|counter| counter.name.clone()).collect(),
            notes: decl.notes.iter().map(|note| (note.name.clone(), note.value.clone())).collect(),
            cause: decl.cause.as_ref().map(|cause| cause.name.clone()),
            clears_failure: decl.clears_failure.is_some(),
        })
    }

    fn dpu_guard(&mut self, decl: &crate::lang::declare::GuardDecl) -> Option<crate::ir::guard::Guard> {
        let guard = self.guard(decl)?;
        if !guard.of_dpu {
            self.diagnostics.error(
                "type",
                &decl.place,
                "this guard selects DPUs and has to take one",
                "write `|h, d| …`",
            );
            return None;
        }
        Some(guard)
    }

    fn verb(&mut self, decl: &ArmDecl, rules: &Pack) -> Option<Verb> {
        if decl.or_fail && !matches!(decl.verb, VerbDecl::Pass(_)) {
            self.diagnostics.error("misplaced-verb", &decl.place, "`or_fail` is for `pass`", "use `fail` instead");
        }
        Some(match &decl.verb {
            VerbDecl::Go(to) => Verb::Go(self.state_number(to)?),
            VerbDecl::HostGo(to) => Verb::HostGo(self.state_number(to)?),
            VerbDecl::Pass(gate) => match self.names.gates.get(&gate.name) {
                Some(number) if rules.gates.len() > *number => Verb::Pass { gate: *number, or_fail: decl.or_fail },
                _ => {
                    let known = self.names.gates.keys().map(|name| &**name).collect::<Vec<_>>();
                    self.diagnostics.unknown("unknown-gate", &gate.place, "gate", &gate.name, known);
                    return None;
                }
            },
            VerbDecl::Wait(reason) => Verb::Wait(self.reason(reason, &decl.place)),
            VerbDecl::Fail(reason) => Verb::Fail(self.reason(reason, &decl.place)),
            VerbDecl::Delete => Verb::Delete,
            VerbDecl::Steps(_) => return None,
        })
    }

    fn reason(&mut self, reason: &str, place: &Place) -> Arc<str> {
        if reason.trim().is_empty() {
            self.diagnostics.error(
                "no-reason",
                place,
                "the reason is empty",
                "say what the host waits for, or what is wrong",
            );
        }
        reason.into()
    }

    fn check_note(&mut self, note: &Named<String>) {
        match self.names.notes.get(&note.name) {
            Some(values) => {
                if !note.value.is_empty() && !values.iter().any(|value| **value == *note.value) {
                    let known = values.iter().map(|value| &**value).collect::<Vec<_>>();
                    self.diagnostics.unknown("unknown-word", &note.place, "value", &note.value, known);
                }
            }
            None => {
                let known = self.names.notes.keys().map(|name| &**name).collect::<Vec<_>>();
                self.diagnostics.unknown("unknown-note", &note.place, "note", &note.name, known);
            }
        }
    }

    fn action(&mut self, decl: &ActionDecl, rules: &Pack) -> Option<Action> {
        let Some(signature) = rules.actions.get(&decl.name.name) else {
            let known = rules.actions.keys().map(|name| &**name);
            self.diagnostics.unknown("unknown-action", &decl.name.place, "action", &decl.name.name, known);
            return None;
        };
        let mut args = BTreeMap::new();
        for argument in &decl.args {
            self.check_argument(argument, signature);
            args.insert(argument.name.clone(), argument.value.clone());
        }
        for (name, _) in signature {
            if !args.contains_key(name) {
                let message = format!("action `{}` needs an argument `{name}`", decl.name.name);
                self.diagnostics.error("type", &decl.name.place, message, format!("add `#{{ {name}: … }}`"));
            }
        }
        let on_failure = match &decl.on_failure {
            OnFailureDecl::Stay => OnFailure::Stay,
            OnFailureDecl::Ignore => OnFailure::Ignore,
            OnFailureDecl::Go(state) => {
                self.state_number(state)?;
                OnFailure::Go(StatePath::from(&*state.name))
            }
        };
        Some(Action { name: decl.name.name.clone(), args, dpus: Vec::new(), on_failure })
    }

    fn check_argument(&mut self, argument: &Named<Argument>, signature: &Signature) {
        let Some((_, kind)) = signature.iter().find(|(name, _)| *name == argument.name) else {
            let known = signature.iter().map(|(name, _)| &**name);
            self.diagnostics.unknown("unknown-argument", &argument.place, "argument", &argument.name, known);
            return;
        };
        match (&argument.value, kind) {
            (Argument::Bool(_), ArgumentType::Bool)
            | (Argument::Int(_), ArgumentType::Int)
            | (Argument::Text(_), ArgumentType::Text)
            | (Argument::Texts(_), ArgumentType::Texts) => {}
            (Argument::Text(probe), ArgumentType::Probe) => self.check_probe(probe, &argument.place),
            (Argument::Text(source), ArgumentType::Source) => self.check_source(source, &argument.place),
            (Argument::Texts(classes), ArgumentType::Classifications) => {
                for class in classes {
                    self.check_classification(class, &argument.place);
                }
            }
            (Argument::Text(word), ArgumentType::OneOf(words)) => {
                if !words.iter().any(|known| **known == **word) {
                    let known = words.iter().map(String::as_str);
                    self.diagnostics.unknown("unknown-word", &argument.place, &argument.name, word, known);
                }
            }
            _ => {
                let message = format!("argument `{}` has another type than the action declares", argument.name);
                self.diagnostics.error("type", &argument.place, message, format!("pass {}", kind.describe()));
            }
        }
    }
}
