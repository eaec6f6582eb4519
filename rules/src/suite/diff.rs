//! The differences between two packs, in words: states, arms, guards, gates, times.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    eval::RuleSet,
    ir::pack::Retained,
    suite::graph::{Graph, GraphArm},
};

/// One difference between two rule sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `added`, `removed` or `changed`.
    pub kind: ChangeKind,
    /// What: `state Assigned/Ready`, `gate primary_p0_ready`, `timeout power_down_wait`.
    pub what: String,
    /// How, if it changed: one line for each part of it that did.
    pub how: Vec<String>,
}

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Only the new pack has it.
    Added,
    /// Only the old pack has it.
    Removed,
    /// Both have it, differently.
    Changed,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            ChangeKind::Added => write!(f, "{} is new", self.what)?,
            ChangeKind::Removed => write!(f, "{} is gone", self.what)?,
            ChangeKind::Changed => write!(f, "{}", self.what)?,
        }
        if !self.how.is_empty() {
            write!(f, ": {}", self.how.join("; "))?;
        }
        Ok(())
    }
}

/// What changed from `old` to `new`, states first.
#[must_use]
pub fn diff(old: &RuleSet, new: &RuleSet) -> Vec<Change> {
    let mut changes = Vec::new();
    let (was, is) = (old.graph(), new.graph());
    if was.initial != is.initial {
        let how = vec![format!("{} instead of {}", is.initial, was.initial)];
        changes.push(Change { kind: ChangeKind::Changed, what: "initial state".to_owned(), how });
    }
    compare(&mut changes, "state", &states(&was), &states(&is));
    compare(&mut changes, "rule for any state", &any_rules(&was), &any_rules(&is));
    compare(&mut changes, "gate", &gates(old), &gates(new));
    compare(&mut changes, "what tenants see as", &tenant_views(old), &tenant_views(new));
    compare(&mut changes, "what alerts prevent:", &prevented(old), &prevented(new));
    compare(&mut changes, "no_sla_while", &without_limit(old), &without_limit(new));
    compare(&mut changes, "report", &reports(old), &reports(new));
    compare(&mut changes, "counter", &kept(&old.counters), &kept(&new.counters));
    compare(&mut changes, "note", &kept(&old.notes), &kept(&new.notes));
    compare(&mut changes, "function", &functions(old), &functions(new));
    compare(&mut changes, "timeout", &numbers(old.timeouts(), " s"), &numbers(new.timeouts(), " s"));
    compare(&mut changes, "limit", &numbers(old.limits(), ""), &numbers(new.limits(), ""));
    changes
}

/// A declaration as lines of text, one for each part that can change on its own.
type Lines = Vec<String>;

fn states(graph: &Graph) -> BTreeMap<String, Lines> {
    let states = graph.states.iter().map(|state| {
        let sla =
            state.sla_seconds.map_or_else(|| "no fixed time limit".to_owned(), |sla| format!("time limit {sla} s"));
        let kind = serde_yaml::to_string(&state.kind).unwrap_or_default().trim().to_owned();
        let barrier = if state.barrier { ", barrier" } else { "" };
        let of_dpu = if state.of_dpu { ", of each DPU" } else { "" };
        let mut lines = vec![format!("{sla}, {kind}{of_dpu}{barrier}")];
        lines.extend(state.arms.iter().map(words));
        (state.path.clone(), lines)
    });
    states.collect()
}

fn any_rules(graph: &Graph) -> BTreeMap<String, Lines> {
    let rules = graph.any_state.iter().map(|rule| {
        let mut lines = vec![format!("applies to {}", rule.states.join(", "))];
        lines.extend(rule.arms.iter().map(words));
        (rule.name.clone(), lines)
    });
    rules.collect()
}

fn gates(rules: &RuleSet) -> BTreeMap<String, Lines> {
    let gates = rules.gates.iter().map(|gate| {
        let lines = vec![format!("open when {}", gate.guard.text), format!("reason \"{}\"", gate.reason)];
        (gate.name.to_string(), lines)
    });
    gates.collect()
}

fn tenant_views(rules: &RuleSet) -> BTreeMap<String, Lines> {
    let mut views: BTreeMap<String, Lines> = BTreeMap::new();
    for view in &rules.views.tenant {
        views.entry(view.state.name().to_owned()).or_default().push(format!("when {}", view.guard.text));
    }
    views
}

fn prevented(rules: &RuleSet) -> BTreeMap<String, Lines> {
    let mut prevented: BTreeMap<String, Lines> = BTreeMap::new();
    for (what, classification) in &rules.views.prevents {
        prevented.entry(what.name().to_owned()).or_default().push(format!("by {classification}"));
    }
    prevented
}

fn reports(rules: &RuleSet) -> BTreeMap<String, Lines> {
    let reports = rules.reports.reports.iter().map(|report| {
        let lines = report.parts.iter().map(|part| part.describe(&rules.reports));
        (report.name.clone(), lines.collect())
    });
    reports.collect()
}

/// When time limits do not count.
fn without_limit(rules: &RuleSet) -> BTreeMap<String, Lines> {
    let guard = rules.no_sla_while.iter();
    guard.map(|guard| ("time limits".to_owned(), vec![format!("do not count when {}", guard.text)])).collect()
}

fn kept(kept: &[Retained]) -> BTreeMap<String, Lines> {
    let kept = kept.iter().map(|kept| (kept.name.to_string(), vec![format!("kept in [{}]", kept.within.join(", "))]));
    kept.collect()
}

/// Source texts of functions.
fn functions(rules: &RuleSet) -> BTreeMap<String, Lines> {
    let mut functions = BTreeMap::new();
    for text in rules.sources.values() {
        let starts = text.match_indices("\nfn ").map(|(at, _)| at + 1).chain(text.starts_with("fn ").then_some(0));
        for start in starts {
            let rest = &text[start..];
            let Some(name) = rest.strip_prefix("fn ").and_then(|rest| rest.split('(').next()) else { continue };
            let whole = rest.get(..body_end(rest)).unwrap_or(rest);
            functions.insert(name.to_owned(), vec![whole.split_whitespace().collect::<Vec<_>>().join(" ")]);
        }
    }
    functions
}

/// The end of a function's body.
fn body_end(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted && depth <= 1 => return at + 1,
            '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

fn numbers<'a>(numbers: impl Iterator<Item = (&'a str, i64)>, unit: &str) -> BTreeMap<String, Lines> {
    numbers.map(|(name, value)| (name.to_owned(), vec![format!("{value}{unit}")])).collect()
}

/// An arm as a rule writes it.
fn words(arm: &GraphArm) -> String {
    let mut words = arm.verb.to_owned();
    for part in [&arm.to, &arm.gate] {
        words.extend(part.iter().flat_map(|part| [" ", part.as_str()]));
    }
    if arm.gate.is_none() {
        words.extend(arm.reason.iter().map(|reason| format!(" \"{reason}\"")));
        words.extend(arm.guards.iter().map(|guard| format!(" when {guard}")));
    }
    words.extend(arm.actions.iter().map(|action| format!(" doing {action}")));
    words.extend(arm.records.iter().map(|record| format!(", {record}")));
    words.extend(arm.also_to.iter().map(|to| format!(" or to {to}")));
    words
}

fn compare(changes: &mut Vec<Change>, what: &str, old: &BTreeMap<String, Lines>, new: &BTreeMap<String, Lines>) {
    for (name, was) in old {
        let Some(is) = new.get(name) else {
            changes.push(Change { kind: ChangeKind::Removed, what: format!("{what} {name}"), how: Vec::new() });
            continue;
        };
        let gone = was.iter().filter(|line| !is.contains(line)).map(|line| format!("no longer {line}"));
        let come = is.iter().filter(|line| !was.contains(line)).map(|line| format!("now {line}"));
        let mut how = gone.chain(come).collect::<Vec<_>>();
        if how.is_empty() && was != is {
            how.push("its arms are in another order".to_owned());
        }
        if !how.is_empty() {
            let change = Change { kind: ChangeKind::Changed, what: format!("{what} {name}"), how };
            changes.push(change);
        }
    }
    for name in new.keys().filter(|name| !old.contains_key(*name)) {
        changes.push(Change { kind: ChangeKind::Added, what: format!("{what} {name}"), how: Vec::new() });
    }
}
