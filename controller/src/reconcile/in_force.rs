use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rules::RuleSet;

/// The rule set that decides, which can be replaced while the site runs, and what became of those that were offered.
#[derive(Debug)]
pub struct RulesInForce {
    current: ArcSwap<RuleSet>,
    offers: Mutex<Offers>,
}

/// What became of the rules that were offered since the controller started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// Times that rules were put in force.
    pub taken: u64,
    /// Times that they were refused.
    pub refused: u64,
    /// Why the last ones were refused: those in force are stale. None if the last ones were taken.
    pub refusal: Option<String>,
}

impl RulesInForce {
    /// Starts with these rules.
    #[must_use]
    pub fn new(rules: RuleSet) -> Self {
        Self { current: ArcSwap::from_pointee(rules), offers: Mutex::default() }
    }

    /// The rules in force now. A decision uses one set from beginning to end.
    #[must_use]
    pub fn current(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// Other rules than those with this hash are in force: what they decided is to be decided again.
    pub(crate) fn superseded(&self, hash: &str) -> bool {
        self.current.load().hash() != hash
    }

    /// Puts other rules in force. What was decided by the former ones and is not committed yet is decided again.
    pub(crate) fn swap(&self, rules: Arc<RuleSet>) {
        self.current.store(rules);
    }

    /// Notes that the last rules that were offered are in force.
    pub fn took(&self) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        offers.taken += 1;
        offers.refusal = None;
    }

    /// Notes that other rules were refused; those in force stay.
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
