use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::Tree;
use crate::dpu::{DpuDir, dir::millis_now};

const LEDGER: &str = "nv/ledger.json";
const FACTORY: &str = "- set:\n    interface:\n      lo:\n        type: loopback\n";
/// Older revisions than this many are forgotten.
const KEPT: usize = 50;

/// The revisions of one DPU and what of them runs.
///
/// What runs may differ from what NVUE calls applied: an apply can break off half-way.
#[derive(Debug)]
pub struct Revisions {
    dir: DpuDir,
    ledger: Ledger,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
struct Ledger {
    next: u64,
    applied: u64,
    startup: u64,
    pending: Option<u64>,
    trial: Option<Trial>,
    /// The tree that runs, if it is not that of `applied`.
    broken_off: Option<u64>,
    revisions: BTreeMap<u64, Revision>,
    /// How often each fault of the scenario has struck, by its place.
    strikes: BTreeMap<usize, u32>,
}

impl Default for Ledger {
    fn default() -> Self {
        let factory = Revision { state: State::Saved, applied_at: Some(millis_now()), by: "root".into(), parent: 0 };
        Self {
            next: 2,
            applied: 1,
            startup: 1,
            pending: None,
            trial: None,
            broken_off: None,
            revisions: BTreeMap::from([(1, factory)]),
            strikes: BTreeMap::new(),
        }
    }
}

/// A revision that is rolled back unless it is confirmed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) revision: u64,
    back_to: u64,
    pub(super) until: u64,
}

/// One line of the history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Revision {
    pub(super) state: State,
    /// Milliseconds since the epoch.
    pub(super) applied_at: Option<u64>,
    pub(super) by: String,
    pub(super) parent: u64,
}

/// State of a revision, in NVUE's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    #[serde(rename = "pending")]
    Pending,
    #[serde(rename = "invalid")]
    Invalid,
    #[serde(rename = "confirm")]
    Confirm,
    #[serde(rename = "confirm_fail")]
    RolledBack,
    #[serde(rename = "apply_fail")]
    Failed,
    #[serde(rename = "applied")]
    Applied,
    #[serde(rename = "applied_and_saved")]
    Saved,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Invalid => "invalid",
            Self::Confirm => "confirm",
            Self::RolledBack => "confirm_fail",
            Self::Failed => "apply_fail",
            Self::Applied => "applied",
            Self::Saved => "applied_and_saved",
        }
    }
}

impl Revisions {
    /// Reads the revisions of a DPU. A new DPU has one, as from the factory.
    ///
    /// # Errors
    /// If the DPU's files cannot be read.
    pub fn open(dir: &DpuDir) -> Result<Self> {
        let mut revisions = Self { dir: dir.clone(), ledger: dir.load(LEDGER)? };
        revisions.roll_back_if_due();
        Ok(revisions)
    }

    /// The configuration that the DPU runs now.
    ///
    /// # Errors
    /// If the DPU's files cannot be read.
    pub fn running(&self) -> Result<Tree> {
        match self.ledger.broken_off {
            Some(id) => self.read(&format!("nv/half-{id}.yaml")),
            None => self.tree(self.ledger.applied),
        }
    }

    /// Number of the revision that NVUE calls applied.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.ledger.applied
    }

    /// When the applied revision was applied, in milliseconds since the epoch.
    #[must_use]
    pub fn applied_at(&self) -> u64 {
        self.ledger.revisions.get(&self.ledger.applied).and_then(|revision| revision.applied_at).unwrap_or_default()
    }

    pub(super) fn startup(&self) -> u64 {
        self.ledger.startup
    }

    pub(super) fn pending(&self) -> Option<u64> {
        self.ledger.pending
    }

    pub(super) fn trial(&self) -> Option<Trial> {
        self.ledger.trial
    }

    pub(super) fn all(&self) -> &BTreeMap<u64, Revision> {
        &self.ledger.revisions
    }

    /// The configuration of a revision.
    pub(super) fn tree(&self, id: u64) -> Result<Tree> {
        if id == 1 {
            return Ok(Tree::parse(FACTORY)?);
        }
        self.read(&format!("nv/rev-{id}.yaml"))
    }

    /// Opens a pending revision with this content, or gives the one that is open this content. True if it is new.
    pub(super) fn propose(&mut self, tree: &Tree) -> Result<(u64, bool)> {
        let (id, new) = match self.ledger.pending {
            Some(id) => (id, false),
            None => (self.ledger.next, true),
        };
        self.write(&format!("nv/rev-{id}.yaml"), tree)?;
        let parent = self.ledger.applied;
        let revision = Revision { state: State::Pending, applied_at: None, by: "root".into(), parent };
        self.ledger.revisions.insert(id, revision);
        self.ledger.next = self.ledger.next.max(id + 1);
        self.ledger.pending = Some(id);
        self.save()?;
        Ok((id, new))
    }

    pub(super) fn detach(&mut self) -> Result<()> {
        if let Some(id) = self.ledger.pending.take() {
            self.ledger.revisions.remove(&id);
        }
        self.save()
    }

    pub(super) fn mark(&mut self, id: u64, state: State) -> Result<()> {
        if let Some(revision) = self.ledger.revisions.get_mut(&id) {
            revision.state = state;
        }
        self.save()
    }

    /// Applies a revision; for a trial until `until`.
    pub(super) fn put_in_force(&mut self, id: u64, state: State, until: Option<u64>) -> Result<()> {
        let back_to = self.ledger.applied;
        self.ledger.trial = until.map(|until| Trial { revision: id, back_to, until });
        self.ledger.applied = id;
        self.ledger.broken_off = None;
        if self.ledger.pending == Some(id) {
            self.ledger.pending = None;
        }
        if state == State::Saved {
            self.ledger.startup = id;
        }
        if let Some(revision) = self.ledger.revisions.get_mut(&id) {
            *revision = Revision { state, applied_at: Some(millis_now()), ..revision.clone() };
        }
        self.save()
    }

    /// Leaves the DPU with a part of a revision, which stays pending.
    pub(super) fn break_off(&mut self, id: u64) -> Result<()> {
        let half = self.tree(id)?.half_over(&self.running()?);
        self.write(&format!("nv/half-{id}.yaml"), &half)?;
        self.ledger.broken_off = Some(id);
        self.mark(id, State::Failed)
    }

    /// Keeps a revision on trial. None if there is no trial.
    pub(super) fn confirm(&mut self, state: State) -> Result<Option<u64>> {
        let Some(trial) = self.ledger.trial.take() else { return Ok(None) };
        if state == State::Saved {
            self.ledger.startup = trial.revision;
        }
        self.mark(trial.revision, state)?;
        Ok(Some(trial.revision))
    }

    /// Ends a trial with the revision before it. None if there is no trial.
    pub(super) fn roll_back(&mut self) -> Result<Option<u64>> {
        let Some(trial) = self.ledger.trial.as_mut() else { return Ok(None) };
        let id = trial.revision;
        trial.until = 0;
        self.roll_back_if_due();
        self.save()?;
        Ok(Some(id))
    }

    pub(super) fn save_applied(&mut self) -> Result<()> {
        self.ledger.startup = self.ledger.applied;
        self.save()
    }

    /// Notes that a fault of the scenario strikes. False if it is used up.
    pub(super) fn strikes(&mut self, fault: usize, at_most: Option<u32>) -> Result<bool> {
        let count = self.ledger.strikes.entry(fault).or_default();
        if at_most.is_some_and(|limit| *count >= limit) {
            return Ok(false);
        }
        *count += 1;
        self.save()?;
        Ok(true)
    }

    fn roll_back_if_due(&mut self) {
        let Some(trial) = self.ledger.trial.filter(|trial| trial.until <= millis_now()) else { return };
        self.ledger.trial = None;
        self.ledger.applied = trial.back_to;
        if let Some(revision) = self.ledger.revisions.get_mut(&trial.revision) {
            revision.state = State::RolledBack;
        }
        if let Some(revision) = self.ledger.revisions.get_mut(&trial.back_to) {
            revision.applied_at = Some(millis_now());
        }
    }

    fn save(&mut self) -> Result<()> {
        while self.ledger.revisions.len() > KEPT {
            self.ledger.revisions.pop_first();
        }
        self.dir.store(LEDGER, &self.ledger)
    }

    fn write(&self, name: &str, tree: &Tree) -> Result<()> {
        std::fs::create_dir_all(self.dir.join("nv"))?;
        self.dir.write(name, &serde_yaml::to_string(&[BTreeMap::from([("set", tree)])])?)
    }

    fn read(&self, name: &str) -> Result<Tree> {
        let path = self.dir.join(name);
        let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Tree::parse(&text).with_context(|| format!("read {}", path.display()))
    }
}
