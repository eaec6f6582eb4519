//! Compiles guards to closures. A guard that cannot fail and reads the host and at most one DPU becomes one closure; other
//! guards keep their structure and are evaluated as trees. Without this a decision takes three to four times as long
//! (`cargo bench -p rules`).

use std::sync::Arc;

use crate::{
    eval::{alert_query::AlertQuery, env::Env},
    ir::{
        expr::{Evaluated, Expr, FactRef, Quantifier, Query, any_holds},
        health::Reports,
        line::Compare,
        operators::Op,
        snapshot::{
            Dpu, FieldGetter, Snapshot,
            predicate::{FactPredicate, Predicate},
        },
    },
};

/// Compiled predicates, all of which have to hold.
#[derive(Debug, Default)]
pub(crate) struct Conjunction {
    /// Evaluated first: most arms end here.
    predicates: Box<[BoundPredicate]>,
    others: Box<[Conjunct]>,
}

/// A predicate of the host, and of the DPU bound at a depth if `of_dpu`.
struct BoundPredicate {
    of_dpu: bool,
    /// Meaningless for predicates of the host alone.
    depth: u8,
    predicate: Predicate,
}

/// A condition that is not a single closure.
enum Conjunct {
    Never,
    Not(Conjunction),
    /// One of them holds.
    Or(Box<[Conjunction]>),
    /// It holds for some DPU, bound at a depth.
    Any(u8, Conjunction),
    /// It holds for every DPU, bound at a depth.
    All(u8, Conjunction),
    /// It depends on facts that can be unknown: it surely holds, it surely does not, else its tree says what is unknown.
    Reported(Conjunction, Conjunction, Box<Expr>),
    /// Any other expression, and whether it can fail.
    Tree(Box<Expr>, bool),
}

impl std::fmt::Debug for BoundPredicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BoundTest")
    }
}

impl std::fmt::Debug for Conjunct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ask")
    }
}

impl Conjunction {
    /// All of several hold. Closures go first because they are faster, but never before a part that can fail.
    pub(crate) fn all(parts: impl IntoIterator<Item = Conjunction>) -> Self {
        let (mut predicates, mut others) = (Vec::new(), Vec::new());
        for part in parts {
            if others.iter().any(Conjunct::can_fail) {
                others.push(Conjunct::Or(Box::new([part])));
            } else if part.is_never() {
                return part;
            } else {
                predicates.extend(part.predicates);
                others.extend(part.others);
            }
        }
        Self { predicates: predicates.into(), others: others.into() }
    }

    pub(crate) fn not(self) -> Self {
        let depth = self.depth().flatten();
        match self.into_predicate() {
            Ok(predicate) => Self::predicate(depth, Box::new(move |host, dpu| !predicate(host, dpu))),
            Err(conjunction) => Self::one(Conjunct::Not(conjunction)),
        }
    }

    /// One of several holds, evaluated in this order.
    pub(crate) fn one_of(parts: Vec<Self>) -> Self {
        let depth = parts.iter().try_fold(None, |depth, part| one_depth(depth, part.depth()?));
        match depth {
            Some(depth) if parts.iter().all(|part| part.others.is_empty()) => {
                let parts: Box<[Box<[BoundPredicate]>]> = parts.into_iter().map(|part| part.predicates).collect();
                Self::predicate(
                    depth,
                    Box::new(move |host, dpu| parts.iter().any(|predicates| hold(predicates, host, dpu))),
                )
            }
            _ => Self::one(Conjunct::Or(parts.into())),
        }
    }

    /// It holds for some DPU, bound at `depth`.
    pub(crate) fn for_any_dpu(self, depth: u8) -> Self {
        match self.into_dpu_predicate(depth) {
            Ok(predicate) => {
                Self::predicate(None, Box::new(move |host, _| host.dpus.iter().any(|dpu| predicate(host, dpu))))
            }
            Err(body) => Self::one(Conjunct::Any(depth, body)),
        }
    }

    pub(crate) fn for_all_dpus(self, depth: u8) -> Self {
        match self.into_dpu_predicate(depth) {
            Ok(predicate) => {
                Self::predicate(None, Box::new(move |host, _| host.dpus.iter().all(|dpu| predicate(host, dpu))))
            }
            Err(body) => Self::one(Conjunct::All(depth, body)),
        }
    }

    fn one(conjunct: Conjunct) -> Self {
        Self { predicates: Box::default(), others: Box::new([conjunct]) }
    }

    pub(crate) fn predicate(depth: Option<u8>, predicate: Predicate) -> Self {
        let bound = BoundPredicate { of_dpu: depth.is_some(), depth: depth.unwrap_or(0), predicate };
        Self { predicates: Box::new([bound]), others: Box::default() }
    }

    pub(crate) fn is_never(&self) -> bool {
        matches!(*self.others, [Conjunct::Never])
    }

    /// The depth of the DPU that all predicates read, if they read one; none if they read several.
    fn depth(&self) -> Option<Option<u8>> {
        self.predicates
            .iter()
            .try_fold(None, |depth, predicate| one_depth(depth, predicate.of_dpu.then_some(predicate.depth)))
    }

    /// As one closure, if it consists of predicates of the host and one DPU.
    fn into_predicate(self) -> Result<Predicate, Self> {
        if self.depth().is_none() || !self.others.is_empty() {
            return Err(self);
        }
        Ok(match <[BoundPredicate; 1]>::try_from(Vec::from(self.predicates)) {
            Ok([only]) => only.predicate,
            Err(predicates) => Box::new(move |host, dpu| hold(&predicates, host, dpu)),
        })
    }

    /// As one closure of the host and the DPU at `depth`, if it reads no other DPU.
    pub(crate) fn into_dpu_predicate(self, depth: u8) -> Result<Predicate, Self> {
        match self.depth() {
            Some(of) if of.is_none_or(|of| of == depth) => self.into_predicate(),
            _ => Err(self),
        }
    }

    #[inline]
    pub(crate) fn hold(&self, env: &Env<'_>) -> Evaluated<bool> {
        for bound in &self.predicates {
            if !(bound.predicate)(env.host, env.dpu(bound.depth)) {
                return Ok(false);
            }
        }
        if self.others.is_empty() {
            return Ok(true);
        }
        any_holds(self.others.iter().map(|conjunct| conjunct.holds(env).map(|holds| !holds))).map(|fails| !fails)
    }

    fn some_dpu(&self, depth: u8, wanted: bool, env: &Env<'_>) -> Evaluated<bool> {
        let mut bound = *env;
        any_holds(env.host.dpus.iter().map(|dpu| {
            bound.bind(depth, dpu);
            self.hold(&bound).map(|holds| holds == wanted)
        }))
    }
}

fn hold(predicates: &[BoundPredicate], host: &Snapshot, dpu: &Dpu) -> bool {
    predicates.iter().all(|bound| (bound.predicate)(host, dpu))
}

/// The common depth of two predicates, either of which may read no DPU; none if they read different DPUs.
fn one_depth(a: Option<u8>, b: Option<u8>) -> Option<Option<u8>> {
    match (a, b) {
        (Some(a), Some(b)) => (a == b).then_some(Some(a)),
        (a, b) => Some(a.or(b)),
    }
}

impl Conjunct {
    #[inline]
    fn holds(&self, env: &Env<'_>) -> Evaluated<bool> {
        match self {
            Self::Never => Ok(false),
            Self::Not(inner) => inner.hold(env).map(|answer| !answer),
            Self::Or(parts) => any_holds(parts.iter().map(|part| part.hold(env))),
            Self::Any(depth, body) => body.some_dpu(*depth, true, env),
            Self::All(depth, body) => body.some_dpu(*depth, false, env).map(|some_fails| !some_fails),
            Self::Reported(yes, no, expr) => {
                if yes.hold(env)? {
                    Ok(true)
                } else if no.hold(env)? {
                    Ok(false)
                } else {
                    expr.holds(env)
                }
            }
            Self::Tree(expr, _) => expr.holds(env),
        }
    }

    fn can_fail(&self) -> bool {
        let some = |conjunction: &Conjunction| conjunction.others.iter().any(Self::can_fail);
        match self {
            Self::Never | Self::Reported(..) => false,
            Self::Not(inner) | Self::Any(_, inner) | Self::All(_, inner) => some(inner),
            Self::Or(parts) => parts.iter().any(some),
            Self::Tree(_, can_fail) => *can_fail,
        }
    }
}

impl Expr {
    pub(crate) fn compile(&self, reports: &Arc<Reports>) -> Conjunction {
        if let Some((fact, predicate)) = self.predicate() {
            return Conjunction::predicate(fact.dpu(), (fact.fact.compile)(predicate));
        }
        if let Some(conjunct) = self.reported(reports) {
            return Conjunction::one(conjunct);
        }
        match self {
            Self::Bool(true) => Conjunction::default(),
            Self::Bool(false) => Conjunction::one(Conjunct::Never),
            Self::Apply(Op::And, parts) => Conjunction::all(parts.iter().map(|part| part.compile(reports))),
            Self::Apply(Op::Or, parts) => Conjunction::one_of(parts.iter().map(|part| part.compile(reports)).collect()),
            Self::Apply(Op::Not, parts) if parts.len() == 1 => parts[0].compile(reports).not(),
            Self::Each(Quantifier::Any, depth, parts) if parts.len() == 1 => {
                parts[0].compile(reports).for_any_dpu(*depth)
            }
            Self::Each(Quantifier::All, depth, parts) if parts.len() == 1 => {
                parts[0].compile(reports).for_all_dpus(*depth)
            }
            Self::Report(at, Query::Has { probe, class }) => {
                match AlertQuery::prepare(reports, *at, probe.clone(), class.clone()) {
                    Some(query) => Conjunction::predicate(at.dpu, Box::new(move |host, dpu| query.found(host, dpu))),
                    None => self.tree(reports),
                }
            }
            other => other.of_two_values().or_else(|| other.of_one_dpu(reports)).unwrap_or_else(|| other.tree(reports)),
        }
    }

    /// As a condition on facts that can be unknown. The parts of a conjunction are better taken one by one.
    fn reported(&self, reports: &Arc<Reports>) -> Option<Conjunct> {
        if matches!(self, Self::Apply(Op::And, _)) || self.fails(reports) || self.always_answers(reports) {
            return None;
        }
        let (yes, no) = (self.surely(true, reports)?, self.surely(false, reports)?);
        Some(Conjunct::Reported(yes, no, Box::new(self.clone())))
    }

    fn tree(&self, reports: &Reports) -> Conjunction {
        Conjunction::one(Conjunct::Tree(Box::new(self.clone()), self.fails(reports)))
    }

    fn fails(&self, reports: &Reports) -> bool {
        self.can_fail(&|report| reports.can_fail(report))
    }

    /// It has an answer for every host.
    pub(crate) fn always_answers(&self, reports: &Reports) -> bool {
        !self.fails(reports) && !self.can_be_unknown(&|report| reports.can_be_unknown(report))
    }

    /// As a predicate of one fact, if it is one that always has an answer.
    fn predicate(&self) -> Option<(FactRef, FactPredicate)> {
        let (fact, predicate) = self.predicate_of_known()?;
        let says_what_unknown_means = match self {
            Self::Apply(Op::Known, _) => true,
            Self::Apply(_, parts) => matches!(parts.first(), Some(Self::Apply(Op::OrElse | Op::Known, _))),
            _ => false,
        };
        (!fact.fact.reported || says_what_unknown_means).then_some((fact, predicate))
    }

    pub(crate) fn predicate_of_known(&self) -> Option<(FactRef, FactPredicate)> {
        let Self::Apply(op, parts) = self else {
            return match self {
                Self::Fact(fact) => Some((*fact, FactPredicate::Is(true))),
                _ => None,
            };
        };
        match (op, &**parts) {
            (Op::Known, [Self::Fact(fact)]) => Some((*fact, FactPredicate::Known(true))),
            (Op::Not, [inner]) => {
                let (fact, predicate) = inner.predicate()?;
                Some((fact, predicate.not()?))
            }
            (Op::Equal, [Self::Fact(fact), Self::Text(text)] | [Self::Text(text), Self::Fact(fact)]) => {
                let absent = text.is_empty() && !fact.fact.optional;
                Some((*fact, FactPredicate::OneOf { words: [text.clone()].into(), among: true, absent }))
            }
            (Op::Contains, [Self::TextList(words), Self::Fact(fact)]) => {
                let absent = words.iter().any(|word| word.is_empty()) && !fact.fact.optional;
                Some((*fact, FactPredicate::OneOf { words: (**words).into(), among: true, absent }))
            }
            (Op::Within, [Self::Fact(fact), Self::Text(prefix)]) => {
                Some((*fact, FactPredicate::Within(prefix.clone(), true)))
            }
            (op, [Self::Fact(fact), Self::Int(number)]) => {
                let compare = op.compare()?;
                let absent = compare.holds(0, *number) && !fact.fact.optional;
                Some((*fact, between(compare, *number, absent)))
            }
            (op, [Self::Apply(Op::OrElse, known), Self::Int(number)]) => {
                let [Self::Fact(fact), Self::Int(default)] = &**known else { return None };
                let compare = op.compare()?;
                Some((*fact, between(compare, *number, compare.holds(*default, *number))))
            }
            _ => None,
        }
    }

    /// A comparison of two facts of at most one DPU, or with the number of DPUs.
    fn of_two_values(&self) -> Option<Conjunction> {
        let Self::Apply(op, parts) = self else { return None };
        let compare = op.compare()?;
        match &**parts {
            [Self::Fact(a), Self::Fact(b)] if compare == Compare::Equal => {
                let depth = one_depth(a.dpu(), b.dpu())?;
                match ((a.fact.typed)(), (b.fact.typed)()) {
                    (FieldGetter::Bool(left), FieldGetter::Bool(right)) => Some(Conjunction::predicate(
                        depth,
                        Box::new(move |host, dpu| left(host, dpu) == right(host, dpu)),
                    )),
                    (FieldGetter::Version(left), FieldGetter::Version(right)) => {
                        let same = move |host: &Snapshot, dpu: &Dpu| {
                            let left = left(host, dpu);
                            left.is_some() && left == right(host, dpu)
                        };
                        Some(Conjunction::predicate(depth, Box::new(same)))
                    }
                    _ => None,
                }
            }
            [Self::Dpus, Self::Fact(fact)] => {
                let FieldGetter::Int(field) = (fact.fact.typed)() else { return None };
                let dpus = move |host: &Snapshot, dpu: &Dpu| compare.holds(dpus(host), *field(host, dpu));
                Some(Conjunction::predicate(fact.dpu(), Box::new(dpus)))
            }
            [Self::Dpus, Self::Int(number)] => {
                let number = *number;
                Some(Conjunction::predicate(None, Box::new(move |host, _| compare.holds(dpus(host), number))))
            }
            _ => None,
        }
    }

    /// Any expression that cannot fail and reads at most one DPU.
    fn of_one_dpu(&self, reports: &Arc<Reports>) -> Option<Conjunction> {
        let depths = self.dpus();
        if !self.always_answers(reports) || depths.len() > 1 {
            return None;
        }
        let (expr, reports) = (self.clone(), reports.clone());
        let predicate = move |host: &Snapshot, dpu: &Dpu| expr.holds(&Env::of_dpu(host, dpu, &reports)) == Ok(true);
        Some(Conjunction::predicate(depths.first().copied(), Box::new(predicate)))
    }
}

fn between(compare: Compare, number: i64, absent: bool) -> FactPredicate {
    let (least, most) = compare.range(number);
    FactPredicate::Between { least, most, absent }
}

fn dpus(host: &Snapshot) -> i64 {
    i64::try_from(host.dpus.len()).unwrap_or(i64::MAX)
}
