use super::{
    ApplyFault, Before,
    dhcp::{DhcpFault, DhcpService},
    former::Former,
    nvue::{How, Nvue, NvueDone, NvueFault},
};
use crate::{
    marker::{Marker, Note},
    plan::{DhcpStep, NvueStep, Target},
    render::Dhcp,
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
    /// Gives NVUE the text, if there is anything to do.
    pub(super) async fn replace(&self, step: NvueStep, how: How) -> Result<NvueDone, NvueFault> {
        match step {
            NvueStep::Keep => Ok(NvueDone::Unchanged),
            step => self.nvue.replace(&self.target.files.nvue, How { same: step == NvueStep::Verify, ..how }).await,
        }
    }

    /// The DHCP server's files to go back to: those from before a change that was never brought to its end, or those that
    /// are there; none if they stay.
    pub(super) fn former(&self, step: DhcpStep) -> Former {
        let Before { marker, applied, .. } = *self.before;
        Former::kept(applied, marker).unwrap_or_else(|| {
            match step != DhcpStep::Keep && self.dhcp.differs(&self.target.files.dhcp) {
                true => Former::new(marker, self.dhcp.now(&self.target.files.dhcp)),
                false => Former::default(),
            }
        })
    }

    /// NVUE makes interfaces anew, and a DHCP server goes on listening on those that are gone.
    pub(super) async fn listen_anew(&self, replaced: NvueDone) -> Result<(), DhcpFault> {
        match self.target.files.dhcp {
            Dhcp::Serve(_) if replaced != NvueDone::Unchanged => self.dhcp.reload().await,
            _ => Ok(()),
        }
    }

    /// NVUE may or may not have applied the change. The DHCP server waits until that is known.
    pub(super) async fn in_doubt(&self, fault: &NvueFault) -> ApplyFault {
        if let Err(fault) = self.dhcp_back().await {
            tracing::error!("the DHCP server could not be set back: {fault}");
        }
        let reason = format!("{fault}; whether NVUE applied it is not known and is looked up before the next try");
        ApplyFault { reason, former_runs: false }
    }

    /// Nothing of the change was done, because of `why`. What runs is what ran; if that is not known, the DPU is brought
    /// back to what the marker stands for.
    pub(super) async fn not_begun(&self, why: String) -> ApplyFault {
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
                    tracing::error!("the DHCP server could not be set back: {fault}");
                }
                ApplyFault { reason: format!("{why}; there is no former configuration"), former_runs: false }
            }
        }
    }

    /// Sets NVUE and the DHCP server back to what ran, because of `why`.
    pub(super) async fn undo(&self, replaced: NvueDone, former: Former, why: String) -> ApplyFault {
        let nvue = self.nvue_undone(replaced).await;
        let dhcp = match former.is_empty() {
            true => self.dhcp.again(&self.target.files.dhcp).await,
            false => self.dhcp.put_back(former).await,
        };
        if dhcp.is_ok() {
            Former::forget(self.before.applied);
        }
        if nvue.is_ok() {
            self.nvue.after_apply().await;
        }
        let (end, former_runs) = match (nvue, dhcp, self.before.marker) {
            (Err(fault), ..) => (format!("NVUE could not be set back: {fault}"), false),
            (Ok(()), Err(fault), _) => (format!("the DHCP server could not be set back: {fault}"), false),
            (Ok(()), Ok(()), None) => ("what ran before is back".to_owned(), false),
            (Ok(()), Ok(()), Some(marker)) => match self.dhcp_runs(marker) {
                Ok(_) => ("the former configuration is back".to_owned(), true),
                Err(reason) => (reason, false),
            },
        };
        ApplyFault { reason: format!("{why}; {end}"), former_runs }
    }

    /// Sets NVUE back; all is well only if it is known to run what the marker stands for.
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
        let former = self.dhcp_runs(marker)?;
        if marker.dhcp.is_some() {
            // Whether it runs, and on which interfaces, is not to be seen in its files.
            self.dhcp.put_back(former).await.map_err(|fault| fault.to_string())?;
        }
        self.before.applied.set(Note::HalfApplied, false).map_err(|error| error.to_string())?;
        self.nvue.after_apply().await;
        Ok(())
    }

    /// The DHCP server's files, if they are those that the marker stands for.
    fn dhcp_runs(&self, marker: &Marker) -> Result<Former, String> {
        let now = Former::new(Some(marker), self.dhcp.now(&self.target.files.dhcp));
        match now.are_of(marker) {
            true => Ok(now),
            false => Err("the DHCP server has other files than before".to_owned()),
        }
    }

    /// Makes NVUE run what the marker stands for, whatever it runs now.
    async fn nvue_back(&self) -> Result<NvueDone, String> {
        let text = self.before.nvue().ok_or("what NVUE ran before is not at hand")?;
        self.nvue.replace(&text, How { same: true, ..How::default() }).await.map_err(|fault| fault.to_string())
    }

    /// Puts back the DHCP server's files from before a change that was never brought to its end.
    async fn dhcp_back(&self) -> Result<(), DhcpFault> {
        let Before { marker, applied, .. } = *self.before;
        if let Some(former) = Former::kept(applied, marker) {
            self.dhcp.put_back(former).await?;
            Former::forget(applied);
        }
        Ok(())
    }
}
