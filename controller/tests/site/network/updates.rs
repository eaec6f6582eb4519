//! Instances that change or go: what is held until the DPUs have let go of it.

use controller::{
    Timestamp,
    store::{StoreError, UpdateStage},
};
use proto::forge::{self, HealthReportApplyMode, SyncState, TenantState, forge_server::Forge};
use tonic::{Code, Request};

use crate::support::{
    Database, acknowledgement, alert, allocation, dpu, for_virtual, host, instance_config, interface, new_hosts,
    ready_site,
};

on_each_database! {
    a_live_update_holds_old_and_new_addresses_until_released,
    an_update_that_keeps_an_interface_keeps_its_address,
    a_change_of_metadata_alone_is_no_network_update,
    a_released_instance_keeps_all_until_the_rules_let_go,
    an_alert_against_deletion_refuses_a_release_and_is_named,
    what_a_forgotten_instance_had_only_an_operator_frees,
    a_hostname_counts_once_the_dpu_has_confirmed_it,
    a_config_counts_once_a_dpu_says_its_version,
    a_renamed_host_and_a_moved_dpu_have_to_be_confirmed,
}

async fn a_live_update_holds_old_and_new_addresses_until_released(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let id = instance.id.clone().unwrap();
    let key: controller::InstanceId = id.value.parse().unwrap();
    let held = async || {
        let mut tx = site.store.read().await.unwrap();
        let held = tx.addresses_of(&id.value).await.unwrap();
        held.iter().map(|held| held.address.to_string()).collect::<Vec<_>>()
    };
    let update = |version: &str, prefix: usize| forge::InstanceConfigUpdateRequest {
        instance_id: Some(id.clone()),
        if_version_match: Some(version.to_owned()),
        config: Some(instance_config(vec![interface(&vpc.prefixes[prefix])])),
        metadata: None,
    };
    let changed = site
        .forge
        .update_instance_config(Request::new(update(&instance.config_version, 1)))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(held().await, ["192.0.2.2", "198.51.100.2"]);
    assert_eq!(changed.network_config_version, instance.network_config_version, "not yet active");
    assert_ne!(changed.config_version, instance.config_version);

    let refusal =
        site.forge.update_instance_config(Request::new(update(&instance.config_version, 0))).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition, "stale version: {refusal}");
    let refusal =
        site.forge.update_instance_config(Request::new(update(&changed.config_version, 0))).await.unwrap_err();
    assert!(refusal.message().contains("is under way"), "{refusal}");

    let mut tx = site.store.write().await.unwrap();
    assert!(matches!(tx.release_after_network_update(key).await, Err(StoreError::Missing { .. })), "not promoted");
    let version = tx.promote_network_update(key, Timestamp::now()).await.unwrap();
    assert!(matches!(tx.promote_network_update(key, Timestamp::now()).await, Err(StoreError::Missing { .. })), "once");
    tx.commit().await.unwrap();
    assert_eq!((version.number(), held().await.len()), (2, 2));

    let released = site.write(async |tx| tx.release_after_network_update(key).await.unwrap()).await;
    assert_eq!(released, ["192.0.2.2".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(held().await, ["198.51.100.2"]);
}

async fn an_update_that_keeps_an_interface_keeps_its_address(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let virtual_one = for_virtual(0, interface(&vpc.prefixes[1]));
    let config = instance_config(vec![interface(&vpc.prefixes[0]), virtual_one]);
    site.update(&instance.id.unwrap(), config).await.unwrap();
    let mut tx = site.store.read().await.unwrap();
    let stored = tx.instance_on(&host(1)).await.unwrap().unwrap();
    let update = stored.network_update.unwrap();
    assert_eq!(update.stage, UpdateStage::Requested);
    assert_eq!(update.interfaces[0], stored.interfaces[0]);
    assert_eq!(update.interfaces[1].address.to_string(), "198.51.100.2");
}

async fn a_change_of_metadata_alone_is_no_network_update(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let request = forge::InstanceConfigUpdateRequest {
        instance_id: instance.id.clone(),
        config: instance.config.clone(),
        metadata: Some(forge::Metadata { name: "renamed".into(), ..Default::default() }),
        ..Default::default()
    };
    let changed = site.forge.update_instance_config(Request::new(request.clone())).await.unwrap().into_inner();
    assert_eq!(changed.network_config_version, instance.network_config_version);
    assert_ne!(changed.config_version, instance.config_version);
    let again = site.forge.update_instance_config(Request::new(request)).await.unwrap().into_inner();
    assert_eq!(again.config_version, changed.config_version, "nothing changed, so no new version");
}

async fn a_released_instance_keeps_all_until_the_rules_let_go(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let id = instance.id.clone().unwrap();
    for _ in 0..2 {
        site.release(&id).await.unwrap();
    }
    assert_eq!(site.instance(&id).await.status.unwrap().tenant.unwrap().state(), TenantState::Terminating);
    let refusal = site.update(&id, instance_config(vec![interface(&vpc.prefixes[1])])).await.unwrap_err();
    assert!(refusal.message().contains("is being deleted"), "{refusal}");
    let wanted = forge::InstanceInterfaceConfig { ip_address: Some("192.0.2.2".into()), ..interface(&vpc.prefixes[0]) };
    let refusal = site.allocate(allocation(2, vec![wanted.clone()])).await.unwrap_err();
    assert_eq!(refusal.code(), Code::AlreadyExists, "{refusal}");

    site.drop_instance(&id).await;
    site.allocate(allocation(2, vec![wanted])).await.unwrap();
    let refusal = site.release(&id).await.unwrap_err();
    assert_eq!(refusal.code(), Code::NotFound);
}

async fn an_alert_against_deletion_refuses_a_release_and_is_named(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let alerts = vec![alert("SkuValidation", "disk", &["PreventInstanceDeletion"])];
    site.put_report(&host(1), "overrides.keep", HealthReportApplyMode::Merge, alerts).await.unwrap();
    let refusal = site.release(&instance.id.unwrap()).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    assert!(refusal.message().contains("alert SkuValidation (disk) has PreventInstanceDeletion"), "{refusal}");
}

async fn what_a_forgotten_instance_had_only_an_operator_frees(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let id = site.rent(1, &vpc).await.id.unwrap();
    let key: controller::InstanceId = id.value.parse().unwrap();
    site.forget_host(1).await;
    let held = async || {
        let held = site.store.read().await.unwrap().addresses_of(&id.value).await.unwrap();
        held.iter().map(|held| (held.address.to_string(), held.forgotten_at.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(held().await, [("192.0.2.2".to_owned(), true)]);

    let again = forge::InstanceAllocationRequest {
        instance_id: Some(id.clone()),
        ..allocation(2, vec![interface(&vpc.prefixes[0])])
    };
    let refusal = site.allocate(again.clone()).await.unwrap_err();
    assert_eq!(refusal.code(), Code::AlreadyExists);
    assert_eq!(refusal.message(), format!("instance_id: {} holds address 192.0.2.2 already", id.value));

    // Nor does anything that is given back under its name free what it had.
    let mut tx = site.store.write().await.unwrap();
    let forgotten = "192.0.2.2".parse().unwrap();
    tx.release_addresses(&id.value).await.unwrap();
    tx.release_address(forgotten, &id.value).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(held().await, [("192.0.2.2".to_owned(), true)]);

    assert!(site.write(async |tx| tx.release_forgotten(forgotten).await.unwrap()).await);
    site.allocate(again.clone()).await.unwrap();
    let mut tx = site.store.write().await.unwrap();
    tx.release_instance(key).await.unwrap();
    assert!(tx.addresses_of(&id.value).await.unwrap().is_empty());
}

async fn a_hostname_counts_once_the_dpu_has_confirmed_it(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let id = instance.id.clone().unwrap();
    site.put_in_use().await;
    let rename = async |hostname: &str| {
        let mut config = instance.config.clone().unwrap();
        config.tenant.as_mut().unwrap().hostname = Some(hostname.into());
        site.update(&id, config).await.unwrap()
    };
    let unnamed = rename("").await;
    assert_eq!(unnamed.network_config_version, instance.network_config_version, "it had no name before, either");
    let named = rename("web").await;
    let status = named.status.unwrap();
    assert_eq!(
        (status.configs_synced(), status.tenant.unwrap().state()),
        (SyncState::Pending, TenantState::Configuring)
    );
    assert_ne!(named.network_config_version, instance.network_config_version);
    assert_eq!(site.config(&dpu(1, 0)).await.unwrap().tenant_interfaces[0].fqdn, "web.site.example");
    site.acknowledge_all(1).await;
    let status = site.instance(&id).await.status.unwrap();
    assert_eq!((status.configs_synced(), status.tenant.unwrap().state()), (SyncState::Synced, TenantState::Ready));
}

async fn a_config_counts_once_a_dpu_says_its_version(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let instance = site.rent(1, &vpc).await;
    let id = instance.id.clone().unwrap();
    site.use_admin_network(&host(1), false).await;
    site.acknowledge_all(1).await;
    let said = |version: Option<&str>| version.map(str::to_owned);
    let older = "V1-T1".to_owned();
    for (version, sync) in [
        (said(Some(&older)), SyncState::Pending),
        (said(Some(&instance.config_version)), SyncState::Synced),
        (said(None), SyncState::Synced),
    ] {
        let config = site.config(&dpu(1, 0)).await.unwrap();
        let status = forge::DpuNetworkStatus {
            instance_config_version: version.clone(),
            ..acknowledgement(&dpu(1, 0), &config)
        };
        site.report(status).await.unwrap();
        assert_eq!(site.instance(&id).await.status.unwrap().configs_synced(), sync, "{version:?}");
    }
}

async fn a_renamed_host_and_a_moved_dpu_have_to_be_confirmed(database: &Database) {
    let (site, _) = ready_site(database).await;
    let mut hosts = new_hosts(2);
    let version = async |hosts: &[controller::store::NewHost]| {
        site.add(hosts).await;
        site.store.read().await.unwrap().host(&host(1)).await.unwrap().unwrap().desired_network_version.number()
    };
    hosts[0].bmc.url = "https://192.0.2.9".into();
    assert_eq!(version(&hosts).await, 1, "no DPU is told of its host's BMC");
    hosts[0].name = "renamed".into();
    assert_eq!(version(&hosts).await, 2);
    assert_eq!(version(&hosts).await, 2);
    site.forget_dpu(&dpu(1, 0)).await;
    let former = hosts[0].dpus.remove(0);
    assert_eq!(version(&hosts).await, 3, "the second DPU is the primary one now");
    hosts[0].dpus.push(former);
    assert_eq!(version(&hosts).await, 4, "a DPU that comes back may run what it was told before");
}
