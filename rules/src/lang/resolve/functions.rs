//! Checks functions of the pack: none may hide a verb, and names in uncalled functions have to exist as well.

use std::collections::HashSet;

use rhai::{ASTNode, Expr, Stmt};

use crate::{
    ir::{
        diagnostic::Place,
        members::{OF_REPORTS, QUANTIFIERS, RECORDS, UNITS},
        operators::OPERATORS,
    },
    lang::{lower::names::Function, resolve::Resolver},
};

/// Names of the rule language that guards can call.
fn of_guards() -> impl Iterator<Item = &'static str> {
    let records = RECORDS.iter().map(|(name, ..)| *name);
    let reports = OF_REPORTS.iter().map(|member| member.name);
    let units = UNITS.iter().map(|(name, _)| *name);
    let operators = OPERATORS.iter().map(|operator| operator.name);
    records.chain(reports).chain(units).chain(operators).chain(QUANTIFIERS).chain(["timeout", "limit"])
}

/// Functions that a function calls.
fn calls(function: &Function) -> Vec<String> {
    let mut calls = Vec::new();
    for statement in function.body.iter() {
        statement.walk(&mut Vec::new(), &mut |path: &[ASTNode<'_>]| {
            if let Some(ASTNode::Stmt(Stmt::FnCall(call, _)) | ASTNode::Expr(Expr::FnCall(call, _))) = path.last() {
                calls.push(call.name.to_string());
            }
            true
        });
    }
    calls
}

impl Resolver<'_> {
    pub(super) fn check_functions(&mut self, mut verbs: HashSet<String>) {
        verbs.extend(of_guards().map(str::to_owned));
        let functions = self.functions;
        let called: HashSet<String> = functions.all().flat_map(|(_, function)| calls(function)).collect();
        for (name, function) in functions.of_pack() {
            if verbs.contains(name) {
                let place = self.declared(name, function);
                let hint = "a guard would call the verb: choose another name";
                self.diagnostics.error("duplicate", &place, format!("`{name}` is a verb"), hint);
            }
            if !called.contains(name) {
                // No guard inlines it, so nothing else checks its names.
                self.lowerer(function).check_names(function);
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
}
