//! A pack after loading: immutable, plain data. Built by `lang`, read by `eval` and `suite`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::ir::{
    decision::{Action, OnFailure},
    diagnostic::Place,
    guard::{Guard, Polarity, Selection, TimeLimit},
    health::Reports,
    read_set::ReadSet,
    signature::Signature,
    state_path::StatePath,
    view::Views,
};

/// A pack after loading. Immutable; share it by `Arc`.
#[derive(Debug)]
pub struct Pack {
    pub(crate) hash: String,
    pub(crate) initial: StatePath,
    pub(crate) sources: BTreeMap<Arc<str>, Arc<str>>,
    pub(crate) states: Vec<DeclaredState>,
    pub(crate) by_path: HashMap<Arc<str>, usize, ahash::RandomState>,
    pub(crate) arms: Vec<Arm>,
    pub(crate) gates: Vec<Gate>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) counters: Vec<Retained>,
    pub(crate) notes: Vec<Retained>,
    pub(crate) no_sla_while: Option<Guard>,
    pub(crate) views: Views,
    pub(crate) probes: Vec<Arc<str>>,
    pub(crate) classifications: Vec<Arc<str>>,
    pub(crate) actions: BTreeMap<Arc<str>, Signature>,
    pub(crate) timeouts: BTreeMap<Arc<str>, i64>,
    pub(crate) limits: BTreeMap<Arc<str>, i64>,
}

/// What a state is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StateKind {
    /// Hosts pass through it.
    #[default]
    Normal,
    /// The end of a host's life.
    Terminal,
    /// Only an operator gets a host out of it.
    WaitsForOperator,
    /// Entered by no rule; for hosts that an older release left there.
    Legacy,
    /// Not to be used any more.
    Deprecated,
}

/// A state and its arms.
#[derive(Debug)]
pub(crate) struct DeclaredState {
    pub(crate) path: StatePath,
    pub(crate) place: Place,
    pub(crate) kind: StateKind,
    /// Each DPU is in a state of its own.
    pub(crate) of_dpu: bool,
    /// Hosts leave it when all DPUs are in it.
    pub(crate) barrier: bool,
    /// Barriers do not wait for DPUs in it.
    pub(crate) aside: bool,
    pub(crate) entry: bool,
    pub(crate) sla: Option<TimeLimit>,
    /// Arms of rules for any state, in order.
    pub(crate) any_arms: Vec<usize>,
    /// Its own arms, in order.
    pub(crate) arms: Vec<usize>,
    pub(crate) reads: ReadSet,
}

/// One arm of a state or of a rule for any state.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) place: Place,
    /// Name of the rule for any state that it belongs to.
    pub(crate) rule: Option<Arc<str>>,
    pub(crate) verb: Verb,
    pub(crate) conditions: Vec<(Guard, Polarity)>,
    pub(crate) select: Option<(Guard, Selection)>,
    pub(crate) split: Option<(Guard, Option<usize>)>,
    pub(crate) actions: Vec<Action>,
    pub(crate) counts: Vec<Arc<str>>,
    pub(crate) resets: Vec<Arc<str>>,
    pub(crate) notes: Vec<(Arc<str>, String)>,
    pub(crate) cause: Option<Arc<str>>,
    pub(crate) clears_failure: bool,
}

/// What an arm does.
#[derive(Debug)]
pub(crate) enum Verb {
    /// Moves the host, or the DPU in states of DPUs.
    Go(usize),
    /// Moves the host, whatever its DPUs do.
    HostGo(usize),
    /// Continues with the next arm if the gate is open, else waits or fails.
    Pass {
        gate: usize,
        or_fail: bool,
    },
    Wait(Arc<str>),
    Fail(Arc<str>),
    Delete,
}

/// A named condition with the reason to wait for it.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) name: Arc<str>,
    pub(crate) place: Place,
    pub(crate) guard: Guard,
    pub(crate) reason: Arc<str>,
}

/// A counter or note, and the states between which it survives a move.
#[derive(Debug)]
pub(crate) struct Retained {
    pub(crate) name: Arc<str>,
    pub(crate) within: Vec<Arc<str>>,
}

impl Pack {
    /// SHA-256 of the names and texts of the pack's files, in hex.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// State that new hosts start in.
    #[must_use]
    pub fn initial(&self) -> &StatePath {
        &self.initial
    }

    /// Paths of all states, in the order of the pack.
    pub fn states(&self) -> impl Iterator<Item = &StatePath> {
        self.states.iter().map(|state| &state.path)
    }

    /// The rules have this state.
    #[must_use]
    pub fn has_state(&self, path: &StatePath) -> bool {
        self.by_path.contains_key(path.as_str())
    }

    /// Each DPU of a host in this state is in a state of its own.
    #[must_use]
    pub fn is_dpu_state(&self, path: &StatePath) -> bool {
        self.state(path).is_some_and(|state| state.of_dpu)
    }

    /// Names of the actions that arms may call.
    pub fn actions(&self) -> impl Iterator<Item = &str> {
        self.actions.keys().map(|name| &**name)
    }

    /// Names of the probes that the pack declares.
    pub fn probes(&self) -> impl Iterator<Item = &str> {
        self.probes.iter().map(|name| &**name)
    }

    /// Names of the classifications that the pack declares.
    pub fn classifications(&self) -> impl Iterator<Item = &str> {
        self.classifications.iter().map(|name| &**name)
    }

    /// How many states, arms and gates there are.
    #[must_use]
    pub fn size(&self) -> (usize, usize, usize) {
        (self.states.len(), self.arms.len(), self.gates.len())
    }

    /// Texts of the pack's files by name.
    #[must_use]
    pub fn sources(&self) -> &BTreeMap<Arc<str>, Arc<str>> {
        &self.sources
    }

    /// Named times of the pack, in seconds.
    pub fn timeouts(&self) -> impl Iterator<Item = (&str, i64)> {
        self.timeouts.iter().map(|(name, seconds)| (&**name, *seconds))
    }

    /// Named limits of the pack.
    pub fn limits(&self) -> impl Iterator<Item = (&str, i64)> {
        self.limits.iter().map(|(name, limit)| (&**name, *limit))
    }

    pub(crate) fn state(&self, path: &StatePath) -> Option<&DeclaredState> {
        self.by_path.get(path.as_str()).and_then(|state| self.states.get(*state))
    }
}

impl Arm {
    /// It applies to every host that reaches it.
    pub(crate) fn is_unconditional(&self) -> bool {
        self.conditions.is_empty() && self.select.is_none() && !matches!(self.verb, Verb::Pass { .. })
    }

    pub(crate) fn changes_counters(&self) -> bool {
        !self.counts.is_empty() || !self.resets.is_empty()
    }

    /// What the arm does, as a rule writes it.
    pub(crate) fn describe(&self, rules: &Pack) -> String {
        let state = |state: &usize| rules.states.get(*state).map_or("", |state| state.path.as_str());
        match &self.verb {
            Verb::Go(to) => format!("go {}", state(to)),
            Verb::HostGo(to) => format!("host_go {}", state(to)),
            Verb::Pass { gate, .. } => format!("pass {}", rules.gates.get(*gate).map_or("", |gate| &gate.name)),
            Verb::Wait(_) => "wait".to_owned(),
            Verb::Fail(_) => "fail".to_owned(),
            Verb::Delete => "delete".to_owned(),
        }
    }
}

/// Guards of an arm, including that of its gate.
pub(crate) fn arm_guards<'a>(arm: &'a Arm, gates: &'a [Gate]) -> impl Iterator<Item = &'a Guard> {
    let gate = match &arm.verb {
        Verb::Pass { gate, .. } => gates.get(*gate),
        _ => None,
    };
    let conditions = arm.conditions.iter().map(|(guard, _)| guard);
    let select = arm.select.iter().map(|(guard, _)| guard);
    let split = arm.split.iter().map(|(guard, _)| guard);
    conditions.chain(select).chain(split).chain(gate.map(|gate| &gate.guard))
}

/// States that an arm can lead to.
pub(crate) fn targets(arm: &Arm, rules: &Pack) -> Vec<usize> {
    let mut targets = match arm.verb {
        Verb::Go(to) | Verb::HostGo(to) => vec![to],
        _ => Vec::new(),
    };
    targets.extend(arm.split.as_ref().and_then(|(_, others)| *others));
    for action in &arm.actions {
        if let OnFailure::Go(state) = &action.on_failure {
            targets.extend(rules.by_path.get(state.as_str()));
        }
    }
    targets
}
