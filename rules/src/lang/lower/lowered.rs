//! What parts of a guard lower to, before it is known that the whole is true or false.

use std::sync::Arc;

use crate::ir::{
    expr::{Expr, Record, ReportRef},
    operators::{Kind, Op},
};

/// What a part of a guard lowered to.
#[derive(Debug, Clone)]
pub(crate) enum Lowered {
    Value(TypedExpr),
    /// A list that is written in the rule.
    List(Vec<Lowered>),
    Host,
    Area(&'static str),
    Dpu(u8),
    Dpus,
    Report(ReportRef),
    /// A closure, with the parameters already bound to it.
    Closure(String, Vec<Lowered>),
    /// Nothing is known of it: a parameter of a function that no guard calls.
    Unknown,
    /// A fault has been reported. It is taken for whatever is wanted.
    Error,
}

/// An expression with its kind.
#[derive(Debug, Clone)]
pub(crate) struct TypedExpr {
    pub(crate) expr: Expr,
    pub(crate) kind: Kind,
    /// Of a text.
    pub(crate) domain: TextDomain,
}

/// Which texts make sense.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TextDomain {
    Any,
    OneOf(Arc<[Arc<str>]>),
    StatePath,
}

impl Kind {
    /// A value of this kind, for people.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Int | Self::MaybeInt => "a number",
            Self::Text | Self::MaybeText | Self::Shown => "a text",
            Self::Version => "a config version",
            Self::Texts | Self::TextList | Self::IntList => "a list",
        }
    }
}

impl Lowered {
    pub(crate) fn of(expr: Expr, kind: Kind) -> Self {
        Self::Value(TypedExpr { expr, kind, domain: TextDomain::Any })
    }

    pub(crate) fn bool(expr: Expr) -> Self {
        Self::of(expr, Kind::Bool)
    }

    /// How many parts it has.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Value(value) => value.expr.size(),
            Self::List(items) | Self::Closure(_, items) => items.iter().map(Self::size).sum::<usize>() + 1,
            _ => 1,
        }
    }

    /// For people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Value(value) => match (value.kind, &value.expr) {
                (Kind::MaybeInt | Kind::MaybeText, Expr::Fact(at)) => {
                    format!("`{}`, which can be absent", at.fact.name)
                }
                (_, Expr::Record(_, Record::Age, _)) => "the age of an action, which can be absent".to_owned(),
                (Kind::MaybeInt | Kind::MaybeText, Expr::Apply(Op::First, _)) => {
                    "the first of a list, which can be absent".to_owned()
                }
                (Kind::MaybeInt | Kind::MaybeText, _) => format!("{}, which can be absent", value.kind.describe()),
                (kind, _) => kind.describe().to_owned(),
            },
            Self::List(_) => "a list".to_owned(),
            Self::Host => "the host".to_owned(),
            Self::Area(area) => format!("the area `{area}`"),
            Self::Dpu(_) => "a DPU".to_owned(),
            Self::Dpus => "the list of DPUs".to_owned(),
            Self::Report(_) => "a health report".to_owned(),
            Self::Closure(..) => "a closure".to_owned(),
            Self::Unknown => "something unknown".to_owned(),
            Self::Error => "something faulty".to_owned(),
        }
    }

    /// What to do where it has the wrong type.
    pub(crate) fn hint(&self, expected: &str) -> String {
        match self {
            Self::Value(value) => match (value.kind, &value.expr) {
                (Kind::MaybeInt | Kind::MaybeText, Expr::Fact(at)) => {
                    format!("say what absence means: `{}.or(…)` or `.known`", at.fact.name)
                }
                (Kind::MaybeInt | Kind::MaybeText, _) => "say what absence means: `.or(…)` or `.known`".to_owned(),
                (Kind::Text, _) => "texts are compared with `==`, `!=` and `in`".to_owned(),
                (Kind::Version, _) => "versions are compared with `==` and `!=`".to_owned(),
                (Kind::Int, _) => "compare it: `== 0`, `> 0`".to_owned(),
                _ => format!("write {expected} here"),
            },
            Self::Host | Self::Area(_) | Self::Dpu(_) => "name one of its facts".to_owned(),
            Self::Dpus => "ask `.all(|d| …)`, `.any(|d| …)`, `.count(|d| …)` or `.len()`".to_owned(),
            Self::Report(_) => "ask `.has_class(…)`, `.has_probe(…)`, `.has_alert(…)` or `.alerts`".to_owned(),
            _ => format!("write {expected} here"),
        }
    }
}

impl TextDomain {
    /// Those of two texts, of which one is chosen.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::OneOf(own), Self::OneOf(other)) => Self::OneOf(own.iter().chain(&*other).cloned().collect()),
            (own, other) if own == other => own,
            _ => Self::Any,
        }
    }
}
