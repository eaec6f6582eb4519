//! Lowering: from rhai's syntax tree to expressions, with checks of names and types. Called by `resolve`.
//!
//! Functions, closures and `let` bindings are inlined. Unsupported syntax is an error that says what to write instead.
//! An error in one place does not hide others: it lowers to [`Lowered::Error`], which is accepted wherever any kind is
//! expected.

mod expressions;
mod functions;
pub(crate) mod lowered;
mod members;
pub(crate) mod names;
mod operators;
mod statements;
mod switch;

use std::{collections::HashSet, sync::Arc};

use rhai::{Dynamic, Position, Stmt};

use crate::{
    ir::{
        diagnostic::{Diagnostics, Place},
        expr::{DEPTH, Expr},
        health::Reports,
        limits::{CALL_DEPTH, GUARD_DEPTH, GUARD_PARTS, PACK_PARTS},
        operators::{Kind, Op},
    },
    lang::lower::{
        lowered::{Lowered, TypedExpr},
        names::{Function, Functions, Names},
    },
};

/// Symbols of the pack that guards can use.
#[derive(Clone, Copy)]
pub(crate) struct Symbols<'a> {
    pub(crate) names: &'a Names,
    pub(crate) functions: &'a Functions,
    /// Functions that rhai itself offers.
    pub(crate) builtins: &'a HashSet<String>,
    /// The reports, once they are built.
    pub(crate) reports: Option<&'a Reports>,
}

/// Lowers one guard.
pub(crate) struct Lowerer<'a> {
    known: Symbols<'a>,
    diagnostics: &'a mut Diagnostics,
    budget: &'a mut SizeBudget,
    file: Arc<str>,
    /// Depth of inlined calls.
    calls: usize,
    /// Depth of early returns.
    returns: usize,
    /// How many DPUs, and texts of lists, are bound.
    dpus: u8,
    items: u8,
    /// Parts that the guard may still get, none after it got too many.
    remaining: Option<usize>,
    whole: Place,
    /// An unsupported construct has been reported.
    refused: bool,
    /// It reads named times or limits, which a site can replace.
    settings: bool,
}

/// Parts that the arms and guards of a pack may still have; none when they had more. Functions are inlined, and arguments
/// replace parameters, so a short text can become more than any memory holds.
#[derive(Debug)]
pub(crate) struct SizeBudget {
    remaining: Option<usize>,
}

impl Default for SizeBudget {
    fn default() -> Self {
        Self { remaining: Some(PACK_PARTS) }
    }
}

impl SizeBudget {
    /// Takes some, or reports once that there are not enough left.
    pub(crate) fn take(&mut self, parts: usize, diagnostics: &mut Diagnostics) -> bool {
        let Some(remaining) = self.remaining else { return false };
        self.remaining = remaining.checked_sub(parts);
        if self.remaining.is_none() {
            let whole = Place { file: "".into(), line: 0, column: 0 };
            let message = format!("its arms and guards have more than {PACK_PARTS} parts in total");
            let hint =
                "an arm counts once in every state that uses its steps, or that its rule for any state applies to";
            diagnostics.error("limit", &whole, message, hint);
        }
        self.remaining.is_some()
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.remaining.is_none()
    }
}

/// The variables that a closure sees.
type Scope = Vec<(String, Lowered)>;

impl<'a> Lowerer<'a> {
    /// A lowerer for the body of `function`.
    pub(crate) fn new(
        known: Symbols<'a>,
        diagnostics: &'a mut Diagnostics,
        budget: &'a mut SizeBudget,
        function: &Function,
    ) -> Self {
        let whole = crate::lang::declare::place(&function.file, body_position(function));
        let file = function.file.clone();
        let (calls, returns, dpus, items) = (0, 0, 0, 0);
        let (remaining, refused, settings) = (Some(GUARD_PARTS), false, false);
        Self { known, diagnostics, budget, file, calls, returns, dpus, items, remaining, whole, refused, settings }
    }

    /// The closure's expression of a kind, and whether it is lintable (see [`crate::ir::guard::Guard`]).
    pub(crate) fn answer(mut self, closure: &Function, curried: &[Dynamic], kind: Kind) -> (Expr, bool) {
        let position = body_position(closure);
        let before = self.diagnostics.0.len();
        let mut scope = Scope::new();
        for (name, value) in closure.params.iter().zip(curried) {
            scope.push((name.clone(), self.constant(value.clone(), position)));
        }
        let own = closure.params.iter().skip(curried.len());
        for (name, value) in own.zip([Lowered::Host, Lowered::Dpu(0)]) {
            self.dpus = u8::from(matches!(value, Lowered::Dpu(_)));
            scope.push((name.clone(), value));
        }
        let lowered = self.statements(&closure.body, &scope, Position::NONE, true);
        let mut expr = self.value(lowered, kind, position);
        if expr.depth() > GUARD_DEPTH {
            self.nested_too_deep(position);
            expr = Expr::Bool(false);
        }
        (expr, !self.settings && self.diagnostics.0.len() == before)
    }

    /// Checks the names in a function that no guard calls. Types of its parameters are unknown.
    pub(crate) fn check_names(mut self, function: &Function) {
        self.refused = true;
        let scope: Scope = function.params.iter().map(|name| (name.clone(), Lowered::Unknown)).collect();
        self.statements(&function.body, &scope, Position::NONE, true);
    }

    /// Takes parts from the budgets; false if they are exhausted.
    fn charge(&mut self, parts: usize) -> bool {
        let Some(remaining) = self.remaining else { return false };
        self.remaining = remaining.checked_sub(parts);
        if self.remaining.is_none() {
            let message = format!("the guard has more than {GUARD_PARTS} parts with its functions inlined");
            self.diagnostics.error("limit", &self.whole, message, "let functions call each other less often");
        }
        self.remaining.is_some() && self.budget.take(parts, self.diagnostics)
    }

    fn nested_too_deep(&mut self, position: Position) -> Lowered {
        let message = format!("the guard is nested more than {GUARD_DEPTH} deep");
        self.error("limit", position, message, "use several arms, or a list: `x in [\"a\", \"b\"]`")
    }

    fn place(&self, position: Position) -> Place {
        crate::lang::declare::place(&self.file, position)
    }

    fn error(
        &mut self,
        check: &'static str,
        position: Position,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Lowered {
        let place = self.place(position);
        self.diagnostics.error(check, &place, message, hint);
        Lowered::Error
    }

    /// Reports an unsupported construct, once for each guard: others may follow from the first.
    fn unsupported(&mut self, position: Position, message: impl Into<String>, hint: impl Into<String>) -> Lowered {
        if !self.refused {
            self.error("unsupported", position, message, hint);
        }
        self.refused = true;
        Lowered::Error
    }

    fn wrong_type(&mut self, position: Position, expected: &str, found: &Lowered) -> Lowered {
        if matches!(found, Lowered::Error | Lowered::Unknown) {
            return found.clone();
        }
        self.error("type", position, format!("expected {expected}, found {}", found.describe()), found.hint(expected))
    }

    /// A value of a kind; an error converts to any kind.
    fn value(&mut self, lowered: Lowered, kind: Kind, position: Position) -> Expr {
        match lowered {
            Lowered::Value(TypedExpr { expr, kind: found, .. }) if found == kind => expr,
            other => {
                self.wrong_type(position, kind.describe(), &other);
                if kind == Kind::Bool { Expr::Bool(false) } else { Expr::Int(0) }
            }
        }
    }

    /// An operator, folded if its arguments are constants.
    fn operation(&self, op: Op, parts: Vec<Expr>) -> Expr {
        crate::ir::specialise::constant(op, &parts).unwrap_or_else(|| Expr::apply(op, parts))
    }

    fn can_fail(&self, lowered: &Lowered) -> bool {
        let reports = self.known.reports;
        let report = |number| reports.is_none_or(|reports| reports.can_fail(number));
        matches!(lowered, Lowered::Value(value) if value.expr.can_fail(&report))
    }

    /// Evaluates bound values before `last` if they can fail, even if nothing uses them.
    fn sequence(&self, bound: Vec<Lowered>, last: Lowered) -> Lowered {
        let Lowered::Value(mut last) = last else { return last };
        let mut parts: Vec<Expr> = Vec::new();
        for value in bound {
            if self.can_fail(&value)
                && let Lowered::Value(value) = value
            {
                parts.push(value.expr);
            }
        }
        if !parts.is_empty() {
            parts.push(last.expr);
            last.expr = Expr::apply(Op::Sequence, parts);
        }
        Lowered::Value(last)
    }

    /// Inlines the body of a function or closure.
    fn inline(&mut self, function: &Function, scope: &Scope, position: Position) -> Lowered {
        if self.calls >= CALL_DEPTH {
            return self.error(
                "recursion",
                position,
                "functions call each other too deeply",
                "rules have no recursion",
            );
        }
        if !self.charge(1) {
            return Lowered::Error;
        }
        self.calls += 1;
        let file = std::mem::replace(&mut self.file, function.file.clone());
        let lowered = self.statements(&function.body, scope, position, true);
        self.file = file;
        self.calls -= 1;
        lowered
    }

    /// A closure called with arguments.
    fn call_closure(&mut self, closure: Lowered, own: Vec<Lowered>, position: Position) -> Lowered {
        let (name, bound) = match closure {
            Lowered::Closure(name, bound) => (name, bound),
            other => return self.wrong_type(position, "a closure such as `|d| …`", &other),
        };
        let functions = self.known.functions;
        let Some(function) = functions.closure(&name) else {
            return self.unsupported(position, "expected a closure literal", "write `|d| …` where it is used");
        };
        if function.params.len() != bound.len() + own.len() {
            let message = match own.as_slice() {
                [Lowered::Dpu(_)] => "the closure takes one parameter, the DPU".to_owned(),
                own => format!("the closure takes {} parameters here", own.len()),
            };
            return self.error("type", position, message, "write `|d| …`");
        }
        let scope = function.params.iter().cloned().zip(bound.into_iter().chain(own)).collect();
        self.inline(function, &scope, position)
    }

    /// A closure's body with a DPU bound at the returned depth.
    fn for_each_dpu(&mut self, closure: Lowered, position: Position) -> (u8, Lowered) {
        let depth = self.dpus;
        if usize::from(depth) >= DEPTH {
            return (0, self.too_deep(position));
        }
        self.dpus += 1;
        let body = self.call_closure(closure, vec![Lowered::Dpu(depth)], position);
        self.dpus = depth;
        (depth, body)
    }

    /// The same for each text of a list.
    fn for_each_item(&mut self, closure: Lowered, position: Position) -> (u8, Lowered) {
        let depth = self.items;
        if usize::from(depth) >= DEPTH {
            return (0, self.too_deep(position));
        }
        self.items += 1;
        let body = self.call_closure(closure, vec![Lowered::of(Expr::Item(depth), Kind::Text)], position);
        self.items = depth;
        (depth, body)
    }

    fn too_deep(&mut self, position: Position) -> Lowered {
        let message = format!("`any`, `all` and `count` are nested more than {DEPTH} deep");
        self.unsupported(position, message, "use two guards, or compare fewer DPUs with each other")
    }
}

fn body_position(function: &Function) -> Position {
    match function.body.first() {
        Some(Stmt::Expr(expr)) => expr.start_position(),
        Some(statement) => statement.position(),
        None => Position::NONE,
    }
}
