//! Paths of states, and which path is below which. Public: the controller stores them.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Path of a state, such as `Assigned/WaitingForNetworkConfig`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatePath(Arc<str>);

impl StatePath {
    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first part: `Assigned`.
    #[must_use]
    pub fn top(&self) -> &str {
        self.0.split('/').next().unwrap_or(&self.0)
    }

    /// The state is `prefix` itself or lies below it: `Assigned/Ready` is within `Assigned`, not within `Assig`.
    #[must_use]
    pub fn is_within(&self, prefix: &str) -> bool {
        is_within(&self.0, prefix)
    }

    /// Words of letters, digits, `_`, `-` and `.`, with `/` between them.
    pub(crate) fn is_well_formed(&self) -> bool {
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        self.0.split('/').all(|word| !word.is_empty() && word.chars().all(part))
    }
}

pub(crate) fn is_within(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Default for StatePath {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for StatePath {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

impl fmt::Display for StatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for StatePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StatePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|path| Self::from(path.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_slash() {
        let path = StatePath::from("Assigned/Ready");
        assert!(path.is_within("Assigned") && path.is_within("Assigned/Ready"));
        assert!(!path.is_within("Assig") && !path.is_within("Ready") && !path.is_within("Assigned/Ready/More"));
        assert_eq!(path.top(), "Assigned");
    }
}
