//! NVUE: makes it run a text, on trial or for good, by its `nv` command or by its REST interface. Both ways answer alike, and
//! the journal records what must survive a restart in between.

mod command;
mod journal;
mod rest;

use std::{cell::RefCell, io, path::PathBuf, time::Duration};

use command::NvCommand;
use journal::Journal;
use rest::NvRest;

use crate::{
    config::HbnSection,
    hbn::{CommandFault, HttpFault, run},
    state::AppliedDir,
};

/// NVUE, reached by its `nv` command or by its REST interface.
pub(crate) struct Nvue<'a> {
    hbn: &'a HbnSection,
    transport: Transport<'a>,
    journal: Journal<'a>,
}

/// The way to NVUE that is configured.
enum Transport<'a> {
    Command(NvCommand<'a>),
    Rest(NvRest<'a>),
}

/// How a text is given to NVUE.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReplaceOptions {
    /// The text is believed to run already: then a difference in masked secrets alone does not count.
    pub(crate) believed_running: bool,
    /// NVUE rolls back unless the text is confirmed within this time.
    pub(crate) trial: Option<Duration>,
    /// Do not wait until the outcome of an earlier change is known.
    pub(crate) at_once: bool,
}

/// One attempt to give NVUE a text.
struct Attempt<'a> {
    options: ReplaceOptions,
    journal: &'a Journal<'a>,
    /// Why the outcome of an earlier change is not known: then the outcome of this one proves nothing.
    unresolved: RefCell<Option<NvueFault>>,
}

impl Attempt<'_> {
    /// Waits for the outcome of an earlier change, if one may be in progress.
    async fn after_earlier(&self, resolve: impl Future<Output = Result<(), NvueFault>>) -> Result<(), NvueFault> {
        if !self.journal.has_trial() && !self.journal.is_due() {
            return Ok(());
        }
        match resolve.await {
            Err(fault) if self.options.at_once => {
                *self.unresolved.borrow_mut() = Some(fault);
                Ok(())
            }
            resolved => resolved,
        }
    }
}

/// The outcome of a text that NVUE accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NvueDone {
    /// It differs from what ran, and runs now.
    Applied,
    /// It runs, until it is confirmed or rolled back.
    OnTrial,
    /// It ran already.
    Unchanged,
}

/// Why NVUE does not run a text. Steps have the names that `nv config` gives them, whichever way is used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NvueFault {
    #[error("NVUE refused the configuration at `nv config {step}`: {reason}")]
    Refused { step: &'static str, reason: String },
    #[error("NVUE knows no such option at `nv config {step}`: {reason}")]
    UnknownOption { step: &'static str, reason: String },
    #[error("NVUE failed at `nv config {step}`: {reason}")]
    Failed { step: &'static str, reason: String },
    #[error("NVUE failed while it applied the configuration: {reason}")]
    BrokeOff { reason: String },
    #[error("`nv config {step}` asked a question instead of working: {question}")]
    Prompt { step: &'static str, question: String },
    #[error("NVUE's daemon went away during `nv config {step}`: {reason}")]
    DaemonGone { step: &'static str, reason: String },
    #[error("the answer of `nv config {step}` is not understood: {answer}")]
    Unclear { step: &'static str, answer: String },
    #[error("{fault}")]
    Command { step: &'static str, fault: CommandFault },
    #[error("{fault}")]
    Http { step: &'static str, fault: HttpFault },
    #[error("cannot write {path} for NVUE: {source}")]
    File { path: PathBuf, source: io::Error },
}

/// The step that changes what runs.
const APPLY: &str = "apply";

impl NvueFault {
    /// NVUE may or may not run the text now. It certainly does not only if NVUE says so, or was never asked.
    pub(crate) fn outcome_unknown(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::UnknownOption { .. } | Self::File { .. } => false,
            Self::BrokeOff { .. } => true,
            Self::Command { fault: CommandFault::Start { .. }, .. } => false,
            Self::Http { step, fault } => *step == APPLY && !fault.never_sent(),
            // NVUE asks this before it changes anything, and without an answer it changes nothing.
            Self::Prompt { step, question } => *step == APPLY && !question.contains("Are you sure"),
            Self::Failed { step, .. }
            | Self::DaemonGone { step, .. }
            | Self::Unclear { step, .. }
            | Self::Command { step, .. } => *step == APPLY,
        }
    }

    /// A part of the text may run.
    fn is_half(&self) -> bool {
        matches!(self, Self::BrokeOff { .. })
    }
}

impl<'a> Nvue<'a> {
    pub(crate) fn new(hbn: &'a HbnSection, applied: &'a AppliedDir) -> Self {
        let transport = match &hbn.rest {
            Some(rest) => Transport::Rest(NvRest::new(rest, hbn.command_timeout)),
            None => Transport::Command(NvCommand::new(hbn)),
        };
        Self { hbn, transport, journal: Journal::new(applied) }
    }

    /// Makes NVUE run `text`.
    pub(crate) async fn replace(&self, text: &str, options: ReplaceOptions) -> Result<NvueDone, NvueFault> {
        let journal = &self.journal;
        journal.open();
        let attempt = Attempt { options, journal, unresolved: RefCell::new(None) };
        let done = match &self.transport {
            Transport::Command(nv) => nv.replace(text, &attempt).await,
            Transport::Rest(nv) => nv.replace(text, &attempt).await,
        };
        let done = done.and_then(|done| attempt.unresolved.into_inner().map_or(Ok(done), Err));
        journal.close(&done);
        match done {
            // No trial was asked for.
            Ok(NvueDone::OnTrial) if options.trial.is_none() => self.confirm().await.map(|()| NvueDone::Applied),
            done => done,
        }
    }

    /// Keeps a text that is on trial. Only NVUE's word that it is applied proves it.
    pub(crate) async fn confirm(&self) -> Result<(), NvueFault> {
        match &self.transport {
            Transport::Command(nv) => nv.confirm().await,
            Transport::Rest(nv) => nv.confirm().await,
        }?;
        self.journal.end_trial();
        Ok(())
    }

    /// Rolls back a text that is on trial. Only NVUE's word that it rolled back proves it.
    pub(crate) async fn roll_back(&self) -> Result<(), NvueFault> {
        match &self.transport {
            Transport::Command(nv) => nv.roll_back().await,
            Transport::Rest(nv) => nv.roll_back().await,
        }?;
        self.journal.end_trial();
        Ok(())
    }

    /// Runs the operator's command after a change, if NVUE applied anything since it last ran. NVUE runs the change already,
    /// so a failure is only logged.
    pub(crate) async fn after_apply(&self) {
        if !self.journal.is_due() {
            return;
        }
        if !self.hbn.after_apply.is_empty() {
            match run(&self.hbn.after_apply, &[], self.hbn.command_timeout).await {
                Ok(output) if output.success() => (),
                Ok(output) => tracing::warn!("the command after a change failed: {}", output.ending()),
                Err(fault) => tracing::warn!("the command after a change failed: {fault}"),
            }
        }
        self.journal.command_ran();
    }
}
