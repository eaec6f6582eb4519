use std::{path::PathBuf, time::Duration};

use super::{
    super::command::{Output, run},
    APPLY, Attempt, NvueDone, NvueFault,
};
use crate::{
    config::Hbn,
    parse::{ApplyAnswer, Diff, apply_answer, diff},
    private_file::{remove, write_private},
};

/// NVUE by its `nv` command.
pub(super) struct NvCommand<'a> {
    hbn: &'a Hbn,
}

impl<'a> NvCommand<'a> {
    pub(super) fn new(hbn: &'a Hbn) -> Self {
        Self { hbn }
    }

    /// Makes NVUE run `text`.
    pub(super) async fn replace(&self, text: &str, attempt: &Attempt) -> Result<NvueDone, NvueFault> {
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
    pub(super) async fn confirm(&self) -> Result<(), NvueFault> {
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
    pub(super) async fn roll_back(&self) -> Result<(), NvueFault> {
        let output = self.config(APPLY, &["--confirm-no"]).await?;
        match apply_answer(&output.both()) {
            ApplyAnswer::Prompt(_) | ApplyAnswer::DaemonGone(_) => (),
            _ if output.success() => return Ok(()),
            _ => (),
        }
        Err(fault(APPLY, apply_answer(&output.both()), &output))
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
