//! What a decision comes to after actions failed whose arms say where to go then.

use std::collections::BTreeMap;

use crate::{
    eval::{RuleSet, decide::outcome::kept},
    ir::{
        decision::{Decision, DpuStep, FailureChange, Go},
        snapshot::{Dpu, Snapshot},
        state_path::StatePath,
    },
};

/// Where the arm of an action that failed sends its host, or one DPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Machine id of the DPU whose own action it was; none if it was the host's.
    pub dpu: Option<String>,
    /// The state that the arm names for this.
    pub to: StatePath,
}

impl RuleSet {
    /// The move that is left of `decision` for `host`. A DPU whose own action failed goes alone if the state is one of
    /// DPUs, and the others do what they were to do; in every other case the whole host goes, and nothing else of the
    /// decision remains but what it counted. The failure on record stays as it is.
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

    /// A DPU's move to `to`, with what it had counted when it was to make `step`.
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
