//! VPCs: their numbers and prefixes, and what routed ones give their DPUs.

use controller::{
    InstanceId, Timestamp,
    network::{create_vpc, delete_vpc},
    store::{AddressPool, Virtualization},
};
use proto::forge;
use tonic::Code;

use crate::support::{
    Database, TENANT, TestSite, allocation, dpu, for_virtual, host, instance_config, interface, interface_at,
};

on_each_database! {
    a_vpc_gets_numbers_that_no_other_has,
    prefixes_that_overlap_or_are_malformed_are_refused,
    a_routed_interface_is_a_link_of_its_own,
    a_dual_stack_interface_has_an_address_of_each_family,
    peered_vpcs_are_told_to_both_and_have_to_be_confirmed,
    bridged_and_routed_vpcs_do_not_share_a_dpu,
    a_live_update_lets_go_of_a_loopback_that_no_interface_needs,
}

async fn a_vpc_gets_numbers_that_no_other_has(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let one = site.vpc("one", &["192.0.2.0/25", "192.0.2.128/25"]).await;
    let other = site.vpc("other", &["198.51.100.0/24"]).await;
    let mut vnis: Vec<u32> = [&one, &other]
        .into_iter()
        .flat_map(|vpc| vpc.prefixes.iter().map(|prefix| prefix.vni).chain([vpc.vni]))
        .collect();
    vnis.sort_unstable();
    assert_eq!(vnis, [10000, 10001, 10002, 10003, 10004]);
    let vlans: Vec<u16> = one.prefixes.iter().chain(&other.prefixes).map(|prefix| prefix.vlan).collect();
    assert_eq!(vlans, [100, 101, 102]);
    let mut tx = site.store.write().await.unwrap();
    assert_eq!(tx.vpcs().await.unwrap(), [one.clone(), other]);
    tx.remove_vpc(&one).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(site.vpc("again", &["192.0.2.0/24"]).await.vni, 10000, "numbers of a VPC that is gone are free");
}

async fn prefixes_that_overlap_or_are_malformed_are_refused(database: &Database) {
    let site = TestSite::start(&database.url).await;
    site.vpc("blue", &["192.0.2.0/24", "2001:db8:2::/64"]).await;
    for (name, prefixes, refusal) in [
        ("red", vec!["192.0.2.128/25"], "prefix 192.0.2.128/25 overlaps with prefix 192.0.2.0/24 of VPC `blue`"),
        ("red", vec!["192.0.0.0/16"], "prefix 192.0.0.0/16 overlaps with prefix 192.0.2.0/24 of VPC `blue`"),
        ("red", vec!["10.180.62.0/25"], "prefix 10.180.62.0/25 overlaps with the site's loopbacks"),
        ("red", vec!["10.180.60.0/25"], "prefix 10.180.60.0/25 overlaps with the admin segment"),
        ("red", vec!["10.180.63.0/25"], "prefix 10.180.63.0/25 overlaps with the loopbacks within VPCs"),
        (
            "red",
            vec!["198.51.100.0/24", "198.51.100.0/25"],
            "prefix 198.51.100.0/25 overlaps with prefix 198.51.100.0/24 of the same VPC",
        ),
        ("red", vec!["198.51.100.1/24"], "prefix 198.51.100.1/24: bits are set beyond the prefix length"),
        ("red", vec!["198.51.100.1/32"], "prefix 198.51.100.1/32: it is too small for a gateway and a host"),
        (
            "red",
            vec!["2001:db8::/64"],
            "prefix 2001:db8::/64: an IPv6 prefix stands after the IPv4 prefix of its segment",
        ),
        (
            "red",
            vec!["198.51.100.0/24", "2001:db8::/64", "2001:db8:1::/64"],
            "prefix 2001:db8:1::/64: an IPv6 prefix stands after the IPv4 prefix of its segment",
        ),
        (
            "red",
            vec!["198.51.100.0/24", "2001:db8::1/64"],
            "prefix 2001:db8::1/64: bits are set beyond the prefix length",
        ),
        (
            "red",
            vec!["198.51.100.0/24", "2001:db8:2::/48"],
            "prefix 2001:db8:2::/48 overlaps with prefix 2001:db8:2::/64 of VPC `blue`",
        ),
        ("blue", vec!["198.51.100.0/24"], "VPC name `blue` is already taken"),
    ] {
        let prefixes: Vec<_> = prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect();
        let mut tx = site.store.write().await.unwrap();
        let (etv, now) = (Virtualization::Etv, Timestamp::now());
        let error = create_vpc(&mut tx, &site.network, name, TENANT, etv, &prefixes, now).await.unwrap_err();
        assert_eq!(error.to_string(), refusal);
    }
    let mut tx = site.store.read().await.unwrap();
    assert_eq!(tx.vpcs().await.unwrap().len(), 1);
}

async fn a_routed_interface_is_a_link_of_its_own(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let vpc = site.vpc_of(Virtualization::Fnn, "green", &["192.0.2.0/24"]).await;
    site.acknowledge_all(1).await;
    let mut port = interface(&vpc.prefixes[0]);
    port.routing_profile = Some(forge::InstanceInterfaceRoutingProfile {
        allowed_anycast_prefixes: vec![forge::PrefixFilterPolicyEntry { prefix: "203.0.113.7/32".into() }],
    });
    site.allocate(allocation(1, vec![port])).await.unwrap();
    let admin = site.config(&dpu(1, 0)).await.unwrap();
    assert_eq!((admin.asn, admin.network_virtualization_type, admin.routing_profile), (65001, Some(0), None));

    site.use_admin_network(&host(1), false).await;
    let config = site.config(&dpu(1, 0)).await.unwrap();
    assert_eq!((config.asn, config.network_virtualization_type), (4_200_000_000, Some(5)));
    assert_eq!(config.tenant_host_asn, Some(65100));
    assert_eq!(config.bgp_leaf_session_password.as_deref(), Some("leaf-secret"));
    assert_eq!(config.common_internal_route_target.map(|target| (target.asn, target.vni)), Some((65001, 200)));
    let [port] = &config.tenant_interfaces[..] else { panic!("{:?}", config.tenant_interfaces) };
    assert_eq!(
        (port.gateway.as_str(), port.ip.as_str(), port.prefix.as_str(), port.interface_prefix.as_str()),
        ("192.0.2.0/31", "192.0.2.1", "192.0.2.0/31", "192.0.2.0/31")
    );
    assert_eq!((port.is_l2_segment, port.tenant_vrf_loopback_ip.as_deref()), (false, Some("10.180.63.1")));
    assert!(port.vpc_routing_profile.as_ref().unwrap().leak_default_route_from_underlay);
    let own = port.interface_routing_profile.as_ref().unwrap();
    assert_eq!(own.allowed_anycast_prefixes[0].prefix, "203.0.113.7/32");
    let other = site.config(&dpu(1, 1)).await.unwrap();
    assert_eq!((other.asn, other.network_virtualization_type), (65001, Some(0)), "on the site's own admin network");
}

async fn a_dual_stack_interface_has_an_address_of_each_family(database: &Database) {
    for (virtualization, address, gateway) in
        [(Virtualization::Etv, "2001:db8::2", "2001:db8::1/64"), (Virtualization::Fnn, "2001:db8::1", "2001:db8::/127")]
    {
        let site = TestSite::start(&database.url).await;
        let name = virtualization.to_string();
        let vpc = site.vpc_of(virtualization, &name, &["192.0.2.0/24", "2001:db8::/64", "198.51.100.0/24"]).await;
        assert_eq!(vpc.prefixes.len(), 2);
        site.acknowledge_all(1).await;
        let id = site.rent(1, &vpc).await.id.unwrap();
        site.use_admin_network(&host(1), false).await;
        let port = site.config(&dpu(1, 0)).await.unwrap().tenant_interfaces.remove(0);
        let ipv6 = port.ipv6_interface_config.unwrap();
        assert_eq!((ipv6.ip.as_str(), ipv6.interface_prefix.as_str()), (address, gateway));
        assert_eq!(port.vpc_prefixes, ["192.0.2.0/24", "2001:db8::/64", "198.51.100.0/24"]);
        let shown = async || site.instance(&id).await.status.unwrap().network.unwrap().interfaces.remove(0);
        assert_eq!(shown().await.addresses, [""; 0], "no DPU has reported them");
        site.acknowledge_all(1).await;
        let shown = shown().await;
        assert_eq!((shown.addresses[1].as_str(), shown.gateways[1].as_str()), (address, gateway));

        let mut tx = site.store.write().await.unwrap();
        let held = tx.addresses().await.unwrap().into_iter().map(|held| held.address.to_string()).collect::<Vec<_>>();
        assert!(held.contains(&address.to_owned()), "{held:?}");
        let instance = tx.instances().await.unwrap().remove(0);
        tx.release_instance(instance.id).await.unwrap();
        assert!(tx.addresses().await.unwrap().iter().all(|held| held.owner != instance.id.to_string()));
        let vpc = tx.vpcs().await.unwrap().remove(0);
        tx.remove_vpc(&vpc).await.unwrap();
        tx.commit().await.unwrap();
    }
}

async fn peered_vpcs_are_told_to_both_and_have_to_be_confirmed(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let green = site.vpc_of(Virtualization::Fnn, "green", &["192.0.2.0/24", "2001:db8::/64"]).await;
    let teal = site.vpc_of(Virtualization::Fnn, "teal", &["198.51.100.0/24"]).await;
    let blue = site.vpc("blue", &["203.0.113.0/24"]).await;
    site.acknowledge_all(1).await;
    let id = site.rent(1, &teal).await.id.unwrap();
    site.put_in_use().await;
    let synced = async || site.instance(&id).await.status.unwrap().configs_synced() == forge::SyncState::Synced;
    let port = async || site.config(&dpu(1, 0)).await.unwrap().tenant_interfaces.remove(0);
    assert!(synced().await);

    site.peer("green", "teal", true).await.unwrap();
    assert!(!synced().await, "the DPUs have not confirmed it");
    let told = port().await;
    assert_eq!(told.vpc_peer_prefixes, ["192.0.2.0/24", "2001:db8::/64"]);
    assert_eq!(told.vpc_peer_vnis, [green.vni]);
    site.acknowledge_all(1).await;
    assert!(synced().await);

    for (one, other, refusal) in [
        ("teal", "green", "VPC peering"),
        ("teal", "teal", "VPCs `teal` and `teal` cannot be peered: they are the same"),
        ("teal", "blue", "VPCs `teal` and `blue` cannot be peered: one is bridged, the other routed"),
    ] {
        let error = site.peer(one, other, true).await.unwrap_err();
        assert!(error.starts_with(refusal), "{error}");
    }
    let mut tx = site.store.write().await.unwrap();
    let now = tx.vpcs().await.unwrap().into_iter().find(|vpc| vpc.id == green.id).unwrap();
    let error = delete_vpc(&mut tx, &now).await.unwrap_err();
    assert_eq!(error.to_string(), "VPC `green` is peered with VPC `teal`");
    delete_vpc(&mut tx, &blue).await.unwrap();
    drop(tx);
    site.peer("teal", "green", false).await.unwrap();
    assert!(!synced().await && port().await.vpc_peer_prefixes.is_empty());
    assert!(site.peer("teal", "green", false).await.is_err());
}

async fn bridged_and_routed_vpcs_do_not_share_a_dpu(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let bridged = site.vpc("blue", &["198.51.100.0/24"]).await;
    let routed = site.vpc_of(Virtualization::Fnn, "green", &["192.0.2.0/24"]).await;
    site.acknowledge_all(1).await;
    let mixed = vec![interface_at(&bridged.prefixes[0], 0), for_virtual(0, interface_at(&routed.prefixes[0], 0))];
    let refusal = site.allocate(allocation(1, mixed)).await.unwrap_err();
    assert_eq!(refusal.code(), Code::InvalidArgument);
    let text = "interfaces[1].vpc_prefix_id: bridged and routed VPCs cannot share a DPU";
    assert!(refusal.message().contains(text), "{refusal}");
    site.allocate(allocation(1, vec![interface_at(&bridged.prefixes[0], 0), interface_at(&routed.prefixes[0], 1)]))
        .await
        .unwrap();
}

async fn a_live_update_lets_go_of_a_loopback_that_no_interface_needs(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let green = site.vpc_of(Virtualization::Fnn, "green", &["192.0.2.0/24"]).await;
    let red = site.vpc_of(Virtualization::Fnn, "red", &["198.51.100.0/24"]).await;
    site.acknowledge_all(1).await;
    let instance = site.rent(1, &green).await;
    let id = instance.id.unwrap();
    let key: InstanceId = id.value.parse().unwrap();
    site.update(&id, instance_config(vec![interface(&red.prefixes[0])])).await.unwrap();
    let mut tx = site.store.write().await.unwrap();
    assert_eq!(tx.addresses_of(&id.value).await.unwrap().len(), 4);
    tx.promote_network_update(key, Timestamp::now()).await.unwrap();
    let mut released = tx.release_after_network_update(key).await.unwrap();
    released.sort();
    assert_eq!(released.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.180.63.1", "192.0.2.1"]);
    let held = tx.addresses_of(&id.value).await.unwrap();
    let held: Vec<_> = held.iter().map(|held| (held.pool, held.address.to_string())).collect();
    assert_eq!(
        held,
        [(AddressPool::Instance, "198.51.100.1".to_owned()), (AddressPool::VrfLoopback, "10.180.63.2".to_owned())]
    );
    tx.release_instance(key).await.unwrap();
    assert!(tx.addresses_of(&id.value).await.unwrap().is_empty());
}
