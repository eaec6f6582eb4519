//! What a tick costs when nothing has changed, and what a report costs: evaluations of hosts per second, on a database
//! file, with two DPUs a host.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a bench")]

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use controller::{
    DirtyHosts, ReconcileSettings, Reconciler, Redfish, RedfishSettings, RulePacks, RuleSettings, Timestamp,
    store::{AppliedReport, ApplyMode, HealthReport, NewDpu, NewHost, Observation, ObservationDetails, Store},
};
use proto::MachineId;
use tokio::sync::oneshot;

const HOSTS: usize = 500;
const DPUS: usize = 2;

fn host_id(host: usize) -> MachineId {
    format!("fm100hs{host:0>52}").parse().unwrap()
}

fn dpu_id(host: usize, dpu: usize) -> MachineId {
    format!("fm100ds{:0>52}", host * DPUS + dpu).parse().unwrap()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite:{}", dir.path().join("site.db").display())).await.unwrap();
    fill(&store).await;
    let dirty = DirtyHosts::default();
    let pack = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../rules/managed_host"));
    let site = rules::Site::default();
    let settings = RuleSettings {
        switches: site,
        options: rules::LoadOptions::default(),
        dir: Some(pack),
        changed_share: 0.2,
        replace: false,
    };
    let packs = RulePacks::open(store.clone(), dirty.clone(), settings);
    let packs = packs.await.unwrap();
    let bmc = Arc::new(Redfish::new(&RedfishSettings::default()).unwrap());
    // The sweep never comes by itself; hosts are marked by hand.
    let settings = ReconcileSettings { sweep: Duration::from_secs(3600), ..ReconcileSettings::default() };
    let reconciler = Reconciler::new(store.clone(), dirty.clone(), packs.rules().clone(), bmc, settings);
    let counters = reconciler.counters();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(reconciler.run(async {
        let _ = stopped.await;
    }));
    let evaluated = || counters.figures().decisions + counters.figures().unchanged;
    while evaluated() < HOSTS as u64 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let (rounds, before, began) = (10, counters.figures(), Instant::now());
    for round in 1..=rounds {
        let goal = before.decisions + before.unchanged + (HOSTS * round) as u64;
        (0..HOSTS).for_each(|host| dirty.mark(host_id(host)));
        while evaluated() < goal {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let (after, spent) = (counters.figures(), began.elapsed());
    let each = spent / (HOSTS * rounds) as u32;
    println!("{HOSTS} hosts, {DPUS} DPUs each, nothing changed:");
    println!(
        "  {} decisions, {} looked at, {each:?} each",
        after.decisions - before.decisions,
        after.unchanged - before.unchanged
    );
    println!("  {:.0} hosts per second", (HOSTS * rounds) as f64 / spent.as_secs_f64());
    let _ = stop.send(());
    running.await.unwrap();
}

async fn fill(store: &Store) {
    let now = Timestamp::now();
    let mut tx = store.write().await.unwrap();
    for host in 0..HOSTS {
        let dpus = (0..DPUS).map(|dpu| NewDpu {
            id: dpu_id(host, dpu),
            name: format!("host-{host}-dpu{dpu}"),
            bmc: controller::store::Bmc::default(),
            oob_mac: String::new(),
        });
        let new = NewHost {
            id: host_id(host),
            name: format!("host-{host}"),
            mac: String::new(),
            bmc: controller::store::Bmc::default(),
            dpus: dpus.collect(),
            state: "Ready".into(),
        };
        tx.add_host(&new, now).await.unwrap();
        for dpu in 0..DPUS {
            let id = dpu_id(host, dpu);
            let seen = Observation {
                dpu: id.clone(),
                observed_at: now,
                agent_version: Some("1.0.0".into()),
                observed_network_version: None,
                observed_instance_version: None,
                observed_instance_config_version: None,
                instance: None,
                network_error: None,
                certificate_expiry: None,
                details: ObservationDetails::default(),
            };
            tx.put_observation(&seen).await.unwrap();
            let report =
                HealthReport { source: "forge-dpu-agent".into(), observed_at: Some(now), ..Default::default() };
            tx.put_health_report(&id, &AppliedReport { mode: ApplyMode::Merge, report }).await.unwrap();
        }
    }
    tx.commit().await.unwrap();
}
