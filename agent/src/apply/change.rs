//! One change of what the DPU runs, and the ways back from it: what can be claimed about the DPU after each of them.

use super::{
    ApplyFault, Before,
    backup::DhcpBackup,
    dhcp::{DhcpFault, DhcpService},
    nvue::{Nvue, NvueDone, NvueFault, ReplaceOptions},
    plan::{DhcpStep, NvueStep},
};
use crate::{
    desired::Target,
    render::Dhcp,
    state::{Marker, Note},
};

/// A change of what the DPU runs, with the ways back from it.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) nvue: &'a Nvue<'a>,
    pub(super) dhcp: &'a DhcpService<'a>,
    pub(super) before: &'a Before<'a>,
    pub(super) target: &'a Target,
}

impl Change<'_> {
    /// Gives NVUE the text, if the plan says so.
    pub(super) async fn replace(&self, step: NvueStep, options: ReplaceOptions) -> Result<NvueDone, NvueFault> {
        match step {
            NvueStep::Keep => Ok(NvueDone::Unchanged),
            step => {
                self.nvue
                    .replace(
                        &self.target.files.nvue,
                        ReplaceOptions { believed_running: step == NvueStep::Verify, ..options },
                    )
                    .await
            }
        }
    }

    /// The DHCP server's files to go back to: those from before a change that was never completed, or the present ones; none
    /// if they do not change.
    pub(super) fn backup(&self, step: DhcpStep) -> DhcpBackup {
        let Before { marker, applied, .. } = *self.before;
        DhcpBackup::load(applied, marker).unwrap_or_else(|| {
            match step != DhcpStep::Keep && self.dhcp.differs(&self.target.files.dhcp) {
                true => DhcpBackup::new(marker, self.dhcp.now(&self.target.files.dhcp)),
                false => DhcpBackup::default(),
            }
        })
    }

    /// NVUE recreates interfaces, and a DHCP server would go on listening on those that are gone.
    pub(super) async fn listen_again(&self, replaced: NvueDone) -> Result<(), DhcpFault> {
        match self.target.files.dhcp {
            Dhcp::Serve(_) if replaced != NvueDone::Unchanged => self.dhcp.reload().await,
            _ => Ok(()),
        }
    }

    /// NVUE may or may not have applied the change. Until that is known, the DHCP server is as it was.
    pub(super) async fn outcome_unknown(&self, fault: &NvueFault) -> ApplyFault {
        if let Err(fault) = self.dhcp_back().await {
            tracing::error!("the DHCP server could not be restored: {fault}");
        }
        let reason = format!("{fault}; whether NVUE applied it is not known and is checked before the next try");
        ApplyFault { reason, former_runs: false }
    }

    /// Nothing of the change was done, because of `why`. What ran still runs; if that is not known, the DPU is restored to
    /// what the marker stands for.
    pub(super) async fn not_started(&self, why: String) -> ApplyFault {
        match self.before.marker {
            Some(_) if self.before.verified => {
                ApplyFault { reason: format!("{why}; the former configuration stays"), former_runs: true }
            }
            Some(marker) => match self.restore(marker).await {
                Ok(()) => ApplyFault { reason: format!("{why}; the former configuration runs"), former_runs: true },
                Err(fault) => ApplyFault {
                    reason: format!("{why}; whether the former configuration runs is not known: {fault}"),
                    former_runs: false,
                },
            },
            None => {
                if let Err(fault) = self.dhcp_back().await {
                    tracing::error!("the DHCP server could not be restored: {fault}");
                }
                ApplyFault { reason: format!("{why}; there is no former configuration"), former_runs: false }
            }
        }
    }

    /// Restores NVUE and the DHCP server to what ran, because of `why`.
    pub(super) async fn undo(&self, replaced: NvueDone, backup: DhcpBackup, why: String) -> ApplyFault {
        let nvue = self.nvue_undone(replaced).await;
        let dhcp = match backup.is_empty() {
            true => self.dhcp.repeat(&self.target.files.dhcp).await,
            false => self.dhcp.restore(backup).await,
        };
        if dhcp.is_ok() {
            DhcpBackup::discard(self.before.applied);
        }
        if nvue.is_ok() {
            self.nvue.after_apply().await;
        }
        let (end, former_runs) = match (nvue, dhcp, self.before.marker) {
            (Err(fault), ..) => (format!("NVUE could not be restored: {fault}"), false),
            (Ok(()), Err(fault), _) => (format!("the DHCP server could not be restored: {fault}"), false),
            (Ok(()), Ok(()), None) => ("what ran before is back".to_owned(), false),
            (Ok(()), Ok(()), Some(marker)) => match self.dhcp_runs(marker) {
                Ok(_) => ("the former configuration is back".to_owned(), true),
                Err(reason) => (reason, false),
            },
        };
        ApplyFault { reason: format!("{why}; {end}"), former_runs }
    }

    /// Restores NVUE; this succeeds only if NVUE is known to run what the marker stands for.
    async fn nvue_undone(&self, replaced: NvueDone) -> Result<(), String> {
        let Before { marker, verified, .. } = *self.before;
        match replaced {
            NvueDone::Unchanged if marker.is_none_or(|marker| marker.nvue == self.target.nvue) => Ok(()),
            NvueDone::OnTrial => match self.nvue.roll_back().await {
                Ok(()) if verified || marker.is_none() => Ok(()),
                Ok(()) => self.nvue_back().await.map(drop),
                Err(fault) => self.nvue_back().await.map(drop).map_err(|second| format!("{fault}; {second}")),
            },
            NvueDone::Unchanged | NvueDone::Applied => self.nvue_back().await.map(drop),
        }
    }

    /// Makes sure that the DPU runs what the marker stands for.
    async fn restore(&self, marker: &Marker) -> Result<(), String> {
        self.nvue_back().await?;
        self.dhcp_back().await.map_err(|fault| fault.to_string())?;
        let present = self.dhcp_runs(marker)?;
        if marker.dhcp.is_some() {
            // Its files do not show whether it runs, and on which interfaces.
            self.dhcp.restore(present).await.map_err(|fault| fault.to_string())?;
        }
        self.before.applied.set(Note::HalfApplied, false).map_err(|error| error.to_string())?;
        self.nvue.after_apply().await;
        Ok(())
    }

    /// The DHCP server's files, if they are those that the marker stands for.
    fn dhcp_runs(&self, marker: &Marker) -> Result<DhcpBackup, String> {
        let now = DhcpBackup::new(Some(marker), self.dhcp.now(&self.target.files.dhcp));
        match now.matches(marker) {
            true => Ok(now),
            false => Err("the DHCP server has other files than before".to_owned()),
        }
    }

    /// Makes NVUE run what the marker stands for, whatever it runs now.
    async fn nvue_back(&self) -> Result<NvueDone, String> {
        let text = self.before.nvue().ok_or("what NVUE ran before is not recorded")?;
        self.nvue
            .replace(&text, ReplaceOptions { believed_running: true, ..ReplaceOptions::default() })
            .await
            .map_err(|fault| fault.to_string())
    }

    /// Restores the DHCP server's files from before a change that was never completed.
    async fn dhcp_back(&self) -> Result<(), DhcpFault> {
        let Before { marker, applied, .. } = *self.before;
        if let Some(backup) = DhcpBackup::load(applied, marker) {
            self.dhcp.restore(backup).await?;
            DhcpBackup::discard(applied);
        }
        Ok(())
    }
}
