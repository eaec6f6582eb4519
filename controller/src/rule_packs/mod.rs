//! Which rules are active: read, checked, tried on the live site without acting, activated, kept by content hash.
//!
//! A pack is refused whole, and the active rules stay, if it has faults, if its own tests fail, if it names actions that
//! the controller lacks, if hosts are in states that it lacks, or if it would decide too many hosts otherwise and nobody insisted.

mod active_rules;
mod draw;
mod files;
mod judge;
mod offload;
mod shadow;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rules::{LoadOptions, RuleSet};
use tokio::task::JoinError;
use tracing::{info, warn};

pub use active_rules::{ActiveRules, Offers};
pub use draw::draw_faults;
pub use files::{PackReadError, load_pack_dir, read_pack_dir};
pub use judge::Judge;
pub(crate) use judge::{is_withheld, undeclared};
pub use shadow::Changed;

use crate::{
    DirtyHosts, Timestamp,
    store::{PackFile, Store, StoreError, StoredPack, Tx},
};
use files::{compile, failing_tests, with_actions};
use offload::{RejectedPack, examine, offload};

/// The site's rule packs.
pub struct RulePacks {
    store: Store,
    rules: Arc<ActiveRules>,
    dirty: DirtyHosts,
    settings: RuleSettings,
    /// One pack at a time.
    permit: Arc<tokio::sync::Mutex<()>>,
}

/// A pack that is to be activated.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Its files, tests included.
    pub files: Vec<PackFile>,
    /// Only say what would happen.
    pub dry_run: bool,
    /// Activate it however many hosts it would decide otherwise.
    pub force: bool,
}

/// What became of a proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// It is active.
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
    /// Why it will be activated only if somebody insists.
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
    /// The pack that was active last cannot be used, and nobody said to take another instead.
    #[error(
        "the rules that were active last, {hash}, cannot be used by this controller:\n{faults}\n\
         Other rules are not taken unasked, since gates could be missing in them. Start the controller that was there \
         before, and have it take rules that both can use, or put rules that fit, such as these mended, into the \
         directory `rules` of the config and start with --replace-rules once"
    )]
    LastInForce {
        /// Content hash.
        hash: String,
        /// Its faults, drawn.
        faults: String,
    },
    /// The pack of the directory cannot take the place of the one that was active last.
    #[error("the rules in {dir} cannot replace those that were active last: {why}")]
    Replacement {
        /// Directory.
        dir: String,
        /// Tests that fail, or hosts in states that it lacks.
        why: String,
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
    /// At the start, take the directory's pack if the one that was active last cannot be used.
    pub replace: bool,
}

impl RulePacks {
    /// Starts with the pack that was active last, for an operator may have activated it. If the directory has a pack that
    /// never was, that one is offered then, as on a reload. A site's first pack is the directory's.
    ///
    /// # Errors
    /// If there is no usable pack at all, or the one that was active last is not usable and not to be replaced.
    pub async fn open(store: Store, dirty: DirtyHosts, settings: RuleSettings) -> Result<Self, RulePackError> {
        let settings = RuleSettings { options: with_actions(settings.options), ..settings };
        let mut tx = store.read().await?;
        let mut used: Vec<String> = tx.pack_uses(1_000).await?.into_iter().map(|used| used.hash).collect();
        let kept = match used.first() {
            Some(hash) => tx.pack(hash).await?,
            None => None,
        };
        drop(tx);
        let last = match used.first().map(|hash| last_in_force(hash, kept, &settings.options)).transpose() {
            Err(error) if settings.replace => {
                warn!(%error, "the rules that were active last are to be replaced");
                let rules = replace_with_dir(&store, &settings).await?;
                used.push(rules.hash().to_owned());
                Some(rules)
            }
            last => last?,
        };
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
        let rules = Arc::new(ActiveRules::new(rules));
        let packs = Self { store, rules, dirty, settings, permit: Arc::default() };
        match offer {
            Some(Ok(files)) => {
                packs.apply(Proposal { files, dry_run: false, force: false }).await?;
            }
            Some(Err(error)) => {
                warn!(%error, "the rules that were active last stay");
                packs.rules.refuse(error.to_string());
            }
            None => {}
        }
        Ok(packs)
    }

    /// The active rules, to share with the reconciler.
    #[must_use]
    pub fn rules(&self) -> &Arc<ActiveRules> {
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

    /// Reads the configured directory again and activates it if nothing speaks against it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn reload(&self) -> Result<Verdict, StoreError> {
        let files = match self.settings.dir.clone() {
            Some(dir) => {
                let read = offload("reading the rules", move || read_pack_dir(&dir).map_err(|error| error.to_string()));
                read.await.and_then(|read| read)
            }
            None => Err("no directory of rules is configured".to_owned()),
        };
        match files {
            Ok(files) => self.apply(Proposal { files, dry_run: false, force: false }).await,
            Err(why) => {
                self.rules.refuse(why.clone());
                Ok(Verdict { refusal: Some(why), ..Verdict::default() })
            }
        }
    }

    /// Checks a pack, tries it on every host and, unless it is a dry run, activates it.
    ///
    /// # Errors
    /// If the database fails; then nothing changed.
    pub async fn apply(&self, proposal: Proposal) -> Result<Verdict, StoreError> {
        let permit = Arc::clone(&self.permit).lock_owned().await;
        let (verdict, rules) = self.judge(&proposal).await?;
        if proposal.dry_run {
            return Ok(verdict);
        }
        let Some(rules) = rules else { return Ok(self.refused(verdict)) };
        if let Some(objection) = verdict.objection.clone().filter(|_| !proposal.force) {
            return Ok(self.refused(Verdict { refusal: Some(objection), ..verdict }));
        }
        if rules.hash() == self.rules.current().hash() {
            // Its tests can be others.
            let mut tx = self.store.write().await?;
            let (hash, files) = (rules.hash().to_owned(), proposal.files);
            tx.put_pack(&StoredPack { hash, files, stored_at: Timestamp::now() }).await?;
            tx.commit().await?;
            self.rules.took();
            return Ok(Verdict { applied: true, ..verdict });
        }
        let (store, in_force, dirty) = (self.store.clone(), Arc::clone(&self.rules), self.dirty.clone());
        // To its end even if nobody waits for it any more: what is active and what the database says must agree.
        let swapping = tokio::spawn(async move {
            let _permit = permit;
            swap(&store, &in_force, &dirty, rules, proposal.files).await
        });
        let broke_off = |error: JoinError| StoreError::Failed { doing: "activating rules", fault: error.to_string() };
        let stranded = swapping.await.map_err(broke_off)??;
        if !stranded.is_empty() {
            let refusal = Some(lacking(&stranded));
            return Ok(self.refused(Verdict { stranded, refusal, ..verdict }));
        }
        info!(hash = verdict.hash, changes = verdict.changes.len(), "other rules are active");
        Ok(Verdict { applied: true, ..verdict })
    }

    fn refused(&self, verdict: Verdict) -> Verdict {
        let why = verdict.refusal.clone().unwrap_or_default();
        warn!(why, "rules refused");
        self.rules.refuse(why);
        verdict
    }

    async fn judge(&self, proposal: &Proposal) -> Result<(Verdict, Option<RuleSet>), StoreError> {
        let refuse = |verdict: Verdict, why: String| Ok((Verdict { refusal: Some(why), ..verdict }, None));
        let rules = match examine(&proposal.files, &self.settings.options).await {
            Ok(rules) => rules,
            Err(RejectedPack { why, faults }) => return refuse(Verdict { faults, ..Verdict::default() }, why),
        };
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

/// Names and states of hosts that are in a state that some rules lack.
type Stranded = Vec<(String, String)>;

/// Activates rules and has all hosts decided again, unless a host has got into a state that they lack since they were
/// tried. Hosts are moved in transactions of the same kind, so none is between two rule sets.
async fn swap(
    store: &Store,
    in_force: &ActiveRules,
    dirty: &DirtyHosts,
    rules: RuleSet,
    files: Vec<PackFile>,
) -> Result<Stranded, StoreError> {
    let mut tx = store.write().await?;
    let stranded = stranded_by(&mut tx, &rules).await?;
    if !stranded.is_empty() {
        return Ok(stranded);
    }
    keep(&mut tx, &rules, files).await?;
    let hosts = tx.host_ids().await?;
    let former = in_force.current();
    in_force.swap(Arc::new(rules));
    tx.commit().await.inspect_err(|_| in_force.swap(former))?;
    in_force.took();
    hosts.into_iter().for_each(|host| dirty.mark(host));
    Ok(Vec::new())
}

async fn stranded_by(tx: &mut Tx, rules: &RuleSet) -> Result<Stranded, StoreError> {
    let in_use = tx.states_in_use().await?.into_iter();
    Ok(in_use.filter(|(_, state)| !rules.has_state(state)).map(|(host, state)| (host, state.to_string())).collect())
}

/// The pack that was active last, as this controller understands it.
fn last_in_force(hash: &str, kept: Option<StoredPack>, options: &LoadOptions) -> Result<RuleSet, RulePackError> {
    let refused = |faults| RulePackError::LastInForce { hash: hash.to_owned(), faults };
    let kept = kept.ok_or_else(|| refused("the database does not have them any more".to_owned()))?;
    compile(&kept.files, options).map_err(|faults| refused(faults.join("\n\n")))
}

/// Notes the directory's pack as the active one, if its own tests pass and no host is in a state that it lacks. What it
/// decides otherwise cannot be told: the one before decides nothing.
async fn replace_with_dir(store: &Store, settings: &RuleSettings) -> Result<RuleSet, RulePackError> {
    let dir = settings.dir.as_ref().ok_or(RulePackError::None)?;
    let (rules, files) = compiled_dir(dir, &settings.options)?;
    let refuse = |why| RulePackError::Replacement { dir: dir.display().to_string(), why };
    let failing = failing_tests(&files).unwrap_or_else(|faults| faults);
    if !failing.is_empty() {
        return Err(refuse(format!("{} of their own tests fail:\n{}", failing.len(), failing.join("\n"))));
    }
    let mut tx = store.write().await?;
    let stranded = stranded_by(&mut tx, &rules).await?;
    if !stranded.is_empty() {
        let hosts: Vec<String> = stranded.iter().map(|(host, state)| format!("{host} in {state}")).collect();
        return Err(refuse(format!("{}:\n{}", lacking(&stranded), hosts.join("\n"))));
    }
    warn!(hash = rules.hash(), dir = %dir.display(), "the directory's rules are active: gates of others are gone");
    keep(&mut tx, &rules, files).await?;
    tx.commit().await?;
    Ok(rules)
}

fn lacking(stranded: &[(String, String)]) -> String {
    let noun = if stranded.len() == 1 { "host is in a state" } else { "hosts are in states" };
    format!("{} {noun} that the pack lacks", stranded.len())
}

/// Keeps a pack under its hash and notes that it is active from now on.
async fn keep(tx: &mut Tx, rules: &RuleSet, files: Vec<PackFile>) -> Result<(), StoreError> {
    let now = Timestamp::now();
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
