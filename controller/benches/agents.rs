//! How many agents one controller serves: polls and reports per second, on an SQLite file.
#![allow(clippy::expect_used, reason = "a bench that cannot start ends")]

use std::{path::Path, sync::Arc};

use controller::{
    ActiveRules, DirtyHosts, ForgeService, Judge, SiteFile, Timestamp, add_hosts, check_hosts, store::Store,
};
use divan::{Bencher, counter::ItemsCount};
use proto::{
    MachineId,
    forge::{self, forge_server::Forge},
    health,
};
use tokio::{runtime::Runtime, task::JoinSet};
use tonic::Request;

/// DPUs of the site; each asks once in a round, all at the same time.
const DPUS: u32 = 500;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn polls(bencher: Bencher<'_, '_>) {
    let site = BenchSite::new();
    bencher.counter(ItemsCount::new(DPUS)).bench_local(|| {
        site.round(|forge, dpu| async move {
            let request = forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some((&dpu).into()) };
            forge.get_managed_host_network_config(Request::new(request)).await.map(drop)
        });
    });
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn reports(bencher: Bencher<'_, '_>) {
    let site = BenchSite::new();
    bencher.counter(ItemsCount::new(DPUS)).bench_local(|| {
        site.round(|forge, dpu| async move {
            let success = |id: &str| health::HealthProbeSuccess { id: id.into(), target: Some("p0_if".into()) };
            let status = forge::DpuNetworkStatus {
                dpu_machine_id: Some((&dpu).into()),
                network_config_version: Some("V1-T1733950583707475".into()),
                dpu_health: Some(health::HealthReport {
                    successes: ["BgpPeeringTor", "BgpStats", "ServiceRunning", "DhcpServer"].map(success).into(),
                    ..Default::default()
                }),
                ..Default::default()
            };
            forge.record_dpu_network_status(Request::new(status)).await.map(drop)
        });
    });
}

struct BenchSite {
    runtime: Runtime,
    forge: ForgeService,
    _dir: tempfile::TempDir,
}

impl BenchSite {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let dir = tempfile::tempdir().expect("a directory");
        let forge = runtime.block_on(async {
            let store = Store::open(&format!("sqlite:{}", dir.path().join("site.db").display())).await;
            let store = store.expect("a database");
            let mut text = "network:\n  asn: 65001\n  loopback_prefix: 10.0.0.0/16\n  \
                            admin: {prefix: 10.1.0.0/16, vlan: 16}\n  vni_pool: {first: 100, last: 199}\n  \
                            vlan_pool: {first: 100, last: 199}\nhosts:\n"
                .to_owned();
            for n in 0..DPUS {
                let (host, dpu) = (format!("fm100hs{n:0>52}"), dpu(n));
                text += &format!("- {{name: h{n}, machine_id: {host}, dpus: [{{machine_id: {dpu}}}]}}\n");
            }
            let file = SiteFile::parse("site.yaml", &text).expect("a site file");
            let network = Arc::new(file.network.expect("networks"));
            let hosts = check_hosts(&file.hosts, &"Ready".into()).expect("hosts");
            add_hosts(&store, Some(&network), &hosts, Timestamp::now()).await.expect("hosts in the database");
            let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rules/managed_host");
            let rules = ActiveRules::new(rules::load_pack(&pack).expect("rules"));
            let judge = Judge::new(Arc::new(rules), rules::Site::default());
            ForgeService::new(store, Some(network), judge, DirtyHosts::default())
        });
        Self { runtime, forge, _dir: dir }
    }

    fn round<F, W>(&self, call: F)
    where
        F: Fn(ForgeService, MachineId) -> W,
        W: Future<Output = Result<(), tonic::Status>> + Send + 'static,
    {
        self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for n in 0..DPUS {
                tasks.spawn_on(call(self.forge.clone(), dpu(n)), self.runtime.handle());
            }
            for answer in tasks.join_all().await {
                answer.expect("an answer");
            }
        });
    }
}

fn dpu(n: u32) -> MachineId {
    format!("fm100ds{n:0>52}").parse().expect("an id")
}
