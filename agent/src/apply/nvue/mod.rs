mod command;
mod http;
mod rest;

use std::{io, path::PathBuf, time::Duration};

use command::NvCommand;
use http::HttpFault;
use rest::NvRest;
pub(crate) use rest::answers;

use super::command::{CommandFault, ask, run};
use crate::{
    config::Hbn,
    parse::{SystemVersion, system_version},
};

/// NVUE, reached by its `nv` command or by its REST interface.
pub(crate) struct Nvue<'a> {
    hbn: &'a Hbn,
    way: Way<'a>,
}

enum Way<'a> {
    Command(NvCommand<'a>),
    Rest(NvRest<'a>),
}

/// What is believed while a text is given to NVUE.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attempt {
    /// It is believed to run: it is only compared, and a difference of masked secrets alone is none.
    pub(crate) same: bool,
    /// A change before this one may still be on trial.
    pub(crate) trial_open: bool,
    /// An apply broke off half-way: what NVUE calls applied need not run, so even an equal text is applied.
    pub(crate) half: bool,
    /// NVUE goes back by itself unless the text is confirmed within this time.
    pub(crate) trial: Option<Duration>,
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
    /// NVUE may or may not run the text now.
    pub(crate) fn outcome_unknown(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Prompt { .. } | Self::File { .. } => false,
            Self::BrokeOff { .. } => true,
            Self::Command { fault: CommandFault::Start { .. }, .. } => false,
            Self::Http { step, fault } => *step == APPLY && !fault.never_sent(),
            Self::DaemonGone { step, .. } | Self::Unclear { step, .. } | Self::Command { step, .. } => *step == APPLY,
        }
    }

    /// A part of the text runs.
    pub(crate) fn is_half(&self) -> bool {
        matches!(self, Self::BrokeOff { .. })
    }

    /// It may be the trial that NVUE does not know, not the configuration that it does not like.
    fn may_be_the_trial(&self) -> bool {
        match self {
            Self::Refused { step, reason } => *step == APPLY && !reason.starts_with("Invalid config"),
            Self::Unclear { step, .. } => *step == APPLY,
            _ => false,
        }
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
    pub(crate) fn new(hbn: &'a Hbn) -> Self {
        let way = match &hbn.rest {
            Some(rest) => Way::Rest(NvRest::new(rest, hbn.command_timeout)),
            None => Way::Command(NvCommand::new(hbn)),
        };
        Self { hbn, way }
    }

    /// Makes NVUE run `text`.
    pub(crate) async fn replace(&self, text: &str, attempt: &Attempt) -> Result<NvueDone, NvueFault> {
        match &self.way {
            Way::Command(nv) => nv.replace(text, attempt).await,
            Way::Rest(nv) => nv.replace(text, attempt).await,
        }
    }

    /// Keeps a text that is on trial.
    pub(crate) async fn confirm(&self) -> Result<(), NvueFault> {
        match &self.way {
            Way::Command(nv) => nv.confirm().await,
            Way::Rest(nv) => nv.confirm().await,
        }
    }

    /// Goes back from a text that is on trial.
    pub(crate) async fn roll_back(&self) -> Result<(), NvueFault> {
        match &self.way {
            Way::Command(nv) => nv.roll_back().await,
            Way::Rest(nv) => nv.roll_back().await,
        }
    }

    /// What the operator wants to be done after each change. NVUE runs the change already, so a failure is only told.
    pub(crate) async fn after_apply(&self) {
        if self.hbn.after_apply.is_empty() {
            return;
        }
        match run(&self.hbn.after_apply, &[], self.hbn.command_timeout).await {
            Ok(output) if output.success() => (),
            Ok(output) => tracing::warn!("the command after a change failed: {}", output.ending()),
            Err(fault) => tracing::warn!("the command after a change failed: {fault}"),
        }
    }
}
