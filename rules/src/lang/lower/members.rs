//! The words of the rule language: what a host, a DPU, a report or a value has to say.

use std::sync::Arc;

use rhai::Position;

use crate::{
    ir::{
        fault::did_you_mean,
        predicate::{BoolExpr, Compare, FactRef, IntExpr, Owner, Query, ReportRef, TextExpr},
        snapshot::{ActionStatus, Fact, FactType, areas, facts},
    },
    lang::lower::{
        Lowerer, Lowering, Scope,
        lowered::{Lowered, Words},
    },
};

impl Lowerer<'_> {
    /// `receiver.name`
    pub(crate) fn member(&mut self, receiver: Lowered, name: &str, position: Position) -> Lowered {
        match receiver {
            Lowered::Faulty => Lowered::Faulty,
            Lowered::Host => {
                if name == "dpus" {
                    return Lowered::Dpus;
                }
                if let Some(area) = areas().find(|area| *area == name) {
                    return Lowered::Area(area);
                }
                match self.names.reports.get(name) {
                    Some((report, false)) => Lowered::Report(ReportRef { report: *report, depth: 0 }),
                    _ => {
                        let names = self.names;
                        let reports = names.reports.iter().filter(|(_, (_, of_dpu))| !of_dpu).map(|(n, _)| &**n);
                        let mut known: Vec<&str> = areas().chain(["dpus"]).collect();
                        known.extend(reports);
                        self.unknown_fact(position, name, &known)
                    }
                }
            }
            Lowered::Area(area) => match facts(area).find(|fact| fact.name == name) {
                Some(fact) => self.fact(fact, 0),
                None => self.unknown_fact(position, name, &facts(area).map(|fact| fact.name).collect::<Vec<_>>()),
            },
            Lowered::Dpu(depth) => {
                if let Some(fact) = facts("dpu").find(|fact| fact.name == name) {
                    return self.fact(fact, depth);
                }
                match self.names.reports.get(name) {
                    Some((report, true)) => Lowered::Report(ReportRef { report: *report, depth }),
                    _ => {
                        let names = self.names;
                        let reports = names.reports.iter().filter(|(_, (_, of_dpu))| *of_dpu).map(|(n, _)| &**n);
                        let mut known: Vec<&str> = facts("dpu").map(|fact| fact.name).collect();
                        known.extend(reports);
                        self.unknown_fact(position, name, &known)
                    }
                }
            }
            Lowered::Maybe(fact) if name == "known" => Lowered::Bool(BoolExpr::Known(fact)),
            Lowered::Version(fact) if name == "known" => Lowered::Bool(BoolExpr::Known(fact)),
            Lowered::ActionAge(owner, action) if name == "known" => Lowered::Bool(BoolExpr::Compare(
                Compare::Greater,
                Box::new([IntExpr::Tries(owner, action), IntExpr::Const(0)]),
            )),
            Lowered::Report(report) if name == "missing" => Lowered::Bool(BoolExpr::Report(report, Query::Missing)),
            Lowered::Report(report) if name == "alerts" => Lowered::Int(IntExpr::Alerts(report)),
            Lowered::Int(_) | Lowered::Text(..) | Lowered::Bool(_) if name == "known" => {
                let place = self.place(position);
                self.faults.hint("type", &place, "this fact is always known", "leave `.known` out");
                Lowered::Faulty
            }
            other => {
                let known: &[&str] = match other {
                    Lowered::Report(_) => &["missing", "alerts"],
                    Lowered::Maybe(_) | Lowered::Version(_) => &["known"],
                    _ => &[],
                };
                let place = self.place(position);
                let message = format!("{} has no `{name}`", other.describe());
                let hint = did_you_mean(name, known.iter().copied(), || has(known));
                self.faults.hint("unknown-fact", &place, message, hint);
                Lowered::Faulty
            }
        }
    }

    fn unknown_fact(&mut self, position: Position, name: &str, known: &[&str]) -> Lowered {
        let place = self.place(position);
        self.faults.unknown("unknown-fact", &place, "fact", name, known.iter().copied());
        Lowered::Faulty
    }

    fn fact(&self, fact: &'static Fact, depth: u8) -> Lowered {
        let at = FactRef { fact, depth };
        if fact.optional {
            return if fact.kind == FactType::Version { Lowered::Version(at) } else { Lowered::Maybe(at) };
        }
        match fact.kind {
            FactType::Bool => Lowered::Bool(BoolExpr::Fact(at)),
            FactType::Int | FactType::Seconds | FactType::Age => Lowered::Int(IntExpr::Fact(at)),
            FactType::Text | FactType::Word(_) => Lowered::Text(TextExpr::Fact(at), self.words(fact)),
            FactType::Version => Lowered::Version(at),
            FactType::Texts => Lowered::Texts(at),
        }
    }

    fn words(&self, fact: &Fact) -> Words {
        match (fact.kind, fact.area, fact.name) {
            (FactType::Word(words), ..) => Words::OneOf(words.iter().map(|word| Arc::from(*word)).collect()),
            (_, "state", "path") | (_, "dpu", "state") => Words::State,
            (_, "failure", "cause") => Words::OneOf(self.names.causes.keys().cloned().chain([Arc::from("")]).collect()),
            _ => Words::Any,
        }
    }

    /// `receiver.name(arguments)`
    pub(crate) fn method(
        &mut self,
        receiver: Lowered,
        name: &str,
        mut arguments: Vec<Lowered>,
        position: Position,
        scope: &Scope,
    ) -> Lowering<Lowered> {
        let only = if arguments.len() == 1 { arguments.pop() } else { None };
        Ok(match (receiver, name, only) {
            (Lowered::Faulty, ..) => Lowered::Faulty,
            (Lowered::Dpus, "any" | "all" | "count", Some(closure)) => {
                let depth = self.bind(scope, position)?;
                let body = self.inline(closure, Lowered::Dpu(depth), position)?;
                let body = Box::new(self.bool(body, position));
                match name {
                    "any" => Lowered::Bool(BoolExpr::Any(depth, body)),
                    "all" => Lowered::Bool(BoolExpr::All(depth, body)),
                    _ => Lowered::Int(IntExpr::Count(depth, body)),
                }
            }
            (Lowered::Dpus, "is_empty", None) => Lowered::Bool(BoolExpr::NoDpus),
            (Lowered::Dpus, "len", None) => Lowered::Int(IntExpr::Dpus),
            (Lowered::Texts(list), "is_empty", None) => Lowered::Bool(BoolExpr::NoTexts(list)),
            (Lowered::Texts(list), "len", None) => Lowered::Int(IntExpr::Texts(list)),
            (list @ (Lowered::Texts(_) | Lowered::List(_)), "contains", Some(item)) => {
                self.contains(list, item, position)
            }
            (Lowered::Text(text, _), "is_empty", None) => {
                Lowered::Bool(BoolExpr::TextEqual(Box::new([text, TextExpr::Const("".into())])))
            }
            (Lowered::Text(text, words), "within", Some(prefix)) => {
                let Some(prefix) = self.literal(prefix, "a state path", position) else { return Ok(Lowered::Faulty) };
                if matches!(words, Words::State) && !self.is_state_prefix(&prefix) {
                    let place = self.place(position);
                    let known = self.names.states.keys().map(|state| &**state).collect::<Vec<_>>();
                    self.faults.unknown("unknown-state", &place, "state", &prefix, known);
                }
                Lowered::Bool(BoolExpr::Within(Box::new(text), prefix))
            }
            (Lowered::Text(text, words), "starts_with", Some(prefix)) => match self.text(prefix, position) {
                Some((prefix, _)) => {
                    self.check_beginning(&prefix, &words, position);
                    Lowered::Bool(BoolExpr::StartsWith(Box::new(text), Box::new(prefix)))
                }
                None => Lowered::Faulty,
            },
            (Lowered::Maybe(fact), "or", Some(default)) => match fact.fact.kind {
                FactType::Text | FactType::Word(_) => match self.text(default, position) {
                    Some((default, _)) => {
                        Lowered::Text(TextExpr::FactOr(fact, Box::new(default)), self.words(fact.fact))
                    }
                    None => Lowered::Faulty,
                },
                _ => Lowered::Int(IntExpr::FactOr(fact, Box::new(self.int(default, position)))),
            },
            (Lowered::ActionAge(owner, action), "or", Some(default)) => {
                Lowered::Int(IntExpr::ActionAgeOr(owner, action, Box::new(self.int(default, position))))
            }
            (Lowered::Report(report), "has_class", Some(class)) => {
                let class = self.class(class, position);
                Lowered::Bool(BoolExpr::Report(report, Query::Has { probe: None, class }))
            }
            (Lowered::Report(report), "has_probe", Some(probe)) => {
                let probe = self.probe(probe, position);
                Lowered::Bool(BoolExpr::Report(report, Query::Has { probe, class: None }))
            }
            (Lowered::Report(report), "has_alert", None) if arguments.len() == 2 => {
                let class = arguments.pop().and_then(|class| self.class(class, position));
                let probe = arguments.pop().and_then(|probe| self.probe(probe, position));
                Lowered::Bool(BoolExpr::Report(report, Query::Has { probe, class }))
            }
            (Lowered::Host, _, Some(argument)) => self.record(Owner::Host, name, argument, position),
            (Lowered::Dpu(depth), _, Some(argument)) => self.record(Owner::Dpu(depth), name, argument, position),
            (Lowered::Text(..) | Lowered::Int(_) | Lowered::Bool(_) | Lowered::List(_) | Lowered::Texts(_), ..)
                if self.is_builtin(name) =>
            {
                return self.not_native(position, "a function of rhai");
            }
            (other, ..) => self.no_method(&other, name, position),
        })
    }

    fn no_method(&mut self, receiver: &Lowered, name: &str, position: Position) -> Lowered {
        let known: &[&str] = match receiver {
            Lowered::Host | Lowered::Dpu(_) => &["counter", "note", "done", "failed", "running", "tries", "action_age"],
            Lowered::Dpus => &["any", "all", "count", "is_empty", "len"],
            Lowered::Texts(_) | Lowered::List(_) => &["contains", "is_empty", "len"],
            Lowered::Text(..) => &["within", "starts_with", "is_empty"],
            Lowered::Maybe(_) | Lowered::ActionAge(..) => &["or"],
            Lowered::Report(_) => &["has_alert", "has_class", "has_probe"],
            _ => &[],
        };
        let place = self.place(position);
        let message = format!("{} has no `{name}(…)` with these arguments", receiver.describe());
        let hint = did_you_mean(name, known.iter().copied(), || has(known));
        self.faults.hint("unknown-verb", &place, message, hint);
        Lowered::Faulty
    }

    /// Counters, notes and actions of the host or a DPU.
    fn record(&mut self, owner: Owner, name: &str, argument: Lowered, position: Position) -> Lowered {
        let place = self.place(position);
        let kind = match name {
            "counter" => "counter",
            "note" => "note",
            "done" | "failed" | "running" | "tries" | "action_age" => "action",
            _ => {
                return self.no_method(
                    &if owner == Owner::Host { Lowered::Host } else { Lowered::Dpu(0) },
                    name,
                    position,
                );
            }
        };
        let Some(of) = self.literal(argument, kind, position) else { return Lowered::Faulty };
        let names = self.names;
        let known: Vec<&str> = match kind {
            "counter" => names.counters.keys().map(|name| &**name).collect(),
            "note" => names.notes.keys().map(|name| &**name).collect(),
            _ => names.actions.keys().map(|name| &**name).collect(),
        };
        if !known.contains(&&*of) {
            self.faults.unknown(unknown(kind), &place, kind, &of, known);
            return Lowered::Faulty;
        }
        match name {
            "counter" => Lowered::Int(IntExpr::Counter(owner, of)),
            "note" => {
                let mut words = names.notes.get(&of).cloned().unwrap_or_default();
                words.push("".into());
                Lowered::Text(TextExpr::Note(owner, of), Words::OneOf(words))
            }
            "done" => Lowered::Bool(BoolExpr::Action(owner, of, ActionStatus::Done)),
            "failed" => Lowered::Bool(BoolExpr::Action(owner, of, ActionStatus::Failed)),
            "running" => Lowered::Bool(BoolExpr::Action(owner, of, ActionStatus::Running)),
            "tries" => Lowered::Int(IntExpr::Tries(owner, of)),
            _ => Lowered::ActionAge(owner, of),
        }
    }

    fn probe(&mut self, probe: Lowered, position: Position) -> Option<Arc<str>> {
        let probe = self.literal(probe, "a probe id", position)?;
        if !self.names.probes.contains_key(&probe) {
            let place = self.place(position);
            let known = self.names.probes.keys().map(|name| &**name).collect::<Vec<_>>();
            self.faults.unknown("unknown-probe", &place, "probe", &probe, known);
        }
        Some(probe)
    }

    fn class(&mut self, class: Lowered, position: Position) -> Option<Arc<str>> {
        let class = self.literal(class, "a classification", position)?;
        if !self.names.classifications.contains_key(&class) {
            let place = self.place(position);
            let known = self.names.classifications.keys().map(|name| &**name).collect::<Vec<_>>();
            self.faults.unknown("unknown-classification", &place, "classification", &class, known);
        }
        Some(class)
    }

    /// Some word that the text can be begins so.
    fn check_beginning(&mut self, prefix: &TextExpr, words: &Words, position: Position) {
        let TextExpr::Const(prefix) = prefix else { return };
        let known: Vec<&str> = match words {
            Words::Any => return,
            Words::State => self.names.states.keys().map(|state| &**state).collect(),
            Words::OneOf(words) => words.iter().map(|word| &**word).collect(),
        };
        if !known.iter().any(|word| word.starts_with(&**prefix)) {
            let place = crate::lang::declare::place(&self.file, position);
            let message = format!("nothing that this can be begins with `{prefix}`");
            // What it is like is the beginning of a word.
            let beginnings = known.iter().filter_map(|word| word.get(..word.floor_char_boundary(prefix.len())));
            let hint = did_you_mean(prefix, beginnings, || format!("known are {}", known.join(", ")));
            self.faults.hint("unknown-word", &place, message, hint);
        }
    }

    fn is_state_prefix(&self, prefix: &str) -> bool {
        self.names
            .states
            .keys()
            .any(|state| state.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    pub(crate) fn literal(&mut self, lowered: Lowered, what: &str, position: Position) -> Option<Arc<str>> {
        match self.text(lowered, position)? {
            (TextExpr::Const(text), _) => Some(text),
            _ => {
                let place = self.place(position);
                let message = format!("{what} has to be written out, so that it can be checked");
                self.faults.hint("type", &place, message, "write it in quotes");
                None
            }
        }
    }
}

/// What a value has.
fn has(known: &[&str]) -> String {
    match known {
        [] => "it has nothing that can be asked".to_owned(),
        known => format!("it has {}", known.join(", ")),
    }
}

pub(crate) fn unknown(kind: &str) -> &'static str {
    match kind {
        "counter" => "unknown-counter",
        "note" => "unknown-note",
        "action" => "unknown-action",
        "timeout" => "unknown-timeout",
        _ => "unknown-limit",
    }
}
