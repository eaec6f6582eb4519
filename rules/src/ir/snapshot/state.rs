//! Where the host is in its life, since when, and what was done and counted there.

use std::collections::BTreeMap;

use crate::ir::{
    snapshot::{
        dictionary::{Value, area, words},
        values::{Micros, seconds},
    },
    state_path::StatePath,
};

area! {
    /// The host's present state.
    State as "state" at |s, d| s.state;
    facts {}
    raw {
        /// Present state. Of a host whose DPUs have states of their own: the least advanced one.
        path: StatePath,
        /// When it was entered: the time part of the state version.
        since: Micros,
        /// Values of the pack's counters.
        counters: BTreeMap<String, i64>,
        /// What earlier arms noted for later ones.
        notes: BTreeMap<String, String>,
        /// Actions of the journal since the state was entered, by name.
        actions: BTreeMap<String, ActionRecord>,
    }
    derived {
        [Record]
            /// Path of the present state.
            path: Text = Value::Text(s.state.path.as_str()),
            /// Time in the present state.
            elapsed: Age = Value::Int(seconds(s.now, s.state.since)),
    }
}

words! {
    /// How an action of the journal ended.
    ActionStatus {
        /// Started, result unknown.
        Running = "running";
        /// Succeeded.
        Done = "done",
        /// Failed.
        Failed = "failed",
    }
}

/// What the journal knows of one action since the state was entered.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActionRecord {
    /// Result of the last try.
    pub status: ActionStatus,
    /// How often it was tried.
    pub tries: i64,
    /// When the last try ended, or began if it is running.
    pub at: Micros,
    /// Error text of the last try, empty if it did not fail.
    pub error: String,
}
