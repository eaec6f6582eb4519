//! Makes the DPU run a target, or leaves it as it was.
//!
//! NVUE and the DHCP server move together or not at all. What can be refused is tried first: the DHCP server's own check,
//! then NVUE's. Where the operator wants it, NVUE takes a change on trial and goes back by itself unless the DPU proves
//! that it still reaches the site. The marker is written when both run.

mod command;
mod dhcp;
mod nvue;

use std::time::{Duration, SystemTime};

pub(crate) use command::{CommandFault, Output, ask, run};
pub(crate) use dhcp::on_disk;
use dhcp::{DhcpFault, DhcpService, Former};
use nvue::{Attempt, Nvue, NvueDone, NvueFault};
pub(crate) use nvue::{answers as nvue_answers, system as nvue_system};

use crate::{
    Settings,
    marker::{Applied, Marker, Note, timestamp},
    plan::{DhcpStep, NvueStep, Plan, Target},
    render::Dhcp,
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
    /// What ran before still runs, as a whole.
    pub(crate) former_runs: bool,
}

/// What is known of the DPU before a change.
pub(crate) struct Before<'a> {
    pub(crate) marker: Option<&'a Marker>,
    pub(crate) applied: &'a Applied,
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
    let nvue = Nvue::new(&settings.hbn);
    let dhcp = DhcpService::new(settings);
    if target.versions.is_none() {
        return isolate(plan, target, before, &nvue, &dhcp).await;
    }
    if plan.dhcp == DhcpStep::Install {
        dhcp.check(&target.files.dhcp).await.map_err(|fault| refused(&fault))?;
    }
    let trial = Some(settings.hbn.confirm).filter(|time| !time.is_zero());
    let replaced = replace(&nvue, plan.nvue, target, before, trial).await.map_err(|fault| nvue_failed(&fault))?;
    let former = match plan.dhcp {
        DhcpStep::Install | DhcpStep::Stop => dhcp.former(&target.files.dhcp),
        DhcpStep::Keep => Former::default(),
    };
    let changed = replaced != NvueDone::Unchanged || plan.dhcp == DhcpStep::Install || !former.is_empty();
    let change = Change { nvue: &nvue, dhcp: &dhcp, before, replaced, target, former };
    let followed = match plan.dhcp {
        DhcpStep::Install => dhcp.install(&target.files.dhcp).await,
        DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
        DhcpStep::Keep => change.listen_anew().await,
    };
    if let Err(fault) = followed {
        return Err(change.undo(fault.to_string()).await);
    }
    if let NvueDone::OnTrial = replaced {
        // A part of the time is for the confirmation itself.
        let time = settings.hbn.confirm.mul_f32(0.8);
        if let Err(why) = prove(time).await {
            return Err(change.undo(format!("the change was taken back, since it cut the DPU off: {why}")).await);
        }
        if let Err(fault) = nvue.confirm().await {
            return Err(change.undo(fault.to_string()).await);
        }
        note(before, Note::OnTrial, false);
    }
    let done = recorded(target, before, changed)?;
    if replaced != NvueDone::Unchanged {
        nvue.after_apply().await;
    }
    Ok(done)
}

/// Cuts the host off, as far as it goes and at once: nothing is on trial, a DHCP server that does not stop must not keep
/// NVUE from it, nor the other way round, and nothing is undone.
async fn isolate(
    plan: Plan,
    target: &Target,
    before: &Before<'_>,
    nvue: &Nvue<'_>,
    dhcp: &DhcpService<'_>,
) -> Result<Done, ApplyFault> {
    let former = dhcp.former(&target.files.dhcp);
    let stopped = match plan.dhcp {
        DhcpStep::Keep => Ok(()),
        DhcpStep::Install | DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
    };
    let replaced = replace(nvue, plan.nvue, target, before, None).await;
    let failed = |reason| ApplyFault { reason, former_runs: false };
    let replaced = match (replaced, stopped) {
        (Ok(replaced), Ok(())) => replaced,
        (Err(fault), Ok(())) => return Err(failed(fault.to_string())),
        (Ok(_), Err(fault)) => return Err(failed(fault.to_string())),
        (Err(first), Err(second)) => return Err(failed(format!("{second}; {first}"))),
    };
    let done = recorded(target, before, replaced != NvueDone::Unchanged || !former.is_empty())?;
    if replaced != NvueDone::Unchanged {
        nvue.after_apply().await;
    }
    Ok(done)
}

/// Gives NVUE the text, if there is anything to do, and notes what must outlive the agent.
async fn replace(
    nvue: &Nvue<'_>,
    step: NvueStep,
    target: &Target,
    before: &Before<'_>,
    trial: Option<Duration>,
) -> Result<NvueDone, NvueFault> {
    if step == NvueStep::Keep {
        return Ok(NvueDone::Unchanged);
    }
    let attempt = Attempt {
        same: step == NvueStep::Verify,
        trial_open: before.applied.notes(Note::OnTrial),
        half: before.applied.notes(Note::HalfApplied),
        trial,
    };
    note(before, Note::OnTrial, trial.is_some() || attempt.trial_open);
    let replaced = nvue.replace(&target.files.nvue, &attempt).await;
    let open = match &replaced {
        Ok(done) => *done == NvueDone::OnTrial,
        Err(fault) => fault.outcome_unknown() && trial.is_some(),
    };
    note(before, Note::OnTrial, open);
    if let Err(fault) = &replaced {
        note(before, Note::HalfApplied, fault.is_half() || attempt.half);
    }
    replaced
}

fn note(before: &Before<'_>, note: Note, there: bool) {
    if let Err(error) = before.applied.set(note, there) {
        tracing::error!("{note:?} cannot be recorded in the state directory: {error}");
    }
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
        Ok(()) => Ok(Done { marker, changed }),
        Err(error) => Err(ApplyFault {
            reason: format!("the configuration runs, but that cannot be recorded in the state directory: {error}"),
            former_runs: false,
        }),
    }
}

fn refused(fault: &DhcpFault) -> ApplyFault {
    ApplyFault { reason: format!("{fault}; the former configuration stays"), former_runs: true }
}

fn nvue_failed(fault: &NvueFault) -> ApplyFault {
    let former_runs = !fault.outcome_unknown();
    let end = match former_runs {
        true => "the former configuration stays",
        false => "whether NVUE applied it is not known and is looked up before the next try",
    };
    ApplyFault { reason: format!("{fault}; {end}"), former_runs }
}

/// A change of which a part runs already.
struct Change<'a> {
    nvue: &'a Nvue<'a>,
    dhcp: &'a DhcpService<'a>,
    before: &'a Before<'a>,
    replaced: NvueDone,
    target: &'a Target,
    former: Former,
}

impl Change<'_> {
    /// NVUE makes interfaces anew, and a DHCP server goes on listening on those that are gone.
    async fn listen_anew(&self) -> Result<(), DhcpFault> {
        match self.target.files.dhcp {
            Dhcp::Serve(_) if self.replaced != NvueDone::Unchanged => self.dhcp.reload().await,
            _ => Ok(()),
        }
    }

    /// Sets NVUE and the DHCP server back to what ran, because of `why`.
    async fn undo(self, why: String) -> ApplyFault {
        let nvue = match self.replaced {
            NvueDone::Unchanged => Ok(()),
            NvueDone::OnTrial => {
                let back = self.nvue.roll_back().await.map_err(|fault| fault.to_string());
                note(self.before, Note::OnTrial, back.is_err());
                back
            }
            NvueDone::Applied => match self.before.applied.nvue().filter(|_| self.before.marker.is_some()) {
                Some(text) => {
                    let back = self.nvue.replace(&text, &Attempt::default()).await;
                    back.map(drop).map_err(|fault| fault.to_string())
                }
                None => Err("what NVUE ran before is not at hand".to_owned()),
            },
        };
        let dhcp = match self.former.is_empty() {
            true => self.listen_anew().await,
            false => self.dhcp.put_back(self.former).await,
        };
        match (nvue, dhcp) {
            (Ok(()), Ok(())) => {
                ApplyFault { reason: format!("{why}; the former configuration is back"), former_runs: true }
            }
            (Err(fault), _) => {
                ApplyFault { reason: format!("{why}; NVUE could not be set back: {fault}"), former_runs: false }
            }
            (Ok(()), Err(fault)) => ApplyFault {
                reason: format!("{why}; the DHCP server could not be set back: {fault}"),
                former_runs: false,
            },
        }
    }
}
