//! A pack after loading: immutable, plain data.

use std::sync::Arc;

use crate::{Decided, Decision, Explanation, Fault, FaultKind, Snapshot, StatePath, Trace};

/// A pack after loading. Immutable; share it by `Arc`.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    hash: String,
    initial: StatePath,
}

impl RuleSet {
    /// SHA-256 over the names and texts of the pack's files, in hex.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// State that new hosts start in.
    #[must_use]
    pub fn initial(&self) -> &StatePath {
        &self.initial
    }

    /// What the rules want done with a host. Pure: the same snapshot gives the same decision.
    #[must_use]
    pub fn decide(&self, snapshot: &Snapshot) -> Decided {
        let reason = Arc::from(format!("the rules have no state `{}`", snapshot.state.path));
        Decided {
            decision: Decision::Error(Fault { reason, gate: None, kind: FaultKind::UnknownState, recheck_after: None }),
            trace: Trace::default(),
        }
    }

    /// [`RuleSet::decide`] with all that was looked at, for people. Slower.
    #[must_use]
    pub fn explain(&self, snapshot: &Snapshot) -> Explanation {
        Explanation {
            state: snapshot.state.path.clone(),
            decision: self.decide(snapshot).decision,
            sla_seconds: None,
            above_sla: false,
            arms: Vec::new(),
            facts: Vec::new(),
            alerts: Vec::new(),
        }
    }
}
