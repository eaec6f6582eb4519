//! Why a guard answered as it did: the facts that made it so, with their values and the DPU they are of.
//!
//! If a guard over all DPUs fails, every DPU that fails it is named, not the first one found.

use crate::{
    eval::{
        env::Env,
        evaluate::action_age,
        health::{Content, Contribution},
    },
    ir::{
        guard::{Body, Guard},
        predicate::{BoolExpr, FactRef, IntExpr, MaybeExpr, Owner, Query, ReportRef, TextExpr},
        snapshot::{Alert, Dpu},
        trace::{AlertSeen, FactSeen},
    },
};

/// The facts and alerts behind one answer.
#[derive(Debug, Default)]
pub(crate) struct Blame {
    pub(crate) facts: Vec<FactSeen>,
    pub(crate) alerts: Vec<AlertSeen>,
}

impl Guard {
    /// The facts behind the guard's answer. For an interpreted guard: all that it can read.
    pub(crate) fn blame(&self, env: &Env<'_>) -> Blame {
        let mut blame = Blame::default();
        match &self.body {
            Body::Native(expr) => blame.bool(expr, env),
            Body::Script(_) => {
                for fact in &self.reads.facts {
                    if fact.area == "dpu" && !self.of_dpu {
                        for dpu in &env.host.dpus {
                            blame.fact(&FactRef { fact, depth: 0 }, &env.with(0, dpu));
                        }
                    } else {
                        blame.fact(&FactRef { fact, depth: 0 }, env);
                    }
                }
                for report in &self.reads.reports {
                    let at = ReportRef { report: *report, depth: 0 };
                    blame.report(at, &Query::Has { probe: None, class: None }, env);
                }
            }
        }
        blame
    }
}

/// Name of a DPU for people.
pub(crate) fn dpu_name(dpu: &Dpu) -> String {
    if dpu.name.is_empty() { dpu.id.clone() } else { dpu.name.clone() }
}

impl Blame {
    fn push(&mut self, seen: FactSeen) {
        if !self.facts.contains(&seen) {
            self.facts.push(seen);
        }
    }

    fn fact(&mut self, fact: &FactRef, env: &Env<'_>) {
        self.push(FactSeen {
            name: format!("{}.{}", fact.fact.area, fact.fact.name),
            value: fact.value(env).to_string(),
            dpu: fact.is_of_dpu().then(|| dpu_name(env.dpu(fact.depth))),
        });
    }

    fn record(&mut self, owner: Owner, what: &str, name: &str, value: String, env: &Env<'_>) {
        let dpu = match owner {
            Owner::Host => None,
            Owner::Dpu(depth) => Some(dpu_name(env.dpu(depth))),
        };
        self.push(FactSeen { name: format!("{what}({name})"), value, dpu });
    }

    fn bool(&mut self, expr: &BoolExpr, env: &Env<'_>) {
        match expr {
            BoolExpr::Const(_) => {}
            BoolExpr::Fact(fact) | BoolExpr::Known(fact) | BoolExpr::NoTexts(fact) => self.fact(fact, env),
            BoolExpr::Not(inner) => self.bool(inner, env),
            BoolExpr::And(parts) => self.several(parts.iter().map(|part| (part, *env)), false),
            BoolExpr::Or(parts) => self.several(parts.iter().map(|part| (part, *env)), true),
            BoolExpr::If(parts) => {
                self.bool(&parts[0], env);
                let chosen = if parts[0].eval(env) == Ok(true) { 1 } else { 2 };
                self.bool(&parts[chosen], env);
            }
            BoolExpr::Same(sides) => sides.iter().for_each(|side| self.bool(side, env)),
            BoolExpr::Compare(_, sides) => sides.iter().for_each(|side| self.int(side, env)),
            BoolExpr::TextEqual(sides) | BoolExpr::VersionAtLeast(sides) => {
                sides.iter().for_each(|side| self.text(side, env));
            }
            BoolExpr::MaybeEqual(sides) => sides.iter().for_each(|side| match side {
                MaybeExpr::Fact(fact) => self.fact(fact, env),
                MaybeExpr::Int(number) => self.int(number, env),
                MaybeExpr::Text(text) => self.text(text, env),
            }),
            BoolExpr::OneOf(text, _) | BoolExpr::Within(text, _) => self.text(text, env),
            BoolExpr::StartsWith(text, prefix) => {
                self.text(text, env);
                self.text(prefix, env);
            }
            BoolExpr::OneOfInts(number, _) => self.int(number, env),
            BoolExpr::Contains(list, text) => {
                self.fact(list, env);
                self.text(text, env);
            }
            BoolExpr::NoDpus => self.dpus(env),
            BoolExpr::Any(depth, body) => {
                self.several(env.host.dpus.iter().map(|dpu| (&**body, env.with(*depth, dpu))), true);
            }
            BoolExpr::All(depth, body) => {
                self.several(env.host.dpus.iter().map(|dpu| (&**body, env.with(*depth, dpu))), false);
            }
            BoolExpr::Report(report, query) => self.report(*report, query, env),
            BoolExpr::Action(owner, name, _) => {
                let value = env.action(*owner, name).map_or("not tried", |record| record.status.as_str());
                self.record(*owner, "action", name, value.to_owned(), env);
            }
        }
    }

    /// Parts of which one that answers `deciding` is enough: those that do, else all of them.
    fn several<'e, 'a>(&mut self, parts: impl Iterator<Item = (&'e BoolExpr, Env<'a>)> + Clone, deciding: bool) {
        let decides = |(part, env): &(&BoolExpr, Env<'a>)| part.eval(env) != Ok(!deciding);
        if deciding {
            if let Some((part, env)) = parts.clone().find(decides) {
                return self.bool(part, &env);
            }
        } else if parts.clone().any(|part| decides(&part)) {
            return parts.filter(decides).for_each(|(part, env)| self.bool(part, &env));
        }
        parts.for_each(|(part, env)| self.bool(part, &env));
    }

    fn dpus(&mut self, env: &Env<'_>) {
        self.push(FactSeen { name: "dpus.len".to_owned(), value: env.host.dpus.len().to_string(), dpu: None });
    }

    fn int(&mut self, expr: &IntExpr, env: &Env<'_>) {
        match expr {
            IntExpr::Const(_) => {}
            IntExpr::Fact(fact) | IntExpr::Texts(fact) => self.fact(fact, env),
            IntExpr::FactOr(fact, default) => {
                self.fact(fact, env);
                self.int(default, env);
            }
            IntExpr::Add(sides)
            | IntExpr::Subtract(sides)
            | IntExpr::Multiply(sides)
            | IntExpr::Divide(sides)
            | IntExpr::Remainder(sides) => sides.iter().for_each(|side| self.int(side, env)),
            IntExpr::Negate(inner) => self.int(inner, env),
            IntExpr::If(condition, sides) => {
                self.bool(condition, env);
                self.int(&sides[usize::from(condition.eval(env) != Ok(true))], env);
            }
            IntExpr::Count(depth, body) => {
                for dpu in &env.host.dpus {
                    self.bool(body, &env.with(*depth, dpu));
                }
            }
            IntExpr::Dpus => self.dpus(env),
            IntExpr::Counter(owner, name) => {
                self.record(*owner, "counter", name, env.counter(*owner, name).to_string(), env);
            }
            IntExpr::Tries(owner, name) => {
                let tries = env.action(*owner, name).map_or(0, |record| record.tries);
                self.record(*owner, "tries", name, tries.to_string(), env);
            }
            IntExpr::ActionAgeOr(owner, name, _) => {
                let age = env.action(*owner, name).map(|record| action_age(env, record));
                let age = age.map_or_else(|| "absent".to_owned(), |age| age.to_string());
                self.record(*owner, "action_age", name, age, env);
            }
            IntExpr::Alerts(report) => self.report(*report, &Query::Has { probe: None, class: None }, env),
        }
    }

    fn text(&mut self, expr: &TextExpr, env: &Env<'_>) {
        match expr {
            TextExpr::Const(_) => {}
            TextExpr::Fact(fact) => self.fact(fact, env),
            TextExpr::FactOr(fact, default) => {
                self.fact(fact, env);
                self.text(default, env);
            }
            TextExpr::If(condition, sides) => {
                self.bool(condition, env);
                self.text(&sides[usize::from(condition.eval(env) != Ok(true))], env);
            }
            TextExpr::Note(owner, name) => {
                self.record(*owner, "note", name, format!("\"{}\"", env.note(*owner, name)), env);
            }
        }
    }

    fn report(&mut self, at: ReportRef, query: &Query, env: &Env<'_>) {
        let Some(report) = env.reports.reports.get(at.report) else { return };
        let dpu = report.of_dpu.then(|| dpu_name(env.dpu(at.depth)));
        let before = self.alerts.len();
        let mut parts = 0;
        let visited = env.reports.visit(at, env, &mut |part| {
            parts += 1;
            if let Query::Has { probe, class } = query {
                let wanted = part.alerts().iter().filter(|alert| {
                    probe.as_ref().is_none_or(|probe| **probe == *alert.id)
                        && class.as_ref().is_none_or(|class| {
                            part.classified && alert.classifications.iter().any(|known| **class == **known)
                        })
                });
                for alert in wanted {
                    let seen = seen(alert, &part);
                    if !self.alerts.contains(&seen) {
                        self.alerts.push(seen);
                    }
                }
            }
            true
        });
        let asked = match query {
            Query::Missing => String::new(),
            Query::Has { probe, class } => {
                [probe, class].into_iter().flatten().map(|word| &**word).collect::<Vec<_>>().join("+")
            }
        };
        let value = match (&visited, query) {
            (Err(error), _) => error.to_string(),
            (Ok(()), Query::Missing) => format!("{parts} reports"),
            (Ok(()), _) if self.alerts.len() == before => "no such alert".to_owned(),
            (Ok(()), _) => self.alerts[before..]
                .iter()
                .map(|alert| match &alert.dpu {
                    Some(dpu) => format!("{} of {dpu}", alert.probe),
                    None => alert.probe.clone(),
                })
                .collect::<Vec<_>>()
                .join(", "),
        };
        let name = if asked.is_empty() { report.name.clone() } else { format!("{}({asked})", report.name) };
        self.push(FactSeen { name, value, dpu });
    }
}

fn seen(alert: &Alert, part: &Contribution<'_>) -> AlertSeen {
    AlertSeen {
        probe: alert.id.clone(),
        target: alert.target.clone(),
        message: alert.message.clone(),
        classifications: if part.classified { alert.classifications.clone() } else { Vec::new() },
        since: alert.in_alert_since,
        source: match part.content {
            Content::Stored(report) => report.source.clone(),
            Content::Made(_) => "rules".to_owned(),
        },
        dpu: part.dpu.map(dpu_name),
    }
}
