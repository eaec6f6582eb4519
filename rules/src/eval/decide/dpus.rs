//! Decides in states that DPUs pass one by one: each DPU evaluates the arms of its own state, barriers wait for all.

use std::sync::Arc;

use crate::{
    eval::{
        RuleSet,
        decide::{ArmsOutcome, Tracer, actions, outcome},
        env::Env,
        evidence::dpu_name,
        prepared::{PreparedArm, PreparedState},
    },
    ir::{
        decision::{Decision, DpuStep, Go, Wait},
        pack::{Arm, DeclaredState, Verb},
        snapshot::{Dpu, Snapshot},
        state_path::StatePath,
    },
};

/// The result of one DPU's arms.
enum DpuOutcome<'r> {
    /// The DPU moves, waits or acts on its own.
    Step(DpuStep),
    /// The host moves as a whole.
    Host(&'r Arm),
    /// The host's decision is an error.
    Error(Decision),
}

impl RuleSet {
    pub(super) fn decide_dpus(
        &self,
        state: &DeclaredState,
        prepared: &PreparedState,
        env: &Env<'_>,
        tracer: &mut impl Tracer,
    ) -> Decision {
        let host = env.host;
        if host.dpus.is_empty() {
            return self.without_dpus(state, prepared, env, tracer);
        }
        let path = |dpu: &Dpu| dpu.state.clone().unwrap_or_else(|| host.state.path.clone());
        let taking_part = host.dpus.iter().filter(|dpu| self.state(&path(dpu)).is_none_or(|state| !state.aside));
        let aligned = taking_part.clone().all(|dpu| path(dpu) == state.path);
        if state.barrier && aligned && taking_part.clone().next().is_some() {
            let outcome = self.run(prepared.steps.iter(), env, None, tracer);
            return self.conclude(outcome, state, env);
        }
        let mut steps = Vec::new();
        for (position, dpu) in host.dpus.iter().enumerate() {
            let Some(own) = self.prepared(&path(dpu)) else { return super::unknown_state(&path(dpu)) };
            match self.decide_dpu(own, position, dpu, env, tracer) {
                DpuOutcome::Step(step) => steps.push(step),
                DpuOutcome::Error(error) => return error,
                DpuOutcome::Host(arm) => {
                    let Verb::HostGo(to) = arm.verb else { continue };
                    return actions(arm, env, Some(dpu))
                        .and_then(|actions| self.go(arm, to, actions, env, Some(&dpu.id)))
                        .unwrap_or_else(|error| self.failed(&error, arm, None, own.0, env));
                }
            }
        }
        self.combine(state, steps, env)
    }

    /// A host without DPUs can only be moved by arms for the whole host.
    fn without_dpus(
        &self,
        state: &DeclaredState,
        prepared: &PreparedState,
        env: &Env<'_>,
        tracer: &mut impl Tracer,
    ) -> Decision {
        let of_host = |step: &&PreparedArm| {
            self.arms.get(step.number).is_some_and(|arm| {
                matches!(arm.verb, Verb::HostGo(_)) && arm.conditions.iter().all(|(guard, _)| !guard.of_dpu)
            })
        };
        let outcome = match self.run(prepared.steps.iter().filter(of_host), env, None, tracer) {
            ArmsOutcome::Nothing => {
                return Decision::Wait(self.wait(
                    "the host has no DPUs, but this state is for DPUs".into(),
                    state,
                    env,
                ));
            }
            outcome => outcome,
        };
        self.conclude(outcome, state, env)
    }

    fn decide_dpu<'r>(
        &'r self,
        (own, prepared): (&'r DeclaredState, &'r PreparedState),
        position: usize,
        dpu: &Dpu,
        env: &Env<'_>,
        tracer: &mut impl Tracer,
    ) -> DpuOutcome<'r> {
        let stay = |reason: Arc<str>| DpuStep {
            dpu: dpu.id.clone(),
            to: None,
            reason: Some(reason),
            actions: Vec::new(),
            counters: None,
            notes: None,
        };
        if own.barrier {
            return DpuOutcome::Step(stay(self.waits_for(own, env.host).into()));
        }
        let bound = env.with(0, dpu);
        let outcome = self.run(prepared.steps.iter(), &bound, Some(position), tracer);
        match outcome {
            ArmsOutcome::Arm(arm) => {
                if matches!(arm.verb, Verb::HostGo(_)) {
                    return DpuOutcome::Host(arm);
                }
                let actions = match actions(arm, &bound, Some(dpu)) {
                    Ok(actions) => actions,
                    Err(error) if error.is_unknown() => {
                        return DpuOutcome::Step(stay(self.waits_to_be_told(arm, None, &bound).into()));
                    }
                    Err(error) => return DpuOutcome::Error(self.failed(&error, arm, None, own, env)),
                };
                let counted = arm.changes_counters().then(|| outcome::counted(dpu.counters.clone(), arm));
                match &arm.verb {
                    Verb::Go(to) => {
                        let Some(to) = self.states.get(*to).map(|to| &to.path) else {
                            return DpuOutcome::Step(stay("".into()));
                        };
                        let counters = outcome::kept(&dpu.counters, &self.counters, to);
                        let notes = outcome::kept(&dpu.notes, &self.notes, to);
                        DpuOutcome::Step(DpuStep {
                            to: Some(to.clone()),
                            reason: None,
                            actions,
                            counters: Some(outcome::counted(counters, arm)),
                            notes: Some(outcome::noted(notes, &arm.notes)),
                            ..stay("".into())
                        })
                    }
                    Verb::Wait(reason) => {
                        DpuOutcome::Step(DpuStep { actions, counters: counted, ..stay(reason.clone()) })
                    }
                    _ => DpuOutcome::Error(self.conclude(ArmsOutcome::Arm(arm), own, &bound)),
                }
            }
            ArmsOutcome::Closed(arm, gate) => match &arm.verb {
                Verb::Pass { or_fail: true, .. } => {
                    DpuOutcome::Error(self.conclude(ArmsOutcome::Closed(arm, gate), own, &bound))
                }
                _ => DpuOutcome::Step(stay(self.gates.get(gate).map_or_else(|| "".into(), |gate| gate.reason.clone()))),
            },
            ArmsOutcome::Failed(error, arm, gate) if error.is_unknown() => {
                let gate = gate.and_then(|gate| self.gates.get(gate)).map(|gate| &gate.guard);
                DpuOutcome::Step(stay(self.waits_to_be_told(arm, gate, &bound).into()))
            }
            failed @ ArmsOutcome::Failed(..) => DpuOutcome::Error(self.conclude(failed, own, &bound)),
            ArmsOutcome::Nothing => DpuOutcome::Step(stay("no rule of this state applies".into())),
        }
    }

    /// The reason at a barrier: which DPUs are missing, and where they are.
    fn waits_for(&self, barrier: &DeclaredState, host: &Snapshot) -> String {
        let others = host.dpus.iter().filter_map(|dpu| {
            let path = dpu.state.as_ref().unwrap_or(&host.state.path);
            let waited_for = *path != barrier.path && self.state(path).is_none_or(|state| !state.aside);
            waited_for.then(|| format!("{} in {path}", dpu_name(dpu)))
        });
        format!("waiting for the other DPUs: {}", others.collect::<Vec<_>>().join(", "))
    }

    /// The DPUs' steps as one decision for the host.
    fn combine(&self, state: &DeclaredState, steps: Vec<DpuStep>, env: &Env<'_>) -> Decision {
        let host = env.host;
        if steps.iter().any(|step| step.to.is_some()) {
            let to = self.least_advanced(host, &steps).unwrap_or_else(|| state.path.clone());
            return Decision::Go(Go {
                counters: outcome::kept(&host.state.counters, &self.counters, &to),
                notes: outcome::kept(&host.state.notes, &self.notes, &to),
                to,
                actions: Vec::new(),
                dpus: steps,
                failure: crate::ir::decision::FailureChange::Keep,
            });
        }
        // The host shows the reason of its least advanced DPU; the steps list all.
        let place = |step: &DpuStep| {
            let dpu = host.dpus.iter().find(|dpu| dpu.id == step.dpu);
            let path: Option<&StatePath> = dpu.and_then(|dpu| dpu.state.as_ref());
            self.by_path.get(path.unwrap_or(&host.state.path).as_str()).copied()
        };
        let first = steps.iter().filter(|step| step.reason.is_some()).min_by_key(|step| place(step));
        let reason = first.and_then(|step| step.reason.clone()).unwrap_or_else(|| "".into());
        Decision::Wait(Wait { dpus: steps, ..self.wait(reason, state, env) })
    }
}
