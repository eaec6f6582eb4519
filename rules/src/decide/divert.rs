//! What a decision comes to after actions failed whose arms say where to go then.

use std::collections::BTreeMap;

use super::outcome::kept;
use crate::{
    decision::{Decision, DpuStep, FailureChange, Go},
    ruleset::{RuleSet, State},
    snapshot::{Dpu, Snapshot},
    state_path::StatePath,
};

/// Where the arm of an action that failed sends its host, or one DPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diversion {
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
    pub fn divert(&self, host: &Snapshot, decision: &Decision, diversions: &[Diversion]) -> Go {
        let (counters, notes, steps) = match decision {
            Decision::Go(go) => (&go.counters, &go.notes, go.dpus.as_slice()),
            Decision::Wait(wait) => {
                (wait.counters.as_ref().unwrap_or(&host.state.counters), &host.state.notes, wait.dpus.as_slice())
            }
            Decision::Error(_) | Decision::Delete(_) => (&host.state.counters, &host.state.notes, [].as_slice()),
        };
        let together = diversions.iter().find(|diversion| diversion.dpu.is_none() || !self.is_dpu_state(&diversion.to));
        let dpus: Vec<DpuStep> = match together {
            Some(Diversion { to, .. }) if self.is_dpu_state(to) => {
                host.dpus.iter().filter(|dpu| !self.aside(dpu)).map(|dpu| self.step_to(dpu, None, to)).collect()
            }
            Some(_) => Vec::new(),
            None => {
                let own = |step: &DpuStep| {
                    let diversion = diversions.iter().find(|diversion| diversion.dpu.as_ref() == Some(&step.dpu))?;
                    let dpu = host.dpus.iter().find(|dpu| dpu.id == step.dpu)?;
                    Some(self.step_to(dpu, Some(step), &diversion.to))
                };
                steps.iter().map(|step| own(step).unwrap_or_else(|| step.clone())).collect()
            }
        };
        let to = match together {
            Some(Diversion { to, .. }) if dpus.is_empty() => to.clone(),
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
        dpu.state.as_ref().and_then(|path| self.state(path)).is_some_and(|state: &State| state.aside)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, load_files};

    const PACK: &str = r#"
initial("Init/Off");
action("redfish.restart_dpu");
action("redfish.power_on");
counter("tries").kept_in("Init");

dpu_state("Init/Off").sla(1)
    .go("Init/Done").when(|h, d| d.reachable).does("redfish.restart_dpu").or_go("Init/Broken")
    .wait("restarting").does("redfish.restart_dpu").count("tries").or_go("Init/Broken");
dpu_state("Init/Broken").sla(1)
    .host_go("Failed").when(|h, d| d.counter("tries") > 3)
    .wait("broken").does("redfish.restart_dpu").or_go("Failed");
dpu_state("Init/Done").barrier().sla(1)
    .go("Ready").does("redfish.power_on").or_go("Init/Off");
state("Ready").terminal().sla(0).wait("done");
state("Failed").terminal().sla(0).wait("failed");
"#;

    /// The DPU's place, whether it is reachable, and what it has counted.
    fn host(dpus: &[(&str, bool, i64)]) -> Snapshot {
        let dpu = |(number, (state, reachable, tries)): (usize, &(&str, bool, i64))| Dpu {
            id: format!("dpu{number}"),
            state: Some((*state).into()),
            reachable: *reachable,
            counters: BTreeMap::from([("tries".to_owned(), *tries)]),
            ..Dpu::default()
        };
        let mut host = Snapshot { dpus: dpus.iter().enumerate().map(dpu).collect(), ..Snapshot::default() };
        host.state.path = dpus[0].0.into();
        host
    }

    #[test]
    fn a_dpu_goes_alone_to_a_state_of_dpus_and_takes_the_host_along_to_any_other() {
        let rules = load_files([("pack.rhai".to_owned(), PACK.to_owned())], &LoadOptions::default()).unwrap();
        let off = host(&[("Init/Off", true, 0), ("Init/Off", false, 2)]);
        let broken = host(&[("Init/Broken", false, 1), ("Init/Broken", false, 1)]);
        let done = host(&[("Init/Done", true, 1), ("Init/Done", true, 1)]);
        let cases: [(&Snapshot, Option<usize>, &str, &str); 5] = [
            // The other one does what it was to do.
            (&off, Some(0), "Init/Broken", "Init/Off dpu0>Init/Broken{tries: 0} dpu1>stays{tries: 3}"),
            (&off, Some(1), "Init/Broken", "Init/Broken dpu0>Init/Done{tries: 0} dpu1>Init/Broken{tries: 3}"),
            (&broken, Some(1), "Failed", "Failed"),
            (&done, None, "Init/Off", "Init/Off dpu0>Init/Off{tries: 1} dpu1>Init/Off{tries: 1}"),
            (&done, None, "Failed", "Failed"),
        ];
        for (host, dpu, to, expected) in cases {
            let diversion = Diversion { dpu: dpu.map(|number| host.dpus[number].id.clone()), to: to.into() };
            let go = rules.divert(host, &rules.decision(host), &[diversion]);
            let steps = go.dpus.iter().map(|step| {
                let to = step.to.as_ref().map_or("stays", |to| to.as_str());
                let tries = step.counters.as_ref().map_or(0, |counters| counters["tries"]);
                format!(" {}>{to}{{tries: {tries}}}", step.dpu)
            });
            assert_eq!(format!("{}{}", go.to, steps.collect::<String>()), expected, "{dpu:?} to {to}");
            assert!(go.actions.is_empty());
        }
    }
}
