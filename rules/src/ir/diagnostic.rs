//! Errors of a pack with their places and hints. Collected by `lang`, shown by whoever loads a pack.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::Serialize;

/// A place in a pack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// File, relative to the pack's directory; empty for the pack as a whole.
    pub file: Arc<str>,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// Column in characters, from 1; 0 for the line as a whole.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.file.is_empty() { "the pack" } else { &self.file })?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a pack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Diagnostic {
    /// The place in the source.
    pub place: Place,
    /// Which check found it, such as `unknown-fact`.
    pub check: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.message, self.hint)
    }
}

/// Everything that is wrong with a pack. The whole pack is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadError {
    /// The errors, in order of file and line. Never empty.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts of the pack's files, for drawing errors in their source.
    pub sources: BTreeMap<Arc<str>, Arc<str>>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

/// Collects errors while a pack is checked.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics(pub(crate) Vec<Diagnostic>);

impl Diagnostics {
    /// Adds an error.
    pub(crate) fn error(
        &mut self,
        check: &'static str,
        place: &Place,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.0.push(Diagnostic { place: place.clone(), check, message: message.into(), hint: hint.into() });
    }

    /// Adds an error for an undeclared name, with the nearest declared one.
    pub(crate) fn unknown<'a>(
        &mut self,
        check: &'static str,
        place: &Place,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) {
        let known = known.into_iter().collect::<Vec<_>>();
        let hint = did_you_mean(name, known.iter().copied(), || instead(what, name, &known));
        self.error(check, place, format!("unknown {what} `{name}`"), hint);
    }
}

/// Suggests the nearest known name, else another hint.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    types::nearest(name, known).map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}

/// The hint for a name that resembles no known one.
fn instead(what: &str, name: &str, known: &[&str]) -> String {
    match what {
        "fact" => "`sitectl rules facts` lists all facts".to_owned(),
        "state" => format!("declare it with `state(\"{name}\")`"),
        "gate" => format!("declare it with `gate(\"{name}\", |h| …).waits(\"…\")`"),
        "health source" => format!("declare it with `source(\"{name}\")`"),
        "failure cause" => format!("declare it with `failure_cause(\"{name}\")`"),
        "timeout" => format!("declare it with `timeout(\"{name}\", minutes(…))`"),
        "limit" => format!("declare it with `limit(\"{name}\", …)`"),
        "probe" | "classification" | "action" | "counter" | "note" | "report" | "steps" => {
            format!("declare it with `{what}(\"{name}\")`")
        }
        "function" => format!("declare it with `fn {name}(h) {{ … }}`"),
        _ if known.is_empty() => "there is none".to_owned(),
        _ => format!("known are {}", known.join(", ")),
    }
}
