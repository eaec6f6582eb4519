//! Walks: hosts are driven through the shipped pack by facts alone, from where they come in to every way their life can
//! turn out. The walks are data, `walks/*.yaml`; `walks/world.rs` is the world they walk in.
//!
//! A step sets facts, lets time pass, and then says where the host has to be when nothing moves it any more. Actions do
//! here what they do at a willing BMC: power goes on and off, requests are cleared, reports are stored.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of one test program")]

#[path = "walks/world.rs"]
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use rules::{HealthReport, RuleSet, StateKind};
use serde::Deserialize;

use world::{WalkEnd, World};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Walk {
    name: String,
    #[serde(default)]
    dpus: usize,
    start: String,
    #[serde(default)]
    facts: BTreeMap<String, serde_yaml::Value>,
    steps: Vec<WalkStep>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WalkStep {
    /// Seconds that pass first.
    after: u64,
    /// Stored facts: `area.fact`, `dpu1.fact`, or `dpu.fact` for all DPUs.
    facts: BTreeMap<String, serde_yaml::Value>,
    /// Moments that are now: `host.discovered_at`.
    now: Vec<String>,
    /// Reports of DPU agents; none takes them away.
    agents: Option<HealthReport>,
    /// How often the step is repeated.
    times: Option<u32>,
    /// State in which the host comes to rest.
    then: Option<String>,
    /// It rests there with an error that contains this.
    error: Option<String>,
    /// It rests there with a reason that contains this.
    wait: Option<String>,
    /// Its records are gone.
    deleted: bool,
    /// States that it has passed through since the step before, in this order, perhaps among others.
    by: Vec<String>,
    /// Actions carried out since the step before, in this order, perhaps among others.
    does: Vec<String>,
}

fn pack() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("managed_host")
}

fn rules() -> RuleSet {
    rules::load_pack(&pack()).unwrap_or_else(|faults| panic!("{faults}"))
}

fn walks() -> Vec<(String, Walk)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/walks");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ext| ext == "yaml")).collect();
    files.sort();
    let read = |path: PathBuf| {
        let walks: Vec<Walk> = serde_yaml::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        walks.into_iter().map(move |walk| (name.clone(), walk))
    };
    files.into_iter().flat_map(read).collect()
}

fn contains_in_order(found: &[String], wanted: &[String]) -> bool {
    let mut found = found.iter();
    wanted.iter().all(|wanted| found.any(|found| found == wanted))
}

/// What walks have come by.
#[derive(Default)]
struct Seen {
    states: BTreeSet<String>,
    /// Causes of failure on record.
    causes: BTreeSet<String>,
}

/// Walks it; what went wrong. States and the host's outcome are left in the world.
fn walk(rules: &RuleSet, walk: &Walk, seen: &mut Seen) -> Result<(), String> {
    let mut world = World::new(rules, walk.dpus, &walk.start);
    world.set(&walk.facts)?;
    for (number, step) in walk.steps.iter().enumerate() {
        for _ in 0..step.times.unwrap_or(1) {
            world.pass(step.after);
            world.set(&step.facts)?;
            world.set_now(&step.now)?;
            if let Some(report) = &step.agents {
                world.agents_report(report);
            }
            world.settle()?;
            seen.causes.insert(world.cause().to_owned());
        }
        seen.states.extend(world.passed.iter().cloned());
        check(&mut world, step).map_err(|error| format!("step {}: {error}\n{}", number + 1, world.story()))?;
    }
    Ok(())
}

fn check(world: &mut World<'_>, step: &WalkStep) -> Result<(), String> {
    let (passed, done) = (std::mem::take(&mut world.passed), std::mem::take(&mut world.done));
    world.told.push((passed.clone(), done.clone()));
    if let Some(then) = &step.then
        && world.state() != then
    {
        return Err(format!("the host rests in {}, not in {then}: {:?}", world.state(), world.outcome));
    }
    match (&world.outcome, &step.error, &step.wait) {
        (WalkEnd::Error(reason), Some(wanted), _) if reason.contains(wanted) => {}
        (WalkEnd::Error(reason), ..) => return Err(format!("error: {reason}")),
        (outcome, Some(_), _) => return Err(format!("no error but {outcome:?}")),
        (WalkEnd::Wait(reason), None, Some(wanted)) if reason.contains(wanted) => {}
        (outcome, None, Some(_)) => return Err(format!("{outcome:?}")),
        (outcome, None, None) if (*outcome == WalkEnd::Deleted) != step.deleted => return Err(format!("{outcome:?}")),
        _ => {}
    }
    if !contains_in_order(&passed, &step.by) {
        return Err(format!("it did not pass by {:?}", step.by));
    }
    if !contains_in_order(&done, &step.does) {
        return Err(format!("it did not do {:?}", step.does));
    }
    Ok(())
}

#[test]
fn walks_end_as_expected_and_cover_every_state_and_cause() {
    let rules = rules();
    let walks = walks();
    assert!(walks.len() >= 50, "only {} walks were read", walks.len());
    let mut seen = Seen::default();
    let mut failures = Vec::new();
    for (file, one) in &walks {
        if let Err(error) = walk(&rules, one, &mut seen) {
            failures.push(format!("{file}: {}: {error}", one.name));
        }
    }
    assert!(failures.is_empty(), "{} of {} walks:\n{}", failures.len(), walks.len(), failures.join("\n"));

    let graph = rules.graph();
    let unseen: Vec<&str> =
        graph.states.iter().map(|state| state.path.as_str()).filter(|path| !seen.states.contains(*path)).collect();
    assert!(unseen.is_empty(), "no walk passes through {unseen:#?}");

    let declared = &rules.sources()["memory.rhai"];
    let causes = declared.split("failure_cause(\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let unseen: Vec<&str> = causes.filter(|cause| *cause != "NoError" && !seen.causes.contains(*cause)).collect();
    assert!(unseen.is_empty(), "no walk comes to a host that failed with {unseen:#?}");
}

#[test]
fn some_walk_ends_in_every_state_that_is_an_end() {
    let rules = rules();
    let ends: BTreeSet<String> =
        walks().iter().filter_map(|(_, walk)| walk.steps.iter().rev().find_map(|step| step.then.clone())).collect();
    let through: BTreeSet<String> =
        walks().iter().flat_map(|(_, walk)| walk.steps.iter().filter_map(|step| step.then.clone())).collect();
    for state in rules.graph().states {
        match state.kind {
            StateKind::Terminal => assert!(ends.contains(&state.path), "no walk ends in {}", state.path),
            // A walk may go on where an operator helps.
            StateKind::WaitsForOperator => assert!(through.contains(&state.path), "no walk rests in {}", state.path),
            _ => {}
        }
    }
}
