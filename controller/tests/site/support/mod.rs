//! A small site for tests: two hosts of two DPUs, an ETV VPC of one tenant.

use std::sync::Arc;

use controller::{
    DirtyHosts, ForgeService, Judge, RulesInForce, SiteFile, Timestamp, add_hosts, check_hosts,
    network::{SiteNetwork, create_vpc},
    store::{Store, Transition, Virtualization, Vpc},
};
use proto::{
    MachineId, common,
    forge::{self, forge_server::Forge, instance_interface_config::NetworkDetails},
    health,
};
use sqlx::Connection;
use tonic::{Request, Status};

/// Runs each test on SQLite and, where `SITE_TEST_POSTGRES` names a server, on PostgreSQL.
macro_rules! on_each_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(&$crate::support::Database::sqlite()).await;
            })*
        }
        mod needs_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                if let Some(database) = $crate::support::Database::postgres().await {
                    super::$test(&database).await;
                }
            })*
        }
    };
}

/// A database of a test's own.
pub(crate) struct Database {
    pub(crate) url: String,
    /// Goes away with the test.
    _dir: Option<tempfile::TempDir>,
}

impl Database {
    pub(crate) fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { url: format!("sqlite:{}", dir.path().join("site.db").display()), _dir: Some(dir) }
    }

    /// None, and said so, if there is no server.
    pub(crate) async fn postgres() -> Option<Self> {
        let Ok(server) = std::env::var("SITE_TEST_POSTGRES") else {
            eprintln!("SKIPPED: SITE_TEST_POSTGRES names no PostgreSQL server");
            return None;
        };
        let name = format!("site_{}", uuid::Uuid::new_v4().simple());
        sqlx::any::install_default_drivers();
        let mut connection = sqlx::AnyConnection::connect(&format!("{server}/postgres")).await.unwrap();
        let make = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::query(make).execute(&mut connection).await.unwrap();
        Some(Self { url: format!("{server}/{name}"), _dir: None })
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

pub(crate) fn host(n: u32) -> MachineId {
    format!("fm100hs{n:0>52}").parse().unwrap()
}

/// DPU `place` of host `n`.
pub(crate) fn dpu(n: u32, place: u32) -> MachineId {
    format!("fm100ds{:0>52}", n * 10 + place).parse().unwrap()
}

pub(crate) fn site_text(hosts: u32) -> String {
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
            "- name: host-{n}\n  machine_id: {}\n  initial_state: Ready\n  dpus:\n  - machine_id: {}\n  - machine_id: {}\n",
            host(n),
            dpu(n, 0),
            dpu(n, 1)
        );
    }
    text
}

impl TestSite {
    pub(crate) async fn start(url: &str) -> Self {
        Self::with_hosts(url, 2).await
    }

    pub(crate) async fn with_hosts(url: &str, hosts: u32) -> Self {
        let store = Store::open(url).await.unwrap();
        let file = SiteFile::parse("site.yaml", &site_text(hosts)).unwrap();
        let network = Arc::new(file.network.unwrap());
        let hosts = check_hosts(&file.hosts, &"Ready".into()).unwrap();
        add_hosts(&store, Some(&network), &hosts, Timestamp::now()).await.unwrap();
        let dirty = DirtyHosts::default();
        let pack = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../rules/managed_host");
        let in_force = RulesInForce::new(rules::load_pack(&pack).unwrap());
        let judge = Judge::new(Arc::new(in_force), rules::Site::default());
        let forge = ForgeService::new(store.clone(), Some(network.clone()), judge, dirty.clone());
        Self { store, network, forge, dirty }
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

    pub(crate) async fn acknowledge_all(&self, n: u32) {
        for place in 0..2 {
            self.acknowledge(&dpu(n, place)).await;
        }
    }

    pub(crate) async fn allocate(&self, request: forge::InstanceAllocationRequest) -> Result<forge::Instance, Status> {
        Ok(self.forge.allocate_instance(Request::new(request)).await?.into_inner())
    }

    pub(crate) async fn instance(&self, id: &common::InstanceId) -> forge::Instance {
        let request = forge::InstancesByIdsRequest { instance_ids: vec![id.clone()] };
        let mut found = self.forge.find_instances_by_ids(Request::new(request)).await.unwrap().into_inner();
        found.instances.remove(0)
    }

    /// Moves a host to a state, as the reconciler would.
    pub(crate) async fn put_in_state(&self, host: &MachineId, state: &str) {
        let mut tx = self.store.write().await.unwrap();
        let version = tx.life(host).await.unwrap().version;
        let transition = Transition { to: state.into(), ..Default::default() };
        tx.commit_transition(host, version, &transition, Timestamp::now()).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Puts a host on its tenant's network, or back on the admin network, as the reconciler would.
    pub(crate) async fn use_admin_network(&self, id: &MachineId, admin: bool) {
        let mut tx = self.store.write().await.unwrap();
        let host = tx.host(id).await.unwrap().unwrap();
        tx.set_host_network(id, host.network_version, admin, None, Timestamp::now()).await.unwrap();
        tx.commit().await.unwrap();
    }
}

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
        dpu_machine_id: Some(dpu.into()),
        network_config_version: Some(config.managed_host_config_version.clone()),
        instance_network_config_version: instance,
        interfaces: interfaces.collect(),
        instance_id: config.instance_id.clone(),
        dpu_health: Some(health::HealthReport::default()),
        ..Default::default()
    }
}

pub(crate) fn interface(prefix: &controller::store::VpcPrefix) -> forge::InstanceInterfaceConfig {
    forge::InstanceInterfaceConfig {
        network_details: Some(NetworkDetails::VpcPrefixId(prefix.id.into())),
        ..Default::default()
    }
}

pub(crate) fn instance_config(interfaces: Vec<forge::InstanceInterfaceConfig>) -> forge::InstanceConfig {
    forge::InstanceConfig {
        tenant: Some(forge::TenantConfig { tenant_organization_id: TENANT.into(), ..Default::default() }),
        network: Some(forge::InstanceNetworkConfig { interfaces, auto: false }),
        ..Default::default()
    }
}

pub(crate) fn allocation(n: u32, interfaces: Vec<forge::InstanceInterfaceConfig>) -> forge::InstanceAllocationRequest {
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
