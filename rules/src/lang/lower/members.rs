//! Lowers member access and method calls: facts, reports, records, lists and DPUs.

use std::sync::Arc;

use rhai::Position;

use crate::{
    ir::{
        diagnostic::did_you_mean,
        expr::{Expr, FactRef, Owner, Quantifier, Record, ReportRef},
        members::{NameKind, OF_REPORTS, QUANTIFIERS, RECORDS, ReportMember},
        operators::{Kind, Op},
        read_set::RecordKind,
        snapshot::{AREAS, Fact, FactType, areas, facts},
    },
    lang::lower::{
        Lowerer,
        lowered::{Lowered, TextDomain, TypedExpr},
        operators::error_or_unknown,
    },
};

impl<'a> Lowerer<'a> {
    /// `receiver.name`
    pub(super) fn member(&mut self, receiver: Lowered, name: &str, position: Position) -> Lowered {
        let names = self.known.names;
        let reports = &names.reports;
        let report = |of_dpu: bool| reports.get(name).filter(|(_, is)| *is == of_dpu).map(|(report, _)| *report);
        match receiver {
            Lowered::Error => Lowered::Error,
            Lowered::Unknown => self.member_of_unknown(name, position),
            Lowered::Host if name == "dpus" => Lowered::Dpus,
            Lowered::Host => match (areas().find(|area| *area == name), report(false)) {
                (Some(area), _) => Lowered::Area(area),
                (None, Some(report)) => Lowered::Report(ReportRef { report, dpu: None }),
                (None, None) => {
                    let known = areas().chain(["dpus"]).collect();
                    self.unknown_fact(position, name, known, Some(false))
                }
            },
            Lowered::Area(area) => match facts(area).find(|fact| fact.name == name) {
                Some(fact) => self.fact(fact, 0),
                None => self.unknown_fact(position, name, facts(area).map(|fact| fact.name).collect(), None),
            },
            Lowered::Dpu(depth) => match (facts("dpu").find(|fact| fact.name == name), report(true)) {
                (Some(fact), _) => self.fact(fact, depth),
                (None, Some(report)) => Lowered::Report(ReportRef { report, dpu: Some(depth) }),
                (None, None) => {
                    self.unknown_fact(position, name, facts("dpu").map(|fact| fact.name).collect(), Some(true))
                }
            },
            Lowered::Report(report) => {
                match OF_REPORTS.iter().find(|member| member.name == name && member.takes.is_empty()) {
                    Some(member) => Lowered::of(Expr::Report(report, (member.query)(None, None)), member.gives),
                    None => self.no_fact(&Lowered::Report(report), name, &["missing", "alerts"], position),
                }
            }
            Lowered::Value(value) if name == "known" && is_reported(&value) => {
                Lowered::bool(Expr::apply(Op::Known, [value.expr]))
            }
            value @ Lowered::Value(_) if name != "known" && !matches!(name, "len" | "is_empty") => {
                let known: &[&str] = match &value {
                    Lowered::Value(value) if matches!(value.kind, Kind::MaybeInt | Kind::MaybeText | Kind::Version) => {
                        &["known"]
                    }
                    _ => &[],
                };
                self.no_fact(&value, name, known, position)
            }
            Lowered::Dpus => self.method(Lowered::Dpus, name, Vec::new(), position),
            other => self.method_operator(other, name, Vec::new(), position),
        }
    }

    /// Of a receiver of unknown type: some fact or member has to have this name.
    fn member_of_unknown(&mut self, name: &str, position: Position) -> Lowered {
        let facts = || AREAS.iter().flat_map(|facts| facts.iter()).flat_map(|fact| [fact.name, fact.area]);
        let names = self.known.names;
        let reports = &names.reports;
        let others = ["dpus", "known", "missing", "alerts", "len", "is_empty"];
        if facts().chain(others).any(|known| known == name) || reports.contains_key(name) {
            return Lowered::Unknown;
        }
        let known = facts().chain(reports.keys().map(|report| &**report)).collect();
        self.unknown_fact(position, name, known, None)
    }

    fn unknown_fact<'k>(
        &mut self,
        position: Position,
        name: &str,
        mut known: Vec<&'k str>,
        reports: Option<bool>,
    ) -> Lowered
    where
        'a: 'k,
    {
        let place = self.place(position);
        let names = self.known.names;
        let all = names.reports.iter();
        known.extend(all.filter(|(_, (_, of_dpu))| Some(*of_dpu) == reports).map(|(name, _)| &**name));
        self.diagnostics.unknown("unknown-fact", &place, "fact", name, known);
        Lowered::Error
    }

    fn no_fact(&mut self, receiver: &Lowered, name: &str, known: &[&str], position: Position) -> Lowered {
        let hint = member_hint(name, known);
        self.error("unknown-fact", position, format!("{} has no `{name}`", receiver.describe()), hint)
    }

    fn fact(&self, fact: &'static Fact, depth: u8) -> Lowered {
        let kind = match (fact.kind, fact.optional) {
            (FactType::Bool, _) => Kind::Bool,
            (FactType::Int | FactType::Seconds | FactType::Age, false) => Kind::Int,
            (FactType::Int | FactType::Seconds | FactType::Age, true) => Kind::MaybeInt,
            (FactType::Text | FactType::Word(_), false) => Kind::Text,
            (FactType::Text | FactType::Word(_), true) => Kind::MaybeText,
            (FactType::Version, _) => Kind::Version,
            (FactType::Texts, _) => Kind::Texts,
        };
        let domain = match (fact.kind, fact.area, fact.name) {
            (FactType::Word(words), ..) => TextDomain::OneOf(words.iter().map(|word| Arc::from(*word)).collect()),
            (_, "state", "path") | (_, "dpu", "state") => TextDomain::StatePath,
            (_, "failure", "cause") => {
                TextDomain::OneOf(self.known.names.causes.keys().cloned().chain([Arc::from("")]).collect())
            }
            _ => TextDomain::Any,
        };
        Lowered::Value(TypedExpr { expr: Expr::Fact(FactRef { fact, depth }), kind, domain })
    }

    /// `receiver.name(arguments)`
    pub(super) fn method(
        &mut self,
        receiver: Lowered,
        name: &str,
        arguments: Vec<Lowered>,
        position: Position,
    ) -> Lowered {
        if let Lowered::Unknown = receiver {
            for argument in arguments {
                if let Lowered::Closure(_, bound) = &argument {
                    let missing = self.parameters(&argument).saturating_sub(bound.len());
                    self.call_closure(argument, vec![Lowered::Unknown; missing], position);
                }
            }
            return Lowered::Unknown;
        }
        if let Some(known) = error_or_unknown(std::iter::once(&receiver).chain(&arguments)) {
            return known;
        }
        match (receiver, <[Lowered; 1]>::try_from(arguments)) {
            (Lowered::Value(value), Ok([default])) if name == "or" && is_reported(&value) => {
                let default = self.value(default, value.kind, position);
                self.check_word(&default, &value.domain, position);
                Lowered::Value(TypedExpr { expr: Expr::apply(Op::OrElse, [value.expr, default]), ..value })
            }
            (closure @ Lowered::Closure(..), arguments) if name == "call" => {
                let arguments = arguments.map_or_else(|several| several, |one| one.into());
                let answer = self.call_closure(closure, arguments.clone(), position);
                self.sequence(arguments, answer)
            }
            (receiver, Ok([closure]))
                if QUANTIFIERS.contains(&name) && !matches!(receiver, Lowered::Host | Lowered::Dpu(_)) =>
            {
                self.quantifier(receiver, name, closure, position)
            }
            (Lowered::Dpus, Err(none)) if none.is_empty() && name == "len" => Lowered::of(Expr::Dpus, Kind::Int),
            (Lowered::Dpus, Err(none)) if none.is_empty() && name == "is_empty" => {
                Lowered::bool(Expr::apply(Op::Equal, [Expr::Dpus, Expr::Int(0)]))
            }
            (list @ (Lowered::List(_) | Lowered::Value(_)), Ok([item])) if name == "contains" => {
                self.contains(list, item, position)
            }
            (Lowered::Host, Ok([argument])) => self.record(Owner::Host, name, argument, position),
            (Lowered::Dpu(depth), Ok([argument])) => self.record(Owner::Dpu(depth), name, argument, position),
            (Lowered::Report(report), arguments) => {
                let arguments = arguments.map_or_else(|several| several, |one| one.into());
                let member =
                    OF_REPORTS.iter().find(|member| member.name == name && member.takes.len() == arguments.len());
                match member {
                    Some(member) => self.report(report, member, arguments, position),
                    None => self.no_member(&Lowered::Report(report), name, position),
                }
            }
            (receiver, arguments) => {
                let arguments = arguments.map_or_else(|several| several, |one| one.into());
                self.method_operator(receiver, name, arguments, position)
            }
        }
    }

    fn parameters(&self, closure: &Lowered) -> usize {
        match closure {
            Lowered::Closure(name, _) => self.known.functions.closure(name).map_or(0, |function| function.params.len()),
            _ => 0,
        }
    }

    /// `list.any(|x| …)`, `all`, `count`: of DPUs, of a fact that is a list, or of a list literal.
    fn quantifier(&mut self, list: Lowered, name: &str, closure: Lowered, position: Position) -> Lowered {
        let (quantifier, gives) = match name {
            "any" => (Quantifier::Any, Kind::Bool),
            "all" => (Quantifier::All, Kind::Bool),
            _ => (Quantifier::Count, Kind::Int),
        };
        match list {
            Lowered::Dpus => {
                let (depth, body) = self.for_each_dpu(closure, position);
                let body = self.value(body, Kind::Bool, position);
                Lowered::of(Expr::Each(quantifier, depth, [body].into()), gives)
            }
            Lowered::Value(list) if list.kind == Kind::Texts => {
                let (depth, body) = self.for_each_item(closure, position);
                let body = self.value(body, Kind::Bool, position);
                Lowered::of(Expr::Each(quantifier, depth, [body, list.expr].into()), gives)
            }
            Lowered::List(items) => {
                let mut bodies = Vec::new();
                for item in items {
                    let body = self.call_closure(closure.clone(), vec![item], position);
                    bodies.push(self.value(body, Kind::Bool, position));
                }
                match quantifier {
                    Quantifier::Any => Lowered::bool(Expr::apply(Op::Or, bodies)),
                    Quantifier::All => Lowered::bool(Expr::apply(Op::And, bodies)),
                    Quantifier::Count => {
                        let ones =
                            bodies.into_iter().map(|body| Expr::If(Box::new([body, Expr::Int(1), Expr::Int(0)])));
                        let sum = ones.reduce(|sum, one| Expr::apply(Op::Add, [sum, one]));
                        Lowered::of(sum.unwrap_or(Expr::Int(0)), gives)
                    }
                }
            }
            other => self.no_member(&other, name, position),
        }
    }

    fn report(
        &mut self,
        report: ReportRef,
        member: &ReportMember,
        arguments: Vec<Lowered>,
        position: Position,
    ) -> Lowered {
        let (mut probe, mut class) = (None, None);
        for (named, argument) in member.takes.iter().zip(arguments) {
            match named {
                NameKind::Probe => probe = self.named("a probe id", "unknown-probe", "probe", argument, position),
                NameKind::Classification => {
                    class =
                        self.named("a classification", "unknown-classification", "classification", argument, position);
                }
            }
        }
        Lowered::of(Expr::Report(report, (member.query)(probe, class)), member.gives)
    }

    /// The name of a probe or classification, which has to be declared.
    fn named(
        &mut self,
        what: &str,
        check: &'static str,
        kind: &str,
        name: Lowered,
        position: Position,
    ) -> Option<Arc<str>> {
        let name = self.literal(name, what, position)?;
        let names = self.known.names;
        let table = if kind == "probe" { &names.probes } else { &names.classifications };
        if !table.contains_key(&name) {
            let place = self.place(position);
            self.diagnostics.unknown(check, &place, kind, &name, table.keys().map(|known| &**known));
        }
        Some(name)
    }

    /// Counters, notes and actions of the host or a DPU.
    fn record(&mut self, owner: Owner, name: &str, argument: Lowered, position: Position) -> Lowered {
        let Some((_, record, gives)) = RECORDS.iter().find(|(known, ..)| *known == name) else {
            let receiver = owner.dpu().map_or(Lowered::Host, Lowered::Dpu);
            return self.no_member(&receiver, name, position);
        };
        let names = self.known.names;
        let (kind, check, known): (_, _, Vec<&str>) = match record.kind() {
            RecordKind::Counter => ("counter", "unknown-counter", names.counters.keys().map(|name| &**name).collect()),
            RecordKind::Note => ("note", "unknown-note", names.notes.keys().map(|name| &**name).collect()),
            RecordKind::Action => ("action", "unknown-action", names.actions.keys().map(|name| &**name).collect()),
        };
        let Some(of) = self.literal(argument, kind, position) else { return Lowered::Error };
        if !known.contains(&&*of) {
            let place = self.place(position);
            self.diagnostics.unknown(check, &place, kind, &of, known);
            return Lowered::Error;
        }
        let domain = match record {
            Record::Note => {
                let values = names.notes.get(&of).into_iter().flatten().cloned();
                TextDomain::OneOf(values.chain([Arc::from("")]).collect())
            }
            _ => TextDomain::Any,
        };
        Lowered::Value(TypedExpr { expr: Expr::Record(owner, *record, of), kind: *gives, domain })
    }

    /// A literal that is not a possible value is a typo.
    pub(super) fn check_word(&mut self, text: &Expr, domain: &TextDomain, position: Position) {
        let Expr::Text(word) = text else { return };
        let place = self.place(position);
        match domain {
            TextDomain::Any => {}
            TextDomain::OneOf(known) => {
                if !known.iter().any(|k| k == word) {
                    self.diagnostics.unknown("unknown-word", &place, "value", word, known.iter().map(|k| &**k));
                }
            }
            TextDomain::StatePath => {
                let names = self.known.names;
                let states = &names.states;
                if !states.contains_key(word) {
                    self.diagnostics.unknown("unknown-state", &place, "state", word, states.keys().map(|k| &**k));
                }
            }
        }
    }

    /// Some possible value has to begin with the prefix.
    pub(super) fn check_prefix(&mut self, prefix: &Expr, domain: &TextDomain, position: Position) {
        let Expr::Text(prefix) = prefix else { return };
        let known: Vec<&str> = match domain {
            TextDomain::Any => return,
            TextDomain::StatePath => self.known.names.states.keys().map(|state| &**state).collect(),
            TextDomain::OneOf(words) => words.iter().map(|word| &**word).collect(),
        };
        if !known.iter().any(|word| word.starts_with(&**prefix)) {
            let message = format!("no possible value begins with `{prefix}`");
            // Compare with prefixes of the same length.
            let beginnings = known.iter().filter_map(|word| word.get(..word.floor_char_boundary(prefix.len())));
            let hint = did_you_mean(prefix, beginnings, || format!("known are {}", known.join(", ")));
            self.error("unknown-word", position, message, hint);
        }
    }

    /// Some state has to be at or below the prefix.
    pub(super) fn check_state_prefix(&mut self, prefix: &str, domain: &TextDomain, position: Position) {
        let names = self.known.names;
        let states = &names.states;
        let below = |state: &Arc<str>| crate::ir::state_path::is_within(state, prefix);
        if *domain == TextDomain::StatePath && !states.keys().any(below) {
            let place = self.place(position);
            self.diagnostics.unknown("unknown-state", &place, "state", prefix, states.keys().map(|state| &**state));
        }
    }

    /// A text literal.
    pub(super) fn literal(&mut self, lowered: Lowered, what: &str, position: Position) -> Option<Arc<str>> {
        match lowered {
            Lowered::Value(value) if value.kind == Kind::Text => self.written(&value.expr, what, position),
            other => {
                self.wrong_type(position, "a text", &other);
                None
            }
        }
    }

    pub(super) fn written(&mut self, expr: &Expr, what: &str, position: Position) -> Option<Arc<str>> {
        if let Expr::Text(text) = expr {
            return Some(text.clone());
        }
        let message = format!("{what} has to be a literal, so that it can be checked");
        self.error("type", position, message, "write it in quotes");
        None
    }
}

/// A fact that can be unknown, so that a rule can say what that means.
fn is_reported(value: &TypedExpr) -> bool {
    matches!(&value.expr, Expr::Fact(at) if at.fact.reported)
}

/// The hint for a name that is none of these members.
pub(super) fn member_hint(name: &str, known: &[&str]) -> String {
    did_you_mean(name, known.iter().copied(), || match known {
        [] => "it has no members".to_owned(),
        known => format!("it has {}", known.join(", ")),
    })
}
