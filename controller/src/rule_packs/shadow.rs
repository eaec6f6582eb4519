use rules::{Decision, RuleSet};

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
        let (before, after) = (words(&now.decide(&snapshot).decision), words(&then.decide(&snapshot).decision));
        if before != after {
            let arms = then.explain(&snapshot).arms;
            let why = arms.last().map(|arm| format!("{}: {}", arm.at, arm.arm)).unwrap_or_default();
            let (host, state) = (record.host.name.clone(), life.state.to_string());
            shadow.changes.push(Changed { host, state, before, after, why });
        }
    }
    Ok(shadow)
}

/// A decision in words that differ if what happens to the host differs.
fn words(decision: &Decision) -> String {
    let actions = |actions: &[rules::Action]| {
        let names: Vec<&str> = actions.iter().map(|action| &*action.name).collect();
        if names.is_empty() { String::new() } else { format!(" after {}", names.join(", ")) }
    };
    match decision {
        Decision::Go(go) => format!("go {}{}", go.to, actions(&go.actions)),
        Decision::Wait(wait) => format!("wait: {}{}", wait.reason, actions(&wait.actions)),
        Decision::Error(fault) => format!("error: {}", fault.reason),
        Decision::Delete(delete) => format!("delete{}", actions(&delete.actions)),
    }
}
