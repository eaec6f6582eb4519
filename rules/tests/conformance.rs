//! The shipped pack against a description of the known system's state machine: edge by edge, both ways.
//!
//! Every difference has to stand in `managed_host/DIFFERENCES.md` with its reason, and what stands there has to be a
//! difference. The description has a main graph, and sub-states (`extensions`) that refine it; so
//!
//! - a move or a wait of the main graph may be a way over sub-states,
//! - a state may lead into its own sub-states, and a sub-state out of them wherever its state may go,
//! - coming back to the same state is a wait, and so is an action that fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of one test program")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use rules::{Graph, GraphState, RuleSet, StateKind, StatePath};
use serde::Deserialize;

#[derive(Deserialize)]
struct Machine {
    initial: String,
    timeouts: BTreeMap<String, String>,
    limits: BTreeMap<String, serde_yaml::Value>,
    any_state_rules: Vec<DescribedRule>,
    states: Vec<State>,
    failure_causes: Vec<Cause>,
    extensions: Vec<State>,
    extension_entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct State {
    path: String,
    kind: String,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    barrier: bool,
    #[serde(default)]
    sla: String,
    #[serde(default)]
    feature: String,
    transitions: Vec<Transition>,
}

#[derive(Deserialize)]
struct Transition {
    to: String,
    #[serde(default)]
    action: String,
}

#[derive(Deserialize)]
struct DescribedRule {
    id: String,
    from: Vec<String>,
    from_except: Vec<String>,
    to: String,
    #[serde(default)]
    to_alternatives: Vec<String>,
    action: String,
}

#[derive(Deserialize)]
struct Cause {
    cause: String,
}

#[derive(Deserialize)]
struct Entry {
    from: String,
    to: String,
}

/// Where a stay leads, among the targets of edges.
const WAIT: &str = "wait";
/// Where a deletion leads.
const END: &str = "[*]";

fn pack() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("managed_host")
}

fn rules() -> RuleSet {
    rules::load_pack(&pack()).unwrap_or_else(|faults| panic!("{faults}"))
}

fn machine() -> Machine {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/fsm/managed_host_fsm.yaml");
    serde_yaml::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn within(path: &str, prefix: &str) -> bool {
    prefix == "*" || StatePath::from(path).is_within(prefix)
}

/// The edges of a pack: targets of each state, stays and deletions among them.
fn edges(graph: &Graph) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for state in &graph.states {
        let targets = edges.entry(&state.path).or_default();
        if state.barrier {
            targets.insert(WAIT);
        }
        for arm in &state.arms {
            targets.extend(arm.to.iter().chain(&arm.also_to).map(String::as_str));
            match arm.verb {
                "wait" | "fail" | "pass" => drop(targets.insert(WAIT)),
                "delete" => drop(targets.insert(END)),
                _ => {}
            }
        }
        if targets.remove(state.path.as_str()) {
            targets.insert(WAIT);
        }
    }
    edges
}

impl Machine {
    fn extension(&self, path: &str) -> Option<&State> {
        self.extensions.iter().find(|state| state.path == path)
    }

    fn state(&self, path: &str) -> Option<&State> {
        self.states.iter().chain(&self.extensions).find(|state| state.path == path)
    }

    /// The state of the main graph that a sub-state belongs to by its path.
    fn parent(&self, path: &str) -> Option<&State> {
        self.extension(path)?;
        self.states.iter().find(|state| state.path != path && within(path, &state.path))
    }

    /// Whether the description knows this edge, or one that it stands for.
    fn knows(&self, from: &str, to: &str) -> bool {
        let goes = |state: &State| state.transitions.iter().any(|transition| transition.to == to);
        self.state(from).is_some_and(goes)
            || self.parent(from).is_some_and(goes)
            || self.enters(from, to)
            || (self.extension(to).is_some() && within(to, from))
            // Waiting in a sub-state is waiting in what it refines.
            || (to == WAIT && self.extension(from).is_some())
            || self.entered_from(from).any(|state| goes(state) || self.enters(&state.path, to))
    }

    fn enters(&self, from: &str, to: &str) -> bool {
        self.extension_entries.iter().any(|entry| entry.from == from && entry.to == to)
    }

    /// The states that a sub-state refines because it is entered from them.
    fn entered_from(&self, path: &str) -> impl Iterator<Item = &State> {
        let refines = self.extension(path).is_some_and(|state| state.feature == "core");
        let entries = self.extension_entries.iter().filter(move |entry| refines && entry.to == path);
        entries.filter_map(|entry| self.state(&entry.from))
    }

    /// Whether `to` can be reached over sub-states alone.
    fn reaches(&self, edges: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
        let mut next = vec![from.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(at) = next.pop() {
            let Some(targets) = edges.get(at.as_str()) else { continue };
            if targets.contains(to) {
                return true;
            }
            for target in targets {
                let composite =
                    self.extensions.iter().any(|state| state.path != **target && within(&state.path, target));
                if (self.extension(target).is_some() || composite) && seen.insert((*target).to_owned()) {
                    next.push((*target).to_owned());
                }
            }
        }
        false
    }
}

fn kind(state: &GraphState) -> &'static str {
    match state.kind {
        StateKind::Normal => "normal",
        StateKind::Terminal => "terminal",
        StateKind::WaitsForOperator => "waits_indefinitely",
        StateKind::Legacy => "legacy_recovery",
        StateKind::Deprecated => "deprecated",
    }
}

/// `90m`, `4h`, `300s` or `none`.
fn seconds(text: &str) -> Option<i64> {
    let split = text.len().checked_sub(1)?;
    let number: i64 = text[..split].parse().ok()?;
    Some(number * [("s", 1), ("m", 60), ("h", 3600)].iter().find(|(unit, _)| *unit == &text[split..])?.1)
}

fn states(machine: &Machine, graph: &Graph, found: &mut BTreeSet<String>) {
    for state in machine.states.iter().chain(&machine.extensions) {
        let Some(own) = graph.states.iter().find(|own| own.path == state.path) else {
            found.insert(format!("no state {}", state.path));
            continue;
        };
        if kind(own) != state.kind {
            found.insert(format!("{} is {}, not {}", own.path, kind(own), state.kind));
        }
        if !state.scope.is_empty() && own.of_dpu != (state.scope == "dpu") {
            found.insert(format!("{} is of the {}", own.path, if own.of_dpu { "DPU" } else { "host" }));
        }
        if !state.scope.is_empty() && own.barrier != state.barrier {
            found.insert(format!("{} is {} barrier", own.path, if own.barrier { "a" } else { "no" }));
        }
        if !state.sla.is_empty() && own.sla_seconds != seconds(&state.sla) {
            found.insert(format!("{} has the time limit {:?}, not {}", own.path, own.sla_seconds, state.sla));
        }
    }
    for own in &graph.states {
        if machine.state(&own.path).is_none() {
            found.insert(format!("new state {}", own.path));
        }
    }
}

fn moves(machine: &Machine, graph: &Graph, found: &mut BTreeSet<String>) {
    let edges = edges(graph);
    let main = machine.states.iter().chain(&machine.extensions);
    let described = main.flat_map(|state| state.transitions.iter().map(move |to| (&state.path, &to.to)));
    let entries = machine.extension_entries.iter().map(|entry| (&entry.from, &entry.to));
    for (from, to) in described.chain(entries) {
        // What leads to a state by a rule for any state is compared with those.
        let by_rule = graph
            .any_state
            .iter()
            .any(|rule| rule.states.contains(from) && rule.arms.iter().any(|arm| arm.to.as_ref() == Some(to)));
        let acts =
            graph.states.iter().any(|own| own.path == *from && own.arms.iter().any(|arm| !arm.actions.is_empty()));
        let stays = to == WAIT && acts;
        if edges.contains_key(from.as_str()) && !by_rule && !stays && !machine.reaches(&edges, from, to) {
            found.insert(format!("no edge {from} -> {to}"));
        }
    }
    for (from, targets) in &edges {
        for to in targets {
            if machine.state(from).is_some() && !machine.knows(from, to) {
                found.insert(format!("new edge {from} -> {to}"));
            }
        }
    }
}

/// Actions with a composite name are several: `power_off_and_bmc_reset`.
fn parts(action: &str) -> Vec<String> {
    let Some((area, name)) = action.split_once('.') else { return Vec::new() };
    name.split("_and_")
        .map(|part| if part == "force_restart" { "redfish.force_restart".to_owned() } else { format!("{area}.{part}") })
        .collect()
}

fn actions(machine: &Machine, graph: &Graph, found: &mut BTreeSet<String>) {
    let edges = edges(graph);
    for state in &machine.states {
        // The actions of the state and of the sub-states that refine it.
        let of = |own: &&GraphState| {
            own.path == state.path
                || (machine.extension(&own.path).is_some() && machine.reaches(&edges, &state.path, &own.path))
        };
        let own: BTreeSet<&str> = graph
            .states
            .iter()
            .filter(of)
            .flat_map(|own| &own.arms)
            .flat_map(|arm| arm.actions.iter().map(|action| action.name.as_str()))
            .collect();
        for transition in state.transitions.iter().filter(|transition| transition.action != "none") {
            let done = own.contains(transition.action.as_str())
                || parts(&transition.action).iter().all(|part| own.contains(part.as_str()));
            if !done && !transition.action.is_empty() {
                found.insert(format!("{} does not do {}", state.path, transition.action));
            }
        }
    }
}

fn any_state(machine: &Machine, graph: &Graph, found: &mut BTreeSet<String>) {
    for rule in &machine.any_state_rules {
        let Some(own) = graph.any_state.iter().find(|own| own.name == rule.id) else {
            found.insert(format!("no rule {}", rule.id));
            continue;
        };
        let applies = |path: &str| {
            rule.from.iter().any(|from| within(path, from))
                && !rule.from_except.iter().any(|except| within(path, except))
        };
        let top = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
        let known = || graph.states.iter().filter(|state| machine.state(&state.path).is_some());
        let differs = |state: &&GraphState| applies(&state.path) != own.states.contains(&state.path);
        for state in known().filter(differs) {
            let not = if own.states.contains(&state.path) { "" } else { "not " };
            let whole = known().filter(|other| top(&other.path) == top(&state.path)).all(|other| differs(&other));
            let place = if whole { top(&state.path) } else { state.path.clone() };
            found.insert(format!("rule {} does {not}apply to {place}", rule.id));
        }
        let targets: BTreeSet<&str> = own.arms.iter().map(|arm| arm.to.as_deref().unwrap_or(WAIT)).collect();
        let described: BTreeSet<&str> =
            [&rule.to].into_iter().chain(&rule.to_alternatives).map(String::as_str).collect();
        for to in targets.symmetric_difference(&described) {
            found.insert(format!("rule {} {} -> {to}", rule.id, if targets.contains(to) { "also" } else { "never" }));
        }
        let done: BTreeSet<&str> =
            own.arms.iter().flat_map(|arm| arm.actions.iter().map(|action| action.name.as_str())).collect();
        if rule.action != "none" && !done.contains(rule.action.as_str()) {
            found.insert(format!("rule {} does not do {}", rule.id, rule.action));
        }
    }
    for own in &graph.any_state {
        if !machine.any_state_rules.iter().any(|rule| rule.id == own.name) {
            found.insert(format!("new rule {}", own.name));
        }
    }
    let described: Vec<&str> = machine.any_state_rules.iter().map(|rule| rule.id.as_str()).collect();
    let order: Vec<&str> =
        graph.any_state.iter().map(|rule| rule.name.as_str()).filter(|name| described.contains(name)).collect();
    if order != described {
        found.insert(format!("rules are asked in the order {order:?}"));
    }
}

fn numbers(machine: &Machine, rules: &RuleSet, found: &mut BTreeSet<String>) {
    let timeouts: BTreeMap<&str, i64> = rules.timeouts().collect();
    for (name, text) in &machine.timeouts {
        match timeouts.get(name.as_str()) {
            None => drop(found.insert(format!("no timeout {name}"))),
            Some(own) if Some(*own) != seconds(text) => drop(found.insert(format!("timeout {name} is {own} s"))),
            Some(_) => {}
        }
    }
    let limits: BTreeMap<&str, i64> = rules.limits().collect();
    for (name, value) in &machine.limits {
        match (limits.get(name.as_str()), value.as_i64()) {
            (None, _) => drop(found.insert(format!("no limit {name}"))),
            (Some(own), value) if Some(*own) != value => drop(found.insert(format!("limit {name} is {own}"))),
            _ => {}
        }
    }
}

fn differences() -> BTreeSet<String> {
    let (machine, rules) = (machine(), rules());
    let graph = rules.graph();
    let mut found = BTreeSet::new();
    if graph.initial != machine.initial {
        found.insert(format!("hosts start in {}", graph.initial));
    }
    states(&machine, &graph, &mut found);
    moves(&machine, &graph, &mut found);
    actions(&machine, &graph, &mut found);
    any_state(&machine, &graph, &mut found);
    numbers(&machine, &rules, &mut found);
    found
}

/// The reviewed differences: lines "- `difference`: reason", with the reason going on in indented lines.
fn reviewed() -> BTreeMap<String, String> {
    let text = fs::read_to_string(pack().join("DIFFERENCES.md")).unwrap();
    let entries = text.split("\n- `").skip(1).map(|entry| entry.split("\n\n").next().unwrap());
    entries
        .map(|entry| {
            let (difference, reason) = entry.split_once("`:").unwrap_or_else(|| panic!("no reason: {entry}"));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            (words(difference), words(reason))
        })
        .collect()
}

#[test]
fn the_pack_is_the_known_machine_but_for_listed_differences() {
    let reviewed = reviewed();
    let found = differences();
    let unlisted: Vec<&String> = found.iter().filter(|one| !reviewed.contains_key(*one)).collect();
    let stale: Vec<&String> = reviewed.keys().filter(|one| !found.contains(*one)).collect();
    assert!(unlisted.is_empty(), "differences that nobody reviewed: {unlisted:#?}");
    assert!(stale.is_empty(), "reviewed differences that are none: {stale:#?}");
    assert!(reviewed.values().all(|reason| reason.len() > 20), "a difference without a reason");
    assert!(reviewed.len() <= 40, "{} differences are too many to call it the known machine", reviewed.len());
}

#[test]
fn every_cause_of_failure_is_declared() {
    let machine = machine();
    let text = fs::read_to_string(pack().join("memory.rhai")).unwrap();
    for cause in &machine.failure_causes {
        assert!(text.contains(&format!("failure_cause(\"{}\")", cause.cause)), "{}", cause.cause);
    }
}
