//! What parts of a guard lower to.

use std::sync::Arc;

use crate::ir::{
    predicate::{BoolExpr, FactRef, IntExpr, MaybeExpr, Owner, ReportRef, TextExpr},
    snapshot::FactType,
};

/// What an expression lowered to.
#[derive(Debug, Clone)]
pub(crate) enum Lowered {
    Bool(BoolExpr),
    Int(IntExpr),
    Text(TextExpr, Words),
    /// A fact that can be absent.
    Maybe(FactRef),
    Version(FactRef),
    Texts(FactRef),
    /// A list written in the rule.
    List(Vec<Lowered>),
    Host,
    Area(&'static str),
    Dpu(u8),
    Dpus,
    Report(ReportRef),
    /// Seconds since an action's last try, absent if there was none.
    ActionAge(Owner, Arc<str>),
    /// A closure, with the parameters already bound to it.
    Closure(String, Vec<Lowered>),
    /// A fault has been reported.
    Faulty,
}

/// Which texts make sense.
#[derive(Debug, Clone)]
pub(crate) enum Words {
    Any,
    OneOf(Vec<Arc<str>>),
    State,
}

/// A side of a comparison that can be absent, with the kind of its value.
pub(crate) fn maybe(lowered: &Lowered) -> Option<(&'static str, MaybeExpr)> {
    Some(match lowered {
        Lowered::Maybe(fact) => {
            let kind = match fact.fact.kind {
                FactType::Int | FactType::Seconds | FactType::Age => "int",
                FactType::Text | FactType::Word(_) => "text",
                FactType::Version => "version",
                FactType::Bool | FactType::Texts => return None,
            };
            (kind, MaybeExpr::Fact(*fact))
        }
        Lowered::Version(fact) => ("version", MaybeExpr::Fact(*fact)),
        Lowered::Int(number) => ("int", MaybeExpr::Int(number.clone())),
        Lowered::Text(text, _) => ("text", MaybeExpr::Text(text.clone())),
        _ => return None,
    })
}

impl Lowered {
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Bool(_) => "true or false".to_owned(),
            Self::Int(_) => "a number".to_owned(),
            Self::Text(..) => "a text".to_owned(),
            Self::Maybe(fact) => format!("`{}`, which can be absent", fact.fact.name),
            Self::ActionAge(..) => "the age of an action, which can be absent".to_owned(),
            Self::Version(_) => "a config version".to_owned(),
            Self::Texts(_) | Self::List(_) => "a list".to_owned(),
            Self::Host => "the host".to_owned(),
            Self::Area(area) => format!("the area `{area}`"),
            Self::Dpu(_) => "a DPU".to_owned(),
            Self::Dpus => "the list of DPUs".to_owned(),
            Self::Report(_) => "a health report".to_owned(),
            Self::Closure(..) => "a closure".to_owned(),
            Self::Faulty => "something faulty".to_owned(),
        }
    }
}
