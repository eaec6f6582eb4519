//! Which rules are in force: read, checked, tried on the live site without acting, put in force, kept by content hash.
//!
//! A pack is refused whole, and the rules in force stay, if it has faults, if its own tests fail, if it names actions that
//! the controller lacks, if hosts are in states that it lacks, or if it would decide too many hosts otherwise and nobody
//! insisted.

mod draw;
mod files;
mod hangup;
mod shadow;

use std::{path::PathBuf, sync::Arc};

use rules::{LoadOptions, RuleSet};
use tracing::{info, warn};

pub use draw::draw_faults;
pub use files::{PackReadError, load_pack_dir, read_pack_dir};
pub(crate) use hangup::reload_on_hangup;
pub use shadow::Changed;

use crate::{
    DirtyHosts, Moment,
    reconcile::RulesInForce,
    store::{PackFile, Store, StoreError, StoredPack},
};
use files::{compile, failing_tests, with_actions};

/// The site's rule packs.
pub struct RulePacks {
    store: Store,
    rules: Arc<RulesInForce>,
    dirty: DirtyHosts,
    switches: rules::Site,
    options: LoadOptions,
    /// Directory that is read again on request.
    dir: Option<PathBuf>,
    /// Share of hosts that may be decided otherwise without anybody insisting.
    share: f64,
    /// One pack at a time.
    turn: tokio::sync::Mutex<()>,
}

/// A pack that is to be put in force.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Its files, tests included.
    pub files: Vec<PackFile>,
    /// Only say what would happen.
    pub dry_run: bool,
    /// Put it in force however many hosts it would decide otherwise.
    pub force: bool,
}

/// What became of a proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// It is in force.
    pub applied: bool,
    /// Content hash; empty if it has faults.
    pub hash: String,
    /// Hosts that were tried.
    pub hosts_evaluated: u32,
    /// Hosts that it decides otherwise.
    pub changes: Vec<Changed>,
    /// Names and states of hosts whose state it lacks.
    pub stranded: Vec<(String, String)>,
    /// Its faults, drawn.
    pub faults: Vec<String>,
    /// Why it was refused; none if it was not.
    pub refusal: Option<String>,
}

/// Why a controller cannot start with rules.
#[derive(Debug, thiserror::Error)]
pub enum RulePackError {
    /// There is no pack anywhere.
    #[error("there are no rules: give `rules = \"DIRECTORY\"` in the config, or --rules")]
    None,
    /// The directory cannot be read.
    #[error(transparent)]
    Read(#[from] PackReadError),
    /// The pack has faults, and no earlier one is kept.
    #[error("the rules in {dir} are refused:\n{faults}")]
    Faults {
        /// Directory.
        dir: String,
        /// The faults, drawn.
        faults: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RulePacks {
    /// The pack to start with; `options` are the site's times and limits. A directory with a content that was never in force is new and goes first; otherwise the
    /// pack that was last in force stays, for an operator may have put it there since. If the directory's pack has
    /// faults, the last one in force stays, too.
    ///
    /// # Errors
    /// If there is no usable pack at all.
    pub async fn open(
        store: Store,
        dirty: DirtyHosts,
        switches: rules::Site,
        options: LoadOptions,
        dir: Option<PathBuf>,
    ) -> Result<Self, RulePackError> {
        let options = with_actions(options);
        let mut tx = store.read().await?;
        let used: Vec<String> = tx.pack_uses(1_000).await?.into_iter().map(|used| used.hash).collect();
        let kept = match used.first() {
            Some(hash) => tx.pack(hash).await?,
            None => None,
        };
        drop(tx);
        let last = kept.and_then(|pack| compile(&pack.files, &options).ok());
        let (rules, refusal) = match &dir {
            None => (last.ok_or(RulePackError::None)?, None),
            Some(path) => {
                let fresh = read_pack_dir(path).map_err(RulePackError::from).and_then(|files| {
                    let refused = |faults: Vec<String>| RulePackError::Faults {
                        dir: path.display().to_string(),
                        faults: faults.join("\n\n"),
                    };
                    compile(&files, &options).map(|rules| (rules, files)).map_err(refused)
                });
                match (fresh, last) {
                    (Ok((rules, _)), Some(last)) if used.iter().any(|hash| hash == rules.hash()) => (last, None),
                    (Ok((rules, files)), _) => {
                        keep(&store, &rules, files).await?;
                        (rules, None)
                    }
                    (Err(error), Some(last)) => {
                        warn!(%error, "the rules that were last in force stay");
                        (last, Some(error.to_string()))
                    }
                    (Err(error), None) => return Err(error),
                }
            }
        };
        let in_force = RulesInForce::new(rules);
        if let Some(refusal) = refusal {
            in_force.refuse(refusal);
        }
        Ok(Self {
            store,
            rules: Arc::new(in_force),
            dirty,
            switches,
            options,
            dir,
            share: 0.2,
            turn: tokio::sync::Mutex::new(()),
        })
    }

    /// The rules in force, to share with the reconciler.
    #[must_use]
    pub fn rules(&self) -> &Arc<RulesInForce> {
        &self.rules
    }

    /// Files of a kept pack.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if no pack of that hash is kept.
    pub async fn files_of(&self, hash: &str) -> Result<Vec<PackFile>, StoreError> {
        let mut tx = self.store.read().await?;
        let missing = || StoreError::Missing { what: "rule pack", id: hash.chars().take(80).collect() };
        Ok(tx.pack(hash).await?.ok_or_else(missing)?.files)
    }

    /// Reads the configured directory again and puts it in force if nothing speaks against it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn reload(&self) -> Result<Verdict, StoreError> {
        let files = match self.dir.as_ref().ok_or("no directory of rules is configured".to_owned()) {
            Ok(dir) => read_pack_dir(dir).map_err(|error| error.to_string()),
            Err(why) => Err(why),
        };
        match files {
            Ok(files) => self.apply(Proposal { files, dry_run: false, force: false }).await,
            Err(why) => {
                self.rules.refuse(why.clone());
                Ok(Verdict { refusal: Some(why), ..Verdict::default() })
            }
        }
    }

    /// Checks a pack, tries it on every host and, unless it is a dry run, puts it in force.
    ///
    /// # Errors
    /// If the database fails; then nothing changed.
    pub async fn apply(&self, proposal: Proposal) -> Result<Verdict, StoreError> {
        let _turn = self.turn.lock().await;
        let (verdict, rules) = self.judge(&proposal).await?;
        if proposal.dry_run {
            return Ok(verdict);
        }
        match (&verdict.refusal, rules) {
            (None, Some(rules)) if rules.hash() == self.rules.current().hash() => {
                self.rules.replace(rules);
                Ok(Verdict { applied: true, ..verdict })
            }
            (None, Some(rules)) => {
                keep(&self.store, &rules, proposal.files).await?;
                info!(hash = rules.hash(), changes = verdict.changes.len(), "other rules are in force");
                self.rules.replace(rules);
                let mut tx = self.store.read().await?;
                for host in tx.host_ids().await? {
                    self.dirty.mark(host);
                }
                Ok(Verdict { applied: true, ..verdict })
            }
            (refusal, _) => {
                let why = refusal.clone().unwrap_or_default();
                warn!(why, "rules refused");
                self.rules.refuse(why);
                Ok(verdict)
            }
        }
    }

    async fn judge(&self, proposal: &Proposal) -> Result<(Verdict, Option<RuleSet>), StoreError> {
        let refuse = |verdict: Verdict, why: String| Ok((Verdict { refusal: Some(why), ..verdict }, None));
        let rules = match compile(&proposal.files, &self.options) {
            Ok(rules) => rules,
            Err(faults) => {
                let why = format!("the pack has {} fault{}", faults.len(), if faults.len() == 1 { "" } else { "s" });
                return refuse(Verdict { faults, ..Verdict::default() }, why);
            }
        };
        let failing = failing_tests(&proposal.files).unwrap_or_else(|faults| faults);
        if !failing.is_empty() {
            let why = format!("{} of the pack's own tests fail", failing.len());
            return refuse(Verdict { faults: failing, ..Verdict::default() }, why);
        }
        let shadow = shadow::shadow(&self.store, &self.switches, &self.rules.current(), &rules).await?;
        let verdict = Verdict {
            hash: rules.hash().to_owned(),
            hosts_evaluated: shadow.hosts,
            changes: shadow.changes,
            stranded: shadow.stranded,
            ..Verdict::default()
        };
        if !verdict.stranded.is_empty() {
            let why = format!("{} hosts are in states that the pack lacks", verdict.stranded.len());
            return refuse(verdict, why);
        }
        let share = verdict.changes.len() as f64 / f64::from(verdict.hosts_evaluated.max(1));
        if share > self.share && !proposal.force && !proposal.dry_run {
            let (changed, all) = (verdict.changes.len(), verdict.hosts_evaluated);
            let limit = self.share * 100.0;
            let why = format!(
                "{changed} of {all} hosts would be decided otherwise, more than {limit:.0} %: insist with force"
            );
            return refuse(verdict, why);
        }
        Ok((verdict, Some(rules)))
    }
}

/// Keeps a pack under its hash and notes that it is in force from now on.
async fn keep(store: &Store, rules: &RuleSet, files: Vec<PackFile>) -> Result<(), StoreError> {
    let now = Moment::now();
    let mut tx = store.write().await?;
    tx.put_pack(&StoredPack { hash: rules.hash().to_owned(), files, stored_at: now }).await?;
    tx.use_pack(rules.hash(), now).await?;
    tx.commit().await
}
