//! Predicates for one state: what they ask about the state is known when the pack is loaded, and need not be asked.

use std::sync::Arc;

use crate::ir::{
    fallible::CanFail,
    guard::{Body, Guard, Wanted},
    health::Reports,
    predicate::{BoolExpr, TextExpr},
    state_path::{StatePath, is_within},
};

/// A state in which a predicate is asked.
pub(crate) struct Fold<'a> {
    /// Path of the host's state, if it is known.
    pub(crate) path: Option<&'a StatePath>,
    pub(crate) reports: &'a Arc<Reports>,
}

impl Fold<'_> {
    /// The same predicate, as short as it can be in the state.
    pub(crate) fn bool(&self, expr: &BoolExpr) -> BoolExpr {
        match expr {
            BoolExpr::TextEqual(sides) => match &**sides {
                [text, TextExpr::Const(word)] | [TextExpr::Const(word), text] => {
                    self.on_path(text, |path| path == &**word).unwrap_or_else(|| expr.clone())
                }
                _ => expr.clone(),
            },
            BoolExpr::OneOf(text, words) => {
                let one_of = |path: &str| words.iter().any(|word| **word == *path);
                self.on_path(text, one_of).unwrap_or_else(|| expr.clone())
            }
            BoolExpr::Within(text, prefix) => {
                self.on_path(text, |path| is_within(path, prefix)).unwrap_or_else(|| expr.clone())
            }
            BoolExpr::Not(inner) => self.bool(inner).not(),
            BoolExpr::And(parts) => self.several(parts, false),
            BoolExpr::Or(parts) => self.several(parts, true),
            BoolExpr::If(parts) => {
                let [condition, then, otherwise] = [0, 1, 2].map(|part| self.bool(&parts[part]));
                match condition {
                    BoolExpr::Const(true) => then,
                    BoolExpr::Const(false) => otherwise,
                    condition => BoolExpr::If(Box::new([condition, then, otherwise])),
                }
            }
            BoolExpr::Any(depth, body) => BoolExpr::Any(*depth, Box::new(self.bool(body))),
            BoolExpr::All(depth, body) => BoolExpr::All(*depth, Box::new(self.bool(body))),
            other => other.clone(),
        }
    }

    /// A question about the path of the host's state.
    fn on_path(&self, text: &TextExpr, holds: impl Fn(&str) -> bool) -> Option<BoolExpr> {
        let TextExpr::Fact(at) = text else { return None };
        let path = self.path.filter(|_| (at.fact.area, at.fact.name) == ("state", "path"))?;
        Some(BoolExpr::Const(holds(path.as_str())))
    }

    /// Parts of which one that answers `deciding` is enough. Those after it are never asked, those before it need not
    /// be unless they can fail.
    fn several(&self, parts: &[BoolExpr], deciding: bool) -> BoolExpr {
        let mut left: Vec<BoolExpr> = Vec::new();
        for part in parts.iter().map(|part| self.bool(part)) {
            match part {
                BoolExpr::Const(answer) if answer != deciding => {}
                BoolExpr::Const(answer) => {
                    if !left.iter().any(|part| part.can_fail(Some(self.reports))) {
                        return BoolExpr::Const(answer);
                    }
                    left.push(BoolExpr::Const(answer));
                    break;
                }
                BoolExpr::Or(inner) if deciding => left.extend(inner),
                BoolExpr::And(inner) if !deciding => left.extend(inner),
                part => left.push(part),
            }
        }
        match (left.len(), deciding) {
            (0, _) => BoolExpr::Const(!deciding),
            (1, _) => left.remove(0),
            (_, true) => BoolExpr::Or(left.into()),
            (_, false) => BoolExpr::And(left.into()),
        }
    }
}

impl Guard {
    /// The guard, or its opposite, holds for no host in the state.
    pub(crate) fn never_holds_in(&self, state: &Fold<'_>, wanted: Wanted) -> bool {
        let Body::Native(expr) = &self.body else { return false };
        matches!(
            (state.bool(expr), wanted),
            (BoolExpr::Const(false), Wanted::Yes) | (BoolExpr::Const(true), Wanted::No)
        )
    }
}
