//! What a VPC had goes to nobody else while a DPU may use it.

use controller::{
    Timestamp,
    network::{create_vpc, delete_vpc},
    store::Virtualization,
};

use crate::support::{Database, TestSite, host, new_hosts};

on_each_database! {
    a_forgotten_instance_holds_its_vpc_until_it_is_freed,
    the_end_of_a_peering_holds_a_vpc_until_it_is_confirmed,
    a_forgotten_instance_holds_the_former_peer_of_its_vpc_too,
}

/// The refusal, or nothing if the VPC is gone.
async fn delete(site: &TestSite, name: &str) -> Option<String> {
    let mut tx = site.store.write().await.unwrap();
    let vpc = tx.vpcs().await.unwrap().into_iter().find(|vpc| vpc.name == name).unwrap();
    let refusal = delete_vpc(&mut tx, &vpc).await.err().map(|error| error.to_string());
    tx.commit().await.unwrap();
    refusal
}

async fn free(site: &TestSite, address: &str) {
    let address = address.parse().unwrap();
    assert!(site.write(async |tx| tx.release_forgotten(address).await.unwrap()).await);
}

async fn a_forgotten_instance_holds_its_vpc_until_it_is_freed(database: &Database) {
    for virtualization in [Virtualization::Etv, Virtualization::Fnn] {
        let site = TestSite::start(&database.url).await;
        let red = site.vpc_of(virtualization, "red", &["192.0.2.0/24", "2001:db8::/64"]).await;
        site.acknowledge_all(1).await;
        let id = site.rent(1, &red).await.id.unwrap().value;
        assert_eq!(delete(&site, "red").await.unwrap(), format!("VPC `red` is used by instance {id}"));
        site.forget_host(1).await;
        let last = if virtualization == Virtualization::Etv { 2 } else { 1 };
        for address in [format!("192.0.2.{last}"), format!("2001:db8::{last}")] {
            let refusal = delete(&site, "red").await.unwrap();
            let why = format!("{id}, which the site forgot, may still use {address}: free it once nothing does");
            assert_eq!(refusal, format!("VPC `red` is held: {why}"));
            free(&site, &address).await;
        }
        assert_eq!(delete(&site, "red").await, None);
        site.add(&new_hosts(2)).await;
    }
}

async fn the_end_of_a_peering_holds_a_vpc_until_it_is_confirmed(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mine = site.vpc("mine", &["192.0.2.0/24"]).await;
    site.vpc("other", &["198.51.100.0/24"]).await;
    site.peer("mine", "other", true).await.unwrap();
    site.acknowledge_all(1).await;
    site.rent(1, &mine).await;
    site.use_admin_network(&host(1), false).await;
    site.acknowledge_all(1).await;
    site.peer("mine", "other", false).await.unwrap();
    let refusal = delete(&site, "other").await.unwrap();
    let why = "DPU host-1-dpu0 has not confirmed that a peering with it ended";
    assert_eq!(refusal, format!("VPC `other` is held: {why}"));
    site.acknowledge_all(1).await;
    assert_eq!(delete(&site, "other").await, None);
    let mut tx = site.store.write().await.unwrap();
    let (prefixes, etv) = (["198.51.100.0/24".parse().unwrap()], Virtualization::Etv);
    create_vpc(&mut tx, &site.network, "next", "third", etv, &prefixes, Timestamp::now()).await.unwrap();
}

async fn a_forgotten_instance_holds_the_former_peer_of_its_vpc_too(database: &Database) {
    // Whether the peering ends before the host is forgotten or after.
    for before in [true, false] {
        let site = TestSite::start(&database.url).await;
        let mine = site.vpc("mine", &["192.0.2.0/24"]).await;
        site.vpc("other", &["198.51.100.0/24"]).await;
        site.peer("mine", "other", true).await.unwrap();
        site.acknowledge_all(1).await;
        let id = site.rent(1, &mine).await.id.unwrap().value;
        site.use_admin_network(&host(1), false).await;
        site.acknowledge_all(1).await;
        if before {
            site.peer("mine", "other", false).await.unwrap();
        }
        site.forget_host(1).await;
        if !before {
            site.peer("mine", "other", false).await.unwrap();
        }
        let refusal = delete(&site, "other").await.unwrap();
        let why = format!("{id}, which the site forgot, may still use 192.0.2.2: free it once nothing does");
        assert_eq!(refusal, format!("VPC `other` is held: {why}"));
        free(&site, "192.0.2.2").await;
        assert_eq!(delete(&site, "other").await, None);
        assert_eq!(delete(&site, "mine").await, None);
        site.add(&new_hosts(2)).await;
    }
}
