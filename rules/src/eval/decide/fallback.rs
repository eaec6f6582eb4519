//! The move after actions failed whose arms name a fallback state with `or_go`.

use std::collections::BTreeMap;

use crate::{
    eval::{RuleSet, decide::outcome::kept},
    ir::{
        decision::{Decision, DpuStep, FailureChange, Go},
        snapshot::{Dpu, Snapshot},
        state_path::StatePath,
    },
};

/// The state that the arm of a failed action names for its host, or for one DPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Machine id of the DPU whose action failed; none for an action of the host.
    pub dpu: Option<String>,
    /// The state of the arm's `or_go`.
    pub to: StatePath,
}

impl RuleSet {
    /// The move that replaces `decision`. A DPU whose own action failed moves alone if the fallback is a state of DPUs, and
    /// the other DPUs do what was decided. In every other case the whole host moves, and only the counters of the decision
    /// are kept. The recorded failure stays as it is.
    #[must_use]
    pub fn fall_back(&self, host: &Snapshot, decision: &Decision, fallbacks: &[Fallback]) -> Go {
        let (counters, notes, steps) = match decision {
            Decision::Go(go) => (&go.counters, &go.notes, go.dpus.as_slice()),
            Decision::Wait(wait) => {
                (wait.counters.as_ref().unwrap_or(&host.state.counters), &host.state.notes, wait.dpus.as_slice())
            }
            Decision::Error(_) | Decision::Delete(_) => (&host.state.counters, &host.state.notes, [].as_slice()),
        };
        let together = fallbacks.iter().find(|fallback| fallback.dpu.is_none() || !self.is_dpu_state(&fallback.to));
        let dpus: Vec<DpuStep> = match together {
            Some(Fallback { to, .. }) if self.is_dpu_state(to) => {
                host.dpus.iter().filter(|dpu| !self.aside(dpu)).map(|dpu| self.step_to(dpu, None, to)).collect()
            }
            Some(_) => Vec::new(),
            None => {
                let own = |step: &DpuStep| {
                    let fallback = fallbacks.iter().find(|fallback| fallback.dpu.as_ref() == Some(&step.dpu))?;
                    let dpu = host.dpus.iter().find(|dpu| dpu.id == step.dpu)?;
                    Some(self.step_to(dpu, Some(step), &fallback.to))
                };
                steps.iter().map(|step| own(step).unwrap_or_else(|| step.clone())).collect()
            }
        };
        let to = match together {
            Some(Fallback { to, .. }) if dpus.is_empty() => to.clone(),
            _ => self.least_advanced(host, &dpus).unwrap_or_else(|| host.state.path.clone()),
        };
        Go {
            counters: kept(counters, &self.counters, &to),
            notes: kept(notes, &self.notes, &to),
            to,
            actions: Vec::new(),
            dpus,
            failure: FailureChange::Keep,
        }
    }

    fn aside(&self, dpu: &Dpu) -> bool {
        dpu.state.as_ref().and_then(|path| self.state(path)).is_some_and(|state| state.aside)
    }

    /// A DPU's move to `to`, with the counters and notes of its decided `step`.
    fn step_to(&self, dpu: &Dpu, step: Option<&DpuStep>, to: &StatePath) -> DpuStep {
        let counters = step.and_then(|step| step.counters.as_ref()).unwrap_or(&dpu.counters);
        let notes: &BTreeMap<String, String> = step.and_then(|step| step.notes.as_ref()).unwrap_or(&dpu.notes);
        DpuStep {
            dpu: dpu.id.clone(),
            to: Some(to.clone()),
            reason: None,
            actions: Vec::new(),
            counters: Some(kept(counters, &self.counters, to)),
            notes: Some(kept(notes, &self.notes, to)),
        }
    }
}
