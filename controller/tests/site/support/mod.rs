//! The one site that the controller's tests stand on: what it consists of, and what agents, tenants and operators ask of
//! it. [`TestSite`] stands still, [`ManagedSite`] has BMCs and is moved by the reconciler, [`Daemon`] is the whole program,
//! [`Guarded`] the same behind certificates.

#[macro_use]
mod database;
mod daemon;
mod guarded;
mod managed;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use controller::{
    ActiveRules, DirtyHosts, ForgeService, Judge, SiteFile, Timestamp, add_hosts, check_hosts,
    network::{SiteNetwork, create_vpc, peer_vpcs},
    store::{AddressPool, NewHost, Store, Transition, Tx, Virtualization, Vpc, VpcPrefix},
};
use proto::{
    MachineId, common,
    forge::{self, forge_server::Forge, instance_interface_config::NetworkDetails},
    health,
};
use tonic::{Request, Status};

pub(crate) use daemon::{Daemon, config, config_of, refused, start};
pub(crate) use database::Database;
pub(crate) use guarded::{Guarded, ISSUER, Pair, Signer, now, write_tls};
pub(crate) use managed::{ManagedSite, UEFI_PASSWORD, settings};
pub(crate) use testbed::{dpu_id as dpu, host_id as host};

/// DPUs of each host.
pub(crate) const DPUS: usize = 2;
/// Seconds that anything is waited for.
pub(crate) const PATIENCE: f64 = 30.0;

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    testbed::until(what, PATIENCE, async || Ok(holds().await.then_some(()))).await.unwrap();
}

/// The rules that this repository ships.
pub(crate) fn shipped_pack() -> PathBuf {
    testbed::workspace().join("rules/managed_host")
}

/// The shipped rules, without their tests, in a directory of their own.
pub(crate) fn copy_pack(to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(shipped_pack()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        fs::copy(&entry, to.join(entry.file_name().unwrap())).unwrap();
    }
}

/// Changes a pack so that every free host is decided otherwise: in words alone.
pub(crate) fn change_pack(dir: &Path) {
    let ready = dir.join("ready.rhai");
    let text = fs::read_to_string(&ready).unwrap();
    assert!(text.contains("Nothing is requested"));
    fs::write(&ready, text.replace("Nothing is requested", "Nobody wants it")).unwrap();
}

/// A site that has nothing of what only some sites have.
pub(crate) fn bare_site() -> rules::Site {
    rules::Site {
        attestation: false.into(),
        bom_validation: false.into(),
        dpf: false.into(),
        infiniband: false.into(),
        nvlink: false.into(),
        spdm: false.into(),
        supernics: false.into(),
        ..rules::Site::default()
    }
}

pub(crate) const TENANT: &str = "tenant-a";

/// What tests hold of the site.
pub(crate) struct TestSite {
    pub(crate) store: Store,
    pub(crate) network: Arc<SiteNetwork>,
    pub(crate) forge: ForgeService,
    pub(crate) dirty: DirtyHosts,
}

/// A site file with so many hosts, counted from 1, of two DPUs each. Nobody answers for their BMCs.
pub(crate) fn site_text(hosts: usize) -> String {
    let mut text = "\
network:
  asn: 65001
  loopback_prefix: 10.180.62.0/24
  admin: {prefix: 10.180.60.0/24, vlan: 16}
  vni_pool: {first: 10000, last: 10999}
  vlan_pool: {first: 100, last: 199}
  route_servers: [10.180.61.5]
  site_fabric_prefixes: [10.180.0.0/16]
  domain: site.example
  fnn:
    asn_pool: {first: 4200000000, last: 4200000099}
    vrf_loopback_prefix: 10.180.63.0/24
    common_internal_route_target: 65001:200
    tenant_host_asn: 65100
    leaf_session_password: leaf-secret
    routing_profile: {leak_default_route_from_underlay: true, allowed_anycast_prefixes: [203.0.113.0/24]}
hosts:
"
    .to_owned();
    for n in 1..=hosts {
        text += &format!(
            "- name: host-{n}\n  machine_id: {}\n  initial_state: Ready\n  bmc: {{url: 'http://127.0.0.1:{n}', username: root, \
             password: wont-tell}}\n  dpus:\n  - machine_id: {}\n  - machine_id: {}\n",
            host(n),
            dpu(n, 0),
            dpu(n, 1)
        );
    }
    text
}

/// The hosts of [`site_text`].
pub(crate) fn new_hosts(hosts: usize) -> Vec<NewHost> {
    let file = SiteFile::parse("site.yaml", &site_text(hosts)).unwrap();
    check_hosts(&file.hosts, &"Ready".into()).unwrap()
}

/// The network of [`site_text`].
pub(crate) fn site_network() -> Arc<SiteNetwork> {
    Arc::new(SiteFile::parse("site.yaml", &site_text(0)).unwrap().network.unwrap())
}

async fn add(store: &Store, network: &SiteNetwork, hosts: &[NewHost]) {
    add_hosts(store, Some(network), hosts, Timestamp::now()).await.unwrap();
}

impl TestSite {
    /// Two hosts, whose DPUs have said nothing yet.
    pub(crate) async fn start(url: &str) -> Self {
        Self::with_hosts(url, 2).await
    }

    pub(crate) async fn with_hosts(url: &str, hosts: usize) -> Self {
        let store = Store::open(url).await.unwrap();
        let network = site_network();
        add(&store, &network, &new_hosts(hosts)).await;
        let rules = ActiveRules::new(rules::load_pack(&shipped_pack()).unwrap());
        Self::on(store, network, Arc::new(rules), DirtyHosts::default())
    }

    fn on(store: Store, network: Arc<SiteNetwork>, rules: Arc<ActiveRules>, dirty: DirtyHosts) -> Self {
        let judge = Judge::new(rules, bare_site());
        let forge = ForgeService::new(store.clone(), Some(network.clone()), judge, dirty.clone());
        Self { store, network, forge, dirty }
    }

    /// Adds hosts, or what has changed of them, as the site file and operators do.
    pub(crate) async fn add(&self, hosts: &[NewHost]) {
        add(&self.store, &self.network, hosts).await;
    }

    /// Changes the database in one transaction.
    pub(crate) async fn write<T>(&self, change: impl AsyncFnOnce(&mut Tx) -> T) -> T {
        let mut tx = self.store.write().await.unwrap();
        let done = change(&mut tx).await;
        tx.commit().await.unwrap();
        done
    }

    pub(crate) async fn forget_dpu(&self, dpu: &MachineId) {
        self.write(async |tx| tx.forget_dpu(dpu).await.unwrap()).await;
    }

    pub(crate) async fn forget_host(&self, n: usize) {
        self.write(async |tx| tx.forget_host(&host(n)).await.unwrap()).await;
    }

    /// Releases an instance without a look at its DPUs, as no rule can.
    pub(crate) async fn drop_instance(&self, id: &common::InstanceId) {
        let id = id.value.parse().unwrap();
        self.write(async |tx| tx.release_instance(id).await.unwrap()).await;
    }

    /// Addresses that instances hold.
    pub(crate) async fn instance_addresses(&self) -> Vec<String> {
        let held = self.store.read().await.unwrap().addresses().await.unwrap();
        let held = held.into_iter().filter(|held| held.pool == AddressPool::Instance);
        held.map(|held| held.address.to_string()).collect()
    }

    pub(crate) async fn vpc(&self, name: &str, prefixes: &[&str]) -> Vpc {
        self.vpc_of(Virtualization::Etv, name, prefixes).await
    }

    pub(crate) async fn vpc_of(&self, virtualization: Virtualization, name: &str, prefixes: &[&str]) -> Vpc {
        let prefixes: Vec<_> = prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect();
        let mut tx = self.store.write().await.unwrap();
        let vpc = create_vpc(&mut tx, &self.network, name, TENANT, virtualization, &prefixes, Timestamp::now())
            .await
            .unwrap();
        tx.commit().await.unwrap();
        vpc
    }

    pub(crate) async fn config(&self, dpu: &MachineId) -> Result<forge::ManagedHostNetworkConfigResponse, Status> {
        let request = forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some(dpu.into()) };
        Ok(self.forge.get_managed_host_network_config(Request::new(request)).await?.into_inner())
    }

    pub(crate) async fn report(&self, status: forge::DpuNetworkStatus) -> Result<(), Status> {
        self.forge.record_dpu_network_status(Request::new(status)).await.map(drop)
    }

    /// A healthy report of what the DPU is told to run now.
    pub(crate) async fn acknowledge(&self, dpu: &MachineId) {
        let config = self.config(dpu).await.unwrap();
        self.report(acknowledgement(dpu, &config)).await.unwrap();
    }

    pub(crate) async fn acknowledge_all(&self, n: usize) {
        for place in 0..DPUS {
            self.acknowledge(&dpu(n, place)).await;
        }
    }

    pub(crate) async fn allocate(&self, request: forge::InstanceAllocationRequest) -> Result<forge::Instance, Status> {
        Ok(self.forge.allocate_instance(Request::new(request)).await?.into_inner())
    }

    /// Gives host `n` to a tenant, with one interface in the first prefix of a VPC.
    pub(crate) async fn rent(&self, n: usize, vpc: &Vpc) -> forge::Instance {
        self.allocate(allocation(n, vec![interface(&vpc.prefixes[0])])).await.unwrap()
    }

    pub(crate) async fn update(
        &self,
        id: &common::InstanceId,
        config: forge::InstanceConfig,
    ) -> Result<forge::Instance, Status> {
        let request = forge::InstanceConfigUpdateRequest {
            instance_id: Some(id.clone()),
            config: Some(config),
            ..Default::default()
        };
        Ok(self.forge.update_instance_config(Request::new(request)).await?.into_inner())
    }

    pub(crate) async fn release(&self, id: &common::InstanceId) -> Result<(), Status> {
        let request = forge::InstanceReleaseRequest { id: Some(id.clone()), ..Default::default() };
        self.forge.release_instance(Request::new(request)).await.map(drop)
    }

    /// Begins or ends the peering of two VPCs, by their names.
    pub(crate) async fn peer(&self, one: &str, other: &str, peered: bool) -> Result<(), String> {
        let mut tx = self.store.write().await.unwrap();
        let vpcs = tx.vpcs().await.unwrap();
        let named = |name: &str| vpcs.iter().find(|vpc| vpc.name == name).unwrap();
        let done = peer_vpcs(&mut tx, named(one), named(other), peered, Timestamp::now()).await;
        done.map_err(|error| error.to_string())?;
        tx.commit().await.unwrap();
        Ok(())
    }

    pub(crate) async fn instance(&self, id: &common::InstanceId) -> forge::Instance {
        let request = forge::InstancesByIdsRequest { instance_ids: vec![id.clone()] };
        let mut found = self.forge.find_instances_by_ids(Request::new(request)).await.unwrap().into_inner();
        found.instances.remove(0)
    }

    /// Moves a host to a state, as the reconciler would.
    pub(crate) async fn put_in_state(&self, host: &MachineId, state: &str) {
        self.put_in_state_at(host, state, Timestamp::now()).await;
    }

    pub(crate) async fn put_in_state_at(&self, host: &MachineId, state: &str, at: Timestamp) {
        self.go(host, Transition { to: state.into(), ..Default::default() }, at).await;
    }

    /// Commits a transition of a host, whatever the rules say.
    pub(crate) async fn go(&self, host: &MachineId, transition: Transition, at: Timestamp) {
        self.write(async |tx| {
            let version = tx.life(host).await.unwrap().version;
            tx.commit_transition(host, version, &transition, at).await.unwrap();
        })
        .await;
        self.dirty.mark(host.clone());
    }

    /// Puts a host on its tenant's network, or back on the admin network, as the reconciler would.
    pub(crate) async fn use_admin_network(&self, id: &MachineId, admin: bool) {
        self.write(async |tx| {
            let host = tx.host(id).await.unwrap().unwrap();
            tx.set_host_network(id, host.desired_network_version, admin, None, Timestamp::now()).await.unwrap();
        })
        .await;
    }

    /// Puts a health report on a machine.
    pub(crate) async fn put_report(
        &self,
        machine: &MachineId,
        source: &str,
        mode: forge::HealthReportApplyMode,
        alerts: Vec<health::HealthProbeAlert>,
    ) -> Result<(), Status> {
        let report = health::HealthReport { source: source.into(), alerts, ..Default::default() };
        let request = forge::InsertMachineHealthReportRequest {
            machine_id: Some(machine.into()),
            health_report_entry: Some(forge::HealthReportEntry { report: Some(report), mode: mode as i32 }),
        };
        self.forge.insert_machine_health_report(Request::new(request)).await.map(drop)
    }

    /// Has an instance on host 1 in use: all rules and DPUs have done their part.
    pub(crate) async fn put_in_use(&self) {
        self.put_in_state(&host(1), "Assigned/Ready").await;
        self.use_admin_network(&host(1), false).await;
        self.acknowledge_all(1).await;
    }
}

/// A report of a DPU that says it is well and nothing else.
pub(crate) fn healthy(dpu: &MachineId) -> forge::DpuNetworkStatus {
    forge::DpuNetworkStatus {
        dpu_machine_id: Some(dpu.into()),
        dpu_health: Some(health::HealthReport::default()),
        ..Default::default()
    }
}

/// A healthy report of what a DPU was told to run.
pub(crate) fn acknowledgement(
    dpu: &MachineId,
    config: &forge::ManagedHostNetworkConfigResponse,
) -> forge::DpuNetworkStatus {
    let instance = Some(config.instance_network_config_version.clone()).filter(|version| !version.is_empty());
    let interfaces = config.tenant_interfaces.iter().map(|interface| forge::InstanceInterfaceStatusObservation {
        function_type: interface.function_type,
        virtual_function_id: interface.virtual_function_id,
        mac_address: Some("02:00:5e:00:00:01".into()),
        addresses: vec![interface.ip.clone()],
        gateways: vec![interface.gateway.clone()],
        internal_uuid: interface.internal_uuid.clone(),
        ..Default::default()
    });
    forge::DpuNetworkStatus {
        network_config_version: Some(config.managed_host_config_version.clone()),
        instance_network_config_version: instance,
        interfaces: interfaces.collect(),
        instance_id: config.instance_id.clone(),
        ..healthy(dpu)
    }
}

pub(crate) fn interface(prefix: &VpcPrefix) -> forge::InstanceInterfaceConfig {
    forge::InstanceInterfaceConfig {
        network_details: Some(NetworkDetails::VpcPrefixId(prefix.id.into())),
        ..Default::default()
    }
}

/// An interface on the DPU at a place.
pub(crate) fn interface_at(prefix: &VpcPrefix, place: u32) -> forge::InstanceInterfaceConfig {
    forge::InstanceInterfaceConfig { device: Some("BlueField".into()), device_instance: place, ..interface(prefix) }
}

/// The same interface for a virtual function.
pub(crate) fn for_virtual(id: u32, interface: forge::InstanceInterfaceConfig) -> forge::InstanceInterfaceConfig {
    forge::InstanceInterfaceConfig {
        function_type: forge::InterfaceFunctionType::Virtual.into(),
        virtual_function_id: Some(id),
        ..interface
    }
}

pub(crate) fn instance_config(interfaces: Vec<forge::InstanceInterfaceConfig>) -> forge::InstanceConfig {
    forge::InstanceConfig {
        tenant: Some(forge::TenantConfig { tenant_organization_id: TENANT.into(), ..Default::default() }),
        network: Some(forge::InstanceNetworkConfig { interfaces, auto: false }),
        ..Default::default()
    }
}

pub(crate) fn allocation(
    n: usize,
    interfaces: Vec<forge::InstanceInterfaceConfig>,
) -> forge::InstanceAllocationRequest {
    forge::InstanceAllocationRequest {
        machine_id: Some((&host(n)).into()),
        config: Some(instance_config(interfaces)),
        ..Default::default()
    }
}

pub(crate) fn alert(id: &str, target: &str, classifications: &[&str]) -> health::HealthProbeAlert {
    health::HealthProbeAlert {
        id: id.into(),
        target: Some(target.into()),
        message: "down".into(),
        classifications: classifications.iter().map(|&class| class.to_owned()).collect(),
        ..Default::default()
    }
}

/// A healthy site with an ETV VPC of two prefixes.
pub(crate) async fn ready_site(database: &Database) -> (TestSite, Vpc) {
    let site = TestSite::start(&database.url).await;
    let vpc = site.vpc("blue", &["192.0.2.0/24", "198.51.100.0/24"]).await;
    site.acknowledge_all(1).await;
    site.acknowledge_all(2).await;
    (site, vpc)
}
