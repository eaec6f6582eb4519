use std::{io, path::PathBuf, time::Duration};

use super::command::{CommandFault, Output, run};
use crate::{
    config::Hbn,
    intent::write_private,
    marker::remove,
    parse::{ApplyAnswer, Diff, apply_answer, diff},
};

/// NVUE, reached by its `nv` command.
pub(crate) struct Nvue<'a> {
    hbn: &'a Hbn,
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

/// Why NVUE does not run a text.
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
            Self::DaemonGone { step, .. } | Self::Unclear { step, .. } | Self::Command { step, .. } => *step == APPLY,
        }
    }
}

impl NvueFault {
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

impl<'a> Nvue<'a> {
    pub(crate) fn new(hbn: &'a Hbn) -> Self {
        Self { hbn }
    }

    /// Makes NVUE run `text`.
    pub(crate) async fn replace(&self, text: &str, attempt: &Attempt) -> Result<NvueDone, NvueFault> {
        self.drop_pending().await?;
        if attempt.trial_open {
            // If NVUE went back by itself meanwhile it says that there is no trial, which is just as well.
            let answer = self.config(APPLY, &["--confirm-no"]).await?;
            tracing::info!("a change that was on trial is taken back: {}", answer.ending());
        }
        let file = StagedFile::write(self.hbn.nvue_file_here(), text)?;
        match self.replace_staged(attempt).await {
            Ok(done) => Ok(done),
            Err(fault) => {
                file.reject();
                if !matches!(fault, NvueFault::DaemonGone { .. } | NvueFault::Command { .. }) {
                    self.detach().await;
                }
                Err(fault)
            }
        }
    }

    async fn replace_staged(&self, attempt: &Attempt) -> Result<NvueDone, NvueFault> {
        let path = self.hbn.nvue_file.to_string_lossy();
        let output = self.config("replace", &[&path]).await?;
        let taken = taken(&output)?;
        let differs = match self.diff().await? {
            Diff::Empty => false,
            Diff::MaskedOnly => !attempt.same,
            Diff::Changes => true,
        };
        let revision = taken.revision().map(|revision| revision.as_str());
        match (differs, attempt.half, attempt.trial) {
            (false, false, _) => {
                self.detach().await;
                Ok(NvueDone::Unchanged)
            }
            // NVUE sees nothing to apply, so it is told which revision is meant.
            (false, true, _) => self.apply(revision.into_iter().chain(["-y"]).collect()).await,
            (true, _, None) => self.apply(vec!["-y"]).await,
            (true, _, Some(time)) => {
                let time = format!("{}s", time.as_secs().max(1));
                match self.apply(vec!["--confirm", &time, "-y"]).await {
                    Err(fault) if fault.may_be_the_trial() => {
                        tracing::warn!("NVUE takes no changes on trial, so this one is applied at once: {fault}");
                        self.apply(vec!["-y"]).await
                    }
                    // Some releases say `applied` of a change on trial too.
                    done => done.map(|_| NvueDone::OnTrial),
                }
            }
        }
    }

    async fn apply(&self, arguments: Vec<&str>) -> Result<NvueDone, NvueFault> {
        let output = self.config(APPLY, &arguments).await?;
        match apply_answer(&output.both()) {
            ApplyAnswer::Applied(revision) if output.success() => {
                tracing::info!("NVUE applied revision {}", revision.as_str());
                Ok(NvueDone::Applied)
            }
            ApplyAnswer::OnTrial(revision) if output.success() => {
                tracing::info!("NVUE has revision {} on trial", revision.as_str());
                Ok(NvueDone::OnTrial)
            }
            answer => Err(fault(APPLY, answer, &output)),
        }
    }

    /// Keeps a text that is on trial.
    pub(crate) async fn confirm(&self) -> Result<(), NvueFault> {
        let output = self.config(APPLY, &["--confirm-yes"]).await?;
        match apply_answer(&output.both()) {
            ApplyAnswer::Applied(_) | ApplyAnswer::Named(_) | ApplyAnswer::Silent | ApplyAnswer::Unclear(_)
                if output.success() =>
            {
                Ok(())
            }
            answer => Err(fault(APPLY, answer, &output)),
        }
    }

    /// Goes back from a text that is on trial.
    pub(crate) async fn roll_back(&self) -> Result<(), NvueFault> {
        let output = self.config(APPLY, &["--confirm-no"]).await?;
        match apply_answer(&output.both()) {
            ApplyAnswer::Prompt(_) | ApplyAnswer::DaemonGone(_) => (),
            _ if output.success() => return Ok(()),
            _ => (),
        }
        Err(fault(APPLY, apply_answer(&output.both()), &output))
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

    /// A revision that somebody left behind, or that was ours before we were cut off, is not applied with ours.
    async fn drop_pending(&self) -> Result<(), NvueFault> {
        if self.diff().await? != Diff::Empty {
            tracing::warn!("NVUE holds a pending revision that is not ours to apply; it is detached");
            self.detach().await;
        }
        Ok(())
    }

    async fn diff(&self) -> Result<Diff, NvueFault> {
        let output = self.config("diff", &[]).await?;
        match diff(&output.stdout) {
            Ok(found) if output.success() => Ok(found),
            Ok(_) => Err(fault("diff", apply_answer(&output.both()), &output)),
            Err(_) => Err(fault("diff", apply_answer(&output.stdout), &output)),
        }
    }

    /// Drops the pending revision. There is nothing better to do if that fails: the next try begins with it.
    async fn detach(&self) {
        match self.config("detach", &[]).await {
            Ok(output) if output.success() => (),
            Ok(output) => tracing::warn!("the pending revision stays: {}", output.ending()),
            Err(fault) => tracing::warn!("the pending revision stays: {fault}"),
        }
    }

    async fn config(&self, step: &'static str, arguments: &[&str]) -> Result<Output, NvueFault> {
        let arguments: Vec<&str> = ["config", step].into_iter().chain(arguments.iter().copied()).collect();
        run(&self.hbn.nv, &arguments, self.limit()).await.map_err(|fault| NvueFault::Command { step, fault })
    }

    fn limit(&self) -> Duration {
        self.hbn.command_timeout
    }
}

/// `nv config replace` says little when all is well, so only bad words and a bad exit status count.
fn taken(output: &Output) -> Result<ApplyAnswer, NvueFault> {
    match apply_answer(&output.both()) {
        answer @ (ApplyAnswer::Named(_)
        | ApplyAnswer::Silent
        | ApplyAnswer::Applied(_)
        | ApplyAnswer::OnTrial(_)
        | ApplyAnswer::Unclear(_))
            if output.success() =>
        {
            Ok(answer)
        }
        answer => Err(fault("replace", answer, output)),
    }
}

fn fault(step: &'static str, answer: ApplyAnswer, output: &Output) -> NvueFault {
    match answer {
        ApplyAnswer::Refused(reason) => NvueFault::Refused { step, reason },
        ApplyAnswer::Prompt(question) => NvueFault::Prompt { step, question },
        ApplyAnswer::DaemonGone(reason) => NvueFault::DaemonGone { step, reason },
        ApplyAnswer::BrokeOff(reason) if step == APPLY => NvueFault::BrokeOff { reason },
        ApplyAnswer::BrokeOff(reason) => NvueFault::Refused { step, reason },
        ApplyAnswer::Unclear(_)
        | ApplyAnswer::Named(_)
        | ApplyAnswer::Silent
        | ApplyAnswer::Applied(_)
        | ApplyAnswer::OnTrial(_) => NvueFault::Unclear { step, answer: output.ending() },
    }
}

/// The file that `nv` reads. Until NVUE has taken it, the former text can be put back.
struct StagedFile {
    path: PathBuf,
    former: Option<Vec<u8>>,
}

impl StagedFile {
    fn write(path: PathBuf, text: &str) -> Result<Self, NvueFault> {
        let former = std::fs::read(&path).ok();
        if former.as_deref() != Some(text.as_bytes())
            && let Err(source) = write_private(&path, text.as_bytes())
        {
            return Err(NvueFault::File { path, source });
        }
        Ok(Self { path, former })
    }

    /// Keeps the text that was not taken beside, as `….error`, and puts the former one back.
    fn reject(self) {
        let mut aside = self.path.clone().into_os_string();
        aside.push(".error");
        let moved = std::fs::rename(&self.path, &aside);
        let back = match &self.former {
            Some(former) => write_private(&self.path, former),
            None => remove(&self.path),
        };
        if let Err(error) = moved.and(back) {
            tracing::warn!("cannot put back {}: {error}", self.path.display());
        }
    }
}
