//! Makes the DPU run a target, or leaves it as it was.
//!
//! NVUE and the DHCP server move together or not at all. What could be refused is tried first (the DHCP server's own
//! check, NVUE's validation), what cannot fail for a reason of content comes last, and the marker is written when both
//! run.

mod command;
mod dhcp;
mod nvue;

use std::time::SystemTime;

pub(crate) use command::{CommandFault, Output, run};
pub(crate) use dhcp::on_disk;
use dhcp::{DhcpFault, DhcpService};
use nvue::{Nvue, NvueDone, NvueFault};

use crate::{
    Settings,
    marker::{Applied, Marker, timestamp},
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

/// Carries out a plan.
pub(crate) async fn apply(
    plan: Plan,
    target: &Target,
    former: Option<&Marker>,
    applied: &Applied,
    settings: &Settings,
) -> Result<Done, ApplyFault> {
    let nvue = Nvue::new(&settings.hbn);
    let dhcp = DhcpService::new(settings);
    if plan.dhcp == DhcpStep::Install {
        dhcp.check(&target.files.dhcp).await.map_err(|fault| refused(&fault))?;
    }
    let mut changed = false;
    // A stop that fails must not keep NVUE from cutting the host off, nor the other way round.
    let stopped = match plan.dhcp {
        DhcpStep::Stop => dhcp.stop(&target.files.dhcp).await,
        _ => Ok(false),
    };
    let replaced = match plan.nvue {
        NvueStep::Keep => Ok(NvueDone::Unchanged),
        NvueStep::Verify => nvue.replace(&target.files.nvue, true).await,
        NvueStep::Replace => nvue.replace(&target.files.nvue, false).await,
    };
    let replaced = match (replaced, stopped) {
        (Ok(replaced), Ok(stopped)) => {
            changed |= stopped;
            replaced
        }
        (Err(fault), Ok(_)) => return Err(nvue_failed(&fault, plan.dhcp)),
        (Ok(_), Err(fault)) => return Err(ApplyFault { reason: fault.to_string(), former_runs: false }),
        (Err(first), Err(second)) => {
            return Err(ApplyFault { reason: format!("{second}; {first}"), former_runs: false });
        }
    };
    if plan.dhcp == DhcpStep::Install {
        match dhcp.install(&target.files.dhcp).await {
            Ok(installed) => changed |= installed,
            Err(fault) => return Err(roll_back(&fault, replaced, &nvue, former, applied).await),
        }
    }
    changed |= replaced == NvueDone::Applied;
    let since = match former {
        Some(former) if !changed => former.since.clone(),
        _ => timestamp(SystemTime::now()),
    };
    let marker =
        Marker { nvue: target.nvue.clone(), dhcp: target.dhcp.clone(), versions: target.versions.clone(), since };
    if former != Some(&marker) {
        let write = applied.write(&marker, &target.files.nvue);
        write.map_err(|error| ApplyFault {
            reason: format!("the configuration runs, but that cannot be recorded in the state directory: {error}"),
            former_runs: false,
        })?;
    }
    if replaced == NvueDone::Applied {
        nvue.after_apply().await;
    }
    Ok(Done { marker, changed })
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

/// The DHCP server did not take its part: NVUE goes back to the text that ran.
async fn roll_back(
    fault: &DhcpFault,
    replaced: NvueDone,
    nvue: &Nvue<'_>,
    former: Option<&Marker>,
    applied: &Applied,
) -> ApplyFault {
    if replaced == NvueDone::Unchanged {
        return refused(fault);
    }
    let text = applied.nvue().filter(|_| former.is_some());
    let back = match &text {
        Some(text) => nvue.replace(text, false).await.map(drop).map_err(|fault| fault.to_string()),
        None => Err("what NVUE ran before is not at hand".to_owned()),
    };
    match back {
        Ok(()) => ApplyFault { reason: format!("{fault}; NVUE was set back too"), former_runs: true },
        Err(why) => ApplyFault { reason: format!("{fault}; NVUE could not be set back: {why}"), former_runs: false },
    }
}
