//! Predicates made fast. One that cannot fail and asks about the host and one DPU at most becomes a test, a closure that
//! has all it needs built in; what is left is asked as what it is.

use std::sync::Arc;

use crate::{
    eval::{
        alert_query::AlertQuery,
        env::{Env, Shared},
        interpret,
    },
    ir::{
        fallible::CanFail,
        guard::{Body, Guard, Wanted},
        health::Reports,
        predicate::{Answer, BoolExpr, Compare, FactRef, IntExpr, MaybeExpr, Query, TextExpr},
        reads::Reads,
        snapshot::{
            Dpu, Snapshot, Typed,
            question::{Question, Test},
        },
        specialise::Fold,
    },
};
use rhai::FnPtr;

/// Predicates ready to be asked, all of which have to hold.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    /// Asked first: most arms end here.
    tests: Box<[Tested]>,
    others: Box<[Ask]>,
}

/// A test of the host, and of the DPU bound at a depth if it is of one.
struct Tested {
    of_dpu: bool,
    /// Without meaning if it is of the host alone.
    depth: u8,
    test: Test,
}

/// One predicate ready to be asked.
enum Ask {
    Never,
    Not(Asks),
    /// One of them holds.
    Or(Box<[Asks]>),
    /// Some DPU, bound at a depth, fits.
    Any(u8, Asks),
    /// Every DPU, bound at a depth, fits.
    All(u8, Asks),
    /// Any other predicate.
    Tree(Box<BoolExpr>),
    /// A guard that stays with the interpreter, of a DPU if so marked.
    Script(FnPtr, bool),
}

impl std::fmt::Debug for Tested {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tested")
    }
}

impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ask")
    }
}

impl Asks {
    /// All of several. What cannot fail is asked before what is slower, but never before what can fail.
    pub(crate) fn all(parts: impl IntoIterator<Item = Asks>) -> Self {
        let (mut tests, mut others) = (Vec::new(), Vec::new());
        for part in parts {
            if others.iter().any(Ask::can_fail) {
                others.push(Ask::Or(Box::new([part])));
            } else if part.is_never() {
                return part;
            } else {
                tests.extend(part.tests);
                others.extend(part.others);
            }
        }
        Self { tests: tests.into(), others: others.into() }
    }

    pub(crate) fn not(self) -> Self {
        let depth = self.depth().flatten();
        match self.into_test() {
            Ok(test) => Self::test(depth, Box::new(move |host, dpu| !test(host, dpu))),
            Err(asks) => Self::one(Ask::Not(asks)),
        }
    }

    /// One of several holds; asked in this order.
    pub(crate) fn one_of(parts: Vec<Self>) -> Self {
        let depth = parts.iter().try_fold(None, |depth, part| one_depth(depth, part.depth()?));
        match depth {
            Some(depth) if parts.iter().all(|part| part.others.is_empty()) => {
                let parts: Box<[Box<[Tested]>]> = parts.into_iter().map(|part| part.tests).collect();
                Self::test(depth, Box::new(move |host, dpu| parts.iter().any(|tests| hold(tests, host, dpu))))
            }
            _ => Self::one(Ask::Or(parts.into())),
        }
    }

    /// Some DPU, bound at `depth`, fits.
    pub(crate) fn of_some_dpu(self, depth: u8) -> Self {
        match self.into_test_of_each(depth) {
            Ok(test) => Self::test(None, Box::new(move |host, _| host.dpus.iter().any(|dpu| test(host, dpu)))),
            Err(body) => Self::one(Ask::Any(depth, body)),
        }
    }

    fn of_all_dpus(self, depth: u8) -> Self {
        match self.into_test_of_each(depth) {
            Ok(test) => Self::test(None, Box::new(move |host, _| host.dpus.iter().all(|dpu| test(host, dpu)))),
            Err(body) => Self::one(Ask::All(depth, body)),
        }
    }

    pub(crate) fn script(script: FnPtr, of_dpu: bool) -> Self {
        Self::one(Ask::Script(script, of_dpu))
    }

    fn one(ask: Ask) -> Self {
        Self { tests: Box::default(), others: Box::new([ask]) }
    }

    fn test(depth: Option<u8>, test: Test) -> Self {
        let tested = Tested { of_dpu: depth.is_some(), depth: depth.unwrap_or(0), test };
        Self { tests: Box::new([tested]), others: Box::default() }
    }

    pub(crate) fn is_never(&self) -> bool {
        matches!(*self.others, [Ask::Never])
    }

    /// The depth of the DPU that all tests are of, if it is one.
    fn depth(&self) -> Option<Option<u8>> {
        self.tests.iter().try_fold(None, |depth, test| one_depth(depth, test.of_dpu.then_some(test.depth)))
    }

    /// The same as one test, if it is nothing but tests of the host and one DPU.
    fn into_test(self) -> Result<Test, Self> {
        if self.depth().is_none() || !self.others.is_empty() {
            return Err(self);
        }
        Ok(match <[Tested; 1]>::try_from(Vec::from(self.tests)) {
            Ok([only]) => only.test,
            Err(tests) => Box::new(move |host, dpu| hold(&tests, host, dpu)),
        })
    }

    /// The same as a test of the host and a DPU, if it asks about no other DPU.
    pub(crate) fn into_test_of_each(self, depth: u8) -> Result<Test, Self> {
        match self.depth() {
            Some(of) if of.is_none_or(|of| of == depth) => self.into_test(),
            _ => Err(self),
        }
    }

    #[inline]
    pub(crate) fn hold(&self, env: &Env<'_>) -> Answer<bool> {
        for tested in &self.tests {
            if !(tested.test)(env.host, env.dpu(tested.depth)) {
                return Ok(false);
            }
        }
        if self.others.is_empty() { Ok(true) } else { all(&self.others, env) }
    }

    fn some_dpu(&self, depth: u8, wanted: bool, env: &Env<'_>) -> Answer<bool> {
        let mut bound = *env;
        for dpu in &env.host.dpus {
            bound.bind(depth, dpu);
            if self.hold(&bound)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn hold(tests: &[Tested], host: &Snapshot, dpu: &Dpu) -> bool {
    tests.iter().all(|tested| (tested.test)(host, dpu))
}

fn all(asks: &[Ask], env: &Env<'_>) -> Answer<bool> {
    for ask in asks {
        if !ask.holds(env)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The depth of the DPU that two predicates are of, if it is one; neither has to be of a DPU.
fn one_depth(a: Option<u8>, b: Option<u8>) -> Option<Option<u8>> {
    match (a, b) {
        (Some(a), Some(b)) => (a == b).then_some(Some(a)),
        (a, b) => Some(a.or(b)),
    }
}

impl Ask {
    #[inline]
    fn holds(&self, env: &Env<'_>) -> Answer<bool> {
        match self {
            Self::Never => Ok(false),
            Self::Not(inner) => inner.hold(env).map(|answer| !answer),
            Self::Or(parts) => {
                for part in parts {
                    if part.hold(env)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Any(depth, body) => body.some_dpu(*depth, true, env),
            Self::All(depth, body) => body.some_dpu(*depth, false, env).map(|some_fails| !some_fails),
            Self::Tree(expr) => expr.eval(env),
            Self::Script(script, of_dpu) => interpret::ask(script, env, *of_dpu),
        }
    }

    fn can_fail(&self) -> bool {
        let some = |asks: &Asks| asks.others.iter().any(Self::can_fail);
        match self {
            Self::Never => false,
            Self::Not(inner) | Self::Any(_, inner) | Self::All(_, inner) => some(inner),
            Self::Or(parts) => parts.iter().any(some),
            Self::Tree(expr) => expr.can_fail(None),
            Self::Script(..) => true,
        }
    }
}

impl BoolExpr {
    pub(crate) fn compile(&self, reports: &Arc<Reports>) -> Asks {
        if let Some((fact, question)) = self.question() {
            return Asks::test(fact.dpu(), (fact.fact.test)(question));
        }
        match self {
            Self::Const(true) => Asks::default(),
            Self::Const(false) => Asks::one(Ask::Never),
            Self::And(parts) => Asks::all(parts.iter().map(|part| part.compile(reports))),
            Self::Or(parts) => Asks::one_of(parts.iter().map(|part| part.compile(reports)).collect()),
            Self::Not(inner) => inner.compile(reports).not(),
            Self::Any(depth, body) => body.compile(reports).of_some_dpu(*depth),
            Self::All(depth, body) => body.compile(reports).of_all_dpus(*depth),
            Self::Report(at, Query::Has { probe, class }) => {
                match AlertQuery::prepare(reports, *at, probe.clone(), class.clone()) {
                    Some(query) => {
                        let depth = query.of_dpu.then_some(at.depth);
                        Asks::test(depth, Box::new(move |host, dpu| query.found(host, dpu)))
                    }
                    None => Asks::one(Ask::Tree(Box::new(self.clone()))),
                }
            }
            Self::NoDpus => Asks::test(None, Box::new(|host, _| host.dpus.is_empty())),
            other => {
                let test = other.of_two_facts().or_else(|| other.of_one_dpu(reports));
                test.unwrap_or_else(|| Asks::one(Ask::Tree(Box::new(other.clone()))))
            }
        }
    }

    /// The predicate as a question about one fact, if it is one.
    fn question(&self) -> Option<(FactRef, Question)> {
        let between = |compare: Compare, number, absent| {
            let (least, most) = compare.range(number);
            Question::Between { least, most, absent }
        };
        let word = |words: &[Arc<str>], absent| Question::Word { words: words.into(), among: true, absent };
        Some(match self {
            Self::Fact(fact) => (*fact, Question::Is(true)),
            Self::Known(fact) => (*fact, Question::Known(true)),
            Self::Not(inner) => {
                let (fact, question) = inner.question()?;
                (fact, question.not()?)
            }
            Self::Compare(compare, sides) => match &**sides {
                [IntExpr::Fact(fact), IntExpr::Const(number)] => {
                    (*fact, between(*compare, *number, compare.holds(0, *number)))
                }
                [IntExpr::FactOr(fact, default), IntExpr::Const(number)] => match **default {
                    IntExpr::Const(default) => (*fact, between(*compare, *number, compare.holds(default, *number))),
                    _ => return None,
                },
                _ => return None,
            },
            Self::TextEqual(sides) => match &**sides {
                [TextExpr::Fact(fact), TextExpr::Const(text)] | [TextExpr::Const(text), TextExpr::Fact(fact)] => {
                    (*fact, word(std::slice::from_ref(text), text.is_empty()))
                }
                _ => return None,
            },
            Self::OneOf(text, words) => match &**text {
                TextExpr::Fact(fact) => (*fact, word(words, words.iter().any(|word| word.is_empty()))),
                _ => return None,
            },
            Self::Within(text, prefix) => match &**text {
                TextExpr::Fact(fact) => (*fact, Question::Within(prefix.clone(), true)),
                _ => return None,
            },
            Self::MaybeEqual(sides) => match &**sides {
                [MaybeExpr::Fact(fact), MaybeExpr::Text(TextExpr::Const(text))] => {
                    (*fact, word(std::slice::from_ref(text), false))
                }
                [MaybeExpr::Fact(fact), MaybeExpr::Int(IntExpr::Const(number))] => {
                    (*fact, between(Compare::Equal, *number, false))
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    /// A comparison of two facts, of which one DPU at most is asked.
    fn of_two_facts(&self) -> Option<Asks> {
        let typed = |fact: &FactRef| (fact.fact.typed)();
        match self {
            Self::Same(sides) => {
                let [Self::Fact(a), Self::Fact(b)] = &**sides else { return None };
                let (Typed::Bool(left), Typed::Bool(right)) = (typed(a), typed(b)) else { return None };
                Some(Asks::test(
                    one_depth(a.dpu(), b.dpu())?,
                    Box::new(move |host, dpu| left(host, dpu) == right(host, dpu)),
                ))
            }
            Self::MaybeEqual(sides) => {
                let [MaybeExpr::Fact(a), MaybeExpr::Fact(b)] = &**sides else { return None };
                let (Typed::Version(left), Typed::Version(right)) = (typed(a), typed(b)) else { return None };
                let same = move |host: &Snapshot, dpu: &Dpu| {
                    let left = left(host, dpu);
                    left.is_some() && left == right(host, dpu)
                };
                Some(Asks::test(one_depth(a.dpu(), b.dpu())?, Box::new(same)))
            }
            Self::Compare(compare, sides) => {
                let [IntExpr::Dpus, IntExpr::Fact(fact)] = &**sides else { return None };
                let Typed::Int(field) = typed(fact) else { return None };
                let compare = *compare;
                let dpus = move |host: &Snapshot, dpu: &Dpu| {
                    compare.holds(i64::try_from(host.dpus.len()).unwrap_or(i64::MAX), *field(host, dpu))
                };
                Some(Asks::test(fact.dpu(), Box::new(dpus)))
            }
            _ => None,
        }
    }

    /// Any predicate that cannot fail and asks about one DPU at most.
    fn of_one_dpu(&self, reports: &Arc<Reports>) -> Option<Asks> {
        let depths = Reads::of(self).depths;
        if self.can_fail(Some(reports)) || depths.len() > 1 {
            return None;
        }
        let (expr, reports) = (self.clone(), reports.clone());
        let test = move |host: &Snapshot, dpu: &Dpu| {
            let shared = Shared::new(None);
            expr.eval(&Env::of_dpu(host, dpu, &reports, &shared)) == Ok(true)
        };
        Some(Asks::test(depths.first().copied(), Box::new(test)))
    }
}

impl Guard {
    /// The guard as a test of the host and its own DPU, if it cannot fail.
    pub(crate) fn test(&self, reports: &Arc<Reports>) -> Option<Test> {
        match &self.body {
            Body::Native(expr) => expr.compile(reports).into_test_of_each(0).ok(),
            Body::Script(_) => None,
        }
    }

    /// The guard, or its opposite, ready to be asked in one state.
    pub(crate) fn asks_in(&self, state: &Fold<'_>, wanted: Wanted) -> Asks {
        match (&self.body, wanted) {
            (Body::Native(expr), Wanted::Yes) => state.bool(expr).compile(state.reports),
            (Body::Native(expr), Wanted::No) => state.bool(expr).not().compile(state.reports),
            (Body::Script(_), Wanted::Yes) => Asks::script(self.closure.clone(), self.of_dpu),
            (Body::Script(_), Wanted::No) => Asks::script(self.closure.clone(), self.of_dpu).not(),
        }
    }
}
