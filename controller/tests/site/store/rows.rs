//! The database keeps its promises: versions are compared, nothing is half written, nothing is lost by a restart.

use std::time::Duration;

use crate::support::{Database, TestSite, acknowledgement, alert, dpu, host, new_hosts};
use controller::{
    InstanceId, Timestamp,
    store::{
        Address, AddressPool, AppliedReport, ApplyMode, Event, Finding, HealthReport, NumberPool, OutcomeKind, Store,
        StoreError, Transition,
    },
};

on_each_database! {
    of_two_moves_from_one_version_one_leaves_no_trace,
    a_stale_network_version_changes_nothing,
    staying_keeps_the_version_and_moving_on_meanwhile_wins,
    history_and_journal_keep_the_newest_250,
    an_address_is_unique_whatever_it_is_for,
    a_number_is_unique_in_its_pool_and_an_owner_has_one,
    what_is_not_committed_never_happened,
    a_restart_keeps_everything,
    a_machine_has_one_replace_report_and_one_report_a_source,
    what_a_forgotten_dpu_had_is_held_and_comes_back_with_it,
    a_machine_is_found_by_id_before_one_named_like_it,
    everything_is_counted,
    two_tasks_count_to_400_together,
    writers_that_take_hosts_in_opposite_order_all_finish,
    a_database_locked_by_another_process_is_waited_for,
    extreme_values_come_back_as_they_were,
    times_from_a_clock_that_was_ahead_come_back_in_order,
}

fn to(state: &str) -> Transition {
    Transition { to: state.into(), pack_hash: "hash".into(), ..Default::default() }
}

async fn of_two_moves_from_one_version_one_leaves_no_trace(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    let read = tx.life(&host(1)).await.unwrap().version;
    let won = tx.commit_transition(&host(1), read, &to("A"), Timestamp::now()).await.unwrap();
    assert_eq!(won.number(), read.number() + 1);
    let lost = tx.commit_transition(&host(1), read, &to("B"), Timestamp::now()).await.unwrap_err();
    assert!(matches!(lost, StoreError::Conflict { .. }) && lost.retryable(), "{lost}");
    let life = tx.life(&host(1)).await.unwrap();
    assert_eq!((life.state.as_str(), life.version), ("A", won));
    let history = tx.history(&host(1), 10).await.unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].from.as_str(), history[0].to.as_str(), history[0].version), ("Ready", "A", won));
}

async fn a_stale_network_version_changes_nothing(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    let read = tx.host(&host(1)).await.unwrap().unwrap().desired_network_version;
    let next = tx.set_host_network(&host(1), read, false, None, Timestamp::now()).await.unwrap();
    assert!(matches!(
        tx.set_host_network(&host(1), read, true, None, Timestamp::now()).await,
        Err(StoreError::Conflict { .. })
    ));
    let stored = tx.host(&host(1)).await.unwrap().unwrap();
    assert_eq!((stored.desired_network_version, stored.use_admin_network), (next, false));
}

async fn staying_keeps_the_version_and_moving_on_meanwhile_wins(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    let mut life = tx.life(&host(1)).await.unwrap();
    life.outcome.kind = OutcomeKind::Wait;
    life.counters.insert("retries".into(), 3);
    tx.store_stay(&host(1), &life).await.unwrap();
    assert_eq!(tx.life(&host(1)).await.unwrap(), life);
    tx.commit_transition(&host(1), life.version, &to("A"), Timestamp::now()).await.unwrap();
    assert!(matches!(tx.store_stay(&host(1), &life).await, Err(StoreError::Conflict { .. })));
}

async fn history_and_journal_keep_the_newest_250(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    for step in 0..260 {
        let version = tx.life(&host(1)).await.unwrap().version;
        tx.commit_transition(&host(1), version, &to(&format!("S{step}")), Timestamp::now()).await.unwrap();
        let arguments = serde_json::json!({ "step": step });
        let number =
            tx.intend_action(&host(1), version, "reboot", "host-1", &arguments, Timestamp::now()).await.unwrap();
        let error = if step == 259 { "BMC is away" } else { "" };
        tx.finish_action(&host(1), number, error, Timestamp::now()).await.unwrap();
    }
    let history = tx.history(&host(1), 1_000).await.unwrap();
    assert_eq!((history.len(), history[0].to.as_str(), history[249].to.as_str()), (250, "S259", "S10"));
    let actions = tx.actions(&host(1), 1_000).await.unwrap();
    assert_eq!((actions.len(), actions[0].number, actions[249].number), (250, 260, 11));
    assert_eq!((actions[0].status.to_string().as_str(), actions[0].error.as_str()), ("failed", "BMC is away"));
    assert!(tx.history(&host(2), 10).await.unwrap().is_empty(), "other hosts keep theirs");
}

async fn an_address_is_unique_whatever_it_is_for(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    for pool in [AddressPool::Loopback, AddressPool::Admin, AddressPool::Instance] {
        let (address, owner) = ("10.180.62.1".parse().unwrap(), "someone".into());
        let twin = Address { address, pool, owner, since: Timestamp::now(), forgotten_at: None };
        let refusal = tx.claim_address(&twin).await.unwrap_err();
        assert_eq!(refusal.to_string(), "address `10.180.62.1` is already taken");
    }
}

async fn a_number_is_unique_in_its_pool_and_an_owner_has_one(database: &Database) {
    let store = Store::open(&database.url).await.unwrap();
    let mut tx = store.write().await.unwrap();
    tx.claim_number(NumberPool::Vni, 7, "a", Timestamp::now()).await.unwrap();
    tx.claim_number(NumberPool::Vlan, 7, "a", Timestamp::now()).await.unwrap();
    assert!(matches!(tx.claim_number(NumberPool::Vni, 7, "b", Timestamp::now()).await, Err(StoreError::Taken { .. })));
    assert!(matches!(tx.claim_number(NumberPool::Vni, 8, "a", Timestamp::now()).await, Err(StoreError::Taken { .. })));
    tx.release_numbers("a").await.unwrap();
    tx.claim_number(NumberPool::Vni, 7, "b", Timestamp::now()).await.unwrap();
    assert_eq!(tx.number_of(NumberPool::Vlan, "a").await.unwrap(), None);
}

async fn what_is_not_committed_never_happened(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    tx.put_event(&host(1), &Event { kind: "rebooted".into(), at: Timestamp::now(), arguments: Default::default() })
        .await
        .unwrap();
    drop(tx);
    let mut tx = site.store.write().await.unwrap();
    assert!(tx.events(&host(1)).await.unwrap().is_empty());
}

async fn a_restart_keeps_everything(database: &Database) {
    let site = TestSite::start(&database.url).await;
    site.vpc("blue", &["192.0.2.0/24"]).await;
    site.acknowledge_all(1).await;
    site.put_in_state(&host(1), "Assigned/Ready").await;
    let mut tx = site.store.write().await.unwrap();
    tx.put_finding(&host(1), &Finding { name: "power".into(), value: "On".into(), at: Timestamp::now() })
        .await
        .unwrap();
    let before = (tx.host_record(&host(1)).await.unwrap(), tx.vpcs().await.unwrap(), tx.addresses().await.unwrap());
    tx.commit().await.unwrap();
    site.store.close().await;

    let store = Store::open(&database.url).await.unwrap();
    let mut tx = store.read().await.unwrap();
    let after = (tx.host_record(&host(1)).await.unwrap(), tx.vpcs().await.unwrap(), tx.addresses().await.unwrap());
    assert_eq!(before, after);
}

async fn a_machine_has_one_replace_report_and_one_report_a_source(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    let report = |source: &str, mode| AppliedReport {
        mode,
        report: HealthReport { source: source.into(), ..Default::default() },
    };
    for (source, mode) in [
        ("a", ApplyMode::Merge),
        ("b", ApplyMode::Replace),
        ("c", ApplyMode::Replace),
        ("a", ApplyMode::Replace),
        ("d", ApplyMode::Merge),
    ] {
        tx.put_health_report(&dpu(1, 0), &report(source, mode)).await.unwrap();
    }
    assert_eq!(
        tx.health_reports(&dpu(1, 0)).await.unwrap(),
        [report("a", ApplyMode::Replace), report("d", ApplyMode::Merge)]
    );
}

async fn what_a_forgotten_dpu_had_is_held_and_comes_back_with_it(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    let had = tx.addresses_of(dpu(1, 0).as_str()).await.unwrap();
    assert_eq!(had.len(), 2);
    tx.forget_dpu(&dpu(1, 0)).await.unwrap();
    let loopback = had.iter().find(|held| held.pool == AddressPool::Loopback).unwrap();
    let twin = Address { owner: "someone".into(), ..loopback.clone() };
    assert!(matches!(tx.claim_address(&twin).await, Err(StoreError::Taken { .. })), "it may still be in use");
    tx.commit().await.unwrap();

    site.add(&new_hosts(2)).await;
    let mut tx = site.store.write().await.unwrap();
    assert_eq!(tx.addresses_of(dpu(1, 0).as_str()).await.unwrap(), had);
    assert!(!tx.release_forgotten(loopback.address).await.unwrap(), "it is known again");
    assert_eq!(tx.addresses_of(dpu(1, 0).as_str()).await.unwrap(), had);

    tx.forget_host(&host(1)).await.unwrap();
    assert!(matches!(tx.claim_address(&twin).await, Err(StoreError::Taken { .. })), "nor is a host's word known");
    assert!(tx.release_forgotten(loopback.address).await.unwrap());
    tx.claim_address(&twin).await.unwrap();
}

async fn a_machine_is_found_by_id_before_one_named_like_it(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let hosts = new_hosts(2);
    let mut tx = site.store.write().await.unwrap();
    // Whichever stands first in the table.
    for (posing, other) in [(0, 1), (1, 0)] {
        let mut named = hosts[posing].clone();
        named.name = hosts[other].id.to_string();
        named.dpus[0].name = hosts[other].dpus[0].id.to_string();
        tx.add_host(&named, Timestamp::now()).await.unwrap();
        assert_eq!(tx.find_host(hosts[other].id.as_str()).await.unwrap().id, hosts[other].id);
        assert_eq!(tx.find_dpu(hosts[other].dpus[0].id.as_str()).await.unwrap().id, hosts[other].dpus[0].id);
        tx.add_host(&hosts[posing], Timestamp::now()).await.unwrap();
    }
}

async fn everything_is_counted(database: &Database) {
    let site = TestSite::start(&database.url).await;
    site.acknowledge(&dpu(1, 0)).await;
    let mut sick = acknowledgement(&dpu(2, 0), &site.config(&dpu(2, 0)).await.unwrap());
    sick.dpu_health.as_mut().unwrap().alerts = vec![alert("BgpStats", "p0", &[])];
    sick.client_certificate_expiry_unix_epoch_secs = Some(-7);
    site.report(sick).await.unwrap();
    site.put_in_state(&host(2), "Assigned/Ready").await;
    let mut tx = site.store.write().await.unwrap();
    let mut life = tx.life(&host(1)).await.unwrap();
    life.outcome.kind = OutcomeKind::Wait;
    tx.store_stay(&host(1), &life).await.unwrap();
    let stats = tx.stats(Timestamp::default()).await.unwrap();
    assert_eq!(stats.hosts_by_state, [("Assigned/Ready".into(), 1), ("Ready".into(), 1)].into());
    assert_eq!((stats.waiting, stats.failing, stats.instances), (1, 0, 0));
    assert_eq!((stats.dpus, stats.dpus_heard, stats.dpus_alerting), (4, 2, 1));
    assert_eq!(stats.first_certificate_end, Some(-7));
    assert_eq!(stats.addresses_by_pool, [("admin".into(), 4), ("loopback".into(), 4)].into());
    assert_eq!(tx.stats(Timestamp::from_micros(i64::MAX as u64)).await.unwrap().dpus_heard, 0);
}

/// Readers that become writers must neither fail on each other's locks nor lose an update.
async fn two_tasks_count_to_400_together(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let store = site.store.clone();
        tasks.spawn(async move {
            for _ in 0..200 {
                let mut tx = store.write().await.unwrap();
                let mut life = tx.life(&host(1)).await.unwrap();
                *life.counters.entry("steps".into()).or_insert(0) += 1;
                tx.store_stay(&host(1), &life).await.unwrap();
                tx.commit().await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let mut tx = site.store.read().await.unwrap();
    assert_eq!(tx.life(&host(1)).await.unwrap().counters["steps"], 400);
}

/// Two writers that take the same rows in opposite order neither wait for each other for ever nor fail.
async fn writers_that_take_hosts_in_opposite_order_all_finish(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tasks = tokio::task::JoinSet::new();
    for order in [[1, 2], [2, 1]] {
        let store = site.store.clone();
        tasks.spawn(async move {
            for _ in 0..100 {
                let mut tx = store.write().await.unwrap();
                for n in order {
                    let mut life = tx.life(&host(n)).await.unwrap();
                    *life.counters.entry("rounds".into()).or_insert(0) += 1;
                    tx.store_stay(&host(n), &life).await.unwrap();
                }
                tx.commit().await.unwrap();
            }
        });
    }
    let ended = tokio::time::timeout(Duration::from_secs(60), tasks.join_all()).await;
    assert!(ended.is_ok(), "the writers block each other");
    let mut tx = site.store.read().await.unwrap();
    for n in [1, 2] {
        assert_eq!(tx.life(&host(n)).await.unwrap().counters["rounds"], 200);
    }
}

/// Another process holds the lock: the writer waits for its permit, and says so if it does not come.
async fn a_database_locked_by_another_process_is_waited_for(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let other = Store::open(&database.url).await.unwrap();
    let held = other.write().await.unwrap();
    let store = site.store.clone();
    let waiting = tokio::spawn(async move { store.write().await.map(drop) });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    drop(held);
    waiting.await.unwrap().unwrap();
}

async fn extreme_values_come_back_as_they_were(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut tx = site.store.write().await.unwrap();
    let version = "V18446744073709551615-T18446744073709551615".parse().unwrap();
    let moment = Timestamp::from_micros(1_733_950_583_707_475);
    let values =
        [serde_json::json!(u64::MAX), serde_json::json!(i64::MIN), serde_json::json!({}), serde_json::Value::Null];
    for (place, value) in values.iter().enumerate() {
        let name = place.to_string();
        tx.put_finding(&host(1), &Finding { name, value: value.clone(), at: moment }).await.unwrap();
    }
    let found = tx.findings(&host(1)).await.unwrap();
    assert!(found.iter().zip(&values).all(|(found, value)| found.value == *value && found.at == moment));
    let mut seen = controller::store::Observation {
        dpu: dpu(1, 0),
        observed_at: moment,
        agent_version: Some(String::new()),
        observed_network_version: Some(version),
        observed_instance_version: None,
        observed_instance_config_version: None,
        instance: Some(InstanceId::random()),
        network_error: None,
        certificate_expiry: Some(i64::MIN),
        details: Default::default(),
    };
    tx.put_observation(&seen).await.unwrap();
    assert_eq!(tx.observation(&dpu(1, 0)).await.unwrap(), Some(seen.clone()), "NULL and empty stay different");
    seen.agent_version = None;
    tx.put_observation(&seen).await.unwrap();
    assert_eq!(tx.observation(&dpu(1, 0)).await.unwrap(), Some(seen));
}

async fn times_from_a_clock_that_was_ahead_come_back_in_order(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let year = 365 * 86_400 * 1_000_000;
    let start = Timestamp::now();
    let ahead = |seconds: u64| Timestamp::from_micros(start.micros() + year + seconds * 1_000_000);
    let event = |kind: &str, at| Event { kind: kind.into(), at, arguments: Default::default() };
    let mut tx = site.store.write().await.unwrap();
    let before = tx.life(&host(1)).await.unwrap().version;
    tx.put_event(&host(1), &event("cleaned", ahead(1))).await.unwrap();
    let entered = tx.commit_transition(&host(1), before, &to("A"), ahead(2)).await.unwrap();
    tx.put_event(&host(1), &event("rebooted", ahead(3))).await.unwrap();
    tx.put_event(&dpu(1, 0), &event("booted", start)).await.unwrap();
    let found = Finding { name: "bmc.power".into(), value: "on".into(), at: ahead(3) };
    tx.put_finding(&host(1), &found).await.unwrap();
    let number = tx.intend_action(&host(1), entered, "redfish.power_on", "host-1", &().into(), ahead(4)).await.unwrap();
    tx.finish_action(&host(1), number, "", ahead(5)).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = site.store.write().await.unwrap();
    assert_eq!(tx.clamp_future_timestamps(&host(1)).await.unwrap(), 5);
    assert_eq!(tx.clamp_future_timestamps(&host(1)).await.unwrap(), 0);
    let record = tx.host_record(&host(1)).await.unwrap();
    let version = record.life.version;
    let since = Timestamp::from_micros(version.micros());
    assert!(since >= start && since <= Timestamp::now() && version.number() == entered.number());
    let at = |kind: &str| record.events[&host(1)].iter().find(|event| event.kind == kind).unwrap().at;
    assert!(at("cleaned") < since && since < at("rebooted"));
    assert_eq!(record.findings[&host(1)][0].at, at("rebooted"));
    assert_eq!(record.events[&dpu(1, 0)][0].at, start);
    let action = &record.actions[0];
    assert_eq!(action.state_version, version);
    assert!(at("rebooted") < action.intended_at && Some(action.intended_at) < action.finished_at);
    assert!(action.finished_at <= Some(Timestamp::now()));
    let line = &tx.history(&host(1), 1).await.unwrap()[0];
    assert_eq!((line.version, line.at), (version, since));
}
