//! Explanations of decisions for operators, and other questions about a host: time limit, health reports.

use crate::{
    eval::{RuleSet, env::Env, evidence::Evidence},
    ir::{
        expr::ReportRef,
        guard::{Guard, Polarity},
        pack::{Arm, Verb},
        snapshot::{HealthReport, Snapshot},
        trace::{ArmResult, ArmTrace, Explanation, TraceStep},
    },
};

impl RuleSet {
    /// [`RuleSet::decide`] with everything that was read, for operators. Slower.
    #[must_use]
    pub fn explain(&self, snapshot: &Snapshot) -> Explanation {
        let decided = self.decide(snapshot);
        let env = self.env(snapshot);
        let sla_seconds = self.sla(snapshot);
        let elapsed = i64::try_from(snapshot.now.saturating_sub(snapshot.state.since) / 1_000_000).unwrap_or(i64::MAX);
        let mut explanation = Explanation {
            state: snapshot.state.path.clone(),
            decision: decided.decision,
            sla_seconds,
            above_sla: sla_seconds.is_some_and(|sla| elapsed > sla),
            arms: Vec::new(),
            facts: Vec::new(),
            alerts: Vec::new(),
        };
        for step in &decided.trace.steps {
            let Some(arm) = self.arms.get(step.arm as usize) else { continue };
            let evidence = self.evidence(arm, step, &env);
            if matches!(step.result, ArmResult::Blocked | ArmResult::Failed | ArmResult::Unknown | ArmResult::Taken) {
                explanation.facts.extend(evidence.facts.iter().cloned());
                for alert in evidence.alerts {
                    if !explanation.alerts.contains(&alert) {
                        explanation.alerts.push(alert);
                    }
                }
            }
            let dpu = step.dpu.and_then(|dpu| snapshot.dpus.get(usize::from(dpu)));
            explanation.arms.push(ArmTrace {
                at: format!("{}:{}", arm.place.file, arm.place.line),
                arm: arm.describe(self),
                result: step.result,
                dpu: dpu.map(crate::eval::evidence::dpu_name),
                error: self.error(arm, step, &env),
                facts: evidence.facts,
            });
        }
        explanation
    }

    /// Time limit of the host's state in seconds, none if it has none now.
    #[must_use]
    pub fn sla(&self, snapshot: &Snapshot) -> Option<i64> {
        let env = self.env(snapshot);
        if self.no_sla_while.as_ref().is_some_and(|guard| guard.holds(&env) == Ok(true)) {
            return None;
        }
        self.state(&snapshot.state.path)?.sla.as_ref()?.value(&env).ok()
    }

    /// A health report that the pack declares, of the host or, by its position, of one DPU; merged.
    #[must_use]
    pub fn health_report(&self, name: &str, snapshot: &Snapshot, dpu: Option<usize>) -> Option<HealthReport> {
        let report = self.reports.reports.iter().position(|report| report.name == name)?;
        let mut env = self.env(snapshot);
        if let Some(dpu) = dpu {
            env = env.with(0, snapshot.dpus.get(dpu)?);
        }
        self.reports.merged(ReportRef { report, dpu: dpu.map(|_| 0) }, &env).ok()
    }

    /// Names of the health reports that the pack declares, and whether they are of a DPU.
    pub fn health_reports(&self) -> impl Iterator<Item = (&str, bool)> {
        self.reports.reports.iter().map(|report| (report.name.as_str(), report.of_dpu))
    }

    fn bind<'a>(&self, step: &TraceStep, env: &Env<'a>) -> Env<'a> {
        match step.dpu.and_then(|dpu| env.host.dpus.get(usize::from(dpu))) {
            Some(dpu) => env.with(0, dpu),
            None => *env,
        }
    }

    /// The facts behind the result of one arm.
    fn evidence(&self, arm: &Arm, step: &TraceStep, env: &Env<'_>) -> Evidence {
        let env = self.bind(step, env);
        let mut evidence = Evidence::default();
        let mut add = |more: Evidence| {
            for fact in more.facts {
                if !evidence.facts.contains(&fact) {
                    evidence.facts.push(fact);
                }
            }
            evidence.alerts.extend(more.alerts);
        };
        // A skipped arm is explained by the condition that did not hold, others by all conditions.
        let skipped = step.result == ArmResult::Skipped;
        for (guard, polarity) in &arm.conditions {
            let held = guard.holds(&env) == Ok(*polarity == Polarity::When);
            if !skipped || !held {
                add(guard.explain(&env));
            }
            if skipped && !held {
                return evidence;
            }
        }
        if let Some((guard, _)) = &arm.select {
            let fitting = env.host.dpus.iter().filter(|dpu| guard.holds(&env.with(0, dpu)) == Ok(!skipped));
            for dpu in fitting {
                add(guard.explain(&env.with(0, dpu)));
            }
        }
        if let Some(gate) = self.gate_of(arm)
            && !skipped
        {
            add(gate.explain(&env));
        }
        evidence
    }

    fn gate_of(&self, arm: &Arm) -> Option<&Guard> {
        match arm.verb {
            Verb::Pass { gate, .. } => self.gates.get(gate).map(|gate| &gate.guard),
            _ => None,
        }
    }

    fn error(&self, arm: &Arm, step: &TraceStep, env: &Env<'_>) -> Option<String> {
        if step.result != ArmResult::Failed {
            return None;
        }
        let env = self.bind(step, env);
        let conditions = arm.conditions.iter().map(|(guard, _)| guard);
        let guards = conditions.chain(self.gate_of(arm));
        let error = guards.filter_map(|guard| guard.holds(&env).err().map(|error| (guard, error))).next();
        error.map(|(guard, error)| format!("{}: {}", guard.place, error))
    }
}
