//! A site whose hosts have BMCs and are moved by the reconciler: a database file, the shipped rules, simulated BMCs, the
//! operators' interface, and agents that acknowledge when they are told to.

use std::{ops::Deref, path::PathBuf, sync::Arc, time::Duration};

use bmc::Secret;
use controller::{
    DirtyHosts, ReconcileCounters, ReconcileFigures, ReconcileSettings, Reconciler, Redfish, RedfishSettings,
    RulePacks, RuleSettings, SiteService,
    store::{Bmc, HostRecord, Store, Vpc},
};
use proto::{
    common, forge, health,
    site::{self, site_server::Site as _},
};
use testbed::{BMC_PASSWORD, BMC_USER, BmcFaults, MakerBmc, SimBmc, until};
use tokio::{sync::oneshot, task::JoinHandle};
use tonic::{Request, Status};

use super::{
    DPUS, PATIENCE, TestSite, bare_site, dpu, for_virtual, healthy, host, instance_config, interface, new_hosts,
    shipped_pack, site_network,
};

/// Each host's two DPUs have reported healthily once.
pub(crate) struct ManagedSite {
    site: TestSite,
    pub(crate) operators: SiteService,
    bmcs: Vec<SimBmc>,
    makers: Vec<MakerBmc>,
    packs: Arc<RulePacks>,
    dir: tempfile::TempDir,
    drain: u64,
}

impl Deref for ManagedSite {
    type Target = TestSite;

    fn deref(&self) -> &TestSite {
        &self.site
    }
}

/// A running reconciler.
pub(crate) struct Running {
    pub(crate) counters: Arc<ReconcileCounters>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) fn figures(&self) -> ReconcileFigures {
        self.counters.figures()
    }

    /// Ends it in good order.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap();
    }

    /// Ends it where it stands, as a crash would.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// The UEFI password of the site.
pub(crate) const UEFI_PASSWORD: &str = "uefi-secret";

/// Often enough that no test waits for it.
pub(crate) fn settings() -> ReconcileSettings {
    ReconcileSettings {
        sweep: Duration::from_millis(200),
        site: bare_site(),
        dpu_bmc_firmware: Some("24.10-simulated".to_owned()),
        ..ReconcileSettings::default()
    }
}

/// How the controller reaches a BMC.
pub(crate) fn bmc_at(url: &str) -> Bmc {
    Bmc { url: url.into(), username: BMC_USER.into(), password: BMC_PASSWORD.into(), ..Bmc::default() }
}

async fn open(dir: &tempfile::TempDir) -> Store {
    Store::open(&format!("sqlite:{}", dir.path().join("site.db").display())).await.unwrap()
}

impl ManagedSite {
    /// `hosts` hosts in state `state`. Power needs no time to drain.
    pub(crate) async fn start(hosts: usize, state: &str) -> Self {
        Self::with_drain(hosts, state, 0).await
    }

    /// A host that has the BMC of a maker, and boots over the NIC that the makers' profiles have; with its DPUs or without.
    pub(crate) async fn of_maker(maker: &str, dpus: bool, state: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut new = new_hosts(1);
        let bmc = MakerBmc::start(maker).await.unwrap();
        for host in &mut new {
            host.bmc = bmc_at(bmc.url());
            host.mac = "9c:63:c0:a1:b2:c3".into();
            host.state = state.into();
            if !dpus {
                host.dpus.clear();
            }
        }
        let store = open(&dir).await;
        super::add(&store, &site_network(), &new).await;
        Self { makers: vec![bmc], ..Self::on(store, Vec::new(), dir, Some(shipped_pack()), 0).await }
    }

    /// The same, with seconds that power needs to drain.
    pub(crate) async fn with_drain(hosts: usize, state: &str, drain: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut new = new_hosts(hosts);
        let mut bmcs = Vec::new();
        for (n, host) in new.iter_mut().enumerate() {
            let bmc = SimBmc::start(BmcFaults { terse: true, ..BmcFaults::default() }).await.unwrap();
            host.bmc = bmc_at(bmc.url());
            host.mac = format!("02:00:00:00:{:02x}:01", n + 1);
            host.state = state.into();
            bmcs.push(bmc);
        }
        let store = open(&dir).await;
        super::add(&store, &site_network(), &new).await;
        let site = Self::on(store, bmcs, dir, Some(shipped_pack()), drain).await;
        for n in 1..=hosts {
            for place in 0..DPUS {
                site.report(healthy(&dpu(n, place))).await.unwrap();
            }
        }
        site
    }

    /// A second site on the same database file, as after a restart of the controller.
    pub(crate) async fn reopen(self) -> Self {
        let Self { site, bmcs, dir, drain, .. } = self;
        site.store.close().await;
        let store = open(&dir).await;
        Self::on(store, bmcs, dir, None, drain).await
    }

    async fn on(store: Store, bmcs: Vec<SimBmc>, dir: tempfile::TempDir, rules: Option<PathBuf>, drain: u64) -> Self {
        let dirty = DirtyHosts::default();
        let none = ["uefi_boot_wait", "dpu_wait_time", "power_drain_off", "power_drain_cycle", "power_drain_on"];
        let times = none.map(|name| (name, 0)).into_iter().chain([("power_down_wait", drain)]);
        let timeouts = times.map(|(name, seconds)| (name.to_owned(), i64::try_from(seconds).unwrap())).collect();
        let settings = RuleSettings {
            switches: bare_site(),
            options: rules::LoadOptions { timeouts, ..Default::default() },
            dir: rules,
            changed_share: 0.2,
            replace: false,
        };
        let packs = Arc::new(RulePacks::open(store.clone(), dirty.clone(), settings).await.unwrap());
        let site = TestSite::on(store, site_network(), Arc::clone(packs.rules()), dirty);
        let operators = SiteService::new(
            site.store.clone(),
            Some(Arc::clone(&site.network)),
            Arc::clone(&packs),
            bare_site(),
            site.dirty.clone(),
        );
        Self { site, operators, bmcs, makers: Vec::new(), packs, dir, drain }
    }

    /// Starts a reconciler.
    pub(crate) fn reconcile(&self, settings: ReconcileSettings) -> Running {
        let bmc = Redfish::new(&RedfishSettings {
            timeout: Duration::from_secs(5),
            uefi_password: Some(Secret::new(UEFI_PASSWORD)),
            ..RedfishSettings::default()
        })
        .unwrap();
        let rules = Arc::clone(self.packs.rules());
        let reconciler = Reconciler::new(self.store.clone(), self.dirty.clone(), rules, Arc::new(bmc), settings);
        let counters = reconciler.counters();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(reconciler.run(async {
            let _ = stopped.await;
        }));
        Running { counters, stop, task }
    }

    /// The BMC of host `n`.
    pub(crate) fn bmc(&self, n: usize) -> SimBmc {
        self.bmcs[n - 1].clone()
    }

    /// The BMC of the first host, of a maker.
    pub(crate) fn maker(&self) -> MakerBmc {
        self.makers[0].clone()
    }

    pub(crate) async fn record(&self, n: usize) -> HostRecord {
        self.store.read().await.unwrap().host_record(&host(n)).await.unwrap()
    }

    pub(crate) async fn state(&self, n: usize) -> String {
        self.record(n).await.life.state.to_string()
    }

    /// Waits until a host is in a state, and fails with what it waits for if it never is.
    pub(crate) async fn until_state(&self, n: usize, state: &str) {
        self.until(n, &format!("state {state}"), |record| record.life.state.as_str() == state).await;
    }

    pub(crate) async fn until(&self, n: usize, what: &str, holds: impl Fn(&HostRecord) -> bool) {
        let reached = until(what, PATIENCE, async || Ok(holds(&self.record(n).await).then_some(()))).await;
        if let Err(error) = reached {
            let (record, path) = (self.record(n).await, self.path(n).await);
            let (life, actions, findings) = (record.life, record.actions, record.findings);
            let (state, why) = (life.state, life.outcome);
            panic!("{error:#}: {state} {why:?}\nby way of {path:#?}\nfindings {findings:#?}\nactions {actions:#?}");
        }
    }

    /// Waits until an action is in a host's journal, whatever became of it.
    pub(crate) async fn until_intended(&self, n: usize, action: &str) {
        self.until(n, action, |record| record.actions.iter().any(|intended| intended.name == action)).await;
    }

    /// States that a host has been through, oldest first.
    pub(crate) async fn path(&self, n: usize) -> Vec<String> {
        let history = self.store.read().await.unwrap().history(&host(n), 250).await.unwrap();
        history.into_iter().rev().map(|step| step.to.to_string()).collect()
    }

    /// Why the first host went to a state, in the words of its history.
    pub(crate) async fn why_it_went(&self, state: &str) -> String {
        let request = site::HostHistoryRequest { host: "host-1".into(), ..Default::default() };
        let history = self.operators.get_host_history(Request::new(request)).await.unwrap().into_inner();
        history.transitions.into_iter().find(|transition| transition.to == state).unwrap().reason
    }

    pub(crate) async fn create_vpc(&self) -> Vpc {
        self.vpc("blue", &["10.20.0.0/24"]).await
    }

    pub(crate) async fn create_instance(&self, n: usize, vpc: &Vpc) -> common::InstanceId {
        self.rent(n, vpc).await.id.unwrap()
    }

    /// An instance on a host that waits for its DPUs to acknowledge it.
    pub(crate) async fn instance_under_way(&self, n: usize) -> Vpc {
        let vpc = self.create_vpc().await;
        self.create_instance(n, &vpc).await;
        self.until_state(n, "Assigned/WaitingForNetworkConfig").await;
        vpc
    }

    /// An instance on the first host, whose DPUs have acknowledged it.
    pub(crate) async fn instance_in_use(&self) -> (Vpc, common::InstanceId) {
        let vpc = self.create_vpc().await;
        let instance = self.create_instance(1, &vpc).await;
        self.until_state(1, "Assigned/WaitingForNetworkConfig").await;
        self.acknowledge_all(1).await;
        self.until_state(1, "Assigned/Ready").await;
        (vpc, instance)
    }

    /// Asks for a physical interface of an instance, and for these virtual ones.
    pub(crate) async fn change(&self, instance: &common::InstanceId, vpc: &Vpc, virtual_functions: &[u32]) {
        let own = || interface(&vpc.prefixes[0]);
        let virtual_ones = virtual_functions.iter().map(|id| for_virtual(*id, own()));
        let config = instance_config([own()].into_iter().chain(virtual_ones).collect());
        self.update(instance, config).await.unwrap();
    }

    /// Reports what happened to the first host.
    pub(crate) async fn event(&self, kind: &str, arguments: &[(&str, &str)]) -> Result<(), Status> {
        let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let event = site::HostEvent { host: "host-1".into(), kind: kind.into(), arguments };
        self.operators.report_host_event(Request::new(event)).await.map(drop)
    }

    /// Asks for something on the first host.
    pub(crate) async fn request(&self, kind: &str, arguments: &[(&str, &str)]) -> Result<(), Status> {
        let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = site::HostRequest { host: "host-1".into(), kind: kind.into(), arguments, ..Default::default() };
        self.operators.request_host(Request::new(request)).await.map(drop)
    }

    /// Puts a report with one alert on the first host, as an operator does.
    pub(crate) async fn put_alert(&self, probe: &str, classification: &str) -> Result<(), Status> {
        let alert = health::HealthProbeAlert {
            target: None,
            message: "to be looked at".into(),
            ..super::alert(probe, "", &[classification])
        };
        self.put_report(&host(1), "operator", forge::HealthReportApplyMode::Merge, vec![alert]).await
    }

    pub(crate) async fn explain(&self, n: usize) -> site::Explanation {
        let host = site::HostRef { host: format!("host-{n}") };
        self.operators.explain_host(Request::new(host)).await.unwrap().into_inner()
    }

    pub(crate) async fn list_dpus(&self) -> Vec<site::DpuStatus> {
        self.operators.list_dpus(Request::new(site::ListDpusRequest::default())).await.unwrap().into_inner().dpus
    }

    pub(crate) async fn list_hosts(&self) -> Vec<site::HostSummary> {
        self.operators.list_hosts(Request::new(site::ListHostsRequest::default())).await.unwrap().into_inner().hosts
    }

    pub(crate) async fn list_addresses(&self) -> Vec<site::Address> {
        let listed = self.operators.list_addresses(Request::new(site::ListAddressesRequest {})).await.unwrap();
        listed.into_inner().addresses
    }
}
