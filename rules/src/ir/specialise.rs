//! Partial evaluation of guards: folds what is known when the pack is loaded, such as the path of the state that a guard
//! is evaluated in. Used by `lang` to find constant conditions, and by `eval` before it compiles.

use crate::ir::{expr::Expr, health::Reports, operand::Operand, operators::Op, state_path::StatePath};

/// What is known where an expression is evaluated.
pub(crate) struct Specialise<'a> {
    /// Path of the host's state, if it is known.
    pub(crate) path: Option<&'a StatePath>,
    pub(crate) reports: &'a Reports,
}

impl Specialise<'_> {
    /// The same expression with everything known folded.
    pub(crate) fn expr(&self, expr: &Expr) -> Expr {
        match (expr, self.path) {
            (Expr::Fact(fact), Some(path)) if fact.is_path() => return Expr::Text(path.as_str().into()),
            _ => {}
        }
        match expr.map(|part| self.expr(part)) {
            Expr::If(parts) => match *parts {
                [Expr::Bool(true), then, _] => then,
                [Expr::Bool(false), _, otherwise] => otherwise,
                parts => Expr::If(Box::new(parts)),
            },
            Expr::Apply(Op::And, parts) => self.several(parts, false),
            Expr::Apply(Op::Or, parts) => self.several(parts, true),
            Expr::Apply(Op::Not, parts) if parts.len() == 1 => {
                parts.into_iter().next().map_or(Expr::Bool(false), Expr::not)
            }
            Expr::Apply(Op::Sequence, parts) => self.then(parts),
            Expr::Apply(op, parts) => constant(op, &parts).unwrap_or(Expr::Apply(op, parts)),
            other => other,
        }
    }

    /// `&&` or `||`: one part with the value `deciding` is enough. Parts after it are unreachable; parts before it are
    /// needed only if they can fail.
    fn several(&self, parts: Box<[Expr]>, deciding: bool) -> Expr {
        let op = if deciding { Op::Or } else { Op::And };
        let mut left: Vec<Expr> = Vec::new();
        for part in parts {
            match part {
                Expr::Bool(answer) if answer != deciding => {}
                Expr::Bool(answer) => {
                    if !left.iter().any(|part| self.can_fail(part)) {
                        return Expr::Bool(answer);
                    }
                    left.push(Expr::Bool(answer));
                    break;
                }
                Expr::Apply(inner, parts) if inner == op => left.extend(parts),
                part => left.push(part),
            }
        }
        match left.len() {
            0 => Expr::Bool(!deciding),
            1 => left.remove(0),
            _ => Expr::Apply(op, left.into()),
        }
    }

    /// Drops bound values that are only evaluated because they could fail, and cannot.
    fn then(&self, parts: Box<[Expr]>) -> Expr {
        let mut parts = parts.into_vec();
        let last = parts.pop().unwrap_or(Expr::Bool(false));
        parts.retain(|part| self.can_fail(part));
        if parts.is_empty() {
            return last;
        }
        parts.push(last);
        Expr::Apply(Op::Sequence, parts.into())
    }

    fn can_fail(&self, expr: &Expr) -> bool {
        expr.can_fail(&|report| self.reports.can_fail(report))
    }
}

/// Folds an operator on constants.
pub(crate) fn constant(op: Op, parts: &[Expr]) -> Option<Expr> {
    let operands: Vec<Operand<'_>> = parts.iter().map(Expr::constant).collect::<Option<_>>()?;
    match (op.entry().apply)(&operands).ok()? {
        Operand::Bool(value) => Some(Expr::Bool(value)),
        Operand::Int(value) => Some(Expr::Int(value)),
        Operand::Text(text) => Some(Expr::Text(text.as_ref().into())),
        _ => None,
    }
}

impl Expr {
    /// Its value, if it is a literal.
    pub(crate) fn constant(&self) -> Option<Operand<'_>> {
        Some(match self {
            Self::Bool(value) => Operand::Bool(*value),
            Self::Int(value) => Operand::Int(*value),
            Self::Text(text) => Operand::Text((&**text).into()),
            Self::TextList(words) => Operand::TextList(words),
            Self::IntList(numbers) => Operand::IntList(numbers),
            _ => return None,
        })
    }
}
