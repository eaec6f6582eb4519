//! DPUs are told apart by their place in the host, not by their number.

use proto::forge::{SyncState, TenantState};
use tonic::Code;

use crate::support::{Database, allocation, dpu, host, interface, interface_at, ready_site};

on_each_database! {
    a_host_is_given_nothing_at_a_place_where_it_has_no_dpu,
    an_instance_without_a_dpu_that_it_needs_is_not_applied,
    an_instance_is_not_applied_without_a_primary_dpu,
}

async fn a_host_is_given_nothing_at_a_place_where_it_has_no_dpu(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let on = |place| interface_at(&vpc.prefixes[0], place);
    let no_primary = "config.network.interfaces: have nobody to carry them: the host has no primary DPU";
    site.forget_dpu(&dpu(1, 0)).await;
    site.forget_dpu(&dpu(2, 1)).await;
    for (n, wanted, fault) in [
        (1, interface(&vpc.prefixes[0]), no_primary),
        (1, on(1), no_primary),
        (2, on(1), "config.network.interfaces[0].device_instance: 1 is not there: the host has 1 DPUs"),
    ] {
        let refusal = site.allocate(allocation(n, vec![wanted])).await.unwrap_err();
        assert_eq!((refusal.code(), refusal.message()), (Code::InvalidArgument, fault));
    }
    site.forget_dpu(&dpu(1, 1)).await;
    let mut request = allocation(1, vec![interface(&vpc.prefixes[0])]);
    request.allow_unhealthy_machine = true;
    let refusal = site.allocate(request).await.unwrap_err();
    assert_eq!(refusal.message(), no_primary, "nor has a host without any DPU");
    site.allocate(allocation(2, vec![on(0)])).await.unwrap();
}

async fn an_instance_without_a_dpu_that_it_needs_is_not_applied(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let id = site.rent(1, &vpc).await.id.unwrap();
    site.put_in_use().await;
    assert_eq!(site.instance(&id).await.status.unwrap().configs_synced(), SyncState::Synced);
    site.forget_dpu(&dpu(1, 0)).await;
    let status = site.instance(&id).await.status.unwrap();
    assert_eq!(status.configs_synced(), SyncState::Pending);
    let tenant = status.tenant.unwrap();
    assert_eq!(tenant.state(), TenantState::Configuring);
    assert_eq!(tenant.state_details, "the host has no DPU at place 0, which the instance needs");
}

async fn an_instance_is_not_applied_without_a_primary_dpu(database: &Database) {
    let (site, vpc) = ready_site(database).await;
    let id = site.allocate(allocation(1, vec![interface_at(&vpc.prefixes[0], 1)])).await.unwrap().id.unwrap();
    site.use_admin_network(&host(1), false).await;
    site.acknowledge_all(1).await;
    assert_eq!(site.instance(&id).await.status.unwrap().configs_synced(), SyncState::Synced);
    site.forget_dpu(&dpu(1, 0)).await;
    assert_eq!(site.instance(&id).await.status.unwrap().configs_synced(), SyncState::Pending);
}
