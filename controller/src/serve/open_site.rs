//! Opens what a site consists of: its database under the leader lock, its rules, and the site file taken into both.

use std::sync::Arc;

use tracing::{info, warn};

use super::{
    ServeError,
    new_site::{self, without_deleted},
};
use crate::{
    Config, DirtyHosts, RulePacks, RuleSettings, SiteFile, SpecFault, Timestamp, add_hosts, check_hosts,
    inventory::give_missing_addresses,
    network::{SiteNetwork, adopt_settings},
    store::{LeaderLock, Store},
};

/// A site that is open: only this process changes it.
pub(super) struct OpenSite {
    pub(super) store: Store,
    pub(super) lock: LeaderLock,
    pub(super) packs: Arc<RulePacks>,
    pub(super) dirty: DirtyHosts,
    /// None without a site file that has `network`.
    pub(super) network: Option<Arc<SiteNetwork>>,
}

/// Opens all, the database only once the site file is read: a fault there leaves nothing behind.
pub(super) async fn open(config: &Config) -> Result<OpenSite, ServeError> {
    let site_file = config.site_file.as_ref().map(SiteFile::read).transpose().map_err(ServeError::SiteFile)?;
    let network = site_file.as_ref().and_then(|file| file.network.clone()).map(Arc::new);
    if network.is_none() {
        warn!("there is no site file with `network`: DPUs cannot be configured");
    }
    new_site::refuse_missing(&config.database, site_file.as_ref(), config.new_site)?;
    let store = Store::open(&config.database).await?;
    let lock = store.acquire_leader_lock().await?;
    new_site::check(&store, site_file.as_ref(), config.new_site).await?;
    if store.is_new() {
        let database = store.shown();
        warn!(database, "a NEW, EMPTY database was made; if the site has one already, stop and mend `database`");
    }
    let dirty = DirtyHosts::default();
    let packs = Arc::new(RulePacks::open(store.clone(), dirty.clone(), rule_settings(config)).await?);
    import_site_file(&store, network.as_deref(), site_file.as_ref(), &packs).await?;
    if !store.read().await?.has_had_dpus().await? {
        warn!("the site knows no DPU at all: it tells none what to run, and none to isolate its host");
    }
    Ok(OpenSite { store, lock, packs, dirty, network })
}

fn rule_settings(config: &Config) -> RuleSettings {
    let options = rules::LoadOptions {
        timeouts: config.rule_timeouts.clone(),
        limits: config.rule_limits.clone(),
        ..Default::default()
    };
    RuleSettings {
        switches: config.site.clone(),
        options,
        dir: config.rules.clone(),
        changed_share: config.rules_changed_share,
        replace: config.replace_rules,
    }
}

/// Brings the site file's hosts into the database, and gives DPUs the addresses that they lack.
async fn import_site_file(
    store: &Store,
    site: Option<&SiteNetwork>,
    site_file: Option<&SiteFile>,
    packs: &RulePacks,
) -> Result<(), ServeError> {
    let now = Timestamp::now();
    if let Some(site) = site
        && adopt_settings(store, site, now).await?
    {
        info!("the site's network settings have changed: all hosts have a new network version");
    }
    if let Some(file) = site_file {
        let rules = packs.rules().current();
        let refuse = |faults: Vec<SpecFault>| {
            ServeError::Hosts(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        };
        let hosts = check_hosts(&file.hosts, rules.initial()).map_err(refuse)?;
        let unknown_states = hosts.iter().enumerate().filter(|(_, host)| !rules.has_state(&host.state));
        let unknown_states: Vec<SpecFault> = unknown_states
            .map(|(place, host)| SpecFault {
                field: format!("hosts[{place}].initial_state"),
                fault: format!("the rules have no state `{}`", host.state),
                other: None,
            })
            .collect();
        if !unknown_states.is_empty() {
            return Err(refuse(unknown_states));
        }
        let hosts = without_deleted(store, hosts).await?;
        let counts = add_hosts(store, site, &hosts, now).await?;
        info!(added = counts.added, changed = counts.changed, unchanged = counts.unchanged, "site file was read");
    }
    if let Some(site) = site {
        give_missing_addresses(store, site, now).await?;
    }
    Ok(())
}
