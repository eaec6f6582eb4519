//! Values during the evaluation of a guard: of facts, and results of operators.

use std::borrow::Cow;
use std::sync::Arc;

use types::ConfigVersion;

use crate::ir::snapshot::{FactType, Value};

/// A value during the evaluation of a guard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand<'a> {
    Absent,
    Bool(bool),
    Int(i64),
    Text(Cow<'a, str>),
    Version(ConfigVersion),
    Texts(&'a [String]),
    TextList(&'a [Arc<str>]),
    IntList(&'a [i64]),
}

impl From<bool> for Operand<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl PartialEq<bool> for Operand<'_> {
    fn eq(&self, other: &bool) -> bool {
        matches!(self, Self::Bool(value) if value == other)
    }
}

impl<'a> From<Value<'a>> for Operand<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Absent | Value::Unknown => Self::Absent,
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::Text(text) => Self::Text(Cow::Borrowed(text)),
            Value::Version(version) => Self::Version(version),
            Value::Texts(texts) => Self::Texts(texts),
        }
    }
}

impl<'a> Operand<'a> {
    /// The value of a fact. A fact that is not optional is absent only where no DPU is bound, and then has its default.
    #[inline]
    pub(crate) fn of_fact(value: Value<'a>, kind: FactType, optional: bool) -> Self {
        match (value, kind) {
            (Value::Absent | Value::Unknown, _) if optional => Self::Absent,
            (Value::Absent, FactType::Bool) => Self::Bool(false),
            (Value::Absent, FactType::Int | FactType::Seconds | FactType::Age) => Self::Int(0),
            (Value::Absent, FactType::Text | FactType::Word(_)) => Self::Text(Cow::Borrowed("")),
            (Value::Absent, FactType::Texts) => Self::Texts(&[]),
            (value, _) => value.into(),
        }
    }

    pub(crate) fn int(&self) -> i64 {
        match self {
            Self::Int(value) => *value,
            _ => 0,
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// Same kind and value. An absent value equals nothing, not even another absent value.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        *self != Self::Absent && self == other
    }

    /// A list contains a member, or a text a substring.
    pub(crate) fn contains(&self, item: &Self) -> bool {
        match (self, item) {
            (Self::Text(text), Self::Text(part)) => text.contains(&**part),
            (Self::Texts(list), Self::Text(item)) => list.iter().any(|text| text == item),
            (Self::TextList(list), Self::Text(item)) => list.iter().any(|word| **word == **item),
            (Self::IntList(list), Self::Int(item)) => list.contains(item),
            _ => false,
        }
    }

    /// Members of a list, or characters of a text.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.chars().count(),
            Self::Texts(list) => list.len(),
            Self::TextList(list) => list.len(),
            Self::IntList(list) => list.len(),
            _ => 0,
        }
    }

    /// The first member of a list.
    pub(crate) fn first(&self) -> Self {
        match self {
            Self::Texts(list) => list.first().map(|text| Self::Text(Cow::Borrowed(text))),
            Self::TextList(list) => list.first().map(|word| Self::Text(Cow::Borrowed(word))),
            Self::IntList(list) => list.first().map(|number| Self::Int(*number)),
            _ => None,
        }
        .unwrap_or(Self::Absent)
    }

    /// As text, for `+` and string interpolation.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Text(text) => text.clone().into_owned(),
            _ => String::new(),
        }
    }
}
