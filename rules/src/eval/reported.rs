//! Compiles conditions on facts that can be unknown to two conditions that cannot: it surely holds, it surely does not.
//! What is neither is left to the tree, which names what is unknown.

use std::sync::Arc;

use crate::{
    eval::compile::Conjunction,
    ir::{
        expr::{Expr, Quantifier},
        health::Reports,
        operators::Op,
        snapshot::predicate::FactPredicate,
    },
};

impl Expr {
    /// The condition that this one has the answer `wanted` whatever the unknown facts are; none if only the tree can say.
    pub(crate) fn surely(&self, wanted: bool, reports: &Arc<Reports>) -> Option<Conjunction> {
        if self.always_answers(reports) {
            let compiled = self.compile(reports);
            return Some(if wanted { compiled } else { compiled.not() });
        }
        if let Some((fact, predicate)) = self.predicate_of_known() {
            let compile = |predicate| Conjunction::predicate(fact.dpu(), (fact.fact.compile)(predicate));
            let answer = compile(predicate);
            let answer = if wanted { answer } else { answer.not() };
            return Some(Conjunction::all([compile(FactPredicate::Known(true)), answer]));
        }
        match self {
            Self::Apply(op @ (Op::And | Op::Or), parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|part| part.surely(wanted, reports)).collect();
                let every = (*op == Op::And) == wanted;
                parts.map(|parts| if every { Conjunction::all(parts) } else { Conjunction::one_of(parts) })
            }
            Self::Apply(Op::Not, parts) => match &parts[..] {
                [part] => part.surely(!wanted, reports),
                _ => None,
            },
            Self::Each(quantifier @ (Quantifier::Any | Quantifier::All), depth, parts) => match &parts[..] {
                [body] => {
                    let body = body.surely(wanted, reports)?;
                    let every = (*quantifier == Quantifier::All) == wanted;
                    Some(if every { body.for_all_dpus(*depth) } else { body.for_any_dpu(*depth) })
                }
                _ => None,
            },
            _ => None,
        }
    }
}
