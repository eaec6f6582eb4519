//! A database that fails under a controller: a disk that runs full, a file that goes away, a server that is silent.

use std::{fs, path::Path, time::Duration};

use controller::{Config, store::Store};
use proto::forge;
use sqlx::{AnyConnection, Connection, Row};
use testbed::real::SmallDisk;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{sleep, timeout},
};
use tonic::{Code, Status, transport::Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::support::{Daemon, Database, config, dpu, eventually, healthy, start};

const SERVING: i32 = 1;
const NOT_SERVING: i32 = 2;

/// A disk that is small enough to fill.
const SMALL: &str = "8m";

fn database_on(disk: &SmallDisk) -> String {
    format!("sqlite:{}", disk.path().join("site.db").display())
}

async fn note(store: &Store, value: &str) -> Result<(), controller::store::StoreError> {
    let mut tx = store.write().await?;
    tx.put_site_note("test", value).await?;
    tx.commit().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn needs_root_a_commit_that_fails_stops_no_later_one() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&dir.path().join("disk"), SMALL) else { return };
    let store = Store::open(&database_on(&disk)).await.unwrap();
    note(&store, "kept").await.unwrap();
    let ballast = disk.fill();
    for _ in 0..3 {
        let refusal = note(&store, "lost").await.unwrap_err();
        assert!(refusal.retryable() && refusal.to_string().contains("database or disk is full"), "{refusal}");
        let kept = store.read().await.unwrap().site_note("test").await.unwrap();
        assert_eq!(kept.as_deref(), Some("kept"), "what was not committed is not read");
    }
    drop(ballast);
    note(&store, "new").await.unwrap();
    assert_eq!(store.read().await.unwrap().site_note("test").await.unwrap().as_deref(), Some("new"));
}

async fn report(address: &str) -> Result<(), Status> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel = endpoint.connect().await.map_err(|error| Status::unavailable(error.to_string()))?;
    forge::forge_client::ForgeClient::new(channel).record_dpu_network_status(healthy(&dpu(1, 0))).await.map(drop)
}

/// Waits until both services' health is as wanted.
async fn health_becomes(daemon: &Daemon, wanted: i32) {
    let channel = daemon.channel().await;
    for service in ["forge.Forge", "site.Site"] {
        eventually(&format!("health of {service} to be {wanted}"), async || {
            let check = HealthCheckRequest { service: service.into() };
            HealthClient::new(channel.clone()).check(check).await.unwrap().into_inner().status == wanted
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn needs_root_health_and_metrics_tell_of_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&dir.path().join("disk"), SMALL) else { return };
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = Config { database: database_on(&disk), metrics_listen: Some(free), ..config(dir.path(), "") };
    let daemon = start(dir.path(), config).await;
    let metrics = async || reqwest::get(format!("http://{free}/metrics")).await.unwrap().text().await.unwrap();
    health_becomes(&daemon, SERVING).await;
    report(&daemon.address).await.unwrap();
    let text = metrics().await;
    assert!(text.contains("\ndatabase_writable 1\n") && text.contains("\ndatabase_write_failures_total 0\n"), "{text}");

    let ballast = disk.fill();
    // Whether anybody writes or not.
    health_becomes(&daemon, NOT_SERVING).await;
    assert_eq!(report(&daemon.address).await.unwrap_err().code(), Code::Unavailable);
    let text = metrics().await;
    let failures = text.lines().find_map(|line| line.strip_prefix("database_write_failures_total "));
    assert!(text.contains("\ndatabase_writable 0\n") && failures.is_some_and(|count| count != "0"), "{text}");

    drop(ballast);
    health_becomes(&daemon, SERVING).await;
    report(&daemon.address).await.unwrap();
    assert!(metrics().await.contains("\ndatabase_writable 1\n"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_file_that_goes_away_ends_the_controller() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 5] = [
        ("removed", |file| fs::remove_file(file).unwrap()),
        ("replaced by a copy", |file| {
            fs::copy(file, file.with_extension("copy")).unwrap();
            fs::rename(file.with_extension("copy"), file).unwrap();
        }),
        ("emptied", |file| drop(fs::File::create(file).unwrap())),
        ("its directory moved", |file| {
            let directory = file.parent().unwrap();
            fs::rename(directory, directory.with_extension("moved")).unwrap();
        }),
        ("without its log", |file| fs::remove_file(file.with_extension("db-wal")).unwrap()),
    ];
    for (what, harm) in harms {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("data/site.db");
        fs::create_dir(file.parent().unwrap()).unwrap();
        let config = Config { database: format!("sqlite:{}", file.display()), ..config(dir.path(), "") };
        let daemon = start(dir.path(), config).await;
        report(&daemon.address).await.unwrap();
        harm(&file);
        report(&daemon.address).await.expect_err(what);
        let ended = timeout(Duration::from_secs(10), daemon.task).await.unwrap_or_else(|_| panic!("{what}: goes on"));
        let why = ended.unwrap().unwrap_err().to_string();
        assert!(why.contains(&format!("{}", file.display())), "{what}: {why}");
        assert!(why.contains("was removed, replaced or emptied while it was in use"), "{what}: {why}");
    }
}

/// What a proxy does to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Open,
    Stalled,
    /// Open again for those that come from now on; the former ones stay as they are.
    Reconnected,
}

/// A proxy before a PostgreSQL server that can fall silent without closing anything.
struct Proxy {
    port: u16,
    flow: watch::Sender<Flow>,
}

impl Proxy {
    async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (flow, seen) = watch::channel(Flow::Open);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let came_late = *seen.borrow() == Flow::Reconnected;
                let server = TcpStream::connect(&server).await.unwrap();
                let (client_reads, client_writes) = client.into_split();
                let (server_reads, server_writes) = server.into_split();
                tokio::spawn(pass(client_reads, server_writes, seen.clone(), came_late));
                tokio::spawn(pass(server_reads, client_writes, seen.clone(), came_late));
            }
        });
        Self { port, flow }
    }
}

async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut flow: watch::Receiver<Flow>,
    came_late: bool,
) {
    if came_late {
        let _ = copy(&mut from, &mut to).await;
        return;
    }
    let mut bytes = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if flow.wait_for(|flow| *flow == Flow::Open).await.is_err() || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
    // Not even the end of a connection gets through.
    let _ = flow.wait_for(|flow| *flow == Flow::Open).await;
}

/// Sessions that have the controller's lock in this database.
async fn holders(connection: &mut AnyConnection) -> Vec<i64> {
    let rows = sqlx::query(
        "SELECT CAST(pid AS BIGINT) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database \
         AND datname = current_database() \
         WHERE locktype = 'advisory' AND granted AND CAST(objid AS BIGINT) = 7237117975334838631 & 4294967295",
    );
    rows.fetch_all(connection).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn needs_postgres_a_server_that_was_silent_ends_no_controller() {
    for after in [Flow::Open, Flow::Reconnected] {
        let Some(database) = Database::postgres().await else { return };
        let (address, name) = database.url.rsplit_once('@').unwrap().1.split_once('/').unwrap();
        let proxy = Proxy::start(address.to_owned()).await;
        let dir = tempfile::tempdir().unwrap();
        let url = format!("postgres://postgres@127.0.0.1:{}/{name}", proxy.port);
        let config = Config { database: url, ..config(dir.path(), "") };
        let daemon = start(dir.path(), config).await;
        let mut direct = AnyConnection::connect(&database.url).await.unwrap();
        let former = holders(&mut direct).await;
        assert_eq!(former.len(), 1);

        proxy.flow.send(Flow::Stalled).unwrap();
        sleep(Duration::from_secs(7)).await;
        proxy.flow.send(after).unwrap();
        eventually("the lock to be taken again", async || {
            assert!(!daemon.task.is_finished(), "{after:?}: the controller has ended");
            let now = holders(&mut direct).await;
            now.len() == 1 && now != former && report(&daemon.address).await.is_ok()
        })
        .await;
        daemon.stop().await;
        eventually("the lock to be given back", async || holders(&mut direct).await.is_empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn needs_postgres_a_controller_whose_lock_was_taken_ends() {
    let Some(database) = Database::postgres().await else { return };
    let (address, name) = database.url.rsplit_once('@').unwrap().1.split_once('/').unwrap();
    let proxy = Proxy::start(address.to_owned()).await;
    let dir = tempfile::tempdir().unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/{name}", proxy.port);
    let daemon = start(dir.path(), Config { database: url, ..config(dir.path(), "") }).await;
    let mut direct = AnyConnection::connect(&database.url).await.unwrap();
    proxy.flow.send(Flow::Stalled).unwrap();
    let former = holders(&mut direct).await;
    sqlx::query("SELECT CAST(pg_terminate_backend(CAST($1 AS INTEGER)) AS TEXT)")
        .bind(former[0])
        .execute(&mut direct)
        .await
        .unwrap();
    sqlx::query("SELECT CAST(pg_advisory_lock(7237117975334838631) AS TEXT)").execute(&mut direct).await.unwrap();
    let own = holders(&mut direct).await;
    sleep(Duration::from_secs(5)).await;
    assert!(!daemon.task.is_finished(), "nobody has said yet that another one has the lock");
    proxy.flow.send(Flow::Reconnected).unwrap();
    let ended = timeout(Duration::from_secs(20), daemon.task).await.expect("it goes on");
    let why = ended.unwrap().unwrap_err().to_string();
    assert!(why.starts_with("this controller has stopped, because another works on the database now"), "{why}");
    assert_eq!(holders(&mut direct).await, own, "nobody else's session is ended");
}
