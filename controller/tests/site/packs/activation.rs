//! Which rules a controller starts with, and that memory and database agree on which are active.

use std::{
    fs,
    future::Future,
    path::{Path, PathBuf},
    pin::pin,
    task::Poll,
    time::Duration,
};

use controller::{
    Config, DirtyHosts, Proposal, RulePacks, RuleSettings, Timestamp,
    store::{PackFile, Store, Transition},
};
use sqlx::Connection;

use crate::support::{Database, TestSite, change_pack, config, copy_pack, host, refused, shipped_pack, start};

on_each_database! {
    rules_that_cannot_be_used_any_more_are_not_replaced_unasked,
    rules_are_activated_to_the_end_if_the_client_hangs_up,
    a_pack_of_which_only_tests_changed_is_kept_with_the_new_ones,
}

/// The shipped pack in a directory of its own, with a change that makes it another one.
fn another_pack(dir: &Path) {
    copy_pack(dir);
    change_pack(dir);
}

/// Settings under which every pack of a directory is taken.
fn settings(dir: PathBuf) -> RuleSettings {
    RuleSettings {
        switches: crate::support::bare_site(),
        options: rules::LoadOptions::default(),
        dir: Some(dir),
        changed_share: 1.0,
        replace: false,
    }
}

async fn active_hash(store: &Store) -> String {
    store.read().await.unwrap().pack_uses(1).await.unwrap().remove(0).hash
}

async fn rules_that_cannot_be_used_any_more_are_not_replaced_unasked(database: &Database) {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { database: database.url.clone(), ..config(dir.path(), "") };
    start(dir.path(), config.clone()).await.stop().await;
    let store = Store::open(&database.url).await.unwrap();
    let before = active_hash(&store).await;

    // As if the next release knew an action by another name.
    let mut connection = sqlx::AnyConnection::connect(&database.url).await.unwrap();
    let renamed = "UPDATE rule_packs SET files = replace(files, 'redfish.force_restart', 'redfish.restart_by_force')";
    sqlx::query(renamed).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    another_pack(&dir.path().join("other"));
    let config = Config { rules: Some(dir.path().join("other")), new_site: false, ..config };
    for config in [config.clone(), Config { rules: None, ..config.clone() }] {
        let why = refused(config).await;
        assert!(why.contains(&before) && why.contains("redfish.restart_by_force"), "{why}");
        assert!(why.contains("start with --replace-rules once"), "{why}");
    }
    assert_eq!(active_hash(&store).await, before);

    let asked = Config { replace_rules: true, ..config };
    let state = async |state: &str| {
        let mut tx = store.write().await.unwrap();
        let version = tx.life(&host(1)).await.unwrap().version;
        let transition = Transition { to: state.into(), ..Default::default() };
        tx.commit_transition(&host(1), version, &transition, Timestamp::now()).await.unwrap();
        tx.commit().await.unwrap();
    };
    state("Elsewhere").await;
    let why = refused(asked.clone()).await;
    assert!(why.ends_with("1 host is in a state that the pack lacks:\nhost-1 in Elsewhere"), "{why}");
    assert_eq!(active_hash(&store).await, before);
    state("Ready").await;
    let daemon = start(dir.path(), asked).await;
    assert_ne!(active_hash(&store).await, before);
    daemon.stop().await;
    store.close().await;
}

/// Goes on with some work until something holds, and drops it there, as when a client hangs up.
async fn drop_once(work: impl Future, holds: impl Fn() -> bool) {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        let ended = work.as_mut().poll(context).is_ready();
        context.waker().wake_by_ref();
        if ended || holds() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn rules_are_activated_to_the_end_if_the_client_hangs_up(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let dirty = DirtyHosts::default();
    let packs = RulePacks::open(site.store.clone(), dirty.clone(), settings(shipped_pack())).await.unwrap();
    let before = packs.rules().current().hash().to_owned();
    let dir = tempfile::tempdir().unwrap();
    another_pack(&dir.path().join("other"));
    let files: Vec<PackFile> = controller::read_pack_dir(&dir.path().join("other")).unwrap();
    let apply = packs.apply(Proposal { files, dry_run: false, force: true });
    drop_once(apply, || packs.rules().current().hash() != before).await;
    let mut marked = Vec::new();
    while marked.len() < 2 {
        let more = tokio::time::timeout(Duration::from_secs(5), dirty.take()).await;
        marked.extend(more.unwrap());
    }
    assert_eq!(marked, [host(1), host(2)]);
    assert_eq!(packs.rules().offers().taken, 1);
    assert_ne!(active_hash(&site.store).await, before);
    assert_eq!(packs.rules().current().hash(), active_hash(&site.store).await);
}

async fn a_pack_of_which_only_tests_changed_is_kept_with_the_new_ones(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let dir = tempfile::tempdir().unwrap();
    let pack = dir.path().join("pack");
    another_pack(&pack);
    fs::write(pack.join("notes.yaml"), "just: notes").unwrap();
    let packs = RulePacks::open(site.store.clone(), DirtyHosts::default(), settings(pack.clone())).await.unwrap();
    let hash = packs.rules().current().hash().to_owned();
    let test = "cases: [{ name: rest, facts: { state.path: Ready, site.attestation: false, bmc.vendor: other }, expect: { wait: Nobody wants it } }]";
    fs::create_dir(pack.join("tests")).unwrap();
    fs::write(pack.join("tests/rest.yaml"), test).unwrap();
    let verdict = packs.reload().await.unwrap();
    assert_eq!((verdict.applied, verdict.refusal, verdict.hash), (true, None, hash.clone()));
    let kept = packs.files_of(&hash).await.unwrap();
    let tests: Vec<_> =
        kept.iter().filter(|file| file.path.ends_with(".yaml")).map(|file| file.path.as_str()).collect();
    assert_eq!(tests, ["tests/rest.yaml"]);
}
