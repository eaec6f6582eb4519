//! The dialects that templates render to, and how a value is written in each so that it stays one value. Only `templates`
//! calls it.

use minijinja::{AutoEscape, Error, ErrorKind, Output, State, Value, value::ValueKind};

use super::statements;
use crate::lint::yaml_value;

/// What a template renders to, which decides how a value is written; known from the file's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Statements,
    Json,
    Yaml,
    /// Anything else: values that could be misread are refused.
    Words,
}

impl Dialect {
    pub(super) fn of(template: &str) -> Self {
        Self::named(template.strip_suffix(".j2").and_then(|name| name.rsplit('.').next()).unwrap_or_default())
    }

    fn named(name: &str) -> Self {
        match name {
            "nv" => Self::Statements,
            "json" => Self::Json,
            "yaml" => Self::Yaml,
            _ => Self::Words,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Statements => "nv",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Words => "words",
        }
    }
}

/// Writes the value of `{{ … }}` so that it stays one value, whatever it holds.
pub(super) fn write_value(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let refuse = |what: String| Err(Error::new(ErrorKind::InvalidOperation, what));
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    if value.is_safe() {
        return Ok(write!(out, "{value}")?);
    }
    let dialect = match state.auto_escape() {
        AutoEscape::Custom(name) => Dialect::named(name),
        _ => Dialect::Words,
    };
    if dialect == Dialect::Json {
        let text = serde_json::to_string(value).map_err(|error| {
            Error::new(ErrorKind::BadSerialization, format!("a value cannot be written as JSON: {error}"))
        })?;
        return Ok(out.write_str(&text)?);
    }
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None if value.is_none() && dialect == Dialect::Yaml => return Ok(out.write_str("null")?),
        None if value.is_none() => return refuse("the value is none: ask with `if` whether it is there".into()),
        None if value.kind() == ValueKind::Number => value.to_string(),
        None if value.kind() == ValueKind::Bool => value.is_true().to_string(),
        None => return refuse(format!("a {} cannot be written here", value.kind())),
    };
    match dialect {
        Dialect::Statements => out.write_str(&statements::escape(&text))?,
        Dialect::Yaml => out.write_str(&yaml_value(&text))?,
        Dialect::Words if !text.is_empty() && text.bytes().all(harmless) => out.write_str(&text)?,
        Dialect::Words | Dialect::Json => {
            return refuse(format!("{text:?} needs quotes here: use the filter `quoted`"));
        }
    }
    Ok(())
}

/// Characters that mean nothing special in any configuration file.
fn harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'_' | b'-' | b'/')
}
