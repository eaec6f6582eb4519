//! Evaluates expressions for one host. An observer can record what was read.

use crate::{
    eval::env::Env,
    ir::{
        expr::{
            Evaluated, Expr, FactRef, GuardError, Owner, Quantifier, Query, Record, ReportRef, UnknownFact, any_holds,
        },
        guard::{Guard, TimeLimit},
        operand::Operand,
        operators::Op,
        snapshot::Value,
    },
};

/// Is told what the evaluation reads. If it explains, it is shown all parts that decide, not only the first one.
pub(crate) trait Observer {
    const EXPLAINS: bool;
    fn fact(&mut self, _fact: &FactRef, _env: &Env<'_>) {}
    fn record(&mut self, _owner: Owner, _record: Record, _name: &str, _env: &Env<'_>) {}
    fn report(&mut self, _at: ReportRef, _query: &Query, _env: &Env<'_>) {}
    fn dpus(&mut self, _env: &Env<'_>) {}
}

/// Ignores everything.
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    const EXPLAINS: bool = false;
}

impl Guard {
    pub(crate) fn holds(&self, env: &Env<'_>) -> Evaluated<bool> {
        self.expr.holds(env)
    }
}

impl TimeLimit {
    pub(crate) fn value(&self, env: &Env<'_>) -> Evaluated<i64> {
        self.expr.eval(env, &mut Unobserved).map(|value| value.int())
    }
}

impl FactRef {
    #[inline]
    pub(crate) fn value<'a>(&self, env: &Env<'a>) -> Evaluated<Operand<'a>> {
        let fact = self.fact;
        match (fact.get)(env.host, env.dpu(self.depth)) {
            Value::Unknown => Err(GuardError::Unknown(UnknownFact(fact))),
            value => Ok(Operand::of_fact(value, fact.kind, fact.optional)),
        }
    }
}

impl Expr {
    /// The value of a bool expression.
    pub(crate) fn holds(&self, env: &Env<'_>) -> Evaluated<bool> {
        self.eval(env, &mut Unobserved).map(|answer| answer == true)
    }

    pub(crate) fn eval<'a, W: Observer>(&'a self, env: &Env<'a>, observer: &mut W) -> Evaluated<Operand<'a>> {
        Ok(match self {
            Self::Bool(value) => Operand::Bool(*value),
            Self::Int(value) => Operand::Int(*value),
            Self::Text(text) => Operand::Text((&**text).into()),
            Self::TextList(words) => Operand::TextList(words),
            Self::IntList(numbers) => Operand::IntList(numbers),
            Self::Fact(fact) => {
                observer.fact(fact, env);
                fact.value(env)?
            }
            Self::Item(depth) => Operand::Text(env.item(*depth).into()),
            Self::Record(owner, record, name) => {
                observer.record(*owner, *record, name, env);
                env.record(*owner, *record, name)
            }
            Self::Report(at, query) => {
                observer.report(*at, query, env);
                env.reports.ask(*at, query, env)?
            }
            Self::Dpus => {
                observer.dpus(env);
                Operand::Int(i64::try_from(env.host.dpus.len()).unwrap_or(i64::MAX))
            }
            Self::Each(quantifier, depth, parts) => return each(*quantifier, *depth, parts, env, observer),
            Self::If(parts) => {
                let chosen = if parts[0].eval(env, observer)? == true { &parts[1] } else { &parts[2] };
                return chosen.eval(env, observer);
            }
            Self::Apply(Op::And, parts) => {
                let some_fails = several(parts.iter().map(|part| (part, *env)), false, observer)?;
                Operand::Bool(!some_fails)
            }
            Self::Apply(Op::Or, parts) => {
                Operand::Bool(several(parts.iter().map(|part| (part, *env)), true, observer)?)
            }
            Self::Apply(op @ (Op::Known | Op::OrElse), parts) => {
                let present = |value: Evaluated<Operand<'a>>| match value {
                    Err(error) if error.is_unknown() => Ok(Operand::Absent),
                    other => other,
                };
                let mut values = Vec::with_capacity(parts.len());
                for (place, part) in parts.iter().enumerate() {
                    let value = part.eval(env, observer);
                    values.push(if place == 0 { present(value) } else { value }?);
                }
                return (op.entry().apply)(&values);
            }
            Self::Apply(op, parts) => return apply(*op, parts, env, observer),
        })
    }
}

/// Applies an operator to the values of its parts. An explaining observer is shown parts after a failing one as well.
fn apply<'a, W: Observer>(op: Op, parts: &'a [Expr], env: &Env<'a>, observer: &mut W) -> Evaluated<Operand<'a>> {
    let apply = op.entry().apply;
    match parts {
        [only] => apply(&[only.eval(env, observer)?]),
        [left, right] if !W::EXPLAINS => apply(&[left.eval(env, observer)?, right.eval(env, observer)?]),
        parts if W::EXPLAINS => {
            let values: Vec<_> = parts.iter().map(|part| part.eval(env, observer)).collect();
            apply(&values.into_iter().collect::<Evaluated<Vec<_>>>()?)
        }
        parts => apply(&parts.iter().map(|part| part.eval(env, observer)).collect::<Evaluated<Vec<_>>>()?),
    }
}

/// Whether some part has the value `deciding`. Stops at the first one that has, or that fails.
fn several<'a, W: Observer>(
    parts: impl Iterator<Item = (&'a Expr, Env<'a>)> + Clone,
    deciding: bool,
    observer: &mut W,
) -> Evaluated<bool> {
    let mut decide = |(part, env): (&'a Expr, Env<'a>)| part.holds(&env).map(|holds| holds == deciding);
    if !W::EXPLAINS {
        return any_holds(parts.map(decide));
    }
    let answers: Vec<Evaluated<bool>> = parts.clone().map(&mut decide).collect();
    // The observer is shown the deciding parts, else all. Of an `any` the first deciding part explains enough; of an `all`
    // every part that does not hold is shown.
    let most = if deciding { 1 } else { usize::MAX };
    let answer = any_holds(answers.iter().copied());
    let same = |decides: &Evaluated<bool>| decides.is_ok() == answer.is_ok() && *decides != Ok(false);
    let decisive = || parts.clone().zip(&answers).filter(|(_, decides)| same(decides)).take(most);
    let mut show = |(part, env): (&'a Expr, Env<'a>)| drop(part.eval(&env, observer));
    if decisive().next().is_some() {
        decisive().for_each(|(part, _)| show(part));
    } else {
        parts.for_each(show);
    }
    answer
}

/// Evaluates a body for each DPU, or for each text of a list.
fn each<'a, W: Observer>(
    quantifier: Quantifier,
    depth: u8,
    parts: &'a [Expr],
    env: &Env<'a>,
    observer: &mut W,
) -> Evaluated<Operand<'a>> {
    let [body, list @ ..] = parts else { return Ok(Operand::Absent) };
    match list {
        [] => over(quantifier, env.host.dpus.iter().map(|dpu| (body, env.with(depth, dpu))), observer),
        [list, ..] => match list.eval(env, observer)? {
            Operand::Texts(texts) => {
                over(quantifier, texts.iter().map(|text| (body, env.with_item(depth, text))), observer)
            }
            _ => Ok(Operand::Absent),
        },
    }
}

fn over<'a, W: Observer>(
    quantifier: Quantifier,
    members: impl Iterator<Item = (&'a Expr, Env<'a>)> + Clone,
    observer: &mut W,
) -> Evaluated<Operand<'a>> {
    match quantifier {
        Quantifier::Any => Ok(several(members, true, observer)?.into()),
        Quantifier::All => Ok((!several(members, false, observer)?).into()),
        Quantifier::Count => {
            let mut count = 0;
            for (body, env) in members {
                count += i64::from(body.eval(&env, observer)? == true);
            }
            Ok(Operand::Int(count))
        }
    }
}
