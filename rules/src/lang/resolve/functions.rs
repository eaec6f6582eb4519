//! Functions of the pack: none may stand in for a verb, and those that nobody calls name what there is, too.

use std::collections::HashSet;

use crate::{
    ir::{fault::Place, reads::Reads},
    lang::{
        lower::names::Function,
        resolve::{Builder, interpreted::Named},
    },
};

/// What guards ask, beside facts.
const OF_GUARDS: [&str; 26] = [
    "action_age",
    "all",
    "any",
    "count",
    "counter",
    "days",
    "done",
    "failed",
    "has_alert",
    "has_class",
    "has_probe",
    "hours",
    "is_empty",
    "len",
    "limit",
    "minutes",
    "note",
    "or",
    "running",
    "seconds",
    "timeout",
    "tries",
    "version_at_least",
    "within",
    "known",
    "missing",
];
/// Functions of rhai that guards are lowered by.
const LOWERED: [&str; 2] = ["contains", "starts_with"];

impl Builder<'_> {
    pub(super) fn own_functions(&mut self, mut verbs: HashSet<String>) {
        verbs.extend(OF_GUARDS.map(str::to_owned));
        verbs.extend(LOWERED.map(str::to_owned));
        let functions = self.functions;
        let calls = functions.all().flat_map(|(_, function)| Named::of(function).calls);
        let called: HashSet<String> = calls.map(|(name, _)| name).collect();
        for (name, function) in functions.of_pack() {
            if verbs.contains(name) {
                let place = self.declared(name, function);
                let hint = "native guards would ask the verb and interpreted ones the function: name it otherwise";
                self.faults.hint("duplicate", &place, format!("`{name}` is a verb"), hint);
            }
            if !called.contains(name) {
                self.check_function(function);
            }
        }
    }

    /// Where a function is declared.
    fn declared(&self, name: &str, function: &Function) -> Place {
        let text = self.sources.get(&function.file).map_or("", |text| text);
        let head = format!("fn {name}(");
        let found = text.lines().enumerate().find_map(|(line, text)| Some((line + 1, text.find(&head)? + 1)));
        let (line, column) = found.unwrap_or_default();
        Place { file: function.file.clone(), line, column }
    }

    /// The names in a function that no guard leads to.
    fn check_function(&mut self, function: &Function) {
        let named = Named::of(function);
        let mut lowerer = self.lowerer(function);
        for part in &named.parts {
            lowerer.check_names(part, function, false, &named.locals);
        }
        for property in &named.properties {
            self.property(property, None, function, &mut Reads::default());
        }
    }
}
