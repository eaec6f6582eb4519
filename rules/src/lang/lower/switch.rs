//! Lowers `switch`, and finds the literals of its cases: rhai's syntax tree keeps nothing but their hashes.

use std::collections::{BTreeMap, HashMap};

use rhai::{Dynamic, Engine, Expr as Ast, Position, RangeCase, Stmt, SwitchCasesCollection, Token};

use crate::{
    ir::{
        expr::Expr,
        operators::{Kind, Op},
    },
    lang::lower::{Lowerer, Scope, lowered::Lowered},
};

/// A literal that can be a case.
#[derive(Debug, Clone)]
enum CaseLiteral {
    Value(Dynamic),
    /// The syntax tree has ranges of its own.
    Range,
}

/// The literals of a pack's `switch` cases, by their hashes in the syntax tree.
#[derive(Debug, Default)]
pub(crate) struct CaseLiterals(HashMap<u64, CaseLiteral>);

impl CaseLiterals {
    /// Adds the literals among the tokens of a file: each before `=>`, `|` or `if` can be a case. rhai itself tells the
    /// hash of one, in the tree of a `switch` that has no other.
    pub(crate) fn add(&mut self, engine: &Engine, tokens: &[Token]) {
        let ends = |at: &usize| matches!(tokens[*at], Token::DoubleArrow | Token::Pipe | Token::If);
        let literals: BTreeMap<String, CaseLiteral> =
            (0..tokens.len()).filter(ends).filter_map(|at| literal(&tokens[..at])).collect();
        for (text, literal) in literals {
            let tree = engine.compile(format!("switch 0 {{ {text} => 0 }}"));
            if let Ok(tree) = &tree
                && let [Stmt::Switch(switch, _)] = tree.statements()
            {
                self.0.extend(switch.1.cases.keys().map(|hash| (*hash, literal.clone())));
            }
        }
    }
}

/// The literal at the end of some tokens, with its text.
fn literal(tokens: &[Token]) -> Option<(String, CaseLiteral)> {
    let value = |value: Dynamic, text: String| Some((text, CaseLiteral::Value(value)));
    if let Some((number, before)) = number(tokens) {
        let (operator, before) = match before.split_last() {
            Some((Token::ExclusiveRange, before)) => ("..", before),
            Some((Token::InclusiveRange, before)) => ("..=", before),
            _ => return value(number.into(), number.to_string()),
        };
        let (from, _) = self::number(before)?;
        return Some((format!("{from}{operator}{number}"), CaseLiteral::Range));
    }
    match tokens.last()? {
        Token::True => value(true.into(), "true".to_owned()),
        Token::False => value(false.into(), "false".to_owned()),
        Token::StringConstant(text) => {
            // A raw text ends with as many `#` as it began with.
            let hashes = "#".repeat(text.split(|c| c != '#').map(str::len).max().unwrap_or(0) + 1);
            value(text.as_str().into(), format!("{hashes}\"{text}\"{hashes}"))
        }
        _ => None,
    }
}

/// The whole number at the end of some tokens, and the tokens before it.
fn number(tokens: &[Token]) -> Option<(i64, &[Token])> {
    let (Token::IntegerConstant(number), before) = tokens.split_last()? else { return None };
    match before.split_last() {
        Some((Token::UnaryMinus, before)) => Some((number.checked_neg()?, before)),
        _ => Some((*number, before)),
    }
}

impl Lowerer<'_> {
    /// The first matching case, else the default.
    pub(super) fn switch(
        &mut self,
        value: &Ast,
        cases: &SwitchCasesCollection,
        scope: &Scope,
        position: Position,
        tail: bool,
    ) -> Lowered {
        let at = value.start_position();
        let value = self.expr(value, scope);
        let body = |this: &mut Self, case: usize| match cases.expressions.get(case).map(|case| &case.rhs) {
            Some(Ast::Stmt(block)) => this.statements(block.statements(), scope, position, tail),
            Some(expr) => this.expr(expr, scope),
            None => Lowered::Error,
        };
        let mut answer = match cases.def_case {
            Some(default) => body(self, default),
            None => self.error("type", position, "this `switch` has no default case", "end with `_ => …`"),
        };
        // Literals match before ranges, each in order. The conditional is built from the inside, so in reverse.
        let mut tried: Vec<(usize, Lowered)> = Vec::new();
        for range in cases.ranges.iter().rev() {
            tried.push((range.index(), self.in_range(range, &value, at)));
        }
        let mut literals: Vec<(usize, Dynamic)> = Vec::new();
        for (hash, case) in cases.cases.iter() {
            match self.known.functions.cases.0.get(hash) {
                Some(CaseLiteral::Value(value)) => {
                    literals.extend(case.blocks.iter().map(|block| (*block, value.clone())));
                }
                Some(CaseLiteral::Range) => {}
                None => {
                    let hint = "write a text, a number, `true`, `false` or a range of numbers";
                    return self.unsupported(position, "a case of this `switch` is not supported in a guard", hint);
                }
            }
        }
        literals.sort_by_key(|(case, _)| std::cmp::Reverse(*case));
        for (case, literal) in literals {
            let literal = self.constant(literal, at);
            if !self.charge(value.size()) {
                return Lowered::Error;
            }
            tried.push((case, self.equal((value.clone(), at), (literal, at), position)));
        }
        for (case, fits) in tried {
            let fits = self.value(fits, Kind::Bool, at);
            let condition = match cases.expressions.get(case).map(|case| &case.lhs) {
                None | Some(Ast::BoolConstant(true, _)) => fits,
                Some(condition) => Expr::apply(Op::And, [fits, self.condition(condition, scope)]),
            };
            let then = body(self, case);
            answer = self.conditional(condition, then, answer, position);
        }
        self.sequence(vec![value], answer)
    }

    fn in_range(&mut self, range: &RangeCase, value: &Lowered, position: Position) -> Lowered {
        if !self.charge(2 * value.size()) {
            return Lowered::Error;
        }
        let (least, most, end) = match range {
            RangeCase::ExclusiveInt(range, _) => (range.start, range.end, Op::Less),
            RangeCase::InclusiveInt(range, _) => (*range.start(), *range.end(), Op::LessEqual),
        };
        let value = self.value(value.clone(), Kind::Int, position);
        let from = self.operation(Op::GreaterEqual, vec![value.clone(), Expr::Int(least)]);
        let to = self.operation(end, vec![value, Expr::Int(most)]);
        Lowered::bool(Expr::apply(Op::And, [from, to]))
    }
}
