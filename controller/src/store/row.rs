//! Typed reads and writes of columns. For this room alone.

use std::{fmt::Display, str::FromStr};

use serde::{Serialize, de::DeserializeOwned};
use sqlx::{Row as _, any::AnyRow};

use super::{Result, StoreError};
use crate::Timestamp;

/// Reads the typed values of one row, naming the column that cannot be read.
pub(super) struct Row<'a>(pub(super) &'a AnyRow);

impl Row<'_> {
    pub(super) fn text(&self, column: &'static str) -> Result<String> {
        self.0.try_get(column).map_err(|error| unreadable(column, &error))
    }

    pub(super) fn text_if_any(&self, column: &'static str) -> Result<Option<String>> {
        self.0.try_get(column).map_err(|error| unreadable(column, &error))
    }

    pub(super) fn int(&self, column: &'static str) -> Result<i64> {
        self.0.try_get(column).map_err(|error| unreadable(column, &error))
    }

    pub(super) fn int_if_any(&self, column: &'static str) -> Result<Option<i64>> {
        self.0.try_get(column).map_err(|error| unreadable(column, &error))
    }

    /// An integer that fits the wanted type.
    pub(super) fn number<T: TryFrom<i64>>(&self, column: &'static str) -> Result<T> {
        let value = self.int(column)?;
        T::try_from(value).map_err(|_| unreadable(column, &format_args!("{value} is out of range")))
    }

    pub(super) fn moment(&self, column: &'static str) -> Result<Timestamp> {
        self.number(column).map(Timestamp::from_micros)
    }

    pub(super) fn moment_if_any(&self, column: &'static str) -> Result<Option<Timestamp>> {
        Ok(self.int_if_any(column)?.map(|micros| Timestamp::from_micros(u64::try_from(micros).unwrap_or_default())))
    }

    /// A value that is kept as its own text.
    pub(super) fn parsed<T: FromStr<Err: Display>>(&self, column: &'static str) -> Result<T> {
        self.text(column)?.parse().map_err(|error| unreadable(column, &error))
    }

    pub(super) fn parsed_if_any<T: FromStr<Err: Display>>(&self, column: &'static str) -> Result<Option<T>> {
        self.text_if_any(column)?.map(|text| text.parse().map_err(|error| unreadable(column, &error))).transpose()
    }

    pub(super) fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T> {
        serde_json::from_str(&self.text(column)?).map_err(|error| unreadable(column, &error))
    }

    pub(super) fn json_if_any<T: DeserializeOwned>(&self, column: &'static str) -> Result<Option<T>> {
        self.text_if_any(column)?
            .map(|text| serde_json::from_str(&text).map_err(|error| unreadable(column, &error)))
            .transpose()
    }
}

/// A value as the JSON text that is stored.
pub(super) fn to_json<T: Serialize>(column: &'static str, value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| unreadable(column, &error))
}

/// A time as the number that is stored.
pub(super) fn micros(moment: Timestamp) -> i64 {
    i64::try_from(moment.micros()).unwrap_or(i64::MAX)
}

fn unreadable(column: &'static str, fault: &dyn Display) -> StoreError {
    StoreError::Unreadable { column, fault: fault.to_string() }
}
