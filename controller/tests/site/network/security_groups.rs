//! Security groups: who has which, what DPUs are told of it, and that a change counts only once DPUs have confirmed it.

use controller::{
    Timestamp,
    network::{attach_security_group, delete_security_group, put_security_group},
    store::{SecurityGroup, SecurityRule, TrafficAction, TrafficDirection, TrafficProtocol, Vpc},
};
use proto::{
    ConfigVersion, common,
    forge::{self, SyncState},
};
use tonic::Code;

use crate::support::{Database, TENANT, TestSite, allocation, dpu, instance_config, interface, ready_site};

on_each_database!(
    a_vpcs_group_goes_to_interfaces_unless_they_have_their_own,
    a_changed_group_counts_only_once_the_dpus_have_confirmed_it,
    a_group_that_is_in_use_or_another_tenants_is_refused,
);

fn group(name: &str, port: u16) -> SecurityGroup {
    SecurityGroup {
        name: name.into(),
        tenant: TENANT.into(),
        version: ConfigVersion::first(1),
        stateful_egress: true,
        rules: vec![SecurityRule {
            id: "https".into(),
            direction: TrafficDirection::Ingress,
            action: TrafficAction::Permit,
            protocol: TrafficProtocol::Tcp,
            priority: 100,
            ipv6: false,
            source: None,
            destination: Some("192.0.2.0/24".parse().unwrap()),
            source_ports: None,
            destination_ports: Some((port, port)),
        }],
        created_at: Timestamp::from_micros(1),
    }
}

async fn put(site: &TestSite, group: SecurityGroup) -> SecurityGroup {
    site.write(async |tx| put_security_group(tx, group, Timestamp::now()).await.unwrap()).await
}

async fn attach(site: &TestSite, vpc: &Vpc, group: Option<&str>) {
    let mut tx = site.store.write().await.unwrap();
    let vpcs = tx.vpcs().await.unwrap();
    let vpc = vpcs.iter().find(|known| known.id == vpc.id).unwrap();
    attach_security_group(&mut tx, vpc, group, Timestamp::now()).await.unwrap();
    tx.commit().await.unwrap();
}

async fn told(site: &TestSite) -> Option<forge::FlatInterfaceNetworkSecurityGroupConfig> {
    site.config(&dpu(1, 0)).await.unwrap().tenant_interfaces.remove(0).network_security_group
}

/// A site whose host 1 has an instance in a VPC, in use.
async fn site_in_use(database: &Database) -> (TestSite, Vpc, common::InstanceId) {
    let (site, vpc) = ready_site(database).await;
    let id = site.rent(1, &vpc).await.id.unwrap();
    site.put_in_use().await;
    (site, vpc, id)
}

async fn a_vpcs_group_goes_to_interfaces_unless_they_have_their_own(database: &Database) {
    let (site, vpc, id) = site_in_use(database).await;
    assert_eq!(told(&site).await, None);
    put(&site, group("web", 443)).await;
    put(&site, group("own", 22)).await;
    attach(&site, &vpc, Some("web")).await;
    let web = told(&site).await.unwrap();
    assert_eq!(
        (web.id.as_str(), web.source(), web.stateful_egress),
        ("web", forge::NetworkSecurityGroupSource::NsgSourceVpc, true)
    );
    let rule = &web.rules[0];
    assert_eq!(
        (rule.src_prefixes.as_slice(), rule.dst_prefixes.as_slice()),
        (&["0.0.0.0/0".to_owned()][..], &["192.0.2.0/24".to_owned()][..])
    );
    assert_eq!(rule.rule.as_ref().unwrap().dst_port_end, Some(443));
    assert!(site.config(&dpu(1, 0)).await.unwrap().stateful_acls_enabled);

    let mut config = instance_config(vec![interface(&vpc.prefixes[0])]);
    config.network_security_group_id = Some("own".into());
    site.update(&id, config).await.unwrap();
    let own = told(&site).await.unwrap();
    assert_eq!((own.id.as_str(), own.source()), ("own", forge::NetworkSecurityGroupSource::NsgSourceInstance));
    attach(&site, &vpc, None).await;
    assert_eq!(told(&site).await, Some(own), "the VPC's group is none of its business");
}

async fn a_changed_group_counts_only_once_the_dpus_have_confirmed_it(database: &Database) {
    let (site, vpc, id) = site_in_use(database).await;
    let synced = async || site.instance(&id).await.status.unwrap().configs_synced() == SyncState::Synced;
    let first = put(&site, group("web", 443)).await;
    assert!(synced().await, "a group that nothing has changes nothing");
    attach(&site, &vpc, Some("web")).await;
    assert!(!synced().await);
    site.acknowledge_all(1).await;
    assert!(synced().await);

    let before = site.config(&dpu(1, 0)).await.unwrap();
    assert_eq!(put(&site, group("web", 443)).await.version, first.version, "the same again is no change");
    assert_eq!(site.config(&dpu(1, 0)).await.unwrap(), before);
    let second = put(&site, group("web", 8443)).await;
    assert_ne!(second.version, first.version);
    assert!(!synced().await);
    let after = site.config(&dpu(1, 0)).await.unwrap();
    assert_ne!(after.instance_network_config_version, before.instance_network_config_version);
    assert_eq!(after.managed_host_config_version, before.managed_host_config_version);
    site.acknowledge_all(1).await;
    assert!(synced().await);
}

async fn a_group_that_is_in_use_or_another_tenants_is_refused(database: &Database) {
    let (site, vpc, _) = site_in_use(database).await;
    put(&site, group("web", 443)).await;
    put(&site, SecurityGroup { tenant: "other".into(), ..group("theirs", 1) }).await;
    let mut request = allocation(2, vec![interface(&vpc.prefixes[0])]);
    for name in ["theirs", "nobodys"] {
        request.config.as_mut().unwrap().network_security_group_id = Some(name.into());
        let refusal = site.allocate(request.clone()).await.unwrap_err();
        assert_eq!(refusal.code(), Code::InvalidArgument);
        assert!(refusal.message().contains(&format!("tenant `{TENANT}` has no security group `{name}`")), "{refusal}");
    }
    request.config.as_mut().unwrap().network_security_group_id = Some("web".into());
    site.allocate(request).await.unwrap();

    let mut tx = site.store.write().await.unwrap();
    let refusal = attach_security_group(&mut tx, &vpc, Some("theirs"), Timestamp::now()).await.unwrap_err();
    assert!(refusal.to_string().contains("has no security group `theirs`"), "{refusal}");
    let refusal = delete_security_group(&mut tx, "web").await.unwrap_err();
    assert!(refusal.to_string().starts_with("security group `web` is that of instance "), "{refusal}");
    let refusal =
        put_security_group(&mut tx, SecurityGroup { tenant: "x".into(), ..group("web", 1) }, Timestamp::now());
    assert!(refusal.await.unwrap_err().to_string().contains("web"));
    delete_security_group(&mut tx, "theirs").await.unwrap();
}
