//! Builds symbol tables of declared names, and reports duplicates.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    ir::diagnostic::{Diagnostics, Place, did_you_mean},
    lang::{
        declare::{BlockKind, Declarations, Named},
        load::LoadOptions,
        lower::names::Names,
    },
};

/// Tables of all names that the pack declares. States, gates and reports get their numbers here.
pub(super) fn names(declarations: &Declarations, options: &LoadOptions, diagnostics: &mut Diagnostics) -> Names {
    let states = declarations.blocks.iter().filter(|block| matches!(block.kind, BlockKind::State(_)));
    let states = states.map(|block| (&block.name, &block.place));
    let rules = declarations.blocks.iter().filter(|block| matches!(block.kind, BlockKind::Any(_)));
    unique("rule for any state", rules.map(|block| (&block.name, &block.place)), diagnostics);
    let steps = declarations.blocks.iter().filter(|block| matches!(block.kind, BlockKind::Steps));
    unique("block of steps", steps.map(|block| (&block.name, &block.place)), diagnostics);
    let mut names = Names {
        states: unique("state", states, diagnostics),
        gates: unique("gate", places(&declarations.gates), diagnostics),
        probes: unique("probe", places(&declarations.probes), diagnostics),
        classifications: unique("classification", places(&declarations.classifications), diagnostics),
        sources: unique("health source", places(&declarations.sources), diagnostics),
        causes: unique("failure cause", places(&declarations.causes), diagnostics),
        actions: unique("action", places(&declarations.actions), diagnostics),
        counters: unique("counter", places(&declarations.counters), diagnostics),
        notes: BTreeMap::new(),
        timeouts: values(&declarations.timeouts),
        limits: values(&declarations.limits),
        reports: BTreeMap::new(),
    };
    unique("note", places(&declarations.notes), diagnostics);
    unique("timeout", places(&declarations.timeouts), diagnostics);
    unique("limit", places(&declarations.limits), diagnostics);
    unique("report", places(&declarations.reports), diagnostics);
    for note in &declarations.notes {
        let values = note.value.0.iter().map(|value| Arc::from(value.as_str())).collect();
        names.notes.insert(note.name.clone(), values);
    }
    for (number, report) in declarations.reports.iter().enumerate() {
        names.reports.insert(report.name.clone(), (number, report.value.of_dpu));
    }
    replace(&mut names.timeouts, &options.timeouts, "timeout", diagnostics);
    replace(&mut names.limits, &options.limits, "limit", diagnostics);
    if let Some(known) = &options.known_actions {
        for action in &declarations.actions {
            if !known.iter().any(|known| **known == *action.name) {
                let hint = did_you_mean(&action.name, known.iter().map(String::as_str), || {
                    "the shipped actions.rhai lists the actions of the controller".to_owned()
                });
                let message = format!("the controller has no action `{}`", action.name);
                diagnostics.error("unknown-action", &action.place, message, hint);
            }
        }
    }
    names
}

fn places<T>(names: &[Named<T>]) -> impl Iterator<Item = (&Arc<str>, &Place)> {
    names.iter().map(|named| (&named.name, &named.place))
}

fn values(names: &[Named<i64>]) -> BTreeMap<Arc<str>, i64> {
    names.iter().map(|named| (named.name.clone(), named.value)).collect()
}

fn unique<'a>(
    what: &str,
    names: impl Iterator<Item = (&'a Arc<str>, &'a Place)>,
    diagnostics: &mut Diagnostics,
) -> BTreeMap<Arc<str>, usize> {
    let mut table = BTreeMap::new();
    let mut first: BTreeMap<Arc<str>, Place> = BTreeMap::new();
    for (number, (name, place)) in names.enumerate() {
        if let Some(first) = first.get(name) {
            let message = format!("{what} `{name}` is declared twice");
            diagnostics.error("duplicate", place, message, format!("first at {first}"));
            continue;
        }
        first.insert(name.clone(), place.clone());
        table.insert(name.clone(), number);
    }
    table
}

/// Replaces the pack's values by the site's; a name that the pack does not declare is an error of the site.
fn replace(
    table: &mut BTreeMap<Arc<str>, i64>,
    with: &BTreeMap<String, i64>,
    what: &str,
    diagnostics: &mut Diagnostics,
) {
    for (name, value) in with {
        match table.get_mut(name.as_str()) {
            Some(current) => *current = *value,
            None => {
                let site = Place { file: "the site's settings".into(), line: 0, column: 0 };
                diagnostics.unknown("settings", &site, what, name, table.keys().map(|name| &**name));
            }
        }
    }
}
