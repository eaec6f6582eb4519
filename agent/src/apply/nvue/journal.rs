use std::{cell::Cell, time::Duration};

use super::{NvueDone, NvueFault};
use crate::marker::{Applied, Note};

/// No apply takes longer: then NVUE has forgotten it.
const LONGEST_APPLY: Duration = Duration::from_secs(900);

/// What must outlive an agent that ends while NVUE applies something. It is on file before NVUE is told to.
pub(super) struct Journal<'a> {
    applied: &'a Applied,
    /// NVUE was told to apply in this attempt; and what was left to be done of one before.
    begun: Cell<Option<bool>>,
}

impl<'a> Journal<'a> {
    pub(super) fn new(applied: &'a Applied) -> Self {
        Self { applied, begun: Cell::new(None) }
    }

    /// A text is about to be given to NVUE.
    pub(super) fn opens(&self) {
        self.begun.set(None);
    }

    /// NVUE is about to be told to apply. Notes are made anew, since their age counts. A trial that nobody would remember is
    /// not begun.
    pub(super) fn begins(&self, trial: bool) -> Result<(), NvueFault> {
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

    /// What became of the text.
    pub(super) fn closes(&self, done: &Result<NvueDone, NvueFault>) {
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

    /// Even if nobody took it back, NVUE did so by itself.
    pub(super) fn trial_ran_out(&self, time: Duration) -> bool {
        self.applied.age(Note::OnTrial).is_some_and(|age| age > time * 2 + Duration::from_secs(10))
    }

    pub(super) fn trial_is_over(&self) {
        self.note(Note::OnTrial, false);
    }

    /// An apply broke off half-way: what NVUE calls applied need not run, so even an equal text is applied.
    pub(super) fn is_half(&self) -> bool {
        self.applied.notes(Note::HalfApplied)
    }

    /// NVUE was told to apply, and is not known to have refused.
    pub(super) fn is_due(&self) -> bool {
        self.applied.notes(Note::Applying)
    }

    /// NVUE may still be at it. What it says is under way for longer than this is not.
    pub(super) fn may_be_under_way(&self) -> bool {
        self.applied.age(Note::Applying).is_some_and(|age| age < LONGEST_APPLY)
    }

    pub(super) fn is_done(&self) {
        self.note(Note::Applying, false);
    }

    fn note(&self, note: Note, there: bool) {
        if let Err(error) = self.applied.set(note, there) {
            tracing::error!("{note:?} cannot be recorded in the state directory: {error}");
        }
    }
}
