//! Signatures of actions, as the pack declares them. `lang` checks calls against them.

use std::sync::Arc;

/// Types of an action's arguments.
pub(crate) type Signature = Vec<(Arc<str>, ArgumentType)>;

/// Type of an argument of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgumentType {
    Bool,
    Int,
    Text,
    Texts,
    /// The id of a probe.
    Probe,
    /// A list of classifications.
    Classifications,
    /// The source of a health report.
    Source,
    /// One of these words.
    OneOf(Vec<String>),
}

impl ArgumentType {
    pub(crate) const NAMES: [&str; 7] = ["bool", "int", "text", "texts", "probe", "classifications", "source"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int" => Self::Int,
            "text" => Self::Text,
            "texts" => Self::Texts,
            "probe" => Self::Probe,
            "classifications" => Self::Classifications,
            "source" => Self::Source,
            _ => return None,
        })
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Int => "a whole number".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Probe => "the id of a probe".to_owned(),
            Self::Classifications => "a list of classifications".to_owned(),
            Self::Source => "the source of a health report".to_owned(),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
        }
    }
}
