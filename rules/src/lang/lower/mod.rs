//! From rhai's syntax tree to predicates, checking names and types on the way.
//!
//! A closure that uses only facts, declared names and the operators of the rule language becomes a native tree. One
//! that uses more of rhai stays with the interpreter, and its names are checked all the same. A fault in one place
//! does not hide those in others: what is faulty lowers to [`Lowered::Faulty`] and is taken for whatever is wanted.

mod functions;
pub(crate) mod lowered;
mod members;
pub(crate) mod names;
mod operators;
pub(crate) mod size;

use std::{collections::HashSet, sync::Arc};

use rhai::{ASTFlags, Dynamic, Expr, FnPtr, Position, Stmt, Token};

use crate::{
    ir::{
        fault::{Faults, Place},
        guard::NotNative,
        health::Reports,
        limits::{CALL_DEPTH, GUARD_PARTS},
        predicate::{BoolExpr, DEPTH, IntExpr, TextExpr},
    },
    lang::lower::{
        lowered::{Lowered, Words},
        names::{Function, Functions, Names},
        size::{Allowance, Weight as _},
    },
};

pub(crate) type Lowering<T> = Result<T, NotNative>;

/// Lowers guards of one pack.
pub(crate) struct Lowerer<'a> {
    pub(crate) names: &'a Names,
    pub(crate) functions: &'a Functions,
    /// Functions that rhai itself offers: to use one is no fault, but keeps a guard with the interpreter.
    builtins: &'a HashSet<String>,
    pub(crate) reports: Option<&'a Reports>,
    pub(crate) faults: &'a mut Faults,
    pub(crate) file: Arc<str>,
    depth: usize,
    allowance: &'a mut Allowance,
    /// Parts that may still come of what is being lowered, none when they are too many; and where it stands.
    left: Option<usize>,
    whole: Place,
}

/// The variables that a closure sees.
pub(crate) type Scope = Vec<(String, Lowered)>;

impl<'a> Lowerer<'a> {
    /// For what stands in `function`.
    pub(crate) fn new(
        names: &'a Names,
        functions: &'a Functions,
        builtins: &'a HashSet<String>,
        reports: Option<&'a Reports>,
        faults: &'a mut Faults,
        allowance: &'a mut Allowance,
        function: &Function,
    ) -> Self {
        let whole = crate::lang::declare::place(&function.file, body_position(function));
        let file = function.file.clone();
        Self { names, functions, builtins, reports, faults, file, depth: 0, allowance, left: Some(GUARD_PARTS), whole }
    }

    /// More parts are to come; false if they are too many.
    fn grows(&mut self, parts: usize) -> bool {
        let Some(left) = self.left else { return false };
        self.left = left.checked_sub(parts);
        if self.left.is_none() {
            let message = format!("the guard comes to more than {GUARD_PARTS} parts with its functions written out");
            self.faults.hint("limit", &self.whole, message, "let functions call each other less often");
        }
        self.left.is_some() && self.allowance.take(parts, self.faults)
    }

    pub(crate) fn place(&self, position: Position) -> Place {
        Place { file: self.file.clone(), line: position.line().unwrap_or(0), column: position.position().unwrap_or(0) }
    }

    pub(crate) fn not_native<T>(&self, position: Position, what: &'static str) -> Lowering<T> {
        Err(NotNative { place: self.place(position), what })
    }

    /// The closure's answer as a bool.
    pub(crate) fn guard(&mut self, closure: &Function, curried: &[Dynamic]) -> Lowering<BoolExpr> {
        let position = body_position(closure);
        let lowered = self.closure_body(closure, curried, position)?;
        Ok(self.bool(lowered, position))
    }

    /// The closure's answer as a number.
    pub(crate) fn number(&mut self, closure: &Function, curried: &[Dynamic]) -> Lowering<IntExpr> {
        let position = body_position(closure);
        let lowered = self.closure_body(closure, curried, position)?;
        Ok(self.int(lowered, position))
    }

    /// Checks the names in a part of a closure, or of a function, that stays with the interpreter. What parameters and
    /// variables are is known only of the closure that is the guard.
    pub(crate) fn check_names(&mut self, part: &Expr, code: &Function, is_guard: bool, locals: &[String]) {
        let own = [Lowered::Host, Lowered::Dpu(0)];
        let known = is_guard && code.params.len() <= own.len();
        let mut scope = Scope::new();
        for (at, name) in code.params.iter().enumerate() {
            let value = own.get(at).filter(|_| known).cloned();
            scope.push((name.clone(), value.unwrap_or(Lowered::Faulty)));
        }
        scope.extend(locals.iter().map(|name| (name.clone(), Lowered::Faulty)));
        let _ = self.expr(part, &scope);
    }

    pub(crate) fn is_builtin(&self, name: &str) -> bool {
        self.builtins.contains(name)
    }

    fn closure_body(&mut self, closure: &Function, curried: &[Dynamic], position: Position) -> Lowering<Lowered> {
        let parameters = &closure.params;
        let mut scope = Scope::new();
        for (name, value) in parameters.iter().zip(curried) {
            let value = self.constant(value.clone(), position)?;
            scope.push((name.to_string(), value));
        }
        let own = [Lowered::Host, Lowered::Dpu(0)];
        for (name, value) in parameters.iter().skip(curried.len()).zip(own) {
            scope.push((name.to_string(), value));
        }
        self.statements(&closure.body, &scope, Position::NONE)
    }

    fn statements(&mut self, statements: &[Stmt], scope: &Scope, position: Position) -> Lowering<Lowered> {
        match statements {
            [statement] => self.statement(statement, scope),
            [Stmt::Share(_), statement] => self.statement(statement, scope),
            [] => {
                let place = self.place(position);
                self.faults.hint("type", &place, "an empty block has no answer", "write an expression in it");
                Ok(Lowered::Faulty)
            }
            [first, ..] => self.not_native(first.position(), "several statements"),
        }
    }

    fn statement(&mut self, statement: &Stmt, scope: &Scope) -> Lowering<Lowered> {
        match statement {
            Stmt::Expr(expr) => self.expr(expr, scope),
            Stmt::FnCall(call, position) => self.call(call, *position, scope),
            Stmt::Block(block) => self.statements(block.statements(), scope, statement.position()),
            Stmt::Return(Some(expr), flags, _) if !flags.contains(ASTFlags::BREAK) => self.expr(expr, scope),
            Stmt::If(flow, position) => {
                let condition = self.expr(&flow.expr, scope)?;
                let condition = self.bool(condition, flow.expr.start_position());
                let then = self.statements(flow.body.statements(), scope, *position)?;
                let otherwise = self.statements(flow.branch.statements(), scope, *position)?;
                Ok(self.choose(condition, then, otherwise, *position))
            }
            _ => self.not_native(statement.position(), "a statement"),
        }
    }

    fn constant(&mut self, value: Dynamic, position: Position) -> Lowering<Lowered> {
        let value = value.flatten();
        Ok(if let Ok(value) = value.as_bool() {
            Lowered::Bool(BoolExpr::Const(value))
        } else if let Ok(value) = value.as_int() {
            Lowered::Int(IntExpr::Const(value))
        } else if value.is_string() {
            Lowered::Text(TextExpr::Const(value.to_string().into()), Words::Any)
        } else if let Some(closure) = value.clone().try_cast::<FnPtr>() {
            let curried = closure.iter_curry().cloned().collect::<Vec<_>>();
            let mut bound = Vec::new();
            for value in curried {
                bound.push(self.constant(value, position)?);
            }
            Lowered::Closure(closure.fn_name().to_owned(), bound)
        } else if let Ok(list) = value.into_array() {
            let items = list.into_iter().map(|item| self.constant(item, position)).collect::<Lowering<_>>()?;
            Lowered::List(items)
        } else {
            return self.not_native(position, "a constant of this type");
        })
    }

    pub(crate) fn expr(&mut self, expr: &Expr, scope: &Scope) -> Lowering<Lowered> {
        let position = expr.start_position();
        if !self.grows(1) {
            return Ok(Lowered::Faulty);
        }
        match expr {
            Expr::BoolConstant(value, _) => Ok(Lowered::Bool(BoolExpr::Const(*value))),
            Expr::IntegerConstant(value, _) => Ok(Lowered::Int(IntExpr::Const(*value))),
            Expr::StringConstant(text, _) => Ok(Lowered::Text(TextExpr::Const(text.as_str().into()), Words::Any)),
            Expr::DynamicConstant(value, _) => self.constant((**value).clone(), position),
            Expr::Array(items, _) => {
                Ok(Lowered::List(items.iter().map(|item| self.expr(item, scope)).collect::<Lowering<_>>()?))
            }
            Expr::Unit(_) => {
                let place = self.place(position);
                self.faults.hint("type", &place, "`()` is no value of the rule language", "use `.known` or `.or(…)`");
                Ok(Lowered::Faulty)
            }
            Expr::Variable(variable, ..) => {
                let name = variable.1.as_str();
                match scope.iter().rev().find(|(known, _)| known == name) {
                    Some((_, value)) if self.grows(value.weight()) => Ok(value.clone()),
                    Some(_) => Ok(Lowered::Faulty),
                    None => {
                        let place = self.place(position);
                        self.faults.unknown(
                            "unknown-variable",
                            &place,
                            "variable",
                            name,
                            scope.iter().map(|(n, _)| n.as_str()),
                        );
                        Ok(Lowered::Faulty)
                    }
                }
            }
            Expr::And(operands, _) => Ok(Lowered::Bool(BoolExpr::And(self.bools(operands, scope)?))),
            Expr::Or(operands, _) => Ok(Lowered::Bool(BoolExpr::Or(self.bools(operands, scope)?))),
            Expr::Dot(pair, flags, _) if !flags.contains(ASTFlags::NEGATED) => {
                let receiver = self.expr(&pair.lhs, scope)?;
                self.chain(receiver, &pair.rhs, scope)
            }
            Expr::FnCall(call, position) => self.call(call, *position, scope),
            Expr::Stmt(block) => self.statements(block.statements(), scope, position),
            _ => self.not_native(position, "an expression of this kind"),
        }
    }

    fn bools(&mut self, operands: &[Expr], scope: &Scope) -> Lowering<Box<[BoolExpr]>> {
        operands
            .iter()
            .map(|operand| {
                let lowered = self.expr(operand, scope)?;
                Ok(self.bool(lowered, operand.start_position()))
            })
            .collect()
    }

    /// `receiver.a.b(…).c`: the tree nests to the right.
    fn chain(&mut self, receiver: Lowered, rest: &Expr, scope: &Scope) -> Lowering<Lowered> {
        match rest {
            Expr::Property(names, position) => Ok(self.member(receiver, names.2.as_str(), *position)),
            Expr::MethodCall(call, position) => {
                let arguments = call.args.iter().map(|arg| self.expr(arg, scope)).collect::<Lowering<Vec<_>>>()?;
                self.method(receiver, call.name.as_str(), arguments, *position, scope)
            }
            Expr::Dot(pair, flags, _) if !flags.contains(ASTFlags::NEGATED) => {
                let receiver = self.chain(receiver, &pair.lhs, scope)?;
                self.chain(receiver, &pair.rhs, scope)
            }
            _ => self.not_native(rest.position(), "indexing"),
        }
    }

    fn call(&mut self, call: &rhai::FnCallExpr, position: Position, scope: &Scope) -> Lowering<Lowered> {
        if call.name == "curry" {
            return self.curry(call, position, scope);
        }
        let mut arguments = Vec::new();
        for argument in &call.args {
            arguments.push((self.expr(argument, scope)?, argument.start_position()));
        }
        match (&call.op_token, arguments.len()) {
            (Some(token), 2) => self.binary(token, arguments, position),
            (Some(Token::Bang), 1) => {
                let operand = arguments.remove(0);
                Ok(Lowered::Bool(self.bool(operand.0, operand.1).not()))
            }
            (Some(Token::Minus | Token::UnaryMinus), 1) => {
                let operand = arguments.remove(0);
                Ok(Lowered::Int(match self.int(operand.0, operand.1) {
                    IntExpr::Const(value) if value != i64::MIN => IntExpr::Const(-value),
                    operand => IntExpr::Negate(Box::new(operand)),
                }))
            }
            (Some(Token::Plus | Token::UnaryPlus), 1) => Ok(arguments.remove(0).0),
            _ => self.function(call.name.as_str(), arguments, position),
        }
    }

    /// A closure that uses variables of the one around it: they are bound as its first parameters.
    fn curry(&mut self, call: &rhai::FnCallExpr, position: Position, scope: &Scope) -> Lowering<Lowered> {
        let mut arguments = call.args.iter();
        let Some(closure) = arguments.next() else { return self.not_native(position, "an empty closure") };
        match self.expr(closure, scope)? {
            Lowered::Closure(name, mut bound) => {
                for argument in arguments {
                    bound.push(self.expr(argument, scope)?);
                }
                Ok(Lowered::Closure(name, bound))
            }
            _ => self.not_native(position, "a closure of this kind"),
        }
    }

    /// Puts the body of a closure in the place of its call, with its parameters bound.
    pub(crate) fn inline(&mut self, closure: Lowered, own: Lowered, position: Position) -> Lowering<Lowered> {
        let Lowered::Closure(name, bound) = closure else {
            return Ok(self.wrong_type(position, "a closure such as `|d| …`", &closure));
        };
        let Some(function) = self.functions.closure(&name).cloned() else {
            return self.not_native(position, "a closure that is not at hand");
        };
        let parameters = &function.params;
        if parameters.len() != bound.len() + 1 {
            let place = self.place(position);
            self.faults.hint("type", &place, "the closure takes one parameter, the DPU", "write `|d| …`");
            return Ok(Lowered::Faulty);
        }
        let values = bound.into_iter().chain([own]);
        let scope = parameters.iter().map(ToString::to_string).zip(values).collect();
        self.descend(&function, &scope, position)
    }

    pub(crate) fn descend(&mut self, function: &Function, scope: &Scope, position: Position) -> Lowering<Lowered> {
        if self.depth >= CALL_DEPTH {
            let place = self.place(position);
            self.faults.hint("recursion", &place, "functions call each other too deeply", "rules have no recursion");
            return Ok(Lowered::Faulty);
        }
        if !self.grows(1) {
            return Ok(Lowered::Faulty);
        }
        self.depth += 1;
        let file = std::mem::replace(&mut self.file, function.file.clone());
        let lowered = self.statements(&function.body, scope, position);
        self.file = file;
        self.depth -= 1;
        lowered
    }

    /// The next free depth for a DPU that a closure binds.
    pub(crate) fn bind(&self, scope: &Scope, position: Position) -> Lowering<u8> {
        let bound =
            scope.iter().filter_map(|(_, value)| if let Lowered::Dpu(depth) = value { Some(depth + 1) } else { None });
        let depth = bound.max().unwrap_or(0);
        if usize::from(depth) < DEPTH { Ok(depth) } else { self.not_native(position, "closures nested so deeply") }
    }
}

fn body_position(function: &Function) -> Position {
    match function.body.first() {
        Some(Stmt::Expr(expr)) => expr.start_position(),
        Some(statement) => statement.position(),
        None => Position::NONE,
    }
}
