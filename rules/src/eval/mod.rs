//! Evaluation: from a loaded pack and a snapshot to decisions, explanations and views. Imports `ir` alone.

pub(crate) mod alert_query;
pub(crate) mod compile;
pub(crate) mod decide;
pub(crate) mod env;
pub(crate) mod evaluate;
pub(crate) mod evidence;
pub(crate) mod explain;
pub(crate) mod health;
pub(crate) mod prepared;
pub(crate) mod reported;
pub(crate) mod time;
pub(crate) mod track;
pub(crate) mod unknown;
pub(crate) mod view;

use std::ops::Deref;

use crate::{
    eval::{env::Env, prepared::PreparedState, time::Timed},
    ir::{
        pack::{DeclaredState, Pack},
        snapshot::Snapshot,
        state_path::StatePath,
    },
};

/// A pack with its compiled guards. Immutable; share it by `Arc`.
#[derive(Debug)]
pub struct RuleSet {
    pack: Pack,
    /// The compiled arms of each state, in the order of the pack's states.
    prepared: Box<[PreparedState]>,
}

impl RuleSet {
    pub(crate) fn new(pack: Pack) -> Self {
        let timed = Timed::of_reports(&pack.reports);
        let prepared = pack.states.iter().map(|state| PreparedState::of(state, &pack, &timed)).collect();
        Self { pack, prepared }
    }

    pub(crate) fn env<'a>(&'a self, host: &'a Snapshot) -> Env<'a> {
        Env::new(host, &self.pack.reports)
    }

    /// A state with its compiled arms.
    pub(crate) fn prepared(&self, path: &StatePath) -> Option<(&DeclaredState, &PreparedState)> {
        let number = *self.by_path.get(path.as_str())?;
        Some((self.pack.states.get(number)?, self.prepared.get(number)?))
    }
}

impl Deref for RuleSet {
    type Target = Pack;

    fn deref(&self) -> &Pack {
        &self.pack
    }
}
