//! NVUE by its `nv` command: a file is handed over as the pending revision, compared, applied, confirmed or rolled back.

use std::{path::PathBuf, time::Duration};

use super::{APPLY, Attempt, Journal, NvueDone, NvueFault};
use crate::{
    config::HbnSection,
    hbn::{CommandOutput, run},
    parse::{ApplyAnswer, Diff, NvDocument, Revision, apply_answer, diff, nv_document, nv_revisions},
    state::{remove, write_private},
};

/// NVUE by its `nv` command.
pub(super) struct NvCommand<'a> {
    hbn: &'a HbnSection,
}

impl<'a> NvCommand<'a> {
    pub(super) fn new(hbn: &'a HbnSection) -> Self {
        Self { hbn }
    }

    /// Makes NVUE run `text`.
    pub(super) async fn replace(&self, text: &str, attempt: &Attempt<'_>) -> Result<NvueDone, NvueFault> {
        attempt.after_earlier(self.resolve_earlier(attempt.journal)).await?;
        self.drop_pending().await?;
        let file = StagedFile::write(self.hbn.nvue_file_here(), text)?;
        let done = self.replace_staged(attempt).await;
        if let Err(fault) = &done {
            file.reject();
            let still_working = fault.outcome_unknown() && !matches!(fault, NvueFault::BrokeOff { .. });
            if !still_working && !matches!(fault, NvueFault::DaemonGone { .. } | NvueFault::Command { .. }) {
                self.detach().await;
            }
        }
        done
    }

    async fn replace_staged(&self, attempt: &Attempt<'_>) -> Result<NvueDone, NvueFault> {
        let revision = self.replaced().await?;
        let mut differs = match self.diff().await? {
            Diff::Empty => false,
            Diff::MaskedOnly => !attempt.options.believed_running,
            Diff::Changes => true,
        };
        if !differs && !attempt.journal.is_half() {
            match self.runs(&revision).await {
                Some(true) => {
                    self.detach().await;
                    return Ok(NvueDone::Unchanged);
                }
                // NVUE printed no difference although there is one.
                Some(false) => differs = true,
                // Nothing shows that it runs, so NVUE has to apply it and say so.
                None => (),
            }
        }
        if let Some(time) = attempt.options.trial.filter(|_| differs) {
            let time = format!("{}s", time.as_secs().max(1));
            attempt.journal.begin_apply(true)?;
            match self.apply(vec!["--confirm", &time, "-y"], &revision).await {
                Err(NvueFault::UnknownOption { reason, .. }) => {
                    tracing::warn!("NVUE takes no changes on trial, so this one is applied at once: {reason}");
                    attempt.journal.end_trial();
                }
                // Some releases call a change on trial `applied`, too.
                done => return done.map(|_| NvueDone::OnTrial),
            }
        }
        attempt.journal.begin_apply(false)?;
        match differs {
            true => self.apply(vec!["-y"], &revision).await,
            // NVUE sees nothing to apply, so it is told which revision to apply.
            false => self.apply(vec![&revision, "-y"], &revision).await,
        }
    }

    /// Applies the pending revision, which has to be the given one.
    async fn apply(&self, arguments: Vec<&str>, meant: &str) -> Result<NvueDone, NvueFault> {
        let output = self.config(APPLY, &arguments).await?;
        match apply_answer(&output.both()) {
            ApplyAnswer::Applied(revision) | ApplyAnswer::OnTrial(revision)
                if output.success() && revision.as_str() != meant =>
            {
                let answer = format!("revision {} was applied, not {meant}", revision.as_str());
                Err(NvueFault::Unclear { step: APPLY, answer })
            }
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
            ApplyAnswer::Applied(_) if output.success() => Ok(()),
            answer => Err(fault(APPLY, answer, &output)),
        }
    }

    /// Rolls back a text that is on trial.
    pub(super) async fn roll_back(&self) -> Result<(), NvueFault> {
        let output = self.config(APPLY, &["--confirm-no"]).await?;
        match apply_answer(&output.both()) {
            ApplyAnswer::TakenBack(_) if output.success() => Ok(()),
            answer => Err(fault(APPLY, answer, &output)),
        }
    }

    /// An apply may have outlived the agent that started it, or the time for an answer. While NVUE is applying, or may still
    /// roll back a trial, what it calls applied proves little, so nothing is compared.
    async fn resolve_earlier(&self, journal: &Journal<'_>) -> Result<(), NvueFault> {
        let mut unresolved = None;
        if journal.has_trial() {
            let output = self.config(APPLY, &["--confirm-no"]).await?;
            tracing::info!("a change that may be on trial is rolled back: {}", output.ending());
            match apply_answer(&output.both()) {
                ApplyAnswer::TakenBack(_) if output.success() => (),
                ApplyAnswer::NothingOnTrial(_) => (),
                answer => unresolved = Some(fault(APPLY, answer, &output)),
            }
        }
        let revisions = self.revisions().await;
        if let Some(busy) = revisions.iter().find(|it| it.is_under_way() && journal.may_be_under_way()) {
            let answer = format!("revision {} is still under way ({})", busy.id, busy.state);
            return Err(NvueFault::Unclear { step: APPLY, answer });
        }
        match unresolved {
            Some(fault @ NvueFault::DaemonGone { .. }) => return Err(fault),
            Some(fault) if revisions.iter().any(Revision::is_on_trial) => return Err(fault),
            // The words are not known. Unless NVUE lists its revisions or the trial expired long ago, it may still be on trial.
            Some(fault) if revisions.is_empty() && !journal.trial_expired(self.hbn.confirm) => return Err(fault),
            _ => journal.end_trial(),
        }
        Ok(())
    }

    /// All revisions, if this release can list them.
    async fn revisions(&self) -> Vec<Revision> {
        match self.config("revision", &["-o", "json"]).await {
            Ok(output) if output.success() => nv_revisions(&output.stdout).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// A pending revision that somebody left, or this agent before it was interrupted, must not be applied with ours.
    async fn drop_pending(&self) -> Result<(), NvueFault> {
        if self.diff().await? != Diff::Empty {
            tracing::warn!("NVUE holds a pending revision that is not ours to apply; it is detached");
            self.detach().await;
        }
        Ok(())
    }

    /// Gives NVUE the file; the revision that was opened for it.
    async fn replaced(&self) -> Result<String, NvueFault> {
        let path = self.hbn.nvue_file.to_string_lossy();
        let output = self.config("replace", &[&path]).await?;
        if let Some(revision) = accepted(&output)?.revision() {
            return Ok(revision.as_str().to_owned());
        }
        // If it says nothing, the pending revision may be somebody else's. Ours is the one that was not there before.
        self.detach().await;
        let before = self.revisions().await;
        let output = self.config("replace", &[&path]).await?;
        if let Some(revision) = accepted(&output)?.revision() {
            return Ok(revision.as_str().to_owned());
        }
        let opened = self
            .revisions()
            .await
            .into_iter()
            .rev()
            .find(|revision| revision.state == "pending" && !before.iter().any(|known| known.id == revision.id));
        let silent = || NvueFault::Unclear { step: "replace", answer: "no revision was opened".into() };
        opened.map(|revision| revision.id).ok_or_else(silent)
    }

    /// Whether NVUE runs what a revision holds, according to what it prints of both; none if it does not print both. An empty
    /// diff alone proves nothing: the output may be lost.
    async fn runs(&self, revision: &str) -> Option<bool> {
        Some(self.printed(revision).await? == self.printed("applied").await?)
    }

    /// What NVUE prints of a revision, without the header; none if it prints nothing.
    async fn printed(&self, revision: &str) -> Option<Vec<(String, serde_yaml::Value)>> {
        let output = self.config("diff", &["empty", revision]).await.ok().filter(CommandOutput::success)?;
        let NvDocument { entries, .. } = nv_document(&output.stdout).ok()?;
        Some(entries).filter(|entries| !entries.is_empty())
    }

    async fn diff(&self) -> Result<Diff, NvueFault> {
        let output = self.config("diff", &[]).await?;
        match diff(&output.stdout) {
            Ok(found) if output.success() => Ok(found),
            Ok(_) => Err(fault("diff", apply_answer(&output.both()), &output)),
            Err(_) => Err(fault("diff", apply_answer(&output.stdout), &output)),
        }
    }

    /// Drops the pending revision. If that fails, the next attempt starts with it again.
    async fn detach(&self) {
        match self.config("detach", &[]).await {
            Ok(output) if output.success() => (),
            Ok(output) => tracing::warn!("the pending revision stays: {}", output.ending()),
            Err(fault) => tracing::warn!("the pending revision stays: {fault}"),
        }
    }

    async fn config(&self, step: &'static str, arguments: &[&str]) -> Result<CommandOutput, NvueFault> {
        let arguments: Vec<&str> = ["config", step].into_iter().chain(arguments.iter().copied()).collect();
        run(&self.hbn.nv, &arguments, self.limit()).await.map_err(|fault| NvueFault::Command { step, fault })
    }

    fn limit(&self) -> Duration {
        self.hbn.command_timeout
    }
}

/// `nv config replace` says little on success, so only complaints and a bad exit status count.
fn accepted(output: &CommandOutput) -> Result<ApplyAnswer, NvueFault> {
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

fn fault(step: &'static str, answer: ApplyAnswer, output: &CommandOutput) -> NvueFault {
    match answer {
        ApplyAnswer::Refused(reason) => NvueFault::Refused { step, reason },
        ApplyAnswer::BrokeOff(reason) if step == APPLY => NvueFault::BrokeOff { reason },
        ApplyAnswer::UnknownOption(reason) if step == APPLY => NvueFault::UnknownOption { step, reason },
        ApplyAnswer::Failed(reason) | ApplyAnswer::NothingOnTrial(reason) if step == APPLY => {
            NvueFault::Failed { step, reason }
        }
        // Before an apply nothing changes, whatever went wrong.
        ApplyAnswer::BrokeOff(reason)
        | ApplyAnswer::UnknownOption(reason)
        | ApplyAnswer::Failed(reason)
        | ApplyAnswer::NothingOnTrial(reason) => NvueFault::Refused { step, reason },
        ApplyAnswer::Prompt(question) => NvueFault::Prompt { step, question },
        ApplyAnswer::DaemonGone(reason) => NvueFault::DaemonGone { step, reason },
        ApplyAnswer::Unclear(_)
        | ApplyAnswer::Named(_)
        | ApplyAnswer::Silent
        | ApplyAnswer::Applied(_)
        | ApplyAnswer::TakenBack(_)
        | ApplyAnswer::OnTrial(_) => NvueFault::Unclear { step, answer: output.ending() },
    }
}

/// The file that `nv` reads. Until NVUE has accepted it, the former text can be restored.
struct StagedFile {
    path: PathBuf,
    former: Option<Vec<u8>>,
}

impl StagedFile {
    fn write(path: PathBuf, text: &str) -> Result<Self, NvueFault> {
        let former = types::read_file(&path, crate::MAX_FILE_BYTES).ok();
        if former.as_deref() != Some(text.as_bytes())
            && let Err(source) = write_private(&path, text.as_bytes())
        {
            return Err(NvueFault::File { path, source });
        }
        Ok(Self { path, former })
    }

    /// Keeps the rejected text as `….error`, and restores the former one.
    fn reject(self) {
        let mut aside = self.path.clone().into_os_string();
        aside.push(".error");
        let moved = std::fs::rename(&self.path, &aside);
        let back = match &self.former {
            Some(former) => write_private(&self.path, former),
            None => remove(&self.path),
        };
        if let Err(error) = moved.and(back) {
            tracing::warn!("cannot restore {}: {error}", self.path.display());
        }
    }
}
