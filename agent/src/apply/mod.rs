//! Makes the DPU run a target, or leaves it as it was.
//!
//! NVUE and the DHCP server change together or not at all. Steps that can be refused come first: the DHCP server's own check,
//! then NVUE's. If configured, NVUE takes a change on trial and rolls it back unless the DPU proves that it still reaches
//! the site. The marker is written when both run; until then everything needed to go back is on disk. That the former
//! configuration runs is claimed only if it is proved: nothing was done, or NVUE confirmed it. Only `agent` calls this room.

mod backup;
mod change;
mod dhcp;
mod nvue;
mod plan;

use std::time::{Duration, SystemTime};

use backup::DhcpBackup;
use change::Change;
use dhcp::DhcpService;
pub(crate) use dhcp::on_disk;
use nvue::{Nvue, NvueDone, ReplaceOptions};
use plan::{DhcpStep, Plan};
pub(crate) use plan::{KnownState, plan};

use crate::{
    Settings,
    desired::Target,
    state::{AppliedDir, Digest, Marker, Note, timestamp},
};

/// What a successful apply did.
pub(crate) struct Done {
    pub(crate) marker: Marker,
    /// Something other than versions changed, so the DPU has to settle again.
    pub(crate) changed: bool,
}

/// Why the target does not run, and what is known to run instead.
#[derive(Debug)]
pub(crate) struct ApplyFault {
    pub(crate) reason: String,
    /// It is proved that all of what the marker stands for runs.
    pub(crate) former_runs: bool,
}

/// What is known of the DPU before a change.
pub(crate) struct Before<'a> {
    pub(crate) marker: Option<&'a Marker>,
    /// What the marker says was confirmed by NVUE, and nothing has happened since that could make it wrong.
    pub(crate) verified: bool,
    pub(crate) applied: &'a AppliedDir,
}

impl Before<'_> {
    /// The NVUE text that the marker stands for, if it is still there.
    fn nvue(&self) -> Option<String> {
        let marker = self.marker?;
        self.applied.nvue().filter(|text| Digest::of(&[text.as_bytes()]) == marker.nvue)
    }
}

/// Carries out a plan. `prove` says within a time whether the DPU still reaches the site; it is called only for a change on
/// trial.
pub(crate) async fn apply(
    plan: Plan,
    target: &Target,
    before: &Before<'_>,
    settings: &Settings,
    prove: impl AsyncFnOnce(Duration) -> Result<(), String>,
) -> Result<Done, ApplyFault> {
    let nvue = Nvue::new(&settings.hbn, before.applied);
    let dhcp = DhcpService::new(settings);
    let change = Change { nvue: &nvue, dhcp: &dhcp, before, target };
    if target.versions.is_none() {
        return isolate(plan, &change).await;
    }
    if plan.dhcp == DhcpStep::Install
        && let Err(fault) = dhcp.check(&target.files.dhcp).await
    {
        return Err(change.not_started(fault.to_string()).await);
    }
    let trial = Some(settings.hbn.confirm).filter(|time| !time.is_zero());
    let replaced = match change.replace(plan.nvue, ReplaceOptions { trial, ..ReplaceOptions::default() }).await {
        Ok(replaced) => replaced,
        Err(fault) if fault.outcome_unknown() => return Err(change.outcome_unknown(&fault).await),
        Err(fault) => return Err(change.not_started(fault.to_string()).await),
    };
    let backup = change.backup(plan.dhcp);
    let changed = replaced != NvueDone::Unchanged || plan.dhcp == DhcpStep::Install || !backup.is_empty();
    if let Err(error) = backup.save(before.applied) {
        let why = format!("the DHCP server's files cannot be backed up in the state directory: {error}");
        return Err(change.undo(replaced, DhcpBackup::default(), why).await);
    }
    let followed = match plan.dhcp {
        DhcpStep::Install => dhcp.install(&target.files.dhcp).await,
        DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
        DhcpStep::Keep => change.listen_again(replaced).await,
    };
    if let Err(fault) = followed {
        return Err(change.undo(replaced, backup, fault.to_string()).await);
    }
    if let NvueDone::OnTrial = replaced {
        // The rest of the time is for the confirmation itself.
        let time = settings.hbn.confirm.mul_f32(0.8);
        if let Err(why) = prove(time).await {
            let why = format!("the change was rolled back, since it cut the DPU off: {why}");
            return Err(change.undo(replaced, backup, why).await);
        }
        if let Err(fault) = nvue.confirm().await {
            return Err(change.undo(replaced, backup, fault.to_string()).await);
        }
    }
    let done = recorded(target, before, changed)?;
    nvue.after_apply().await;
    Ok(done)
}

/// Cuts the host off, as far as possible and at once: without a trial and without undoing anything. A DHCP server that does
/// not stop must not keep NVUE from it, nor the other way round.
async fn isolate(plan: Plan, change: &Change<'_>) -> Result<Done, ApplyFault> {
    let Change { nvue, dhcp, before, target } = *change;
    let backup = change.backup(plan.dhcp);
    if let Err(error) = backup.save(before.applied) {
        tracing::error!("the DHCP server's files cannot be backed up in the state directory: {error}");
    }
    let stopped = match plan.dhcp {
        DhcpStep::Keep => Ok(()),
        DhcpStep::Install | DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
    };
    let replaced = change.replace(plan.nvue, ReplaceOptions { at_once: true, ..ReplaceOptions::default() }).await;
    let failed = |reason| ApplyFault { reason, former_runs: false };
    let replaced = match (replaced, stopped) {
        (Ok(replaced), Ok(())) => replaced,
        (Err(fault), Ok(())) => return Err(failed(fault.to_string())),
        (Ok(_), Err(fault)) => return Err(failed(fault.to_string())),
        (Err(first), Err(second)) => return Err(failed(format!("{second}; {first}"))),
    };
    let done = recorded(target, before, replaced != NvueDone::Unchanged || !backup.is_empty())?;
    nvue.after_apply().await;
    Ok(done)
}

/// Records what runs now.
fn recorded(target: &Target, before: &Before<'_>, changed: bool) -> Result<Done, ApplyFault> {
    let since = match before.marker {
        Some(former) if !changed => former.since.clone(),
        _ => timestamp(SystemTime::now()),
    };
    let marker = Marker {
        nvue: target.nvue.clone(),
        dhcp: target.dhcp.clone(),
        versions: target.versions.clone(),
        expected: Some(target.files.expected.clone()),
        since,
    };
    let written = match before.marker == Some(&marker) {
        true => Ok(()),
        false => before.applied.write(&marker, &target.files.nvue),
    };
    match written.and_then(|()| before.applied.set(Note::HalfApplied, false)) {
        Ok(()) => {
            DhcpBackup::discard(before.applied);
            Ok(Done { marker, changed })
        }
        Err(error) => Err(ApplyFault {
            reason: format!("the configuration runs, but that cannot be recorded in the state directory: {error}"),
            former_runs: false,
        }),
    }
}
