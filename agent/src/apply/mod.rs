//! Makes the DPU run a target, or leaves it as it was.
//!
//! NVUE and the DHCP server move together or not at all. What can be refused is tried first: the DHCP server's own check,
//! then NVUE's. Where the operator wants it, NVUE takes a change on trial and goes back by itself unless the DPU proves
//! that it still reaches the site. The marker is written when both run.

mod command;
mod dhcp;
mod nvue;

use std::time::{Duration, SystemTime};

pub(crate) use command::{CommandFault, Output, run};
pub(crate) use dhcp::on_disk;
use dhcp::{DhcpFault, DhcpService, Former};
pub(crate) use nvue::answers as nvue_answers;
use nvue::{Attempt, Nvue, NvueDone, NvueFault};

use crate::{
    Settings,
    marker::{Applied, Marker, Note, timestamp},
    plan::{DhcpStep, NvueStep, Plan, Target},
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
    if plan.dhcp == DhcpStep::Install {
        dhcp.check(&target.files.dhcp).await.map_err(|fault| refused(&fault))?;
    }
    // A stop that fails must not keep NVUE from cutting the host off, nor the other way round.
    let stopped = match plan.dhcp {
        DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
        _ => Ok(false),
    };
    let attempt = Attempt {
        same: plan.nvue == NvueStep::Verify,
        trial_open: before.applied.notes(Note::OnTrial),
        half: before.applied.notes(Note::HalfApplied),
        // Cutting the host off waits for nobody's consent.
        trial: Some(settings.hbn.confirm).filter(|time| !time.is_zero() && target.versions.is_some()),
    };
    let replaced = match plan.nvue {
        NvueStep::Keep => Ok(NvueDone::Unchanged),
        NvueStep::Verify | NvueStep::Replace => {
            note(before, Note::OnTrial, attempt.trial.is_some() || attempt.trial_open);
            let replaced = nvue.replace(&target.files.nvue, &attempt).await;
            let open = match &replaced {
                Ok(done) => *done == NvueDone::OnTrial,
                Err(fault) => fault.outcome_unknown() && attempt.trial.is_some(),
            };
            note(before, Note::OnTrial, open);
            if let Err(fault) = &replaced {
                note(before, Note::HalfApplied, fault.is_half() || attempt.half);
            }
            replaced
        }
    };
    let (replaced, stopped) = match (replaced, stopped) {
        (Ok(replaced), Ok(stopped)) => (replaced, stopped),
        (Err(fault), Ok(_)) => return Err(nvue_failed(&fault, plan.dhcp)),
        (Ok(_), Err(fault)) => return Err(ApplyFault { reason: fault.to_string(), former_runs: false }),
        (Err(first), Err(second)) => {
            return Err(ApplyFault { reason: format!("{second}; {first}"), former_runs: false });
        }
    };
    let mut change = Change { nvue: &nvue, dhcp: &dhcp, before, replaced, former: None };
    if plan.dhcp == DhcpStep::Install {
        match dhcp.install(&target.files.dhcp).await {
            Ok(former) => change.former = Some(former),
            Err(fault) => return Err(change.undo(fault.to_string()).await),
        }
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
    let moved = replaced != NvueDone::Unchanged;
    let changed = moved || stopped || change.former.is_some();
    let done = recorded(target, before, changed)?;
    if moved {
        nvue.after_apply().await;
    }
    Ok(done)
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
    let marker =
        Marker { nvue: target.nvue.clone(), dhcp: target.dhcp.clone(), versions: target.versions.clone(), since };
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

fn nvue_failed(fault: &NvueFault, dhcp: DhcpStep) -> ApplyFault {
    // With the DHCP server stopped for good, the former whole is gone whatever NVUE did.
    let former_runs = !fault.outcome_unknown() && dhcp != DhcpStep::Stop;
    let end = match (former_runs, fault.outcome_unknown()) {
        (true, _) => "; the former configuration stays",
        (false, true) => "; whether NVUE applied it is not known and is looked up before the next try",
        (false, false) => "",
    };
    ApplyFault { reason: format!("{fault}{end}"), former_runs }
}

/// A change of which a part runs already.
struct Change<'a> {
    nvue: &'a Nvue<'a>,
    dhcp: &'a DhcpService<'a>,
    before: &'a Before<'a>,
    replaced: NvueDone,
    former: Option<Former>,
}

impl Change<'_> {
    /// Sets NVUE and the DHCP server back to what ran, because of `why`.
    async fn undo(self, why: String) -> ApplyFault {
        let dhcp = match self.former {
            Some(former) => self.dhcp.put_back(former).await.map_err(|fault| fault.to_string()),
            None => Ok(()),
        };
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
