//! Guards that stay with the interpreter: their names are checked all the same, and what they may read is what they,
//! and the functions that they call, name.

use std::{collections::HashSet, sync::Arc};

use rhai::{ASTNode, Expr, FnPtr, Position, Stmt};

use crate::{
    ir::{
        reads::{Reads, RecordKind},
        snapshot::AREAS,
    },
    lang::{lower::names::Function, resolve::Builder},
};

/// A property that is read, and the word before it: `bmc` in `h.bmc.power`, `h` in `h.bmc`.
pub(super) struct Property {
    name: String,
    position: Position,
    of: Of,
}

enum Of {
    Property(String),
    Variable(String),
    Unknown,
}

impl Of {
    /// What stands before the property at the end of a path.
    fn before(path: &[ASTNode<'_>]) -> Self {
        let [.., ASTNode::Expr(Expr::Dot(sides, ..)), _] = path else { return Self::Unknown };
        match &sides.lhs {
            Expr::Property(names, _) => Self::Property(names.2.to_string()),
            Expr::Variable(variable, ..) => Self::Variable(variable.1.to_string()),
            _ => Self::Unknown,
        }
    }
}

/// What a body of code names.
#[derive(Default)]
pub(super) struct Named {
    pub(super) locals: Vec<String>,
    /// Chains and calls: `h.instance.present`, `timeout("x")`.
    pub(super) parts: Vec<Expr>,
    pub(super) properties: Vec<Property>,
    /// Functions called, with the number of their arguments.
    pub(super) calls: Vec<(String, usize)>,
    closures: Vec<String>,
    records: Vec<(RecordKind, Arc<str>)>,
}

impl Named {
    pub(super) fn of(function: &Function) -> Self {
        let mut named = Self::default();
        for statement in function.body.iter() {
            statement.walk(&mut Vec::new(), &mut |path: &[ASTNode<'_>]| {
                match path.last() {
                    Some(ASTNode::Stmt(statement)) => named.statement(statement),
                    Some(ASTNode::Expr(Expr::Property(names, position))) => {
                        let (name, of) = (names.2.to_string(), Of::before(path));
                        named.properties.push(Property { name, position: *position, of });
                    }
                    Some(ASTNode::Expr(expr)) => named.expr(expr),
                    _ => {}
                }
                true
            });
        }
        named
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Var(variable, ..) => self.locals.push(variable.0.name.to_string()),
            Stmt::For(parts, _) => {
                self.locals.push(parts.0.name.to_string());
                self.locals.extend(parts.1.iter().map(|counter| counter.name.to_string()));
            }
            Stmt::FnCall(call, _) => self.calls.push((call.name.to_string(), call.args.len())),
            _ => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Dot(..) => self.parts.push(expr.clone()),
            Expr::FnCall(call, _) => {
                self.parts.push(expr.clone());
                self.calls.push((call.name.to_string(), call.args.len()));
            }
            Expr::MethodCall(call, _) => {
                if let Some(Expr::StringConstant(name, _)) = call.args.first() {
                    let kind = match call.name.as_str() {
                        "counter" => RecordKind::Counter,
                        "note" => RecordKind::Note,
                        "done" | "failed" | "running" | "tries" | "action_age" => RecordKind::Action,
                        _ => return,
                    };
                    self.records.push((kind, name.as_str().into()));
                }
            }
            Expr::DynamicConstant(value, _) => {
                let closure = value.clone().try_cast::<FnPtr>();
                self.closures.extend(closure.map(|closure| closure.fn_name().to_owned()));
            }
            _ => {}
        }
    }
}

impl Builder<'_> {
    /// Checks the names in a closure that did not lower, and says which facts it may read.
    pub(super) fn interpreted(&mut self, closure: &Function) -> Reads {
        let mut reads = Reads { records: true, ages: true, ..Reads::default() };
        let mut seen = HashSet::new();
        let mut open = vec![closure.clone()];
        while let Some(function) = open.pop() {
            let named = Named::of(&function);
            // What parameters are is known of the guard alone.
            let own = std::ptr::eq(&*function.body, &*closure.body);
            let mut lowerer = self.lowerer(&function);
            for part in &named.parts {
                lowerer.check_names(part, &function, own, &named.locals);
            }
            let parameters = if own && function.params.len() <= 2 { &*function.params } else { &[] };
            for property in &named.properties {
                let area = match &property.of {
                    Of::Property(area) if AREAS.iter().flat_map(|facts| facts.iter()).any(|fact| fact.area == area) => {
                        Some(area.as_str())
                    }
                    Of::Variable(name) if named.locals.contains(name) => None,
                    // The host itself has no facts, only areas of them.
                    Of::Variable(name) if parameters.first() == Some(name) => Some(""),
                    Of::Variable(name) if parameters.get(1) == Some(name) => Some("dpu"),
                    _ => None,
                };
                self.property(property, area, &function, &mut reads);
            }
            reads.named.extend(named.records.into_iter().map(|(kind, name)| (kind, name, None)));
            for (name, arguments) in named.calls {
                if let Some(called) = self.functions.find(&name, arguments)
                    && seen.insert((name, arguments))
                {
                    open.push(called.clone());
                }
            }
            for name in named.closures {
                if let Some(closure) = self.functions.closure(&name)
                    && seen.insert((name, 0))
                {
                    open.push(closure.clone());
                }
            }
        }
        reads
    }

    /// A property of an area, or if that is not known of whatever has one of this name.
    pub(super) fn property(&mut self, read: &Property, area: Option<&str>, function: &Function, reads: &mut Reads) {
        let name = read.name.as_str();
        let mut known = ["dpus", "known", "missing", "alerts"].contains(&name);
        for fact in AREAS.iter().flat_map(|facts| facts.iter()) {
            if fact.name == name && area.is_none_or(|area| fact.area == area) {
                reads.fact(fact);
            }
            known |= fact.name == name || fact.area == name;
        }
        if let Some((report, _)) = self.names.reports.get(name) {
            reads.report(*report);
            known = true;
        }
        if !known {
            let place = crate::lang::declare::place(&function.file, read.position);
            let facts = AREAS.iter().flat_map(|facts| facts.iter()).flat_map(|fact| [fact.name, fact.area]);
            let known = facts.chain(self.names.reports.keys().map(|report| &**report));
            self.faults.unknown("unknown-fact", &place, "fact", name, known);
        }
    }
}
