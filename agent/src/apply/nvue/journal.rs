//! Notes in the state directory about what NVUE was told, so that a restarted agent knows what may be in progress.

use std::{cell::Cell, time::Duration};

use super::{NvueDone, NvueFault};
use crate::state::{AppliedDir, Note};

/// No apply takes longer: after this time NVUE is not working on it any more.
const MAX_APPLY: Duration = Duration::from_secs(900);

/// What must be known if the agent ends while NVUE applies something. It is on disk before NVUE is told to apply.
pub(super) struct Journal<'a> {
    applied: &'a AppliedDir,
    /// Set once NVUE was told to apply in this attempt: whether the operator's command was still due from an earlier one.
    begun: Cell<Option<bool>>,
}

impl<'a> Journal<'a> {
    pub(super) fn new(applied: &'a AppliedDir) -> Self {
        Self { applied, begun: Cell::new(None) }
    }

    /// A text is about to be given to NVUE.
    pub(super) fn open(&self) {
        self.begun.set(None);
    }

    /// NVUE is about to be told to apply. Notes are written again, since their age counts. A trial that cannot be noted is not
    /// started.
    pub(super) fn begin_apply(&self, trial: bool) -> Result<(), NvueFault> {
        let due = self.begun.get().unwrap_or_else(|| self.is_due());
        self.begun.set(Some(due));
        self.note(Note::Applying, false);
        self.note(Note::Applying, true);
        if !trial {
            return Ok(());
        }
        let noted = self.applied.set(Note::OnTrial, false).and_then(|()| self.applied.set(Note::OnTrial, true));
        noted.map_err(|source| NvueFault::File { path: self.applied.file("on-trial"), source })
    }

    /// The attempt ended like this.
    pub(super) fn close(&self, done: &Result<NvueDone, NvueFault>) {
        match done {
            Ok(NvueDone::Applied) => {
                self.note(Note::OnTrial, false);
                self.note(Note::HalfApplied, false);
            }
            Ok(NvueDone::OnTrial) => self.note(Note::OnTrial, true),
            Ok(NvueDone::Unchanged) => (),
            Err(fault) if fault.is_half() => self.note(Note::HalfApplied, true),
            Err(fault) if fault.outcome_unknown() => (),
            Err(_) => {
                if let Some(due) = self.begun.get() {
                    self.note(Note::OnTrial, false);
                    self.note(Note::Applying, due);
                }
            }
        }
    }

    /// A change may be on trial.
    pub(super) fn has_trial(&self) -> bool {
        self.applied.notes(Note::OnTrial)
    }

    /// Even if nobody rolled it back, NVUE did so by itself.
    pub(super) fn trial_expired(&self, time: Duration) -> bool {
        self.applied.age(Note::OnTrial).is_some_and(|age| age > time * 2 + Duration::from_secs(10))
    }

    /// No change is on trial any more.
    pub(super) fn end_trial(&self) {
        self.note(Note::OnTrial, false);
    }

    /// An apply failed half-way: what NVUE calls applied may not run, so even an equal text is applied.
    pub(super) fn is_half(&self) -> bool {
        self.applied.notes(Note::HalfApplied)
    }

    /// NVUE was told to apply, and is not known to have refused.
    pub(super) fn is_due(&self) -> bool {
        self.applied.notes(Note::Applying)
    }

    /// NVUE may still be applying. What it has been calling under way for longer is not.
    pub(super) fn may_be_under_way(&self) -> bool {
        self.applied.age(Note::Applying).is_some_and(|age| age < MAX_APPLY)
    }

    /// The operator's command after a change has run.
    pub(super) fn command_ran(&self) {
        self.note(Note::Applying, false);
    }

    fn note(&self, note: Note, there: bool) {
        if let Err(error) = self.applied.set(note, there) {
            tracing::error!("{note:?} cannot be recorded in the state directory: {error}");
        }
    }
}
