//! Decides every host by two rule sets and compares, without acting. For this room alone.

use rules::{Action, Decision, DpuStep, RuleSet};

use crate::{
    Timestamp, facts,
    store::{HostRecord, Store, StoreError},
};

/// A host that other rules would decide otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Name of the host.
    pub host: String,
    /// Its state.
    pub state: String,
    /// What the active rules decide.
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

/// Hosts that are read at once: while they are decided nothing is kept from the database.
const AT_ONCE: usize = 32;

/// Decides every host by both rule sets, on the same snapshot, and acts on neither.
pub(super) async fn shadow(
    store: &Store,
    switches: &rules::Site,
    now: &RuleSet,
    then: &RuleSet,
) -> Result<Shadow, StoreError> {
    let mut shadow = Shadow::default();
    let hosts = store.read().await?.host_ids().await?;
    for some in hosts.chunks(AT_ONCE) {
        let mut tx = store.read().await?;
        let mut records = Vec::with_capacity(some.len());
        for id in some {
            match tx.host_record(id).await {
                Err(StoreError::Missing { .. }) => {}
                record => records.push(record?),
            }
        }
        drop(tx);
        for record in records.iter().filter(|record| !record.life.state.as_str().is_empty()) {
            shadow.compare(record, switches, now, then);
        }
    }
    shadow.changes.sort_by(|one, other| one.host.cmp(&other.host));
    shadow.stranded.sort();
    Ok(shadow)
}

impl Shadow {
    fn compare(&mut self, record: &HostRecord, switches: &rules::Site, now: &RuleSet, then: &RuleSet) {
        let life = &record.life;
        self.hosts += 1;
        let own = life.dpus.values().map(|own| &own.state);
        if let Some(lost) = std::iter::once(&life.state).chain(own).find(|state| !then.has_state(state)) {
            self.stranded.push((record.host.name.clone(), lost.to_string()));
            return;
        }
        let snapshot = facts::snapshot(record, switches, Timestamp::now());
        let decided = |rules: &RuleSet| rules.decision(&snapshot);
        let (before, after) = (decided(now), decided(then));
        if differ(&before, &after) {
            let (before, mut after) = (words(&before), words(&after));
            if before == after {
                after.push_str(", with other arguments, counters or notes");
            }
            let arms = then.explain(&snapshot).arms;
            let why = arms.last().map(|arm| format!("{}: {}", arm.at, arm.arm)).unwrap_or_default();
            let (host, state) = (record.host.name.clone(), life.state.to_string());
            self.changes.push(Changed { host, state, before, after, why });
        }
    }
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
