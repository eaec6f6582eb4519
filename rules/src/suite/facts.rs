//! Builds snapshots from facts by name, for tests of packs.
//!
//! Stored facts are set in the serialised form of the snapshot. Facts that are derived from timestamps are set by
//! choosing the timestamp: an age by subtracting it from now, an order by a timestamp just after or before the other.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value as Yaml};

use crate::{
    ir::snapshot::{Dpu, HealthReport, Snapshot, fact_dictionary},
    suite::{Case, Suite, read},
};

/// The current time in tests: some day in 2025.
const NOW: u64 = 1_750_000_000_000_000;
/// Default time in the state: a minute.
const ELAPSED: u64 = 60_000_000;

pub(super) fn snapshot(suite: &Suite, case: &Case) -> Result<Snapshot, String> {
    let count = case.dpus.unwrap_or(suite.dpus);
    let values = |facts: &BTreeMap<String, Yaml>| facts.values().map(read::count).sum::<usize>();
    let of_dpus = case.of_dpus.values().map(values).sum::<usize>();
    read::check_size(count, values(&suite.dpu), values(&suite.base) + values(&case.facts) + of_dpus)?;
    let mut facts = suite.base.clone();
    facts.extend(case.facts.clone());
    for dpu in 0..count {
        for (name, value) in &suite.dpu {
            facts.insert(format!("dpu{dpu}.{name}"), value.clone());
        }
    }
    for (dpu, of_dpu) in &case.of_dpus {
        let number: Option<usize> = dpu.strip_prefix("dpu").and_then(|number| number.parse().ok());
        if number.is_none_or(|number| number >= count) {
            return Err(format!("`{dpu}` is neither a part of a case nor one of its {count} DPUs"));
        }
        for (name, value) in of_dpu {
            facts.insert(format!("{dpu}.{name}"), value.clone());
        }
    }
    let mut snapshot = from_facts(&facts, count)?;
    for (slot, report) in &case.health {
        store(&mut snapshot, slot, report)?;
    }
    Ok(snapshot)
}

pub(super) fn from_facts(facts: &BTreeMap<String, Yaml>, dpus: usize) -> Result<Snapshot, String> {
    read::check_size(dpus, 0, facts.values().map(read::count).sum())?;
    let mut snapshot = Snapshot {
        id: "host0".to_owned(),
        now: NOW,
        dpus: (0..dpus)
            .map(|n| Dpu { id: format!("dpu{n}"), name: format!("dpu{n}"), primary: n == 0, ..Dpu::default() })
            .collect(),
        ..Snapshot::default()
    };
    snapshot.host.associated_dpus = i64::try_from(dpus).unwrap_or(i64::MAX);
    let before = |name: &str| facts.get(name).map(|value| ago(name, value)).transpose();
    snapshot.state.since = before("state.elapsed")?.unwrap_or(NOW - ELAPSED);
    for dpu in &mut snapshot.dpus {
        dpu.state_since = before(&format!("{}.elapsed", dpu.id))?.unwrap_or(snapshot.state.since);
    }
    let mut tree = serde_yaml::to_value(&snapshot).map_err(|error| error.to_string())?;
    for (path, value) in facts {
        let (owner, name) = path.split_once('.').ok_or_else(|| format!("`{path}` is not a fact: write `area.name`"))?;
        let at = owner.strip_prefix("dpu").and_then(|number| number.parse::<usize>().ok());
        let area = match at {
            Some(at) => tree.get_mut("dpus").and_then(|dpus| dpus.get_mut(at)),
            None => tree.get_mut(owner),
        };
        let Some(Yaml::Mapping(area)) = area else { return Err(format!("there is no area `{owner}`")) };
        let kind = if at.is_some() { "dpu" } else { owner };
        set(area, kind, name, value, &snapshot)?;
    }
    serde_yaml::from_value(tree).map_err(|error| format!("a value does not fit its fact: {error}"))
}

/// Sets one fact in the serialised form of its area.
fn set(area: &mut Mapping, kind: &str, name: &str, value: &Yaml, snapshot: &Snapshot) -> Result<(), String> {
    let key = Yaml::from(name);
    let at_dpu = kind == "dpu" && name == "state";
    if area.contains_key(&key) || at_dpu {
        area.insert(key, value.clone());
        return Ok(());
    }
    let Some(timestamp) = timestamp(kind, name) else {
        let facts = fact_dictionary();
        let known = facts.iter().filter(|fact| fact.area == kind).map(|fact| fact.name);
        let hint = types::nearest(name, known).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
        return Err(format!("there is no fact `{kind}.{name}` that can be set{hint}"));
    };
    let own = area.get("state_since").and_then(Yaml::as_u64);
    let entered = if timestamp.of_dpu { own.unwrap_or(snapshot.state.since) } else { snapshot.state.since };
    let at = match (timestamp.relation, value) {
        (Relation::Age, Yaml::Null) => None,
        (Relation::Age, value) => Some(ago(&format!("{kind}.{name}"), value)?),
        (Relation::After, value) => {
            let after = value.as_bool().ok_or_else(|| format!("`{kind}.{name}` is true or false"))?;
            Some(if after { entered.saturating_add(1) } else { entered.saturating_sub(1) })
        }
        (Relation::Fresh, value) => {
            let fresh = value.as_bool().ok_or_else(|| format!("`{kind}.{name}` is true or false"))?;
            fresh.then_some(snapshot.now.saturating_add(1))
        }
        (Relation::Set, _) => return Ok(()),
    };
    area.insert(Yaml::from(timestamp.field), at.map_or(Yaml::Null, Yaml::from));
    Ok(())
}

/// The timestamp so many seconds ago.
fn ago(name: &str, value: &Yaml) -> Result<u64, String> {
    let timestamp = value.as_u64().map(|seconds| NOW.saturating_sub(seconds.saturating_mul(1_000_000)));
    timestamp.ok_or_else(|| {
        let text = serde_yaml::to_string(value).unwrap_or_default();
        format!("`{name}` is a whole number of seconds, not {}", text.trim())
    })
}

struct StoredTimestamp {
    field: &'static str,
    relation: Relation,
    /// Relative to the DPU's own state.
    of_dpu: bool,
}

#[derive(Clone, Copy)]
enum Relation {
    Age,
    After,
    /// Later than now.
    Fresh,
    /// Already set.
    Set,
}

/// The stored timestamp of a derived fact.
fn timestamp(area: &str, name: &str) -> Option<StoredTimestamp> {
    use Relation::{After, Age, Fresh, Set};
    let (field, relation, of_dpu) = match (area, name) {
        ("state", "elapsed") | ("dpu", "elapsed") => ("", Set, false),
        ("host", "discovered_since_state_change" | "discovered_since_failure") => ("discovered_at", After, false),
        ("host", "rebooted_since_state_change") => ("rebooted_at", After, false),
        ("host", "cleaned_since_state_change" | "cleaned_since_failure") => ("cleaned_at", After, false),
        ("host", "scout_age") => ("scout_seen_at", Age, false),
        ("host", "reboot_age") | ("dpu", "reboot_age") => ("reboot_requested_at", Age, false),
        ("bmc", "power_request_age") => ("power_requested_at", Age, false),
        ("bmc", "power_is_fresh") => ("power_read_at", Fresh, false),
        ("bmc", "reset_age") => ("reset_at", Age, false),
        ("dpu", "seen_since_state_change") => ("observed_at", After, false),
        ("dpu", "observation_age") => ("observed_at", Age, false),
        ("dpu", "discovered_since_state_change") => ("discovered_at", After, true),
        ("dpu", "booted_since_state_change") => ("booted_at", After, true),
        ("dpu", "reprovision_restart_requested") => ("reprovision_restart_requested_at", After, false),
        ("dpu", "agent_superseded_age") => ("agent_superseded_at", Age, false),
        ("requests", "maintenance_since_state_change") => ("maintenance_requested_at", After, false),
        ("requests", "host_reprovision_since_state_change") => ("host_reprovision_requested_at", After, false),
        ("failure", "age") => ("at", Age, false),
        ("validation", "verify_requested_since_state_change") => ("verify_requested_at", After, false),
        ("validation", "match_attempt_age") => ("match_attempted_at", Age, false),
        ("firmware", "explored_since_state_change") => ("explored_at", After, false),
        ("firmware", "failure_age") => ("failed_at", Age, false),
        _ => return None,
    };
    Some(StoredTimestamp { field, relation, of_dpu })
}

/// Stores a health report: `host_replace`, `host:SOURCE`, `rack_replace`, `rack:SOURCE`, `dpu0_replace`, `dpu0_agent`,
/// `dpu0:SOURCE`.
fn store(snapshot: &mut Snapshot, slot: &str, report: &HealthReport) -> Result<(), String> {
    let mut report = report.clone();
    if let Some((owner, source)) = slot.split_once(':') {
        report.source = source.to_owned();
        let merges = match owner {
            "host" => &mut snapshot.health.merges,
            "rack" => &mut snapshot.health.rack_merges,
            dpu => &mut dpu_named(snapshot, dpu)?.health.merges,
        };
        merges.insert(source.to_owned(), report);
        return Ok(());
    }
    let place = match slot {
        "host_replace" => &mut snapshot.health.replace,
        "rack_replace" => &mut snapshot.health.rack_replace,
        _ => match slot.split_once('_') {
            Some((dpu, "replace")) => &mut dpu_named(snapshot, dpu)?.health.replace,
            Some((dpu, "agent")) => &mut dpu_named(snapshot, dpu)?.health.agent,
            _ => return Err(format!("`{slot}` is not a place for a health report: `dpu0_agent`, `host:source`, …")),
        },
    };
    *place = Some(report);
    Ok(())
}

fn dpu_named<'s>(snapshot: &'s mut Snapshot, name: &str) -> Result<&'s mut Dpu, String> {
    snapshot.dpus.iter_mut().find(|dpu| dpu.id == name).ok_or_else(|| format!("the case has no `{name}`"))
}
