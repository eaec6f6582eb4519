//! Instances: allocation, and what DPUs and tenants see of them.

use std::collections::BTreeSet;

use controller::store::AddressPool;
use proto::{
    common,
    forge::{self, HealthReportApplyMode, InterfaceFunctionType, SyncState, TenantState, forge_server::Forge},
};
use tonic::{Code, Request};

use crate::support::{
    Database, TENANT, TestSite, alert, allocation, dpu, for_virtual, host, interface, interface_at, ready_site,
};

on_each_database! {
    an_instance_gives_the_tenant_network_to_its_dpu_alone,
    named_devices_and_virtual_functions_go_to_their_dpus,
    a_wrong_allocation_names_its_fields_and_holds_nothing,
    a_host_is_given_once_and_only_when_ready_and_healthy,
    an_unhealthy_host_is_given_to_whom_insists,
    a_tenant_sees_ready_only_after_every_dpu_said_so,
    a_quarantined_host_blocks_its_traffic_and_goes_to_no_tenant,
    a_tenant_that_waits_for_a_call_home_is_ready_after_it,
    instances_are_found_by_tenant_vpc_and_label,
    no_address_is_held_twice_when_many_ask_at_once,
}

async fn an_instance_gives_the_tenant_network_to_its_dpu_alone(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    assert!(site.config(&dpu(1, 0)).await.unwrap().use_admin_network, "until the rules say otherwise");
    site.use_admin_network(&host(1), false).await;
    let config = site.config(&dpu(1, 0)).await.unwrap();
    assert!(!config.use_admin_network && config.admin_interface.is_some());
    assert_eq!(config.instance_id, instance.id);
    assert_eq!(config.instance_network_config_version, instance.network_config_version);
    assert_eq!((config.vpc_vni, config.network_virtualization_type), (Some(vpc.vni), Some(0)));
    let [port] = &config.tenant_interfaces[..] else { panic!("{:?}", config.tenant_interfaces) };
    assert_eq!(
        (port.ip.as_str(), port.gateway.as_str(), port.prefix.as_str(), port.interface_prefix.as_str()),
        ("192.0.2.2", "192.0.2.1/24", "192.0.2.0/24", "192.0.2.2/32")
    );
    assert_eq!((port.vni, port.vlan_id, port.vpc_vni), (vpc.prefixes[0].vni, vpc.prefixes[0].vlan.into(), vpc.vni));
    assert_eq!(port.vpc_prefixes, ["192.0.2.0/24", "198.51.100.0/24"]);
    assert!(port.is_l2_segment && port.internal_uuid.is_some());
    assert_eq!(config.instance.unwrap().network_config_version, instance.network_config_version);
    let other = site.config(&dpu(1, 1)).await.unwrap();
    assert!(other.use_admin_network && other.tenant_interfaces.is_empty() && other.instance_id.is_none());
    assert_eq!(other.managed_host_config_version, config.managed_host_config_version);
}

async fn named_devices_and_virtual_functions_go_to_their_dpus(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let on = |place| interface_at(&vpc.prefixes[0], place);
    let virtual_one = forge::InstanceInterfaceConfig {
        ip_address: Some("198.51.100.77".into()),
        ..for_virtual(3, interface_at(&vpc.prefixes[1], 1))
    };
    site.allocate(allocation(1, vec![on(0), on(1), virtual_one])).await.unwrap();
    site.use_admin_network(&host(1), false).await;
    let ports = async |place| {
        let config = site.config(&dpu(1, place)).await.unwrap();
        config.tenant_interfaces.iter().map(|port| (port.ip.clone(), port.virtual_function_id)).collect::<Vec<_>>()
    };
    assert_eq!(ports(0).await, [("192.0.2.2".into(), None)]);
    assert_eq!(ports(1).await, [("192.0.2.3".into(), None), ("198.51.100.77".into(), Some(3))]);
}

async fn a_wrong_allocation_names_its_fields_and_holds_nothing(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let good = interface(&vpc.prefixes[0]);
    let virtual_one = |id: Option<u32>| forge::InstanceInterfaceConfig {
        function_type: InterfaceFunctionType::Virtual as i32,
        virtual_function_id: id,
        ..good.clone()
    };
    let with = |change: &dyn Fn(&mut forge::InstanceAllocationRequest)| {
        let mut request = allocation(1, vec![good.clone()]);
        change(&mut request);
        request
    };
    let unknown = common::VpcPrefixId { value: "00000000-0000-0000-0000-000000000001".into() };
    for (request, code, text) in [
        (with(&|it| it.machine_id = None), Code::InvalidArgument, "machine_id: is missing"),
        (with(&|it| it.machine_id = Some((&dpu(1, 0)).into())), Code::InvalidArgument, "is not a host"),
        (with(&|it| it.machine_id = Some((&host(9)).into())), Code::NotFound, "does not know host"),
        (with(&|it| it.config = None), Code::InvalidArgument, "config: is missing"),
        (
            with(&|it| {
                let tenant = it.config.as_mut().unwrap().tenant.as_mut().unwrap();
                tenant.tenant_keyset_ids = vec!["k".repeat(1 << 17)];
            }),
            Code::InvalidArgument,
            "are more than 131072",
        ),
        (
            with(&|it| it.metadata = Some(forge::Metadata { description: "d".repeat(4097), ..Default::default() })),
            Code::InvalidArgument,
            "metadata.description: is longer than 4096 bytes",
        ),
        (
            with(&|it| {
                let label = forge::Label { key: "rack".into(), value: Some("7".repeat(257)) };
                it.metadata = Some(forge::Metadata { labels: vec![label], ..Default::default() });
            }),
            Code::InvalidArgument,
            "metadata.labels[0].value: is longer than 256 bytes",
        ),
        (with(&|it| it.config.as_mut().unwrap().tenant = None), Code::InvalidArgument, "config.tenant: is missing"),
        (with(&|it| it.config.as_mut().unwrap().network = None), Code::InvalidArgument, "config.network: is missing"),
        (
            with(&|it| it.config.as_mut().unwrap().tenant.as_mut().unwrap().hostname = Some("a b".into())),
            Code::InvalidArgument,
            "config.tenant.hostname: `a b` is no host name",
        ),
        (
            with(&|it| it.config.as_mut().unwrap().tenant.as_mut().unwrap().tenant_organization_id = "other".into()),
            Code::InvalidArgument,
            "config.network.interfaces[0].vpc_prefix_id: belongs to a VPC of another tenant",
        ),
        (
            with(&|it| it.instance_id = Some(common::InstanceId { value: "x".into() })),
            Code::InvalidArgument,
            "instance_id: `x`",
        ),
        (allocation(1, vec![]), Code::InvalidArgument, "config.network.interfaces: must name at least one"),
        (
            allocation(1, vec![good.clone(), good.clone()]),
            Code::InvalidArgument,
            "config.network.interfaces[0].device: must be given",
        ),
        (
            allocation(1, vec![virtual_one(None)]),
            Code::InvalidArgument,
            "virtual_function_id: must be 0 to 15, not nothing",
        ),
        (allocation(1, vec![virtual_one(Some(16))]), Code::InvalidArgument, "must be 0 to 15, not 16"),
        (
            allocation(1, vec![good.clone(), virtual_one(Some(1)), virtual_one(Some(1))]),
            Code::InvalidArgument,
            "config.network.interfaces[2]: names a port that another interface has",
        ),
        (
            allocation(
                1,
                vec![forge::InstanceInterfaceConfig { device: Some("d".into()), device_instance: 2, ..good.clone() }],
            ),
            Code::InvalidArgument,
            "device_instance: 2 is not there: the host has 2 DPUs",
        ),
        (
            allocation(
                1,
                vec![forge::InstanceInterfaceConfig { ip_address: Some("203.0.113.1".into()), ..good.clone() }],
            ),
            Code::InvalidArgument,
            "ip_address: 203.0.113.1 is not in prefix 192.0.2.0/24",
        ),
        (
            allocation(
                1,
                vec![forge::InstanceInterfaceConfig { ip_address: Some("192.0.2.1".into()), ..good.clone() }],
            ),
            Code::InvalidArgument,
            "address 192.0.2.1 cannot be given",
        ),
        (
            allocation(
                1,
                vec![forge::InstanceInterfaceConfig {
                    network_details: Some(forge::instance_interface_config::NetworkDetails::VpcPrefixId(unknown)),
                    ..good.clone()
                }],
            ),
            Code::InvalidArgument,
            "no VPC has prefix 00000000-0000-0000-0000-000000000001",
        ),
    ] {
        let refusal = site.allocate(request).await.unwrap_err();
        assert_eq!(refusal.code(), code, "{refusal}");
        assert!(refusal.message().contains(text), "{refusal}");
    }
    let mut tx = site.store.read().await.unwrap();
    assert!(tx.addresses().await.unwrap().iter().all(|held| held.pool != AddressPool::Instance));
    assert!(tx.instances().await.unwrap().is_empty());
}

async fn a_host_is_given_once_and_only_when_ready_and_healthy(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let request = |n| allocation(n, vec![interface(&vpc.prefixes[0])]);
    site.allocate(request(1)).await.unwrap();
    let refusal = site.allocate(request(1)).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    assert!(refusal.message().contains("has instance"), "{refusal}");

    site.put_in_state(&host(2), "Assigned/Ready").await;
    let refusal = site.allocate(request(2)).await.unwrap_err();
    assert!(refusal.message().contains("in which the rules take no instance"), "{refusal}");
    site.put_in_state(&host(2), "Ready").await;

    let p0 = vec![alert("BgpPeeringTor", "p0_if", &["PreventAllocations"])];
    site.put_report(&dpu(2, 0), "overrides.test", HealthReportApplyMode::Merge, p0).await.unwrap();
    let refusal = site.allocate(request(2)).await.unwrap_err();
    assert!(
        refusal.message().contains("alert BgpPeeringTor (p0_if) of DPU host-2-dpu0 has PreventAllocations"),
        "{refusal}"
    );
    site.put_report(&dpu(2, 0), "overrides.clear", HealthReportApplyMode::Replace, vec![]).await.unwrap();
    site.allocate(request(2)).await.unwrap();
}

async fn an_unhealthy_host_is_given_to_whom_insists(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let vpc = site.vpc("blue", &["192.0.2.0/24"]).await;
    let mut request = allocation(1, vec![interface(&vpc.prefixes[0])]);
    let refusal = site.allocate(request.clone()).await.unwrap_err();
    assert!(
        refusal.message().contains("alert HeartbeatTimeout has PreventAllocations: The DPU's agent has not reported"),
        "{refusal}"
    );
    request.allow_unhealthy_machine = true;
    site.allocate(request).await.unwrap();
}

async fn a_tenant_sees_ready_only_after_every_dpu_said_so(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let id = instance.id.clone().unwrap();
    let seen = async || {
        let status = site.instance(&id).await.status.unwrap();
        let addresses = status.network.unwrap().interfaces[0].addresses.len();
        let tenant = status.tenant.unwrap();
        (tenant.state(), tenant.state_details, SyncState::try_from(status.configs_synced).unwrap(), addresses)
    };
    assert_eq!(seen().await.0, TenantState::Provisioning);
    site.put_in_state(&host(1), "Assigned/Ready").await;
    site.use_admin_network(&host(1), false).await;
    let (state, details, sync, addresses) = seen().await;
    assert_eq!((state, sync, addresses), (TenantState::Configuring, SyncState::Pending, 0));
    assert!(details.starts_with("DPU host-1-dpu0 has host network V1-T"), "{details}");
    site.acknowledge(&dpu(1, 0)).await;
    let (state, details, ..) = seen().await;
    assert_eq!(state, TenantState::Configuring);
    assert!(details.starts_with("DPU host-1-dpu1 has host network V1-T"), "the second DPU counts, too: {details}");
    site.acknowledge(&dpu(1, 1)).await;
    assert_eq!(seen().await, (TenantState::Ready, String::new(), SyncState::Synced, 1));
    let mut sick = crate::support::acknowledgement(&dpu(1, 0), &site.config(&dpu(1, 0)).await.unwrap());
    sick.dpu_health.as_mut().unwrap().alerts = vec![alert("PostConfigCheckWait", "", &["PreventHostStateChanges"])];
    site.report(sick).await.unwrap();
    assert_eq!(seen().await.0, TenantState::Configuring);
}

async fn instances_are_found_by_tenant_vpc_and_label(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let mut request = allocation(1, vec![interface(&vpc.prefixes[0])]);
    request.metadata = Some(forge::Metadata {
        labels: vec![forge::Label { key: "rack".into(), value: Some("7".into()) }],
        ..Default::default()
    });
    let id = site.allocate(request).await.unwrap().id.unwrap();
    site.rent(2, &vpc).await;
    let find = async |filter: forge::InstanceSearchFilter| {
        site.forge.find_instance_ids(Request::new(filter)).await.unwrap().into_inner().instance_ids
    };
    assert_eq!(find(forge::InstanceSearchFilter::default()).await.len(), 2);
    let label = |value: &str| forge::InstanceSearchFilter {
        label: Some(forge::Label { key: "rack".into(), value: Some(value.into()) }),
        tenant_org_id: Some(TENANT.into()),
        vpc_id: Some(vpc.id.to_string()),
        ..Default::default()
    };
    assert_eq!(find(label("7")).await, [id]);
    assert!(find(label("8")).await.is_empty());
}

async fn no_address_is_held_twice_when_many_ask_at_once(database: &Database) {
    let site = TestSite::with_hosts(&database.url, 24).await;
    // 29 hosts fit; 24 hosts ask, each at once with a rival for the same machine.
    let vpc = site.vpc("blue", &["192.0.2.0/27"]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in (1..=24).chain(1..=24) {
        let forge = site.forge.clone();
        let mut request = allocation(n, vec![interface(&vpc.prefixes[0])]);
        request.allow_unhealthy_machine = true;
        tasks
            .spawn(async move { forge.allocate_instance(Request::new(request)).await.map_err(|status| status.code()) });
    }
    let answers = tasks.join_all().await;
    let given = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(given, 24);
    assert!(answers.iter().filter_map(|answer| answer.as_ref().err()).all(|code| *code == Code::FailedPrecondition));
    let mut tx = site.store.read().await.unwrap();
    let held = tx.addresses().await.unwrap();
    let instances: Vec<_> = held.iter().filter(|held| held.pool == AddressPool::Instance).collect();
    assert_eq!(instances.len(), 24);
    let addresses: BTreeSet<_> = instances.iter().map(|held| held.address).collect();
    let owners: BTreeSet<_> = instances.iter().map(|held| &held.owner).collect();
    assert_eq!((addresses.len(), owners.len()), (24, 24));
}

async fn a_quarantined_host_blocks_its_traffic_and_goes_to_no_tenant(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let id: Option<common::MachineId> = Some((&host(1)).into());
    let wanted = forge::ManagedHostQuarantineState { mode: 0, reason: Some("scan".into()) };
    let set =
        forge::SetManagedHostQuarantineStateRequest { machine_id: id.clone(), quarantine_state: Some(wanted.clone()) };
    let before = site.config(&dpu(1, 1)).await.unwrap();
    let answer = site.forge.set_managed_host_quarantine_state(Request::new(set.clone())).await.unwrap().into_inner();
    assert_eq!(answer.prior_quarantine_state, None);
    for place in 0..2 {
        let config = site.config(&dpu(1, place)).await.unwrap();
        assert_eq!(config.managed_host_config.unwrap().quarantine_state, Some(wanted.clone()));
        assert_ne!(config.managed_host_config_version, before.managed_host_config_version);
    }
    let blocked = site.config(&dpu(1, 1)).await.unwrap();
    let again = site.forge.set_managed_host_quarantine_state(Request::new(set)).await.unwrap().into_inner();
    assert_eq!(again.prior_quarantine_state, Some(wanted.clone()));
    assert_eq!(site.config(&dpu(1, 1)).await.unwrap(), blocked, "the same again makes no new version");
    let refusal = site.allocate(allocation(1, vec![interface(&vpc.prefixes[0])])).await.unwrap_err();
    assert!(
        refusal
            .message()
            .contains("alert Quarantine has PreventAllocations: An operator has all traffic of the host blocked"),
        "{refusal}"
    );

    let get = forge::GetManagedHostQuarantineStateRequest { machine_id: id.clone() };
    let seen = site.forge.get_managed_host_quarantine_state(Request::new(get)).await.unwrap().into_inner();
    assert_eq!(seen.quarantine_state, Some(wanted.clone()));
    let clear = forge::ClearManagedHostQuarantineStateRequest { machine_id: id };
    let cleared = site.forge.clear_managed_host_quarantine_state(Request::new(clear)).await.unwrap().into_inner();
    assert_eq!(cleared.prior_quarantine_state, Some(wanted));
    assert_eq!(site.config(&dpu(1, 0)).await.unwrap().managed_host_config.unwrap().quarantine_state, None);
    site.rent(1, &vpc).await;
}

async fn a_tenant_that_waits_for_a_call_home_is_ready_after_it(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let mut request = allocation(1, vec![interface(&vpc.prefixes[0])]);
    request.config.as_mut().unwrap().os =
        Some(forge::InstanceOperatingSystemConfig { phone_home_enabled: true, ..Default::default() });
    let rented = async || {
        let id = site.allocate(request.clone()).await.unwrap().id.unwrap();
        site.put_in_use().await;
        id
    };
    let state_of = async |id: &common::InstanceId| site.instance(id).await.status.unwrap().tenant.unwrap().state();
    let id = rented().await;
    let state = async || state_of(&id).await;
    assert_eq!(state().await, TenantState::Provisioning);
    let call = forge::InstancePhoneHomeLastContactRequest { instance_id: Some(id.clone()) };
    let answer = site.forge.update_instance_phone_home_last_contact(Request::new(call)).await.unwrap().into_inner();
    assert!(answer.timestamp.is_some());
    assert_eq!(state().await, TenantState::Ready);
    let stranger = forge::InstancePhoneHomeLastContactRequest {
        instance_id: Some(common::InstanceId { value: "00000000-0000-0000-0000-000000000001".into() }),
    };
    let refusal = site.forge.update_instance_phone_home_last_contact(Request::new(stranger)).await.unwrap_err();
    assert_eq!(refusal.code(), Code::NotFound);

    // What the former tenant's system did says nothing about the next one's.
    site.drop_instance(&id).await;
    site.put_in_state(&host(1), "Ready").await;
    site.use_admin_network(&host(1), true).await;
    site.acknowledge_all(1).await;
    let next = rented().await;
    assert_eq!(state_of(&next).await, TenantState::Provisioning);
}
