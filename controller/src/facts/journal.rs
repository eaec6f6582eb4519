//! The action journal as rules read it.

use std::collections::BTreeMap;

use rules::ActionRecord;

use crate::{
    Timestamp,
    act::JournalEntry,
    store::{Action, ActionStatus, HostRecord},
};

/// Actions that arms of the host had since it entered its state, by name.
pub(super) fn of_host(record: &HostRecord) -> BTreeMap<String, ActionRecord> {
    collect(record, |action, entry| action.state_version == record.life.version && !entry.by_dpu())
}

/// Actions on a DPU since `since`, by name.
pub(super) fn of_dpu(record: &HostRecord, dpu: &str, since: Timestamp) -> BTreeMap<String, ActionRecord> {
    collect(record, |action, entry| action.intended_at >= since && entry.dpus.iter().any(|id| id == dpu))
}

fn collect(record: &HostRecord, wanted: impl Fn(&Action, &JournalEntry) -> bool) -> BTreeMap<String, ActionRecord> {
    let mut by_name: BTreeMap<String, ActionRecord> = BTreeMap::new();
    // Oldest first, so that the last try has the last word.
    for action in record.actions.iter().rev() {
        if !wanted(action, &JournalEntry::of(action)) {
            continue;
        }
        let seen = by_name.entry(action.name.clone()).or_default();
        seen.tries = seen.tries.saturating_add(1);
        seen.at = action.finished_at.unwrap_or(action.intended_at).micros();
        seen.error.clone_from(&action.error);
        seen.status = match action.status {
            ActionStatus::Intended => rules::ActionStatus::Running,
            ActionStatus::Done => rules::ActionStatus::Done,
            ActionStatus::Failed => rules::ActionStatus::Failed,
        };
    }
    by_name
}
