//! The daemon as a whole: what it serves, what it refuses, and how it stops.

use std::{fs, time::Duration};

use controller::{Config, serve};
use proto::{forge, site::ListRulePacksRequest};
use sqlx::{Connection, Row};
use tokio::sync::oneshot;
use tonic::{Code, Request};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::support::{Database, change_pack, config, copy_pack, dpu, eventually, healthy, refused, site_text, start};

fn ask(n: usize) -> Request<forge::ManagedHostNetworkConfigRequest> {
    Request::new(forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some((&dpu(n, 0)).into()) })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_serves_stops_and_serves_the_same_again() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = start(dir.path(), config(dir.path(), "")).await;
    let mut client = daemon.forge().await;
    let before = client.get_managed_host_network_config(ask(1)).await.unwrap().into_inner();
    assert_eq!(client.get_managed_host_network_config(ask(9)).await.unwrap_err().code(), Code::NotFound);
    let channel = daemon.channel().await;
    let check = HealthCheckRequest { service: "forge.Forge".into() };
    assert_eq!(HealthClient::new(channel).check(check).await.unwrap().into_inner().status, 1);
    drop(client);
    daemon.stop().await;

    let daemon = start(dir.path(), config(dir.path(), "")).await;
    let after = daemon.forge().await.get_managed_host_network_config(ask(1)).await.unwrap().into_inner();
    assert_eq!(before, after);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_tell_hosts_calls_and_rules() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path(), "");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    config.metrics_listen = Some(free);
    let daemon = start(dir.path(), config).await;
    let mut client = daemon.forge().await;
    client.get_managed_host_network_config(ask(1)).await.unwrap();
    client.get_managed_host_network_config(ask(9)).await.unwrap_err();
    let day_ago = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed() - 86_400;
    let report =
        forge::DpuNetworkStatus { client_certificate_expiry_unix_epoch_secs: Some(day_ago), ..healthy(&dpu(1, 0)) };
    client.record_dpu_network_status(report).await.unwrap();
    let text = reqwest::get(format!("http://{free}/metrics")).await.unwrap().text().await.unwrap();
    for line in [
        "hosts_per_state{state=\"Ready\"} 1",
        "dpus 2",
        "addresses_held{pool=\"loopback\"} 2",
        "rules_stale 0",
        "grpc_calls_total{method=\"forge.Forge/GetManagedHostNetworkConfig\",code=\"Ok\"} 1",
        "grpc_calls_total{method=\"forge.Forge/GetManagedHostNetworkConfig\",code=\"NotFound\"} 1",
        "grpc_call_seconds_count{method=\"forge.Forge/GetManagedHostNetworkConfig\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "no `{line}` in\n{text}");
    }
    let left = text.lines().find_map(|line| line.strip_prefix("dpu_certificate_expires_in_seconds "));
    let left: i64 = left.unwrap().parse().unwrap();
    assert!((-86_500..=-86_400).contains(&left), "{left}");
    drop(client);
    for task in ["database", "hosts", "metrics", "rules"] {
        let name = format!("task_last_run_timestamp_seconds{{task=\"{task}\"}} ");
        let run = text.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_else(|| panic!("no `{name}`"));
        let ago = day_ago + 86_400 - run.parse::<i64>().unwrap();
        assert!((-30..=30).contains(&ago), "{task} ran {ago} s ago");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_that_changed_meanwhile_are_offered_like_any_others() {
    let dir = tempfile::tempdir().unwrap();
    let pack = dir.path().join("rules");
    copy_pack(&pack);
    let packs_after_start = async |changed_share: f64| {
        let config = Config { rules: Some(pack.clone()), rules_changed_share: changed_share, ..config(dir.path(), "") };
        let daemon = start(dir.path(), config).await;
        let packs = daemon.operators().await.list_rule_packs(ListRulePacksRequest {}).await.unwrap().into_inner().packs;
        daemon.stop().await;
        packs
    };
    let first = packs_after_start(0.2).await;
    assert_eq!((first.len(), first[0].last_refusal.as_str()), (1, ""));

    change_pack(&pack);
    let refused = packs_after_start(0.2).await;
    assert_eq!((refused.len(), refused[0].hash.as_str()), (1, first[0].hash.as_str()));
    assert!(
        refused[0].last_refusal.starts_with("1 of 1 hosts would be decided otherwise, more than 20 %"),
        "{refused:?}"
    );
    let taken = packs_after_start(1.0).await;
    assert_eq!((taken.len(), taken[0].last_refusal.as_str()), (2, ""));
    assert!(taken[0].in_force && taken[1].hash == first[0].hash, "{taken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_has_one_controller_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = start(dir.path(), config(dir.path(), "")).await;
    let (_stop, stopped) = oneshot::channel::<()>();
    let second = tokio::spawn(serve(config(dir.path(), ""), async {
        let _ = stopped.await;
    }));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!second.is_finished(), "it waits for the first to end");
    first.stop().await;
    fs::remove_file(dir.path().join("address")).unwrap();
    let serves = async || dir.path().join("address").exists() || second.is_finished();
    eventually("the second to serve", serves).await;
    assert!(!second.is_finished());
    second.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn needs_postgres_a_controller_without_its_lock_stops() {
    let Some(database) = Database::postgres().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let config = Config { database: database.url.clone(), ..config(dir.path(), "") };
    let first = start(dir.path(), config).await;
    let mut connection = sqlx::AnyConnection::connect(&database.url).await.unwrap();
    // Another one waits for the lock, and the session that has it ends, as if the server had been restarted.
    let mut other = sqlx::AnyConnection::connect(&database.url).await.unwrap();
    let waiting = tokio::spawn(async move {
        sqlx::query("SELECT CAST(pg_advisory_lock(7237117975334838631) AS TEXT)").execute(&mut other).await.unwrap();
        other
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let ended = sqlx::query(
        "SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT) FROM pg_locks JOIN pg_database \
         ON pg_database.oid = pg_locks.database AND datname = current_database() \
         WHERE locktype = 'advisory' AND granted AND CAST(objid AS BIGINT) = 7237117975334838631 & 4294967295",
    );
    assert_eq!(ended.fetch_one(&mut connection).await.unwrap().get::<i64, _>(0), 1);
    let _other = waiting.await.unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(5), first.task).await.expect("the first goes on");
    let why = stopped.unwrap().unwrap_err().to_string();
    assert!(why.starts_with("this controller has stopped, because another works on the database now"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_oversized_message_is_refused_and_the_next_call_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = start(dir.path(), config(dir.path(), "")).await;
    let mut client = daemon.forge().await;
    let status = forge::DpuNetworkStatus {
        network_config_error: Some("x".repeat(9 << 20)),
        dpu_machine_id: Some((&dpu(1, 0)).into()),
        ..Default::default()
    };
    let refusal = client.record_dpu_network_status(status).await.unwrap_err();
    assert!(matches!(refusal.code(), Code::OutOfRange | Code::ResourceExhausted), "{refusal}");
    client.get_managed_host_network_config(ask(1)).await.unwrap();
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_start_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut strange = config(dir.path(), "");
    fs::write(dir.path().join("site.yaml"), site_text(1).replace("Ready", "Redy")).unwrap();
    assert_eq!(
        refused(strange.clone()).await,
        "the site file's hosts are refused:\nhosts[0].initial_state: the rules have no state `Redy`"
    );
    fs::write(dir.path().join("site.yaml"), "hosts: 7").unwrap();
    assert!(refused(strange.clone()).await.contains("site.yaml:1: hosts: expected a list"));
    strange.site_file = Some(dir.path().join("nowhere.yaml"));
    assert!(refused(strange).await.contains("nowhere.yaml: cannot be read: No such file"));
    let first = |config: Config| Config { new_site: true, ..config };
    let other = first(config(dir.path(), "[tls]\ncert = 'none.pem'\nkey = 'none.key'\n"));
    assert!(refused(other).await.contains("none.pem: No such file"));
    let mut taken = config(dir.path(), "");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    taken.listen = listener.local_addr().unwrap();
    assert!(refused(taken).await.contains("Address already in use"));
    let mut ruleless = config(dir.path(), "");
    ruleless.rules = Some(dir.path().join("no-rules"));
    ruleless.database = "sqlite::memory:".into();
    assert!(refused(first(ruleless)).await.contains("no-rules"));
}
