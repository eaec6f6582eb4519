use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rules::RuleSet;

/// The rule set that decides, which can be replaced while the site runs, and why the last replacement was refused.
#[derive(Debug)]
pub struct RulesInForce {
    current: ArcSwap<RuleSet>,
    refusal: Mutex<Option<String>>,
}

impl RulesInForce {
    /// Starts with these rules.
    #[must_use]
    pub fn new(rules: RuleSet) -> Self {
        Self { current: ArcSwap::from_pointee(rules), refusal: Mutex::new(None) }
    }

    /// The rules in force now. A decision uses one set from beginning to end.
    #[must_use]
    pub fn current(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// Puts other rules in force. Decisions under way end with the old ones.
    pub fn replace(&self, rules: RuleSet) {
        self.current.store(Arc::new(rules));
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Notes that other rules were refused; those in force stay.
    pub fn refuse(&self, why: String) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// Why the last rules were refused; none if the last ones were taken.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
