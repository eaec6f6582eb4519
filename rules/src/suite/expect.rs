//! Compares the expectation of a test case with the decision.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    eval::RuleSet,
    ir::{
        decision::{Action, Argument, Decision, DpuStep, FailureChange, OnFailure},
        snapshot::Snapshot,
    },
};

/// The decision that a case expects. Fields that are absent are not compared, but the kind of the decision always is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expectation {
    /// The host's next state.
    pub go: Option<String>,
    /// It waits, and the reason contains this; empty for any reason.
    pub wait: Option<String>,
    /// It is an error, and the reason contains this.
    pub error: Option<String>,
    /// The host's records are deleted.
    pub delete: bool,
    /// The gate that is closed.
    pub gate: Option<String>,
    /// Actions on the host, in order; checked if given.
    pub does: Option<Vec<ExpectedAction>>,
    /// What single DPUs do.
    pub dpus: BTreeMap<String, ExpectedDpu>,
    /// Counters afterwards; checked if given.
    pub counters: Option<BTreeMap<String, i64>>,
    /// Notes afterwards; checked if given.
    pub notes: Option<BTreeMap<String, String>>,
    /// Cause of the failure that is recorded; `none` if the record is cleared.
    pub failure: Option<String>,
    /// DPUs that the explanation names as blocking the host; checked if given.
    pub blames: Option<Vec<String>>,
    /// What the tenant sees of an instance; may stand alone.
    pub tenant_sees: Option<String>,
}

/// An action by its name, or with what it is for.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ExpectedAction {
    /// The name alone.
    Name(String),
    /// Name, DPUs and arguments.
    Full {
        /// Name of the action.
        name: String,
        /// DPUs that it is for; checked if given.
        #[serde(default)]
        dpus: Option<Vec<String>>,
        /// Some of its arguments.
        #[serde(default)]
        args: BTreeMap<String, Argument>,
        /// What happens if it fails: `stay`, `ignore` or a state; checked if given.
        #[serde(default)]
        on_failure: Option<String>,
    },
}

/// What one DPU does.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExpectedDpu {
    /// Its next state.
    pub go: Option<String>,
    /// It stays, and the reason contains this.
    pub wait: Option<String>,
    /// Actions on it, in order; checked if given.
    pub does: Option<Vec<ExpectedAction>>,
    /// Its counters afterwards; checked if given.
    pub counters: Option<BTreeMap<String, i64>>,
    /// Its notes afterwards; checked if given.
    pub notes: Option<BTreeMap<String, String>>,
}

impl Expectation {
    fn describe(&self) -> String {
        let said = |what: &str, text: &Option<String>| text.as_ref().map(|text| format!("{what} \"{text}\""));
        said("go", &self.go)
            .or_else(|| said("wait", &self.wait))
            .or_else(|| said("error", &self.error))
            .unwrap_or_else(|| "delete".to_owned())
    }
}

pub(super) fn compare(
    expected: &Expectation,
    decision: &Decision,
    snapshot: &Snapshot,
    rules: &RuleSet,
) -> Result<(), String> {
    let found = || format!("the decision is {}", describe(decision));
    if let Some(wanted) = &expected.tenant_sees {
        let (seen, _) = rules.tenant_sees(snapshot);
        if seen.name() != wanted {
            return Err(format!("the tenant sees {}", seen.name()));
        }
    }
    let said = [expected.go.is_some(), expected.wait.is_some(), expected.error.is_some(), expected.delete];
    let decisions = said.iter().filter(|said| **said).count();
    if decisions == 0 && expected.tenant_sees.is_some() {
        return Ok(());
    }
    if decisions != 1 {
        return Err("`expect` needs exactly one of `go`, `wait`, `error` and `delete`, or `tenant_sees`".to_owned());
    }
    let (actions, dpus): (&[Action], &[DpuStep]) = match decision {
        Decision::Go(go) if expected.go.as_deref() == Some(go.to.as_str()) => (&go.actions, &go.dpus),
        Decision::Wait(wait) if expected.wait.as_ref().is_some_and(|text| wait.reason.contains(text)) => {
            (&wait.actions, &wait.dpus)
        }
        Decision::Error(fault) if expected.error.as_ref().is_some_and(|text| fault.reason.contains(text)) => (&[], &[]),
        Decision::Delete(delete) if expected.delete => (&delete.actions, &[]),
        _ => return Err(format!("expected {}, but {}", expected.describe(), found())),
    };
    let gate = match decision {
        Decision::Wait(wait) => wait.gate.as_deref(),
        Decision::Error(fault) => fault.gate.as_deref(),
        _ => None,
    };
    if expected.gate.is_some() && expected.gate.as_deref() != gate {
        return Err(format!("{}, the closed gate is {}", found(), gate.unwrap_or("none")));
    }
    compare_actions(expected.does.as_deref(), actions)?;
    for (name, expected) in &expected.dpus {
        let step = dpus.iter().find(|step| step.dpu == *name).ok_or_else(|| format!("{name} does nothing"))?;
        compare_dpu(name, expected, step)?;
    }
    let (counters, notes, failure) = match decision {
        Decision::Go(go) => (Some(&go.counters), Some(&go.notes), Some(&go.failure)),
        Decision::Wait(wait) => (wait.counters.as_ref().or(Some(&snapshot.state.counters)), None, None),
        _ => (None, None, None),
    };
    same("counters", expected.counters.as_ref(), counters)?;
    same("notes", expected.notes.as_ref(), notes)?;
    let cause = match failure {
        Some(FailureChange::Set { cause, .. }) => Some(&**cause),
        Some(FailureChange::Clear) => Some("none"),
        _ => None,
    };
    if expected.failure.is_some() && expected.failure.as_deref() != cause {
        return Err(format!("the failure on record becomes {}", cause.unwrap_or("nothing new")));
    }
    if let Some(blames) = &expected.blames {
        let explanation = rules.explain(snapshot);
        let of_facts = explanation.facts.iter().filter_map(|fact| fact.dpu.as_deref());
        let of_alerts = explanation.alerts.iter().filter_map(|alert| alert.dpu.as_deref());
        let mut blamed = of_facts.chain(of_alerts).collect::<Vec<_>>();
        blamed.sort_unstable();
        blamed.dedup();
        if blamed != blames.iter().map(String::as_str).collect::<Vec<_>>() {
            return Err(format!("the explanation names {blamed:?}"));
        }
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: Option<&T>, found: Option<&T>) -> Result<(), String> {
    match expected {
        Some(_) if expected != found => Err(format!("the {what} become {found:?}")),
        _ => Ok(()),
    }
}

fn compare_dpu(name: &str, expected: &ExpectedDpu, step: &DpuStep) -> Result<(), String> {
    if let Some(go) = &expected.go
        && step.to.as_ref().map(crate::ir::state_path::StatePath::as_str) != Some(go)
    {
        return Err(format!("{name} goes to {:?}, {:?}", step.to, step.reason));
    }
    if let Some(wait) = &expected.wait {
        let reason = step.reason.as_deref().unwrap_or_default();
        if step.to.is_some() || !reason.contains(wait.as_str()) {
            return Err(format!("{name} goes to {:?}, or waits because \"{reason}\"", step.to));
        }
    }
    same("counters", expected.counters.as_ref(), step.counters.as_ref())?;
    same("notes", expected.notes.as_ref(), step.notes.as_ref())?;
    compare_actions(expected.does.as_deref(), &step.actions).map_err(|error| format!("{name}: {error}"))
}

fn compare_actions(expected: Option<&[ExpectedAction]>, found: &[Action]) -> Result<(), String> {
    let Some(expected) = expected else { return Ok(()) };
    let names = found.iter().map(|action| action.name.to_string()).collect::<Vec<_>>().join(", ");
    if expected.len() != found.len() {
        return Err(format!("the actions are [{names}]"));
    }
    for (expected, found) in expected.iter().zip(found) {
        let fits = match expected {
            ExpectedAction::Name(name) => **name == *found.name,
            ExpectedAction::Full { name, dpus, args, on_failure } => {
                **name == *found.name
                    && dpus.as_ref().is_none_or(|dpus| *dpus == found.dpus)
                    && args.iter().all(|(name, value)| found.args.get(name.as_str()) == Some(value))
                    && on_failure.as_deref().is_none_or(|wanted| wanted == on_failure_word(&found.on_failure))
            }
        };
        if !fits {
            return Err(format!("the actions are [{names}]; {found:?} is not as expected"));
        }
    }
    Ok(())
}

fn on_failure_word(on_failure: &OnFailure) -> &str {
    match on_failure {
        OnFailure::Stay => "stay",
        OnFailure::Ignore => "ignore",
        OnFailure::Go(state) => state.as_str(),
    }
}

fn describe(decision: &Decision) -> String {
    match decision {
        Decision::Go(go) => format!("go {}", go.to),
        Decision::Wait(wait) => format!("wait: {}", wait.reason),
        Decision::Error(fault) => format!("error: {}", fault.reason),
        Decision::Delete(_) => "delete".to_owned(),
    }
}
