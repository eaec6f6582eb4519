//! Runs a pack's own tests (YAML files of facts and expected decisions) and computes the coverage of its arms.
//!
//! ```yaml
//! base:                      # facts of every case of the file, by their name in the dictionary
//!   state.path: Ready
//! dpus: 2                    # DPUs named dpu0, dpu1; the first is the primary one
//! cases:
//!   - name: an allocated host is provisioned
//!     facts: { instance.present: true }
//!     dpu1: { observed_network_version: V1-T1 }
//!     expect: { go: Assigned/WaitingForNetworkSegmentToBeReady }
//! ```
//!
//! Facts derived from timestamps are set as rules see them: `state.elapsed: 600`, `host.rebooted_since_state_change: true`.

pub(crate) mod diff;
mod expect;
mod facts;
pub(crate) mod graph;
mod read;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::{Deserialize, Serialize};

pub use expect::{Expectation, ExpectedAction, ExpectedDpu};

use crate::{
    eval::RuleSet,
    ir::{
        limits,
        pack::Arm,
        snapshot::{HealthReport, Snapshot},
        trace::{ArmResult, Decided},
    },
    lang::files::read_pack_files,
};

/// The result of running a pack's tests.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SuiteResult {
    /// Every case, in order.
    pub cases: Vec<CaseResult>,
    /// Arms that no test covers.
    pub untested: Vec<UntestedArm>,
    /// How many arms there are.
    pub arms: usize,
}

/// One case that was run.
#[derive(Debug, Clone, Serialize)]
pub struct CaseResult {
    /// File of the case.
    pub file: String,
    /// Name of the case.
    pub name: String,
    /// What was wrong, none if the case passed.
    pub failure: Option<String>,
}

/// An arm that no test covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UntestedArm {
    /// Where it is declared, `file:line`.
    pub at: String,
    /// State or rule that it belongs to.
    pub state: String,
    /// What it does.
    pub arm: String,
}

impl SuiteResult {
    /// All cases passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.cases.iter().all(|case| case.failure.is_none())
    }
}

/// A file of tests.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Suite {
    base: BTreeMap<String, serde_yaml::Value>,
    /// Facts of every DPU.
    dpu: BTreeMap<String, serde_yaml::Value>,
    dpus: usize,
    cases: Vec<Case>,
}

/// One case: facts, and the decision they should lead to.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Case {
    name: String,
    dpus: Option<usize>,
    facts: BTreeMap<String, serde_yaml::Value>,
    health: BTreeMap<String, HealthReport>,
    expect: Expectation,
    /// Facts of single DPUs: `dpu0: {…}`.
    #[serde(flatten)]
    of_dpus: BTreeMap<String, BTreeMap<String, serde_yaml::Value>>,
}

impl RuleSet {
    /// Runs tests given as names and texts of files.
    #[must_use]
    pub fn run_tests<'t>(&self, files: impl IntoIterator<Item = (&'t str, &'t str)>) -> SuiteResult {
        let mut result = SuiteResult { arms: self.arms.len(), ..SuiteResult::default() };
        let mut reached = vec![false; self.arms.len()];
        for (file, text) in files {
            let suite = read::suite(text).map_err(|error| format!("the file cannot be read: {error}"));
            let cases = |suite: &Suite| result.cases.len() + suite.cases.len();
            let suite = match suite {
                Ok(suite) if cases(&suite) <= limits::TEST_CASES => suite,
                other => {
                    let failure = other.err();
                    let failure = failure.unwrap_or_else(|| {
                        format!("with this file the pack has more than {} cases: remove some", limits::TEST_CASES)
                    });
                    result.cases.push(CaseResult {
                        file: file.to_owned(),
                        name: String::new(),
                        failure: Some(failure),
                    });
                    continue;
                }
            };
            for case in &suite.cases {
                let failure = self.run_case(&suite, case, &mut reached).err();
                result.cases.push(CaseResult { file: file.to_owned(), name: case.name.clone(), failure });
            }
        }
        result.untested = self.untested(&reached);
        result
    }

    fn run_case(&self, suite: &Suite, case: &Case, reached: &mut [bool]) -> Result<(), String> {
        let snapshot = facts::snapshot(suite, case)?;
        if !self.has_state(&snapshot.state.path) {
            return Err(format!("the rules have no state `{}`", snapshot.state.path));
        }
        let decided = self.decide(&snapshot);
        mark(&decided, reached);
        expect::compare(&case.expect, &decided.decision, &snapshot, self)
    }

    fn untested(&self, reached: &[bool]) -> Vec<UntestedArm> {
        let mut owners = vec![""; self.arms.len()];
        for state in &self.states {
            for arm in &state.arms {
                if let Some(owner) = owners.get_mut(*arm) {
                    *owner = state.path.as_str();
                }
            }
        }
        for (owner, arm) in owners.iter_mut().zip(&self.arms) {
            *owner = arm.rule.as_deref().unwrap_or(owner);
        }
        // Several states can use one block of steps: covering its arms in one state is enough.
        let of_reached = self.arms.iter().zip(reached).filter(|(_, reached)| **reached);
        let places: BTreeSet<_> = of_reached.map(|(arm, _)| &arm.place).collect();
        let mut told = BTreeSet::new();
        let arms = self.arms.iter().zip(owners).filter(|(arm, _)| !places.contains(&arm.place));
        let arms = arms.filter(|(arm, _)| told.insert(&arm.place));
        let untested = |(arm, owner): (&Arm, &str)| UntestedArm {
            at: format!("{}:{}", arm.place.file, arm.place.line),
            state: owner.to_owned(),
            arm: arm.describe(self),
        };
        arms.map(untested).collect()
    }
}

/// Marks the arms that a decision covers. A gate is covered when it was closed: an open gate shows nothing.
fn mark(decided: &Decided, reached: &mut [bool]) {
    for step in &decided.trace.steps {
        if matches!(step.result, ArmResult::Taken | ArmResult::Blocked | ArmResult::Failed)
            && let Some(reached) = reached.get_mut(step.arm as usize)
        {
            *reached = true;
        }
    }
}

/// The snapshots of a pack's tests, by the names of their cases: hosts to try other rules on, or to start a new test from.
///
/// # Errors
/// A file, or a case of it, that cannot be read.
pub fn test_snapshots<'t>(
    files: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Vec<(String, Snapshot)>, String> {
    let mut snapshots = Vec::new();
    for (file, text) in files {
        let suite = read::suite(text).map_err(|error| format!("{file}: {error}"))?;
        for case in &suite.cases {
            let snapshot = facts::snapshot(&suite, case).map_err(|error| format!("{file}: {}: {error}", case.name))?;
            snapshots.push((case.name.clone(), snapshot));
        }
    }
    Ok(snapshots)
}

/// Reads the tests beside a pack: all `*.yaml` files in its `tests` directory, by name.
///
/// # Errors
/// The directory is there and cannot be read.
pub fn read_tests(pack: &Path) -> std::io::Result<BTreeMap<String, String>> {
    let directory = pack.join("tests");
    if !directory.is_dir() {
        return Ok(BTreeMap::new());
    }
    Ok(read_pack_files(&directory, "yaml", usize::MAX)?.into_iter().collect())
}

impl Snapshot {
    /// A snapshot with facts set by their names in the dictionary, as tests of a pack set them: `state.path`,
    /// `instance.present`, `state.elapsed`, `dpu0.observed_network_version`.
    ///
    /// # Errors
    /// An unknown fact, or a value of the wrong type.
    pub fn from_facts(facts: &BTreeMap<String, serde_yaml::Value>, dpus: usize) -> Result<Self, String> {
        facts::from_facts(facts, dpus)
    }
}
