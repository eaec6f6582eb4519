use rules::{Action, Decision, DpuStep, RuleSet};

use crate::{
    Moment, facts,
    store::{Store, StoreError},
};

/// A host that other rules would decide otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Name of the host.
    pub host: String,
    /// Its state.
    pub state: String,
    /// What the rules in force decide.
    pub before: String,
    /// What the others would.
    pub after: String,
    /// The arm of the others that decides so.
    pub why: String,
}

/// What other rules would do to the site as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shadow {
    pub(super) hosts: u32,
    pub(super) changes: Vec<Changed>,
    /// Names and states of hosts whose state the others lack.
    pub(super) stranded: Vec<(String, String)>,
}

/// Decides every host by both rule sets, on the same snapshot, and acts on neither.
pub(super) async fn shadow(
    store: &Store,
    switches: &rules::Site,
    now: &RuleSet,
    then: &RuleSet,
) -> Result<Shadow, StoreError> {
    let mut tx = store.read().await?;
    let mut shadow = Shadow::default();
    for id in tx.host_ids().await? {
        let record = tx.host_record(&id).await?;
        let life = &record.life;
        if life.state.as_str().is_empty() {
            continue;
        }
        shadow.hosts += 1;
        let own = life.dpus.values().map(|own| &own.state);
        if let Some(lost) = std::iter::once(&life.state).chain(own).find(|state| !then.has_state(state)) {
            shadow.stranded.push((record.host.name.clone(), lost.to_string()));
            continue;
        }
        let snapshot = facts::snapshot(&record, switches, Moment::now());
        let (before, after) = (now.decision(&snapshot), then.decision(&snapshot));
        if differ(&before, &after) {
            let (before, mut after) = (words(&before), words(&after));
            if before == after {
                after.push_str(", with other arguments, counters or notes");
            }
            let arms = then.explain(&snapshot).arms;
            let why = arms.last().map(|arm| format!("{}: {}", arm.at, arm.arm)).unwrap_or_default();
            let (host, state) = (record.host.name.clone(), life.state.to_string());
            shadow.changes.push(Changed { host, state, before, after, why });
        }
    }
    shadow.changes.sort_by(|one, other| one.host.cmp(&other.host));
    shadow.stranded.sort();
    Ok(shadow)
}

/// Whether what happens to the host differs. When it is looked at again, and the name of the gate that holds it, are no
/// difference.
fn differ(before: &Decision, after: &Decision) -> bool {
    let bare = |decision: &Decision| {
        let mut decision = decision.clone();
        match &mut decision {
            Decision::Wait(wait) => (wait.gate, wait.recheck_after) = (None, None),
            Decision::Error(fault) => (fault.gate, fault.recheck_after) = (None, None),
            Decision::Go(_) | Decision::Delete(_) => {}
        }
        decision
    };
    bare(before) != bare(after)
}

/// A decision in words: where the host and its DPUs go, and after which actions.
fn words(decision: &Decision) -> String {
    let actions = |actions: &[Action]| {
        let names: Vec<&str> = actions.iter().map(|action| &*action.name).collect();
        if names.is_empty() { String::new() } else { format!(" after {}", names.join(", ")) }
    };
    let of_dpus = |steps: &[DpuStep]| {
        let moves = steps.iter().filter(|step| step.to.is_some() || !step.actions.is_empty());
        let step = |step: &DpuStep| {
            let to = step.to.as_ref().map_or_else(|| "stays".to_owned(), |to| format!("goes {to}"));
            format!("; DPU {} {to}{}", step.dpu, actions(&step.actions))
        };
        moves.map(step).collect::<String>()
    };
    match decision {
        Decision::Go(go) => format!("go {}{}{}", go.to, actions(&go.actions), of_dpus(&go.dpus)),
        Decision::Wait(wait) => format!("wait: {}{}{}", wait.reason, actions(&wait.actions), of_dpus(&wait.dpus)),
        Decision::Error(fault) => format!("error: {}", fault.reason),
        Decision::Delete(delete) => format!("delete{}", actions(&delete.actions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(reason: &str, gate: &str, dpu: Option<&str>) -> Decision {
        let step = |to: &str| DpuStep {
            dpu: "dpu-1".into(),
            to: Some(to.into()),
            reason: None,
            actions: vec![],
            counters: None,
            notes: None,
        };
        Decision::Wait(rules::Wait {
            reason: reason.into(),
            gate: Some(gate.into()),
            actions: vec![],
            dpus: dpu.map(step).into_iter().collect(),
            counters: None,
            recheck_after: None,
        })
    }

    #[test]
    fn what_happens_to_a_dpu_is_a_difference_and_a_gates_name_is_none() {
        let before = wait("BGP is down", "p0", None);
        assert!(!differ(&before, &wait("BGP is down", "uplink", None)));
        assert!(differ(&before, &wait("BGP is still down", "p0", None)));
        let moved = wait("BGP is down", "p0", Some("DPUInit/Init"));
        assert!(differ(&before, &moved));
        assert_eq!(words(&moved), "wait: BGP is down; DPU dpu-1 goes DPUInit/Init");
    }
}
