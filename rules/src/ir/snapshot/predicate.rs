//! Predicates of one fact. Loading a pack compiles each to a closure with the fact's field access built in, so that
//! evaluating one costs one call.

use std::sync::Arc;

use crate::ir::{
    snapshot::{Dpu, Snapshot, Value},
    state_path::is_within,
};

/// A compiled predicate.
pub(crate) type Predicate = Box<dyn Fn(&Snapshot, &Dpu) -> bool + Send + Sync>;

/// A predicate of one fact, before it is compiled.
#[derive(Debug, Clone)]
pub(crate) enum FactPredicate {
    /// It has this bool value.
    Is(bool),
    /// It is known, or not.
    Known(bool),
    /// It is between two numbers, both included; `absent` is the result if it is absent.
    Between { least: i64, most: i64, absent: bool },
    /// It is one of these words, or none of them; `absent` is the result if it is absent.
    OneOf { words: Box<[Arc<str>]>, among: bool, absent: bool },
    /// It is the path of this state or of one below it, or not.
    Within(Arc<str>, bool),
}

/// Reads a value.
pub(crate) trait Get: for<'a> Fn(&'a Snapshot, &'a Dpu) -> Value<'a> + Send + Sync + 'static {}
impl<T: for<'a> Fn(&'a Snapshot, &'a Dpu) -> Value<'a> + Send + Sync + 'static> Get for T {}

/// Compiles a predicate of a value; a value of another type counts as absent.
pub(crate) fn compile_value(get: impl Get, predicate: FactPredicate) -> Predicate {
    match predicate {
        FactPredicate::Is(wanted) => Box::new(move |s, d| matches!(get(s, d), Value::Bool(true)) == wanted),
        FactPredicate::Known(wanted) => {
            Box::new(move |s, d| !matches!(get(s, d), Value::Absent | Value::Unknown) == wanted)
        }
        FactPredicate::Between { least, most, absent } => Box::new(move |s, d| match get(s, d) {
            Value::Int(value) => least <= value && value <= most,
            _ => absent,
        }),
        FactPredicate::OneOf { words, among, absent } => compile_text(
            move |s, d| match get(s, d) {
                Value::Text(text) => Some(text),
                _ => None,
            },
            words,
            among,
            absent,
        ),
        FactPredicate::Within(prefix, wanted) => Box::new(move |s, d| match get(s, d) {
            Value::Text(path) => is_within(path, &prefix) == wanted,
            _ => !wanted,
        }),
    }
}

fn compile_text(
    get: impl for<'a> Fn(&'a Snapshot, &'a Dpu) -> Option<&'a str> + Send + Sync + 'static,
    words: Box<[Arc<str>]>,
    among: bool,
    absent: bool,
) -> Predicate {
    match &*words {
        // Comparing with an empty text is slower than checking the length.
        [word] if word.is_empty() => Box::new(move |s, d| get(s, d).map_or(absent, |text| text.is_empty() == among)),
        [word] => {
            let word = word.clone();
            Box::new(move |s, d| get(s, d).map_or(absent, |text| same(text, &word) == among))
        }
        _ => Box::new(move |s, d| get(s, d).map_or(absent, |text| words.iter().any(|word| same(text, word)) == among)),
    }
}

fn same(text: &str, word: &str) -> bool {
    text.len() == word.len() && (text.is_empty() || text == word)
}

impl FactPredicate {
    /// The negation, if it is a predicate of one fact as well.
    pub(crate) fn not(self) -> Option<Self> {
        Some(match self {
            Self::Is(wanted) => Self::Is(!wanted),
            Self::Known(wanted) => Self::Known(!wanted),
            Self::OneOf { words, among, absent } => Self::OneOf { words, among: !among, absent: !absent },
            Self::Within(prefix, wanted) => Self::Within(prefix, !wanted),
            Self::Between { .. } => return None,
        })
    }
}
