//! Makes the DPU run a target, or leaves it as it was.
//!
//! NVUE and the DHCP server move together or not at all. What can be refused is tried first: the DHCP server's own check,
//! then NVUE's. Where the operator wants it, NVUE takes a change on trial and goes back by itself unless the DPU proves
//! that it still reaches the site. The marker is written when both run, and until then all that it takes to go back is on
//! file. That the former configuration runs is said only where it is proved: nothing was done, or NVUE was asked.

mod change;
mod command;
mod dhcp;
mod former;
mod nvue;

use std::time::{Duration, SystemTime};

use change::Change;
pub(crate) use command::{CommandFault, Output, ask, run};
use dhcp::DhcpService;
pub(crate) use dhcp::on_disk;
use former::Former;
use nvue::{How, Nvue, NvueDone};
pub(crate) use nvue::{answers as nvue_answers, system as nvue_system};

use crate::{
    Settings,
    intent::Digest,
    marker::{Applied, Marker, Note, timestamp},
    plan::{DhcpStep, Plan, Target},
};

/// What a successful apply did.
pub(crate) struct Done {
    pub(crate) marker: Marker,
    /// Something other than versions changed, so the DPU has to prove itself again.
    pub(crate) changed: bool,
}

/// Why the target does not run, and what is known to run instead.
#[derive(Debug)]
pub(crate) struct ApplyFault {
    pub(crate) reason: String,
    /// It is proved that what the marker stands for runs, as a whole.
    pub(crate) former_runs: bool,
}

/// What is known of the DPU before a change.
pub(crate) struct Before<'a> {
    pub(crate) marker: Option<&'a Marker>,
    /// What the marker says is known to be true.
    pub(crate) verified: bool,
    pub(crate) applied: &'a Applied,
}

impl Before<'_> {
    /// The NVUE text that the marker stands for, if it is still at hand.
    fn nvue(&self) -> Option<String> {
        let marker = self.marker?;
        self.applied.nvue().filter(|text| Digest::of(&[text.as_bytes()]) == marker.nvue)
    }
}

/// Carries out a plan. `prove` says within a time whether the DPU still reaches the site; it is asked only for a change on
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
        return Err(change.not_begun(fault.to_string()).await);
    }
    let trial = Some(settings.hbn.confirm).filter(|time| !time.is_zero());
    let replaced = match change.replace(plan.nvue, How { trial, ..How::default() }).await {
        Ok(replaced) => replaced,
        Err(fault) if fault.outcome_unknown() => return Err(change.in_doubt(&fault).await),
        Err(fault) => return Err(change.not_begun(fault.to_string()).await),
    };
    let former = change.former(plan.dhcp);
    let changed = replaced != NvueDone::Unchanged || plan.dhcp == DhcpStep::Install || !former.is_empty();
    if let Err(error) = former.keep(before.applied) {
        let why = format!("what the DHCP server does now cannot be kept in the state directory: {error}");
        return Err(change.undo(replaced, Former::default(), why).await);
    }
    let followed = match plan.dhcp {
        DhcpStep::Install => dhcp.install(&target.files.dhcp).await,
        DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
        DhcpStep::Keep => change.listen_anew(replaced).await,
    };
    if let Err(fault) = followed {
        return Err(change.undo(replaced, former, fault.to_string()).await);
    }
    if let NvueDone::OnTrial = replaced {
        // A part of the time is for the confirmation itself.
        let time = settings.hbn.confirm.mul_f32(0.8);
        if let Err(why) = prove(time).await {
            let why = format!("the change was taken back, since it cut the DPU off: {why}");
            return Err(change.undo(replaced, former, why).await);
        }
        if let Err(fault) = nvue.confirm().await {
            return Err(change.undo(replaced, former, fault.to_string()).await);
        }
    }
    let done = recorded(target, before, changed)?;
    nvue.after_apply().await;
    Ok(done)
}

/// Cuts the host off, as far as it goes and at once: nothing is on trial, a DHCP server that does not stop must not keep
/// NVUE from it, nor the other way round, and nothing is undone.
async fn isolate(plan: Plan, change: &Change<'_>) -> Result<Done, ApplyFault> {
    let Change { nvue, dhcp, before, target } = *change;
    let former = change.former(plan.dhcp);
    if let Err(error) = former.keep(before.applied) {
        tracing::error!("what the DHCP server does now cannot be kept in the state directory: {error}");
    }
    let stopped = match plan.dhcp {
        DhcpStep::Keep => Ok(()),
        DhcpStep::Install | DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
    };
    let replaced = change.replace(plan.nvue, How { at_once: true, ..How::default() }).await;
    let failed = |reason| ApplyFault { reason, former_runs: false };
    let replaced = match (replaced, stopped) {
        (Ok(replaced), Ok(())) => replaced,
        (Err(fault), Ok(())) => return Err(failed(fault.to_string())),
        (Ok(_), Err(fault)) => return Err(failed(fault.to_string())),
        (Err(first), Err(second)) => return Err(failed(format!("{second}; {first}"))),
    };
    let done = recorded(target, before, replaced != NvueDone::Unchanged || !former.is_empty())?;
    nvue.after_apply().await;
    Ok(done)
}

/// Writes down what runs now.
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
            Former::forget(before.applied);
            Ok(Done { marker, changed })
        }
        Err(error) => Err(ApplyFault {
            reason: format!("the configuration runs, but that cannot be recorded in the state directory: {error}"),
            former_runs: false,
        }),
    }
}
