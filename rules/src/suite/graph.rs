//! The graph of a rule set, for drawings and for programs.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;

use crate::{
    eval::RuleSet,
    ir::{
        decision::{Action, OnFailure},
        expr::Expr,
        guard::{Polarity, Selection},
        pack::{Arm, StateKind, Verb, targets},
    },
};

/// States and arms of a rule set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// State that new hosts start in.
    pub initial: String,
    /// States, in the order of the pack.
    pub states: Vec<GraphState>,
    /// Rules for any state, in order of evaluation.
    pub any_state: Vec<GraphRule>,
}

/// One state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphState {
    /// Its path.
    pub path: String,
    /// What it is for.
    pub kind: StateKind,
    /// Each DPU is in a state of its own.
    pub of_dpu: bool,
    /// Hosts leave it when all DPUs are in it.
    pub barrier: bool,
    /// Barriers do not wait for DPUs in it.
    pub aside: bool,
    /// Hosts are put there by other means than an arm.
    pub entry: bool,
    /// Time limit in seconds; none without one, or if it is computed.
    pub sla_seconds: Option<i64>,
    /// The time limit depends on the host.
    pub sla_computed: bool,
    /// Where it is declared, `file:line`.
    pub at: String,
    /// Its arms, in order.
    pub arms: Vec<GraphArm>,
}

/// A rule for any state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphRule {
    /// Its name.
    pub name: String,
    /// States it applies to.
    pub states: Vec<String>,
    /// Its arms, in order.
    pub arms: Vec<GraphArm>,
}

/// One arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphArm {
    /// `go`, `host_go`, `pass`, `wait`, `fail` or `delete`.
    pub verb: &'static str,
    /// State that it goes to.
    pub to: Option<String>,
    /// Other targets: of `others`, and of `or_go` if an action fails.
    pub also_to: Vec<String>,
    /// Gate that it passes.
    pub gate: Option<String>,
    /// Reason that it gives.
    pub reason: Option<String>,
    /// Its conditions as written, with `unless` as `not`, and the condition of its gate.
    pub guards: Vec<String>,
    /// What it does, in order.
    pub actions: Vec<GraphAction>,
    /// Its effects on records, in words: `counts recovery_reboots`, `notes entered_from = ready`.
    pub records: Vec<String>,
    /// Facts that its conditions can read.
    pub facts: Vec<String>,
    /// Where it is declared, `file:line`.
    pub at: String,
}

/// An action of an arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphAction {
    /// Its name.
    pub name: String,
    /// Its arguments, as text.
    pub args: BTreeMap<String, String>,
    /// `stay`, `ignore`, or the state to go to if it fails.
    pub on_failure: String,
    /// `first` or `each` if it is for DPUs that the arm selects.
    pub dpus: Option<&'static str>,
}

impl std::fmt::Display for GraphAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if !self.args.is_empty() {
            let args = self.args.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>();
            write!(f, " ({})", args.join(", "))?;
        }
        match (self.dpus, self.on_failure.as_str()) {
            (None, "stay") => Ok(()),
            (Some(dpus), "stay") => write!(f, " on {dpus} DPU that matches"),
            (_, "ignore") => f.write_str(" which may fail"),
            (_, state) => write!(f, " and on failure goes to {state}"),
        }
    }
}

impl RuleSet {
    /// The graph of states and arms.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let states = self.states.iter().map(|state| GraphState {
            path: state.path.to_string(),
            kind: state.kind,
            of_dpu: state.of_dpu,
            barrier: state.barrier,
            aside: state.aside,
            entry: state.entry,
            sla_computed: state.sla.as_ref().is_some_and(|sla| !matches!(sla.expr, Expr::Int(_))),
            sla_seconds: state.sla.as_ref().and_then(|sla| match sla.expr {
                Expr::Int(seconds) => Some(seconds),
                _ => None,
            }),
            at: format!("{}:{}", state.place.file, state.place.line),
            arms: self.graph_arms(&state.arms),
        });
        let mut any_state: Vec<GraphRule> = Vec::new();
        for (number, arm) in self.arms.iter().enumerate() {
            let Some(name) = &arm.rule else { continue };
            if any_state.last().is_some_and(|rule| rule.name == **name) {
                continue;
            }
            let of_rule = |other: &Arm| other.rule.as_ref() == Some(name);
            let numbers = (0..self.arms.len()).filter(|n| self.arms.get(*n).is_some_and(of_rule)).collect::<Vec<_>>();
            let applies = self.states.iter().filter(|state| state.any_arms.contains(&number));
            any_state.push(GraphRule {
                name: name.to_string(),
                states: applies.map(|state| state.path.to_string()).collect(),
                arms: self.graph_arms(&numbers),
            });
        }
        Graph { initial: self.initial.to_string(), states: states.collect(), any_state }
    }

    fn graph_arms(&self, numbers: &[usize]) -> Vec<GraphArm> {
        numbers.iter().filter_map(|number| self.arms.get(*number)).map(|arm| self.graph_arm(arm)).collect()
    }

    fn graph_arm(&self, arm: &Arm) -> GraphArm {
        let path = |state: usize| self.states.get(state).map(|state| state.path.to_string());
        let gate = match arm.verb {
            Verb::Pass { gate, .. } => self.gates.get(gate),
            _ => None,
        };
        let mut guards = Vec::new();
        for (guard, polarity) in &arm.conditions {
            guards.push(if *polarity == Polarity::When {
                guard.text.to_string()
            } else {
                format!("not {}", guard.text)
            });
        }
        let others = arm.select.iter().map(|(guard, _)| guard).chain(gate.map(|gate| &gate.guard));
        guards.extend(others.map(|guard| guard.text.to_string()));
        let mut facts = crate::ir::pack::arm_guards(arm, &self.gates)
            .flat_map(|guard| &guard.reads.facts)
            .map(|fact| format!("{}.{}", fact.area, fact.name))
            .collect::<Vec<_>>();
        facts.sort_unstable();
        facts.dedup();
        let (verb, to) = match arm.verb {
            Verb::Go(to) => ("go", path(to)),
            Verb::HostGo(to) => ("host_go", path(to)),
            Verb::Pass { .. } => ("pass", None),
            Verb::Wait(_) => ("wait", None),
            Verb::Fail(_) => ("fail", None),
            Verb::Delete => ("delete", None),
        };
        let also_to = targets(arm, self).into_iter().filter_map(path).filter(|other| Some(other) != to.as_ref());
        GraphArm {
            verb,
            also_to: also_to.collect(),
            to,
            gate: gate.map(|gate| gate.name.to_string()),
            reason: match &arm.verb {
                Verb::Wait(reason) | Verb::Fail(reason) => Some(reason.to_string()),
                _ => gate.map(|gate| gate.reason.to_string()),
            },
            guards,
            actions: arm.actions.iter().map(|action| graph_action(action, arm)).collect(),
            records: records(arm),
            facts,
            at: format!("{}:{}", arm.place.file, arm.place.line),
        }
    }
}

fn graph_action(action: &Action, arm: &Arm) -> GraphAction {
    GraphAction {
        name: action.name.to_string(),
        args: action.args.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        on_failure: match &action.on_failure {
            OnFailure::Stay => "stay".to_owned(),
            OnFailure::Ignore => "ignore".to_owned(),
            OnFailure::Go(state) => state.to_string(),
        },
        dpus: arm.select.as_ref().map(|(_, selection)| match selection {
            Selection::First => "first",
            Selection::Each => "each",
        }),
    }
}

/// An arm's effects on records, in words.
fn records(arm: &Arm) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(arm.resets.iter().map(|counter| format!("resets {counter}")));
    words.extend(arm.counts.iter().map(|counter| format!("counts {counter}")));
    words.extend(arm.notes.iter().map(|(note, value)| match value.as_str() {
        "" => format!("forgets {note}"),
        value => format!("notes {note} = {value}"),
    }));
    words.extend(arm.cause.iter().map(|cause| format!("records {cause}")));
    words.extend(arm.clears_failure.then(|| "clears the failure".to_owned()));
    words
}

impl Graph {
    /// The part of the graph around one top state: its states, and those that its arms lead to.
    #[must_use]
    pub fn top(&self, top: &str) -> Self {
        let within = |path: &str| path == top || path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
        let states = self.states.iter().filter(|state| within(&state.path)).cloned().collect();
        Self { initial: self.initial.clone(), states, any_state: Vec::new() }
    }

    /// Edges: from, to, and the arm's conditions in short.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str, &GraphArm)> {
        let arms = self.states.iter().flat_map(|state| state.arms.iter().map(move |arm| (state, arm)));
        arms.flat_map(|(state, arm)| {
            let targets = arm.to.iter().chain(&arm.also_to);
            targets.map(move |to| (state.path.as_str(), to.as_str(), arm))
        })
    }

    /// As a Mermaid state diagram. `counts` puts the number of hosts beside a state.
    #[must_use]
    pub fn mermaid(&self, counts: impl Fn(&str) -> Option<u64>) -> String {
        let mut out = String::from("stateDiagram-v2\n");
        let id = |path: &str| path.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let mut named: Vec<&str> = self.states.iter().map(|state| state.path.as_str()).collect();
        named.extend(self.edges().map(|(_, to, _)| to));
        named.sort_unstable();
        named.dedup();
        for path in named {
            let count = counts(path).map(|count| format!(" ({count})")).unwrap_or_default();
            let _ = writeln!(out, "    state \"{path}{count}\" as {}", id(path));
        }
        if self.states.iter().any(|state| state.path == self.initial) {
            let _ = writeln!(out, "    [*] --> {}", id(&self.initial));
        }
        let mut drawn = Vec::new();
        for (from, to, _) in self.edges() {
            if !drawn.contains(&(from, to)) {
                drawn.push((from, to));
                let _ = writeln!(out, "    {} --> {}", id(from), id(to));
            }
        }
        for state in self.states.iter().filter(|state| state.kind == StateKind::Terminal) {
            let _ = writeln!(out, "    {} --> [*]", id(&state.path));
        }
        out
    }
}
