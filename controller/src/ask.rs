use rules::RuleSet;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Asks rules. Where interpreted guards make that take milliseconds, other tasks of the runtime go on elsewhere meanwhile.
pub(crate) fn ask<T>(rules: &RuleSet, question: impl FnOnce(&RuleSet) -> T) -> T {
    let elsewhere =
        || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if rules.is_interpreted() && elsewhere() { block_in_place(|| question(rules)) } else { question(rules) }
}
