//! Facts that somebody outside the controller tells, and that are unknown until somebody has. For areas of the snapshot.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ir::snapshot::dictionary::{FactField, FactType, Value};

/// A fact that a BMC, a service, or the site has to tell. No value stands for "nobody has told": a guard that needs an
/// unknown fact has no answer, and the host waits for the fact by its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reported<T> {
    /// Nobody has told, or what was told no longer counts.
    #[default]
    Unknown,
    /// As it was told.
    Known(T),
}

impl<T> Reported<T> {
    /// The value, if it is known.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown => None,
        }
    }
}

impl<T> From<T> for Reported<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T> From<Option<T>> for Reported<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Self::Known)
    }
}

/// As an option: null is unknown.
impl<T: Serialize> Serialize for Reported<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.known().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Reported<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::from)
    }
}

impl<T: FactField> FactField for Reported<T> {
    const KIND: FactType = T::KIND;
    const REPORTED: bool = true;
    fn value(&self) -> Value<'_> {
        self.known().map_or(Value::Unknown, T::value)
    }
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        T::read(value).map(Self::Known)
    }
}
