//! Results of lowering parts of a guard: typed expressions, and things that only exist during lowering.

use std::sync::Arc;

use crate::ir::{
    expr::{Expr, Record, ReportRef},
    operators::{Kind, Op},
};

/// What a part of a guard lowered to.
#[derive(Debug, Clone)]
pub(crate) enum Lowered {
    Value(TypedExpr),
    /// A list literal.
    List(Vec<Lowered>),
    Host,
    Area(&'static str),
    Dpu(u8),
    Dpus,
    Report(ReportRef),
    /// A closure with its captured parameters.
    Closure(String, Vec<Lowered>),
    /// A value of unknown type: a parameter of a function that no guard calls.
    Unknown,
    /// An error has been reported. It is accepted wherever any kind is expected.
    Error,
}

/// An expression with its kind.
#[derive(Debug, Clone)]
pub(crate) struct TypedExpr {
    pub(crate) expr: Expr,
    pub(crate) kind: Kind,
    /// Possible values, if the kind is text.
    pub(crate) domain: TextDomain,
}

/// The possible values of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TextDomain {
    Any,
    OneOf(Arc<[Arc<str>]>),
    StatePath,
}

impl Kind {
    /// The kind, for messages.
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

    /// The number of its parts.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Value(value) => value.expr.size(),
            Self::List(items) | Self::Closure(_, items) => items.iter().map(Self::size).sum::<usize>() + 1,
            _ => 1,
        }
    }

    /// The thing, for messages.
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

    /// The hint for a wrong type.
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
    /// The possible values of either of two texts.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::OneOf(own), Self::OneOf(other)) => Self::OneOf(own.iter().chain(&*other).cloned().collect()),
            (own, other) if own == other => own,
            _ => Self::Any,
        }
    }
}
