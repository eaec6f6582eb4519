//! From rhai's syntax tree to predicates, checking names and types on the way.
//!
//! A closure that uses only facts, declared names and the operators of the rule language becomes a native tree. One
//! that uses more of rhai stays with the interpreter, and its names are checked all the same. A fault in one place
//! does not hide those in others: what is faulty lowers to [`Lowered::Faulty`] and is taken for whatever is wanted.

use std::{collections::HashSet, sync::Arc};

use rhai::{ASTFlags, Dynamic, Expr, FnPtr, Position, Stmt, Token};

use super::{
    DEPTH,
    names::{Function, Functions, Names},
    predicate::{BoolExpr, Compare, FactRef, IntExpr, MaybeExpr, Owner, TextExpr},
};
use crate::{
    fault::{Faults, Place},
    health::Reports,
    limits::CALL_DEPTH,
    snapshot::FactType,
};

/// What an expression lowered to.
#[derive(Debug, Clone)]
pub(super) enum Lowered {
    Bool(BoolExpr),
    Int(IntExpr),
    Text(TextExpr, Words),
    /// A fact that can be absent.
    Maybe(FactRef),
    Version(FactRef),
    Texts(FactRef),
    /// A list written in the rule.
    List(Vec<Lowered>),
    Host,
    Area(&'static str),
    Dpu(u8),
    Dpus,
    Report(super::predicate::ReportRef),
    /// Seconds since an action's last try, absent if there was none.
    ActionAge(Owner, Arc<str>),
    /// A closure, with the parameters already bound to it.
    Closure(String, Vec<Lowered>),
    /// A fault has been reported.
    Faulty,
}

/// Which texts make sense.
#[derive(Debug, Clone)]
pub(super) enum Words {
    Any,
    OneOf(Vec<Arc<str>>),
    State,
}

/// What keeps an expression with the interpreter, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotNative {
    pub(crate) place: Place,
    pub(crate) what: &'static str,
}

pub(super) type Lowering<T> = Result<T, NotNative>;

/// Lowers guards of one pack.
pub(crate) struct Lowerer<'a> {
    pub(super) names: &'a Names,
    pub(super) functions: &'a Functions,
    /// Functions that rhai itself offers: to use one is no fault, but keeps a guard with the interpreter.
    builtins: &'a HashSet<String>,
    pub(super) reports: Option<&'a Reports>,
    pub(super) faults: &'a mut Faults,
    pub(super) file: Arc<str>,
    depth: usize,
}

/// The variables that a closure sees.
pub(super) type Scope = Vec<(String, Lowered)>;

impl<'a> Lowerer<'a> {
    pub(crate) fn new(
        names: &'a Names,
        functions: &'a Functions,
        builtins: &'a HashSet<String>,
        reports: Option<&'a Reports>,
        faults: &'a mut Faults,
        file: Arc<str>,
    ) -> Self {
        Self { names, functions, builtins, reports, faults, file, depth: 0 }
    }

    pub(super) fn place(&self, position: Position) -> Place {
        Place { file: self.file.clone(), line: position.line().unwrap_or(0), column: position.position().unwrap_or(0) }
    }

    pub(super) fn not_native<T>(&self, position: Position, what: &'static str) -> Lowering<T> {
        Err(NotNative { place: self.place(position), what })
    }

    fn wrong_type(&mut self, position: Position, wanted: &str, found: &Lowered) -> Lowered {
        let place = self.place(position);
        let message = format!("expected {wanted}, found {}", found.describe());
        let hint = match found {
            Lowered::Maybe(fact) => Some(format!("say what absence means: `{}.or(…)` or `.known`", fact.fact.name)),
            _ => None,
        };
        self.faults.add("type", &place, message).hint = hint;
        Lowered::Faulty
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

    /// Checks the names in a part of a closure that stays with the interpreter.
    pub(crate) fn check_names(&mut self, part: &Expr, closure: &Function, locals: &[String]) {
        let own = [Lowered::Host, Lowered::Dpu(0)];
        let parameters = closure.params.len();
        let mut scope = Scope::new();
        for (at, name) in closure.params.iter().enumerate() {
            // Parameters bound from outside come first; what they are is not known here.
            let value = if parameters <= own.len() { own.get(at).cloned() } else { None };
            scope.push((name.to_string(), value.unwrap_or(Lowered::Faulty)));
        }
        scope.extend(locals.iter().map(|name| (name.clone(), Lowered::Faulty)));
        let _ = self.expr(part, &scope);
    }

    pub(super) fn is_builtin(&self, name: &str) -> bool {
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
                self.faults.add("type", &place, "an empty block has no answer");
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

    fn choose(&mut self, condition: BoolExpr, then: Lowered, otherwise: Lowered, position: Position) -> Lowered {
        match (then, otherwise) {
            (Lowered::Int(then), otherwise) => {
                let otherwise = self.int(otherwise, position);
                Lowered::Int(IntExpr::If(Box::new(condition), Box::new([then, otherwise])))
            }
            (Lowered::Text(then, words), otherwise) => match self.text(otherwise, position) {
                Some((otherwise, _)) => {
                    Lowered::Text(TextExpr::If(Box::new(condition), Box::new([then, otherwise])), words)
                }
                None => Lowered::Faulty,
            },
            (then, otherwise) => {
                let (then, otherwise) = (self.bool(then, position), self.bool(otherwise, position));
                Lowered::Bool(BoolExpr::If(Box::new([condition, then, otherwise])))
            }
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

    pub(super) fn expr(&mut self, expr: &Expr, scope: &Scope) -> Lowering<Lowered> {
        let position = expr.start_position();
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
                    Some((_, value)) => Ok(value.clone()),
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

    fn binary(&mut self, token: &Token, mut sides: Vec<(Lowered, Position)>, position: Position) -> Lowering<Lowered> {
        let Some((right, right_at)) = sides.pop() else { return Ok(Lowered::Faulty) };
        let Some((left, left_at)) = sides.pop() else { return Ok(Lowered::Faulty) };
        let compare = match token {
            Token::EqualsTo => return Ok(self.equal(left, right, position, left_at, right_at)),
            Token::NotEqualsTo => {
                return Ok(match self.equal(left, right, position, left_at, right_at) {
                    Lowered::Bool(equal) => Lowered::Bool(equal.not()),
                    other => other,
                });
            }
            // `x in list` is parsed as `contains(list, x)`.
            Token::In => return Ok(self.contains(left, right, position)),
            Token::NotIn => {
                return Ok(match self.contains(left, right, position) {
                    Lowered::Bool(contains) => Lowered::Bool(contains.not()),
                    other => other,
                });
            }
            Token::LessThan => Compare::Less,
            Token::LessThanEqualsTo => Compare::LessEqual,
            Token::GreaterThan => Compare::Greater,
            Token::GreaterThanEqualsTo => Compare::GreaterEqual,
            _ => return self.arithmetic(token, (left, left_at), (right, right_at), position),
        };
        let (left, right) = (self.int(left, left_at), self.int(right, right_at));
        Ok(Lowered::Bool(BoolExpr::compare(compare, left, right)))
    }

    fn arithmetic(
        &mut self,
        token: &Token,
        left: (Lowered, Position),
        right: (Lowered, Position),
        position: Position,
    ) -> Lowering<Lowered> {
        let make = match token {
            Token::Plus => IntExpr::Add,
            Token::Minus => IntExpr::Subtract,
            Token::Multiply => IntExpr::Multiply,
            Token::Divide => IntExpr::Divide,
            Token::Modulo => IntExpr::Remainder,
            _ => return self.not_native(position, "an operator of this kind"),
        };
        if matches!((&left.0, token), (Lowered::Text(..), Token::Plus)) {
            return self.not_native(position, "joining of texts");
        }
        let sides = [self.int(left.0, left.1), self.int(right.0, right.1)];
        let whole = make(Box::new(sides));
        Ok(Lowered::Int(whole.constant().map_or(whole, IntExpr::Const)))
    }

    fn equal(
        &mut self,
        left: Lowered,
        right: Lowered,
        position: Position,
        left_at: Position,
        right_at: Position,
    ) -> Lowered {
        match (left, right) {
            (Lowered::Faulty, _) | (_, Lowered::Faulty) => Lowered::Faulty,
            (Lowered::Bool(left), Lowered::Bool(right)) => Lowered::Bool(BoolExpr::same(left, right)),
            (Lowered::Int(left), Lowered::Int(right)) => Lowered::Bool(BoolExpr::compare(Compare::Equal, left, right)),
            (Lowered::Text(left, words), Lowered::Text(right, other)) => {
                self.check_word(&right, &words, right_at);
                self.check_word(&left, &other, left_at);
                Lowered::Bool(BoolExpr::text_equal(left, right))
            }
            (left, right) => match (maybe(&left), maybe(&right)) {
                (Some((kind, left_side)), Some((other, right_side))) if kind == other => {
                    Lowered::Bool(BoolExpr::maybe_equal(left_side, right_side))
                }
                _ => {
                    let place = self.place(position);
                    let message = format!("{} is never equal to {}", left.describe(), right.describe());
                    self.faults.hint("type", &place, message, "compare values of one type");
                    Lowered::Faulty
                }
            },
        }
    }

    /// A word that can never be the value is a misspelt one.
    pub(super) fn check_word(&mut self, text: &TextExpr, words: &Words, position: Position) {
        let TextExpr::Const(word) = text else { return };
        let place = self.place(position);
        match words {
            Words::Any => {}
            Words::OneOf(known) => {
                if !known.iter().any(|k| k == word) {
                    self.faults.unknown("unknown-word", &place, "value", word, known.iter().map(|k| &**k));
                }
            }
            Words::State => {
                if !self.names.states.contains_key(word) {
                    self.faults.unknown("unknown-state", &place, "state", word, self.names.states.keys().map(|k| &**k));
                }
            }
        }
    }

    /// `list.contains(item)`, also written `item in list`.
    pub(super) fn contains(&mut self, list: Lowered, item: Lowered, position: Position) -> Lowered {
        match (list, item) {
            (Lowered::Faulty, _) | (_, Lowered::Faulty) => Lowered::Faulty,
            (Lowered::Texts(list), item) => match self.text(item, position) {
                Some((item, _)) => Lowered::Bool(BoolExpr::Contains(list, Box::new(item))),
                None => Lowered::Faulty,
            },
            (Lowered::List(items), Lowered::Text(text, words)) => {
                let mut known = Vec::new();
                for item in items {
                    let Some((item, _)) = self.text(item, position) else { return Lowered::Faulty };
                    self.check_word(&item, &words, position);
                    match item {
                        TextExpr::Const(word) => known.push(word),
                        _ => {
                            return self.wrong_type(
                                position,
                                "a list of literal texts",
                                &Lowered::Text(item, Words::Any),
                            );
                        }
                    }
                }
                Lowered::Bool(BoolExpr::OneOf(Box::new(text), known.into()))
            }
            (Lowered::List(items), Lowered::Int(number)) => {
                let mut known = Vec::new();
                for item in items {
                    match item {
                        Lowered::Int(IntExpr::Const(item)) => known.push(item),
                        other => return self.wrong_type(position, "a list of literal numbers", &other),
                    }
                }
                Lowered::Bool(BoolExpr::OneOfInts(Box::new(number), known.into()))
            }
            (Lowered::List(_), other) => self.wrong_type(position, "a text or a number", &other),
            (other, _) => self.wrong_type(position, "a list", &other),
        }
    }

    pub(super) fn bool(&mut self, lowered: Lowered, position: Position) -> BoolExpr {
        match lowered {
            Lowered::Bool(value) => value,
            Lowered::Faulty => BoolExpr::Const(false),
            other => {
                self.wrong_type(position, "true or false", &other);
                BoolExpr::Const(false)
            }
        }
    }

    pub(super) fn int(&mut self, lowered: Lowered, position: Position) -> IntExpr {
        match lowered {
            Lowered::Int(value) => value,
            Lowered::Faulty => IntExpr::Const(0),
            other => {
                self.wrong_type(position, "a number", &other);
                IntExpr::Const(0)
            }
        }
    }

    pub(super) fn text(&mut self, lowered: Lowered, position: Position) -> Option<(TextExpr, Words)> {
        match lowered {
            Lowered::Text(text, words) => Some((text, words)),
            Lowered::Faulty => None,
            other => {
                self.wrong_type(position, "a text", &other);
                None
            }
        }
    }

    /// Puts the body of a closure in the place of its call, with its parameters bound.
    pub(super) fn inline(&mut self, closure: Lowered, own: Lowered, position: Position) -> Lowering<Lowered> {
        let Lowered::Closure(name, bound) = closure else {
            return Ok(self.wrong_type(position, "a closure such as `|d| …`", &closure));
        };
        let Some(function) = self.functions.closure(&name).cloned() else {
            return self.not_native(position, "a closure that is not at hand");
        };
        let parameters = &function.params;
        if parameters.len() != bound.len() + 1 {
            let place = self.place(position);
            self.faults.add("type", &place, "the closure takes one parameter, the DPU: `|d| …`");
            return Ok(Lowered::Faulty);
        }
        let values = bound.into_iter().chain([own]);
        let scope = parameters.iter().map(ToString::to_string).zip(values).collect();
        self.descend(&function, &scope, position)
    }

    pub(super) fn descend(&mut self, function: &Function, scope: &Scope, position: Position) -> Lowering<Lowered> {
        if self.depth >= CALL_DEPTH {
            let place = self.place(position);
            self.faults.hint("recursion", &place, "functions call each other too deeply", "rules have no recursion");
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
    pub(super) fn bind(&self, scope: &Scope, position: Position) -> Lowering<u8> {
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

/// A side of a comparison that can be absent, with the kind of its value.
fn maybe(lowered: &Lowered) -> Option<(&'static str, MaybeExpr)> {
    Some(match lowered {
        Lowered::Maybe(fact) => {
            let kind = match fact.fact.kind {
                FactType::Int | FactType::Seconds | FactType::Age => "int",
                FactType::Text | FactType::Word(_) => "text",
                FactType::Version => "version",
                FactType::Bool | FactType::Texts => return None,
            };
            (kind, MaybeExpr::Fact(*fact))
        }
        Lowered::Version(fact) => ("version", MaybeExpr::Fact(*fact)),
        Lowered::Int(number) => ("int", MaybeExpr::Int(number.clone())),
        Lowered::Text(text, _) => ("text", MaybeExpr::Text(text.clone())),
        _ => return None,
    })
}

impl Lowered {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Bool(_) => "true or false".to_owned(),
            Self::Int(_) => "a number".to_owned(),
            Self::Text(..) => "a text".to_owned(),
            Self::Maybe(fact) => format!("`{}`, which can be absent", fact.fact.name),
            Self::ActionAge(..) => "the age of an action, which can be absent".to_owned(),
            Self::Version(_) => "a config version".to_owned(),
            Self::Texts(_) | Self::List(_) => "a list".to_owned(),
            Self::Host => "the host".to_owned(),
            Self::Area(area) => format!("the area `{area}`"),
            Self::Dpu(_) => "a DPU".to_owned(),
            Self::Dpus => "the list of DPUs".to_owned(),
            Self::Report(_) => "a health report".to_owned(),
            Self::Closure(..) => "a closure".to_owned(),
            Self::Faulty => "something faulty".to_owned(),
        }
    }
}
