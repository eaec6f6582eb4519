//! The active rule set, which can be replaced while the site runs, and what became of those offered. Anybody may read
//! it.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rules::RuleSet;

/// The rule set that decides, which can be replaced while the site runs, and what became of those that were offered.
#[derive(Debug)]
pub struct ActiveRules {
    current: ArcSwap<RuleSet>,
    offers: Mutex<Offers>,
}

/// What became of the rules that were offered since the controller started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// Times that rules were activated.
    pub taken: u64,
    /// Times that they were refused.
    pub refused: u64,
    /// Why the last ones were refused: the active ones are stale. None if the last ones were taken.
    pub refusal: Option<String>,
}

impl ActiveRules {
    /// Starts with these rules.
    #[must_use]
    pub fn new(rules: RuleSet) -> Self {
        Self { current: ArcSwap::from_pointee(rules), offers: Mutex::default() }
    }

    /// The active rules now. A decision uses one set from beginning to end.
    #[must_use]
    pub fn current(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// Other rules than those with this hash are active: what they decided is to be decided again.
    pub(crate) fn replaced_since(&self, hash: &str) -> bool {
        self.current.load().hash() != hash
    }

    /// Activates other rules. What was decided by the former ones and is not committed yet is decided again.
    pub(crate) fn swap(&self, rules: Arc<RuleSet>) {
        self.current.store(rules);
    }

    /// Notes that the last rules that were offered are active.
    pub fn took(&self) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        offers.taken += 1;
        offers.refusal = None;
    }

    /// Notes that other rules were refused; the active ones stay.
    pub fn refuse(&self, why: String) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        offers.refused += 1;
        offers.refusal = Some(why);
    }

    /// What became of the rules that were offered.
    #[must_use]
    pub fn offers(&self) -> Offers {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
