mod command;
mod http;
mod journal;
mod rest;

use std::{cell::RefCell, io, path::PathBuf, time::Duration};

use command::NvCommand;
use http::HttpFault;
use journal::Journal;
use rest::NvRest;
pub(crate) use rest::answers;

use super::command::{CommandFault, ask, run};
use crate::{
    config::Hbn,
    marker::Applied,
    parse::{SystemVersion, system_version},
};

/// NVUE, reached by its `nv` command or by its REST interface.
pub(crate) struct Nvue<'a> {
    hbn: &'a Hbn,
    way: Way<'a>,
    journal: Journal<'a>,
}

enum Way<'a> {
    Command(NvCommand<'a>),
    Rest(NvRest<'a>),
}

/// How a text is given to NVUE.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct How {
    /// It is believed to run: it is only compared, and a difference of masked secrets alone is none.
    pub(crate) same: bool,
    /// NVUE goes back by itself unless the text is confirmed within this time.
    pub(crate) trial: Option<Duration>,
    /// It cannot wait until it is known what became of a change before.
    pub(crate) at_once: bool,
}

/// A text that is given to NVUE.
struct Attempt<'a> {
    how: How,
    journal: &'a Journal<'a>,
    /// Why it is not known what became of a change before: then what comes of this one proves nothing.
    unsettled: RefCell<Option<NvueFault>>,
}

impl Attempt<'_> {
    /// Brings what was begun before to its end, if there is anything.
    async fn first(&self, settle: impl Future<Output = Result<(), NvueFault>>) -> Result<(), NvueFault> {
        if !self.journal.has_trial() && !self.journal.is_due() {
            return Ok(());
        }
        match settle.await {
            Err(fault) if self.how.at_once => {
                *self.unsettled.borrow_mut() = Some(fault);
                Ok(())
            }
            settled => settled,
        }
    }
}

/// What became of a text that NVUE took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NvueDone {
    /// It differs from what ran, and runs now.
    Applied,
    /// It runs, until it is confirmed or rolled back.
    OnTrial,
    /// It is what ran already.
    Unchanged,
}

/// Why NVUE does not run a text. A step is what `nv config` calls it, whichever way is taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NvueFault {
    #[error("NVUE refused the configuration at `nv config {step}`: {reason}")]
    Refused { step: &'static str, reason: String },
    #[error("NVUE knows no such option at `nv config {step}`: {reason}")]
    UnknownOption { step: &'static str, reason: String },
    #[error("NVUE failed at `nv config {step}`: {reason}")]
    Failed { step: &'static str, reason: String },
    #[error("NVUE broke off while it applied the configuration: {reason}")]
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

const APPLY: &str = "apply";

impl NvueFault {
    /// NVUE may or may not run the text now. It is known not to only where NVUE says so, or was never asked.
    pub(crate) fn outcome_unknown(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::UnknownOption { .. } | Self::File { .. } => false,
            Self::BrokeOff { .. } => true,
            Self::Command { fault: CommandFault::Start { .. }, .. } => false,
            Self::Http { step, fault } => *step == APPLY && !fault.never_sent(),
            // Without an answer to this one, which comes before anything moves, NVUE leaves it at that.
            Self::Prompt { step, question } => *step == APPLY && !question.contains("Are you sure"),
            Self::Failed { step, .. }
            | Self::DaemonGone { step, .. }
            | Self::Unclear { step, .. }
            | Self::Command { step, .. } => *step == APPLY,
        }
    }

    /// A part of the text runs.
    fn is_half(&self) -> bool {
        matches!(self, Self::BrokeOff { .. })
    }
}

/// What NVUE says that it is a part of.
pub(crate) async fn system(hbn: &Hbn) -> Result<SystemVersion, String> {
    match &hbn.rest {
        Some(rest) => {
            let text = rest::system(rest, hbn.command_timeout).await?;
            system_version(&text).map_err(|fault| fault.to_string())
        }
        None => ask(&hbn.nv, &["show", "system", "-o", "json"], hbn.command_timeout, system_version).await,
    }
}

impl<'a> Nvue<'a> {
    pub(crate) fn new(hbn: &'a Hbn, applied: &'a Applied) -> Self {
        let way = match &hbn.rest {
            Some(rest) => Way::Rest(NvRest::new(rest, hbn.command_timeout)),
            None => Way::Command(NvCommand::new(hbn)),
        };
        Self { hbn, way, journal: Journal::new(applied) }
    }

    /// Makes NVUE run `text`.
    pub(crate) async fn replace(&self, text: &str, how: How) -> Result<NvueDone, NvueFault> {
        let journal = &self.journal;
        journal.opens();
        let attempt = Attempt { how, journal, unsettled: RefCell::new(None) };
        let done = match &self.way {
            Way::Command(nv) => nv.replace(text, &attempt).await,
            Way::Rest(nv) => nv.replace(text, &attempt).await,
        };
        let done = done.and_then(|done| attempt.unsettled.into_inner().map_or(Ok(done), Err));
        journal.closes(&done);
        match done {
            // Nobody asked for a trial.
            Ok(NvueDone::OnTrial) if how.trial.is_none() => self.confirm().await.map(|()| NvueDone::Applied),
            done => done,
        }
    }

    /// Keeps a text that is on trial. Only NVUE's word that it is applied proves it.
    pub(crate) async fn confirm(&self) -> Result<(), NvueFault> {
        match &self.way {
            Way::Command(nv) => nv.confirm().await,
            Way::Rest(nv) => nv.confirm().await,
        }?;
        self.journal.trial_is_over();
        Ok(())
    }

    /// Goes back from a text that is on trial. Only NVUE's word that it went back proves it.
    pub(crate) async fn roll_back(&self) -> Result<(), NvueFault> {
        match &self.way {
            Way::Command(nv) => nv.roll_back().await,
            Way::Rest(nv) => nv.roll_back().await,
        }?;
        self.journal.trial_is_over();
        Ok(())
    }

    /// What the operator wants to be done after each change, if NVUE applied anything since it was last done. NVUE runs
    /// the change already, so a failure is only told.
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
        self.journal.is_done();
    }
}
