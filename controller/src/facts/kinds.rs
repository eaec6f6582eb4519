//! What operators and observers may send, and with which arguments: checked once, where it comes in.

use std::collections::BTreeMap;

use types::did_you_mean;

/// A kind of request or event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    parameters: &'static [Parameter],
}

/// An argument that a kind may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    name: &'static str,
    needed: bool,
    /// The values that it can have; empty if it can have any.
    values: &'static [&'static str],
}

pub(super) const BOOL: [&str; 2] = ["true", "false"];

/// Why arguments are not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentFault {
    /// The kind has no such argument.
    #[error("{what} `{kind}` has no argument `{name}`{hint}")]
    Unknown {
        /// Request or event.
        what: &'static str,
        /// Its kind.
        kind: &'static str,
        /// As it was sent.
        name: String,
        /// What there is.
        hint: String,
    },
    /// The argument cannot have this value, or is missing.
    #[error("{what} `{kind}` needs the argument `{name}`{hint}")]
    Value {
        /// Request or event.
        what: &'static str,
        /// Its kind.
        kind: &'static str,
        /// The argument.
        name: &'static str,
        /// What it can be.
        hint: String,
    },
}

impl Parameter {
    pub(super) const fn optional(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, needed: false, values }
    }

    pub(super) const fn needed(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, needed: true, values }
    }
}

impl Kind {
    pub(super) const fn plain(name: &'static str) -> Self {
        Self { name, parameters: &[] }
    }

    pub(super) const fn with(name: &'static str, parameters: &'static [Parameter]) -> Self {
        Self { name, parameters }
    }

    /// Refuses arguments that the kind does not have, values that they cannot have, and what is missing.
    ///
    /// # Errors
    /// [`ArgumentFault`] that names the argument and what it can be.
    pub(crate) fn check(&self, what: &'static str, arguments: &BTreeMap<String, String>) -> Result<(), ArgumentFault> {
        let kind = self.name;
        if let Some(name) = arguments.keys().find(|name| !self.parameters.iter().any(|known| known.name == **name)) {
            let name: String = name.chars().take(80).collect();
            let known: Vec<&str> = self.parameters.iter().map(|known| known.name).collect();
            let hint = if known.is_empty() { ": it has none".to_owned() } else { did_you_mean(&name, &known) };
            return Err(ArgumentFault::Unknown { what, kind, name: name.escape_default().to_string(), hint });
        }
        for Parameter { name, needed, values } in self.parameters {
            let hint = match arguments.get(*name) {
                Some(value) if !values.is_empty() && !values.contains(&value.as_str()) => {
                    let short: String = value.chars().take(80).collect();
                    format!(
                        " to be {}, not `{}`{}",
                        values.join(" or "),
                        short.escape_default(),
                        did_you_mean(&short, values)
                    )
                }
                None if *needed && !values.is_empty() => did_you_mean("", values),
                None if *needed => String::new(),
                _ => continue,
            };
            return Err(ArgumentFault::Value { what, kind, name, hint });
        }
        Ok(())
    }
}
