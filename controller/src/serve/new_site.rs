//! A site begins once. Beside a site file with hosts, a database that has none is lost, emptied or another one unless an
//! operator says that the site is new: its hosts would come in as free, and their DPUs cut every tenant off.

use std::fs;

use tracing::warn;

use crate::{
    SiteFile,
    store::{DeletedHost, NewHost, Store, StoreError},
};

/// Why a site does not begin, or not again.
#[derive(Debug, thiserror::Error)]
pub enum NewSiteError {
    /// The database is new, and nobody said that it may be.
    #[error(
        "database {0} has no host and never had one, but the site file has: if the site has a database, mend `database` or \
         put it back; start with --new-site only if the site itself is new"
    )]
    NotSaid(String),
    /// Somebody said that it is new, and it is not.
    #[error(
        "--new-site: database {0} has, or had, hosts: start without it. Left in place, it would let the site start again on \
         the day when its database is lost"
    )]
    NotNew(String),
    /// The database cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Refuses before anything is made where there is no database at all.
pub(crate) fn refuse_missing(url: &str, file: Option<&SiteFile>, new_site: bool) -> Result<(), NewSiteError> {
    let Some(path) = url.strip_prefix("sqlite:").filter(|path| *path != ":memory:") else { return Ok(()) };
    let is_there = fs::metadata(path).is_ok_and(|found| found.len() > 0);
    if is_there || new_site || !has_hosts(file) { Ok(()) } else { Err(NewSiteError::NotSaid(url.to_owned())) }
}

/// Refuses a database without hosts beside a file that has some, unless the site is new; and the word that it is new where
/// it is not.
pub(crate) async fn check(store: &Store, file: Option<&SiteFile>, new_site: bool) -> Result<(), NewSiteError> {
    let known = store.read().await?.has_had_hosts().await?;
    match (known, new_site) {
        (true, true) => Err(NewSiteError::NotNew(store.shown().to_owned())),
        (false, false) if has_hosts(file) => Err(NewSiteError::NotSaid(store.shown().to_owned())),
        _ => Ok(()),
    }
}

fn has_hosts(file: Option<&SiteFile>) -> bool {
    file.is_some_and(|file| !file.hosts.is_empty())
}

/// Hosts without those that were deleted, which stay so.
pub(crate) async fn without_deleted(store: &Store, mut hosts: Vec<NewHost>) -> Result<Vec<NewHost>, StoreError> {
    for DeletedHost { id, name, at } in store.read().await?.deleted_hosts().await? {
        if hosts.iter().any(|host| host.id == id) {
            warn!(
                "host {name} ({id}) was deleted at {at} and still stands in the site file: it stays deleted until `sitectl \
                 host restore {name}`"
            );
            hosts.retain(|host| host.id != id);
        }
    }
    Ok(hosts)
}
