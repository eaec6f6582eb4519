//! Which rules are in force: read, checked, tried on the live site without acting, put in force, kept by content hash.
//!
//! A pack is refused whole, and the rules in force stay, if it has faults, if its own tests fail, if it names actions that
//! the controller lacks, if hosts are in states that it lacks, or if it would decide too many hosts otherwise and nobody
//! insisted.

mod draw;
mod files;
mod hangup;
mod shadow;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rules::{LoadOptions, RuleSet};
use tracing::{info, warn};

pub use draw::draw_faults;
pub use files::{PackReadError, load_pack_dir, read_pack_dir};
pub(crate) use hangup::reload_on_hangup;
pub use shadow::Changed;

use crate::{
    DirtyHosts, Moment,
    reconcile::RulesInForce,
    store::{PackFile, Store, StoreError, StoredPack, Tx},
};
use files::{compile, failing_tests, with_actions};

/// The site's rule packs.
pub struct RulePacks {
    store: Store,
    rules: Arc<RulesInForce>,
    dirty: DirtyHosts,
    settings: RuleSettings,
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
    /// Why it will be put in force only if somebody insists.
    pub objection: Option<String>,
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

/// What rule packs are judged by.
#[derive(Debug, Clone)]
pub struct RuleSettings {
    /// Switches of the site, which rules see.
    pub switches: rules::Site,
    /// The site's times and limits.
    pub options: LoadOptions,
    /// Directory that is read at the start and again on request.
    pub dir: Option<PathBuf>,
    /// Share of hosts that another pack may decide otherwise without anybody insisting, from 0 to 1.
    pub changed_share: f64,
}

impl RulePacks {
    /// Starts with the pack that was last in force, for an operator may have put it there. If the directory has a pack that
    /// never was, that one is offered then, as on a reload. A site's first pack is the directory's.
    ///
    /// # Errors
    /// If there is no usable pack at all.
    pub async fn open(store: Store, dirty: DirtyHosts, settings: RuleSettings) -> Result<Self, RulePackError> {
        let settings = RuleSettings { options: with_actions(settings.options), ..settings };
        let mut tx = store.read().await?;
        let used: Vec<String> = tx.pack_uses(1_000).await?.into_iter().map(|used| used.hash).collect();
        let kept = match used.first() {
            Some(hash) => tx.pack(hash).await?,
            None => None,
        };
        drop(tx);
        let last = kept.and_then(|pack| compile(&pack.files, &settings.options).ok());
        let fresh = settings.dir.as_ref().map(|dir| compiled_dir(dir, &settings.options)).transpose();
        let (rules, offer) = match (last, fresh) {
            (Some(last), Ok(Some((rules, files)))) if !used.iter().any(|hash| hash == rules.hash()) => {
                (last, Some(Ok(files)))
            }
            (Some(last), Ok(_)) => (last, None),
            (Some(last), Err(error)) => (last, Some(Err(error))),
            (None, Ok(Some((rules, files)))) => {
                let mut tx = store.write().await?;
                keep(&mut tx, &rules, files).await?;
                tx.commit().await?;
                (rules, None)
            }
            (None, Ok(None)) => return Err(RulePackError::None),
            (None, Err(error)) => return Err(error),
        };
        let rules = Arc::new(RulesInForce::new(rules));
        let packs = Self { store, rules, dirty, settings, turn: tokio::sync::Mutex::new(()) };
        match offer {
            Some(Ok(files)) => {
                packs.apply(Proposal { files, dry_run: false, force: false }).await?;
            }
            Some(Err(error)) => {
                warn!(%error, "the rules that were last in force stay");
                packs.rules.refuse(error.to_string());
            }
            None => {}
        }
        Ok(packs)
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
        let files = match self.settings.dir.as_ref().ok_or("no directory of rules is configured".to_owned()) {
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
        let Some(rules) = rules else { return Ok(self.refused(verdict)) };
        if let Some(objection) = verdict.objection.clone().filter(|_| !proposal.force) {
            return Ok(self.refused(Verdict { refusal: Some(objection), ..verdict }));
        }
        if rules.hash() == self.rules.current().hash() {
            self.rules.took();
            return Ok(Verdict { applied: true, ..verdict });
        }
        let stranded = self.swap(rules, proposal.files).await?;
        if !stranded.is_empty() {
            let refusal = Some(lacking(&stranded));
            return Ok(self.refused(Verdict { stranded, refusal, ..verdict }));
        }
        self.rules.took();
        info!(hash = verdict.hash, changes = verdict.changes.len(), "other rules are in force");
        let mut tx = self.store.read().await?;
        for host in tx.host_ids().await? {
            self.dirty.mark(host);
        }
        Ok(Verdict { applied: true, ..verdict })
    }

    fn refused(&self, verdict: Verdict) -> Verdict {
        let why = verdict.refusal.clone().unwrap_or_default();
        warn!(why, "rules refused");
        self.rules.refuse(why);
        verdict
    }

    /// Puts rules in force, unless a host has got into a state that they lack since they were tried. Hosts are moved in
    /// transactions of the same kind, so none is between two rule sets.
    async fn swap(&self, rules: RuleSet, files: Vec<PackFile>) -> Result<Vec<(String, String)>, StoreError> {
        let mut tx = self.store.write().await?;
        let in_use = tx.states_in_use().await?.into_iter();
        let stranded: Vec<_> = in_use.filter(|(_, state)| !rules.has_state(state)).collect();
        if !stranded.is_empty() {
            return Ok(stranded.into_iter().map(|(host, state)| (host, state.to_string())).collect());
        }
        keep(&mut tx, &rules, files).await?;
        let former = self.rules.current();
        self.rules.swap(Arc::new(rules));
        tx.commit().await.inspect_err(|_| self.rules.swap(former))?;
        Ok(Vec::new())
    }

    async fn judge(&self, proposal: &Proposal) -> Result<(Verdict, Option<RuleSet>), StoreError> {
        let refuse = |verdict: Verdict, why: String| Ok((Verdict { refusal: Some(why), ..verdict }, None));
        let rules = match compile(&proposal.files, &self.settings.options) {
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
        let shadow = shadow::shadow(&self.store, &self.settings.switches, &self.rules.current(), &rules).await?;
        let verdict = Verdict {
            hash: rules.hash().to_owned(),
            hosts_evaluated: shadow.hosts,
            changes: shadow.changes,
            stranded: shadow.stranded,
            ..Verdict::default()
        };
        if !verdict.stranded.is_empty() {
            let why = lacking(&verdict.stranded);
            return refuse(verdict, why);
        }
        let (changed, all, limit) = (verdict.changes.len(), verdict.hosts_evaluated, self.settings.changed_share);
        let objection = (changed as f64 > limit * f64::from(all)).then(|| {
            let percent = limit * 100.0;
            format!("{changed} of {all} hosts would be decided otherwise, more than {percent:.0} %: insist with force")
        });
        Ok((Verdict { objection, ..verdict }, Some(rules)))
    }
}

fn lacking(stranded: &[(String, String)]) -> String {
    let noun = if stranded.len() == 1 { "host is in a state" } else { "hosts are in states" };
    format!("{} {noun} that the pack lacks", stranded.len())
}

/// Keeps a pack under its hash and notes that it is in force from now on.
async fn keep(tx: &mut Tx, rules: &RuleSet, files: Vec<PackFile>) -> Result<(), StoreError> {
    let now = Moment::now();
    tx.put_pack(&StoredPack { hash: rules.hash().to_owned(), files, stored_at: now }).await?;
    tx.use_pack(rules.hash(), now).await
}

/// The pack in a directory, compiled, with its files.
fn compiled_dir(dir: &Path, options: &LoadOptions) -> Result<(RuleSet, Vec<PackFile>), RulePackError> {
    let files = read_pack_dir(dir)?;
    let refused =
        |faults: Vec<String>| RulePackError::Faults { dir: dir.display().to_string(), faults: faults.join("\n\n") };
    compile(&files, options).map(|rules| (rules, files)).map_err(refused)
}
