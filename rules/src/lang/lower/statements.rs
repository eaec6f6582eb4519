//! Lowers statements: `let`, `if`, `switch` and `return`. Assignments and loops are refused.

use rhai::{ASTFlags, Expr as Ast, FlowControl, Position, Stmt};

use crate::{
    ir::{expr::Expr, limits::GUARD_DEPTH, operators::Kind},
    lang::lower::{
        Lowerer, Scope,
        lowered::{Lowered, TypedExpr},
    },
};

const ASK_LISTS: &str = "use `.any(|x| …)`, `.all(|x| …)`, `.count(|x| …)` or `.first()`";

impl Lowerer<'_> {
    /// The value of several statements is that of the last one. `tail`: it is the value of the function as well.
    pub(super) fn statements(&mut self, statements: &[Stmt], scope: &Scope, position: Position, tail: bool) -> Lowered {
        let Some((first, rest)) = statements.split_first() else {
            return self.error("type", position, "an empty block has no value", "write an expression in it");
        };
        match first {
            Stmt::Share(_) | Stmt::Noop(_) => self.statements(rest, scope, position, tail),
            Stmt::Var(..) => {
                let bindings = statements.iter().take_while(|statement| matches!(statement, Stmt::Var(..)));
                let (mut scope, mut bound, mut at) = (scope.clone(), Vec::new(), position);
                for statement in bindings {
                    let Stmt::Var(variable, ..) = statement else { break };
                    let value = self.expr(&variable.1, &scope);
                    scope.push((variable.0.name.to_string(), value.clone()));
                    bound.push(value);
                    at = statement.position();
                }
                let answer = self.statements(&statements[bound.len()..], &scope, at, tail);
                self.sequence(bound, answer)
            }
            first if rest.is_empty() => self.statement(first, scope, tail),
            Stmt::If(flow, at) if tail && (returns(flow.body.statements()) || returns(flow.branch.statements())) => {
                self.early_return(flow, rest, scope, *at)
            }
            Stmt::Return(..) => self.statement(first, scope, tail),
            other => {
                self.statement(other, scope, false);
                self.unsupported(
                    other.position(),
                    "only the last expression of a guard is its value",
                    "bind it with `let`, or remove it",
                );
                self.statements(rest, scope, position, tail)
            }
        }
    }

    fn statement(&mut self, statement: &Stmt, scope: &Scope, tail: bool) -> Lowered {
        let position = statement.position();
        match statement {
            Stmt::Expr(expr) => match &**expr {
                Ast::Stmt(block) => self.statements(block.statements(), scope, position, tail),
                expr => self.expr(expr, scope),
            },
            Stmt::FnCall(call, position) => self.call(call, *position, scope),
            Stmt::Block(block) => self.statements(block.statements(), scope, position, tail),
            Stmt::Return(Some(expr), flags, _) if tail && !flags.contains(ASTFlags::BREAK) => self.expr(expr, scope),
            Stmt::If(flow, position) => {
                let condition = self.condition(&flow.expr, scope);
                let then = self.statements(flow.body.statements(), scope, *position, tail);
                let otherwise = self.statements(flow.branch.statements(), scope, *position, tail);
                self.conditional(condition, then, otherwise, *position)
            }
            Stmt::Switch(switch, position) => {
                let (value, cases) = &**switch;
                self.switch(value, cases, scope, *position, tail)
            }
            other => self.refused(other, scope),
        }
    }

    /// `if … { return …; }` before other statements.
    fn early_return(&mut self, flow: &FlowControl, rest: &[Stmt], scope: &Scope, position: Position) -> Lowered {
        if self.returns >= GUARD_DEPTH {
            return self.nested_too_deep(position);
        }
        self.returns += 1;
        let condition = self.condition(&flow.expr, scope);
        let mut branch = |statements: &[Stmt]| match statements {
            returning if returns(returning) => self.statements(returning, scope, position, true),
            [] => self.statements(rest, scope, position, true),
            [other, ..] => {
                self.unsupported(other.position(), "this does nothing", "add a `return`, or remove it");
                self.statements(rest, scope, position, true)
            }
        };
        let (then, otherwise) = (branch(flow.body.statements()), branch(flow.branch.statements()));
        self.returns -= 1;
        self.conditional(condition, then, otherwise, position)
    }

    pub(super) fn condition(&mut self, condition: &Ast, scope: &Scope) -> Expr {
        let lowered = self.expr(condition, scope);
        self.value(lowered, Kind::Bool, condition.start_position())
    }

    /// A conditional with two values of one kind.
    pub(super) fn conditional(
        &mut self,
        condition: Expr,
        then: Lowered,
        otherwise: Lowered,
        position: Position,
    ) -> Lowered {
        let (then, otherwise) = match (then, otherwise) {
            (Lowered::Value(then), Lowered::Value(otherwise)) => (then, otherwise),
            (Lowered::Error, _) | (_, Lowered::Error) => return Lowered::Error,
            (Lowered::Unknown, _) | (_, Lowered::Unknown) => return Lowered::Unknown,
            (Lowered::Value(then), otherwise) => return self.wrong_type(position, then.kind.describe(), &otherwise),
            (then, _) => return self.wrong_type(position, "a value", &then),
        };
        let Some(kind) = either(then.kind, otherwise.kind) else {
            return self.wrong_type(position, then.kind.describe(), &Lowered::Value(otherwise));
        };
        let domain = then.domain.or(otherwise.domain);
        let expr = match condition {
            Expr::Bool(true) => then.expr,
            Expr::Bool(false) => otherwise.expr,
            condition => Expr::If(Box::new([condition, then.expr, otherwise.expr])),
        };
        Lowered::Value(TypedExpr { expr, kind, domain })
    }

    /// Statements that guards do not support. Names in them are still checked.
    fn refused(&mut self, statement: &Stmt, scope: &Scope) -> Lowered {
        let position = statement.position();
        let (message, hint) = match statement {
            Stmt::While(..) | Stmt::Do(..) | Stmt::For(..) | Stmt::BreakLoop(..) => ("a guard has no loops", ASK_LISTS),
            Stmt::Assignment(assignment) if !assignment.0.is_op_assignment() => {
                return self.assignment(&assignment.1.lhs, position);
            }
            Stmt::Assignment(_) => ("a guard assigns nothing", "bind another name: `let total = count + 1;`"),
            Stmt::Return(_, flags, _) if flags.contains(ASTFlags::BREAK) => {
                ("a guard cannot throw", "return `true` or `false`, or write `.fail(\"…\")` as an arm")
            }
            Stmt::Return(None, ..) => ("this returns nothing", "return a value"),
            Stmt::Return(..) => ("`return` is not supported inside an expression", "write `if … { … } else { … }`"),
            Stmt::TryCatch(..) => {
                ("a guard cannot catch errors", "a guard that fails counts as closed, and the failure is shown")
            }
            _ => ("this is not supported in a guard", "a guard is an expression over facts"),
        };
        let refused = self.unsupported(position, message, hint);
        let inner: &[&[Stmt]] = match statement {
            Stmt::While(flow, _) | Stmt::Do(flow, ..) | Stmt::TryCatch(flow, _) => &[flow.body.statements()],
            Stmt::For(parts, _) => {
                self.expr(&parts.2.expr, scope);
                &[parts.2.body.statements()]
            }
            _ => &[],
        };
        let mut scope = scope.clone();
        if let Stmt::For(parts, _) = statement {
            let names = std::iter::once(&parts.0).chain(&parts.1);
            scope.extend(names.map(|name| (name.name.to_string(), Lowered::Unknown)));
        }
        for statements in inner.iter().filter(|statements| !statements.is_empty()) {
            self.statements(statements, &scope, position, false);
        }
        refused
    }

    /// `=`, which most likely should be a comparison.
    fn assignment(&mut self, to: &Ast, position: Position) -> Lowered {
        let hint = match to {
            Ast::Variable(..) => "a name keeps its value: bind another one with `let`, or write `==` to compare",
            _ => "write `==` to compare",
        };
        self.refused = true;
        self.error("assignment", position, "`=` assigns, and a guard assigns nothing", hint)
    }
}

/// The common kind of two values.
fn either(one: Kind, other: Kind) -> Option<Kind> {
    match (one, other) {
        (one, other) if one == other => Some(one),
        (Kind::Int | Kind::MaybeInt, Kind::Int | Kind::MaybeInt) => Some(Kind::MaybeInt),
        (Kind::Text | Kind::MaybeText, Kind::Text | Kind::MaybeText) => Some(Kind::MaybeText),
        _ => None,
    }
}

/// All paths through the statements end with a `return`.
fn returns(statements: &[Stmt]) -> bool {
    match statements.last() {
        Some(Stmt::Return(_, flags, _)) => !flags.contains(ASTFlags::BREAK),
        Some(Stmt::If(flow, _)) => returns(flow.body.statements()) && returns(flow.branch.statements()),
        _ => false,
    }
}
