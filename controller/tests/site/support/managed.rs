//! A small site: a database file, hosts with a BMC each, the shipped rules, the site protocol's server, and agents that
//! acknowledge when they are told to.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use controller::{
    DirtyHosts, ForgeService, Judge, ReconcileFigures, ReconcileSettings, Reconciler, Redfish, RedfishSettings,
    RulePacks, RuleSettings, SiteService, Timestamp, add_hosts, network,
    store::{self, HostRecord, NewDpu, NewHost, Store},
};
use proto::{
    MachineId, common,
    forge::{self, forge_server::Forge},
    health,
    site::{self, site_server::Site as _},
};
use tokio::{sync::oneshot, task::JoinHandle};
use tonic::Request;

use crate::bmc::{PASSWORD, RedfishServer, USER};

pub struct TestSite {
    pub store: Store,
    pub dirty: DirtyHosts,
    pub forge: ForgeService,
    pub site: SiteService,
    pub bmcs: Vec<RedfishServer>,
    packs: Arc<RulePacks>,
    network: Arc<network::SiteNetwork>,
    dir: tempfile::TempDir,
    drain: u64,
}

/// A running reconciler.
pub struct Running {
    counters: Arc<controller::ReconcileCounters>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub fn figures(&self) -> ReconcileFigures {
        self.counters.figures()
    }

    pub fn counters(&self) -> &controller::ReconcileCounters {
        &self.counters
    }

    /// Ends it in good order.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap();
    }

    /// Ends it where it stands, as a crash would.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

async fn open(dir: &tempfile::TempDir) -> Store {
    Store::open(&format!("sqlite:{}", dir.path().join("site.db").display())).await.unwrap()
}

pub fn host_id(host: usize) -> MachineId {
    format!("fm100hs{host:0>52}").parse().unwrap()
}

pub fn dpu_id(host: usize, dpu: usize) -> MachineId {
    format!("fm100ds{:0>52}", host * 10 + dpu).parse().unwrap()
}

pub const DPUS: usize = 2;

impl TestSite {
    /// `hosts` hosts in state `state`, whose agents have reported healthily once. Power needs no time to drain.
    pub async fn start(hosts: usize, state: &str) -> Self {
        Self::with_drain(hosts, state, 0).await
    }

    /// The same, with seconds that power needs to drain.
    pub async fn with_drain(hosts: usize, state: &str, drain: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let site_file = controller::SiteFile::parse("site.yaml", SITE_FILE).unwrap();
        let network = Arc::new(site_file.network.unwrap());
        let mut bmcs = Vec::new();
        let mut new = Vec::new();
        for host in 0..hosts {
            let bmc = RedfishServer::start().await;
            new.push(new_host(host, &bmc.url, state));
            bmcs.push(bmc);
        }
        let store = open(&dir).await;
        add_hosts(&store, Some(&network), &new, Timestamp::now()).await.unwrap();
        let rules = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../rules/managed_host"));
        let this = Self::on(store, bmcs, network, dir, Some(rules), drain).await;
        for host in 0..hosts {
            for dpu in 0..DPUS {
                this.report(host, dpu, Report::default()).await;
            }
        }
        this
    }

    /// A second site on the same database file, as after a restart of the controller.
    pub async fn reopen(self) -> Self {
        let Self { store, bmcs, network, dir, drain, .. } = self;
        store.close().await;
        let store = open(&dir).await;
        Self::on(store, bmcs, network, dir, None, drain).await
    }

    async fn on(
        store: Store,
        bmcs: Vec<RedfishServer>,
        network: Arc<network::SiteNetwork>,
        dir: tempfile::TempDir,
        rules: Option<PathBuf>,
        drain: u64,
    ) -> Self {
        let dirty = DirtyHosts::default();
        let times = [("power_down_wait", drain), ("uefi_boot_wait", 0), ("dpu_wait_time", 0)];
        let drains = ["power_drain_off", "power_drain_cycle", "power_drain_on"].map(|name| (name, 0));
        let times = times.into_iter().chain(drains);
        let timeouts = times.map(|(name, seconds)| (name.to_owned(), i64::try_from(seconds).unwrap())).collect();
        let options = rules::LoadOptions { timeouts, ..Default::default() };
        let switches = rules::Site::default();
        let settings =
            RuleSettings { switches: switches.clone(), options, dir: rules, changed_share: 0.2, replace: false };
        let packs = Arc::new(RulePacks::open(store.clone(), dirty.clone(), settings).await.unwrap());
        let judge = Judge::new(Arc::clone(packs.rules()), switches.clone());
        let forge = ForgeService::new(store.clone(), Some(Arc::clone(&network)), judge, dirty.clone());
        let packed = Arc::clone(&packs);
        let site = SiteService::new(store.clone(), Some(Arc::clone(&network)), packed, switches, dirty.clone());
        Self { store, dirty, forge, site, bmcs, packs, network, dir, drain }
    }

    pub fn reconcile(&self, settings: ReconcileSettings) -> Running {
        let bmc = Redfish::new(&RedfishSettings { timeout: Duration::from_secs(5), ca: None }).unwrap();
        let rules = Arc::clone(self.packs.rules());
        let reconciler = Reconciler::new(self.store.clone(), self.dirty.clone(), rules, Arc::new(bmc), settings);
        let counters = reconciler.counters();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(reconciler.run(async {
            let _ = stopped.await;
        }));
        Running { counters, stop, task }
    }

    pub async fn record(&self, host: usize) -> HostRecord {
        self.store.read().await.unwrap().host_record(&host_id(host)).await.unwrap()
    }

    pub async fn state(&self, host: usize) -> String {
        self.record(host).await.life.state.to_string()
    }

    /// Waits until the host is in a state, and fails with what it waits for if it never is.
    pub async fn until_state(&self, host: usize, state: &str) {
        self.until(host, &format!("state {state}"), |record| record.life.state.as_str() == state).await;
    }

    pub async fn until(&self, host: usize, what: &str, holds: impl Fn(&HostRecord) -> bool) {
        for _ in 0..600 {
            if holds(&self.record(host).await) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let record = self.record(host).await;
        let path: Vec<String> = self.path(host).await;
        panic!(
            "no {what}: {} {:?}\nby way of {path:#?}\nactions {:#?}",
            record.life.state, record.life.outcome, record.actions
        );
    }

    /// States that the host has been through, oldest first.
    pub async fn path(&self, host: usize) -> Vec<String> {
        let history = self.store.read().await.unwrap().history(&host_id(host), 250).await.unwrap();
        history.into_iter().rev().map(|step| step.to.to_string()).collect()
    }

    /// What the agent of a DPU reports.
    pub async fn report(&self, host: usize, dpu: usize, report: Report) {
        let alerts = report.alert.into_iter().map(|(id, classification)| health::HealthProbeAlert {
            id: id.to_owned(),
            message: "it hurts".to_owned(),
            classifications: vec![classification.to_owned()],
            ..Default::default()
        });
        let status = forge::DpuNetworkStatus {
            dpu_machine_id: Some((&dpu_id(host, dpu)).into()),
            network_config_version: report.network,
            instance_network_config_version: report.instance,
            dpu_health: Some(health::HealthReport { alerts: alerts.collect(), ..Default::default() }),
            ..Default::default()
        };
        self.forge.record_dpu_network_status(Request::new(status)).await.unwrap();
    }

    /// The agent of a DPU acknowledges what it is to run at present.
    pub async fn acknowledge(&self, host: usize, dpu: usize) {
        let request = forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some((&dpu_id(host, dpu)).into()) };
        let config = self.forge.get_managed_host_network_config(Request::new(request)).await.unwrap().into_inner();
        let instance = Some(config.instance_network_config_version).filter(|version| !version.is_empty());
        let report = Report { network: Some(config.managed_host_config_version), instance, alert: None };
        self.report(host, dpu, report).await;
    }

    pub async fn acknowledge_all(&self, host: usize) {
        for dpu in 0..DPUS {
            self.acknowledge(host, dpu).await;
        }
    }

    pub async fn create_vpc(&self) -> site::Vpc {
        let request = site::CreateVpcRequest {
            name: "blue".into(),
            tenant_organization_id: "acme".into(),
            prefixes: vec!["10.20.0.0/24".into()],
            virtualization: String::new(),
        };
        self.site.create_vpc(Request::new(request)).await.unwrap().into_inner()
    }

    pub async fn create_instance(&self, host: usize, vpc: &site::Vpc) -> common::InstanceId {
        let request = forge::InstanceAllocationRequest {
            machine_id: Some((&host_id(host)).into()),
            config: Some(config(vpc, &[])),
            metadata: Some(forge::Metadata { name: format!("web-{host}"), ..Default::default() }),
            ..Default::default()
        };
        self.forge.allocate_instance(Request::new(request)).await.unwrap().into_inner().id.unwrap()
    }

    /// An instance on the first host, whose DPUs have acknowledged it.
    pub async fn instance_in_use(&self) -> (site::Vpc, common::InstanceId) {
        let vpc = self.create_vpc().await;
        let instance = self.create_instance(0, &vpc).await;
        self.until_state(0, "Assigned/WaitingForNetworkConfig").await;
        self.acknowledge_all(0).await;
        self.until_state(0, "Assigned/Ready").await;
        (vpc, instance)
    }

    pub async fn add_virtual_function(&self, instance: &common::InstanceId, vpc: &site::Vpc) {
        self.update(instance, config(vpc, &[0])).await;
    }

    pub async fn only_the_physical_function(&self, instance: &common::InstanceId, vpc: &site::Vpc) {
        self.update(instance, config(vpc, &[])).await;
    }

    async fn update(&self, instance: &common::InstanceId, config: forge::InstanceConfig) {
        let request = forge::InstanceConfigUpdateRequest {
            instance_id: Some(instance.clone()),
            config: Some(config),
            ..Default::default()
        };
        self.forge.update_instance_config(Request::new(request)).await.unwrap();
    }

    pub async fn release(&self, instance: common::InstanceId) {
        let request = forge::InstanceReleaseRequest { id: Some(instance), ..Default::default() };
        self.forge.release_instance(Request::new(request)).await.unwrap();
    }

    pub async fn event(&self, host: usize, kind: &str) {
        let event = site::HostEvent {
            host: format!("host-{host}"),
            kind: kind.into(),
            arguments: BTreeMap::new().into_iter().collect(),
        };
        self.site.report_host_event(Request::new(event)).await.unwrap();
    }

    /// Asks for something on the first host.
    pub async fn request(&self, kind: &str, arguments: &[(&str, &str)]) -> Result<(), tonic::Status> {
        let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = site::HostRequest { host: "host-0".into(), kind: kind.into(), arguments, ..Default::default() };
        self.site.request_host(Request::new(request)).await.map(drop)
    }

    /// Puts a report with one alert on the first host, as an operator does.
    pub async fn put_alert(&self, probe: &str, classification: &str) -> Result<(), tonic::Status> {
        let alert = health::HealthProbeAlert {
            id: probe.into(),
            message: "to be looked at".into(),
            classifications: vec![classification.into()],
            ..Default::default()
        };
        let report = health::HealthReport { source: "operator".into(), alerts: vec![alert], ..Default::default() };
        let entry = forge::HealthReportEntry { report: Some(report), mode: forge::HealthReportApplyMode::Merge as i32 };
        let insert = forge::InsertMachineHealthReportRequest {
            machine_id: Some((&host_id(0)).into()),
            health_report_entry: Some(entry),
        };
        self.forge.insert_machine_health_report(Request::new(insert)).await.map(drop)
    }

    /// Takes the first host to a state, whatever the rules say.
    pub async fn put_in_state(&self, state: &str) {
        let to = store::Transition { to: state.into(), ..store::Transition::default() };
        let mut tx = self.store.write().await.unwrap();
        let read = tx.life(&host_id(0)).await.unwrap().version;
        tx.commit_transition(&host_id(0), read, &to, Timestamp::now()).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn explain(&self, host: usize) -> site::Explanation {
        let host = site::HostRef { host: format!("host-{host}") };
        self.site.explain_host(Request::new(host)).await.unwrap().into_inner()
    }

    pub async fn instance_addresses(&self) -> Vec<String> {
        let addresses = self.store.read().await.unwrap().addresses().await.unwrap();
        let held = addresses.into_iter().filter(|held| held.pool == store::AddressPool::Instance);
        held.map(|held| held.address.to_string()).collect()
    }
}

fn config(vpc: &site::Vpc, virtual_functions: &[u32]) -> forge::InstanceConfig {
    let interface = |function: forge::InterfaceFunctionType, id: Option<u32>| {
        let prefix = common::VpcPrefixId { value: vpc.prefixes[0].id.clone() };
        forge::InstanceInterfaceConfig {
            function_type: function.into(),
            virtual_function_id: id,
            network_details: Some(forge::instance_interface_config::NetworkDetails::VpcPrefixId(prefix)),
            ..Default::default()
        }
    };
    let mut interfaces = vec![interface(forge::InterfaceFunctionType::Physical, None)];
    interfaces.extend(virtual_functions.iter().map(|id| interface(forge::InterfaceFunctionType::Virtual, Some(*id))));
    forge::InstanceConfig {
        tenant: Some(forge::TenantConfig { tenant_organization_id: "acme".into(), ..Default::default() }),
        network: Some(forge::InstanceNetworkConfig { interfaces, auto: false }),
        ..Default::default()
    }
}

#[derive(Default)]
pub struct Report {
    pub network: Option<String>,
    pub instance: Option<String>,
    pub alert: Option<(&'static str, &'static str)>,
}

fn new_host(host: usize, bmc: &str, state: &str) -> NewHost {
    let bmc = store::Bmc {
        url: bmc.to_owned(),
        username: USER.to_owned(),
        password: PASSWORD.to_owned(),
        ..store::Bmc::default()
    };
    NewHost {
        id: host_id(host),
        name: format!("host-{host}"),
        mac: format!("02:00:00:00:{host:02x}:01"),
        bmc,
        dpus: (0..DPUS)
            .map(|dpu| NewDpu {
                id: dpu_id(host, dpu),
                name: format!("host-{host}-dpu{dpu}"),
                bmc: store::Bmc::default(),
                oob_mac: String::new(),
            })
            .collect(),
        state: state.into(),
    }
}

/// Often enough that no test waits for it.
pub fn settings() -> ReconcileSettings {
    ReconcileSettings { sweep: Duration::from_millis(200), ..ReconcileSettings::default() }
}

const SITE_FILE: &str = "
network:
  asn: 65000
  loopback_prefix: 10.255.0.0/24
  admin: {prefix: 10.0.0.0/24, vlan: 10, vni: 5000, vpc_vni: 5001}
  vni_pool: {first: 10000, last: 10999}
  vlan_pool: {first: 100, last: 199}
";
