//! Lowers expressions: constants, names, member chains, calls, closures and string interpolation.

use std::sync::Arc;

use rhai::{ASTFlags, Dynamic, Expr as Ast, FnCallExpr, FnPtr, Position, Token};

use crate::{
    ir::{
        expr::Expr,
        operators::{Kind, Op},
    },
    lang::lower::{Lowerer, Scope, lowered::Lowered},
};

impl Lowerer<'_> {
    pub(super) fn expr(&mut self, expr: &Ast, scope: &Scope) -> Lowered {
        let position = expr.start_position();
        if !self.charge(1) {
            return Lowered::Error;
        }
        match expr {
            Ast::BoolConstant(value, _) => Lowered::bool(Expr::Bool(*value)),
            Ast::IntegerConstant(value, _) => Lowered::of(Expr::Int(*value), Kind::Int),
            Ast::StringConstant(text, _) => Lowered::of(Expr::Text(text.as_str().into()), Kind::Text),
            Ast::DynamicConstant(value, _) => self.constant((**value).clone(), position),
            Ast::InterpolatedString(parts, _) => self.interpolated(parts, scope, position),
            Ast::Array(items, _) => Lowered::List(items.iter().map(|item| self.expr(item, scope)).collect()),
            Ast::Unit(_) => {
                self.error("type", position, "`()` is not a value of the rule language", "use `.known` or `.or(…)`")
            }
            Ast::Variable(variable, ..) => self.variable(variable.1.as_str(), scope, position),
            Ast::And(operands, _) => self.all_bools(Op::And, operands, scope),
            Ast::Or(operands, _) => self.all_bools(Op::Or, operands, scope),
            Ast::Dot(pair, flags, _) if !flags.contains(ASTFlags::NEGATED) => {
                let receiver = self.expr(&pair.lhs, scope);
                self.chain(receiver, &pair.rhs, scope)
            }
            Ast::FnCall(call, position) => self.call(call, *position, scope),
            Ast::Stmt(block) => self.statements(block.statements(), scope, position, false),
            Ast::Index(pair, ..) => {
                self.expr(&pair.lhs, scope);
                self.expr(&pair.rhs, scope);
                let hint = "use `.first()`, `.contains(…)` or `.any(|x| …)`";
                self.unsupported(position, "a guard cannot index a list", hint)
            }
            Ast::Map(..) => {
                self.unsupported(position, "a guard has no maps", "compare the values one by one, or use `switch`")
            }
            Ast::CharConstant(..) => self.unsupported(position, "a guard has no characters", "write a text: `\"x\"`"),
            Ast::Dot(..) | Ast::Coalesce(..) => {
                self.unsupported(position, "facts are never `()`", "say what absence means: `.or(…)` or `.known`")
            }
            _ => self.unsupported(position, "this is not supported in a guard", "a guard is an expression over facts"),
        }
    }

    pub(super) fn constant(&mut self, value: Dynamic, position: Position) -> Lowered {
        let value = value.flatten();
        if let Ok(value) = value.as_bool() {
            Lowered::bool(Expr::Bool(value))
        } else if let Ok(value) = value.as_int() {
            Lowered::of(Expr::Int(value), Kind::Int)
        } else if value.is_string() {
            Lowered::of(Expr::Text(value.to_string().into()), Kind::Text)
        } else if let Some(closure) = value.clone().try_cast::<FnPtr>() {
            let bound = closure.iter_curry().map(|value| self.constant(value.clone(), position)).collect();
            Lowered::Closure(closure.fn_name().to_owned(), bound)
        } else if let Ok(list) = value.into_array() {
            Lowered::List(list.into_iter().map(|item| self.constant(item, position)).collect())
        } else {
            self.unsupported(
                position,
                "a constant of this type is not supported in a guard",
                "write a text, a number or a list of them",
            )
        }
    }

    fn variable(&mut self, name: &str, scope: &Scope, position: Position) -> Lowered {
        match scope.iter().rev().find(|(known, _)| known == name) {
            Some((_, value)) if self.charge(value.size()) => value.clone(),
            Some(_) => Lowered::Error,
            None => {
                let place = self.place(position);
                let known = scope.iter().map(|(name, _)| name.as_str());
                self.diagnostics.unknown("unknown-variable", &place, "variable", name, known);
                Lowered::Error
            }
        }
    }

    fn all_bools(&mut self, op: Op, operands: &[Ast], scope: &Scope) -> Lowered {
        let mut parts = Vec::new();
        for operand in operands {
            let lowered = self.expr(operand, scope);
            parts.push(self.value(lowered, Kind::Bool, operand.start_position()));
        }
        Lowered::bool(Expr::apply(op, parts))
    }

    /// `` `text ${value} text` ``
    fn interpolated(&mut self, parts: &[Ast], scope: &Scope, position: Position) -> Lowered {
        let mut shown = Vec::new();
        for part in parts {
            let lowered = self.expr(part, scope);
            match self.accepted(Kind::Shown, &lowered) {
                Some(value) => shown.push(value.expr),
                None => return self.wrong_type(part.start_position(), "a text", &lowered),
            }
        }
        let _ = position;
        Lowered::of(self.operation(Op::Join, shown), Kind::Text)
    }

    /// `receiver.a.b(…).c`: the tree nests to the right.
    fn chain(&mut self, receiver: Lowered, rest: &Ast, scope: &Scope) -> Lowered {
        match rest {
            Ast::Property(names, position) => self.member(receiver, names.2.as_str(), *position),
            Ast::MethodCall(call, position) => {
                let arguments = call.args.iter().map(|argument| self.expr(argument, scope)).collect();
                self.method(receiver, call.name.as_str(), arguments, *position)
            }
            Ast::Dot(pair, flags, _) if !flags.contains(ASTFlags::NEGATED) => {
                let receiver = self.chain(receiver, &pair.lhs, scope);
                self.chain(receiver, &pair.rhs, scope)
            }
            Ast::Index(pair, ..) => {
                let receiver = self.chain(receiver, &pair.lhs, scope);
                let hint = "use `.first()`, `.contains(…)` or `.any(|x| …)`";
                self.unsupported(rest.position(), format!("{} cannot be indexed", receiver.describe()), hint)
            }
            _ => self.unsupported(
                rest.position(),
                "facts are never `()`",
                "say what absence means: `.or(…)` or `.known`",
            ),
        }
    }

    pub(super) fn call(&mut self, call: &FnCallExpr, position: Position, scope: &Scope) -> Lowered {
        if call.name == "curry" {
            return self.curry(call, position, scope);
        }
        let mut arguments: Vec<(Lowered, Position)> = Vec::new();
        for argument in &call.args {
            arguments.push((self.expr(argument, scope), argument.start_position()));
        }
        let Some(token) = &call.op_token else { return self.function(call.name.as_str(), arguments, position) };
        match (token, <[_; 2]>::try_from(arguments)) {
            (Token::EqualsTo, Ok([left, right])) => self.equal(left, right, position),
            (Token::NotEqualsTo, Ok([left, right])) => {
                let equal = self.equal(left, right, position);
                negated(equal)
            }
            // `x in list` is parsed as `contains(list, x)`.
            (Token::In, Ok([list, item])) => self.contains(list.0, item.0, position),
            (Token::NotIn, Ok([list, item])) => {
                let contains = self.contains(list.0, item.0, position);
                negated(contains)
            }
            (_, Ok(sides)) => self.operator(call.name.as_str(), sides.into(), position),
            (Token::Bang, Err(operand)) => {
                let operand = operand.into_iter().next().unwrap_or((Lowered::Error, position));
                Lowered::bool(self.value(operand.0, Kind::Bool, operand.1).not())
            }
            (Token::Plus | Token::UnaryPlus, Err(operand)) => {
                operand.into_iter().next().map_or(Lowered::Error, |one| one.0)
            }
            (_, Err(operands)) => self.operator(call.name.as_str(), operands, position),
        }
    }

    /// A closure with captured variables: rhai passes them as its first parameters.
    fn curry(&mut self, call: &FnCallExpr, position: Position, scope: &Scope) -> Lowered {
        let mut arguments = call.args.iter();
        match arguments.next().map(|closure| self.expr(closure, scope)) {
            Some(Lowered::Closure(name, mut bound)) => {
                bound.extend(arguments.map(|argument| self.expr(argument, scope)));
                Lowered::Closure(name, bound)
            }
            _ => self.unsupported(position, "expected a closure literal", "write `|d| …` where it is used"),
        }
    }
}

fn negated(lowered: Lowered) -> Lowered {
    match lowered {
        Lowered::Value(value) => Lowered::bool(value.expr.not()),
        other => other,
    }
}

/// A list literal whose members are all text literals or all number literals.
pub(super) fn literals(items: &[Lowered]) -> Option<(Expr, Kind)> {
    let texts = items.iter().map(|item| match item {
        Lowered::Value(value) => match &value.expr {
            Expr::Text(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    });
    if let Some(list) = texts.collect::<Option<Arc<[_]>>>() {
        return Some((Expr::TextList(list), Kind::TextList));
    }
    let numbers = items.iter().map(|item| match item {
        Lowered::Value(value) => match value.expr {
            Expr::Int(number) => Some(number),
            _ => None,
        },
        _ => None,
    });
    Some((Expr::IntList(numbers.collect::<Option<_>>()?), Kind::IntList))
}
