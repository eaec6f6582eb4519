//! What DPU agents are told, and what their reports do.

use crate::support::{Database, TestSite, acknowledgement, alert, dpu, healthy, host};
use proto::{common, forge, health};
use tonic::Code;

on_each_database! {
    a_known_dpu_gets_the_admin_network,
    only_an_unknown_dpu_hears_not_found,
    a_known_dpu_without_a_loopback_is_not_ready_but_known,
    a_forgotten_dpu_hears_not_found_and_its_reports_are_refused,
    a_site_that_never_had_a_dpu_tells_none_to_isolate_its_host,
    without_its_database_a_site_never_says_not_found,
    a_malformed_report_is_refused_with_its_field,
    an_unreadable_version_acknowledges_nothing_but_is_kept,
    interfaces_count_only_with_an_instance_version,
    the_site_stamps_reports_and_keeps_since_when_an_alert_is,
    a_report_marks_its_host_for_decision,
    the_last_report_of_every_dpu_can_be_listed,
}

async fn a_known_dpu_gets_the_admin_network(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let config = site.config(&dpu(1, 0)).await.unwrap();
    assert!(config.use_admin_network && config.is_primary_dpu && config.tenant_interfaces.is_empty());
    assert_eq!(config.managed_host_config.unwrap().loopback_ip, "10.180.62.1");
    assert_eq!((config.asn, config.instance_network_config_version.as_str(), config.instance_id), (65001, "", None));
    assert_eq!(config.vpc_isolation_behavior, forge::VpcIsolationBehaviorType::VpcIsolationMutual as i32);
    assert_eq!(config.route_servers, ["10.180.61.5"]);
    let admin = config.admin_interface.unwrap();
    assert_eq!(
        (
            admin.vlan_id,
            admin.gateway.as_str(),
            admin.ip.as_str(),
            admin.prefix.as_str(),
            admin.interface_prefix.as_str()
        ),
        (16, "10.180.60.1/24", "10.180.60.2", "10.180.60.0/24", "10.180.60.2/32")
    );
    assert_eq!(admin.fqdn, "host-1.site.example");
    let second = site.config(&dpu(1, 1)).await.unwrap();
    assert!(!second.is_primary_dpu);
    assert_ne!(second.host_interface_id, config.host_interface_id);
    assert_eq!(second.managed_host_config.unwrap().loopback_ip, "10.180.62.2");
}

async fn only_an_unknown_dpu_hears_not_found(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let ask = |id: Option<common::MachineId>| forge::ManagedHostNetworkConfigRequest { dpu_machine_id: id };
    let id = |text: String| Some(common::MachineId { id: text });
    for (request, code, text) in [
        (ask(id(dpu(9, 0).to_string())), Code::NotFound, "the site does not know DPU"),
        (ask(None), Code::InvalidArgument, "dpu_machine_id: is missing"),
        (ask(id(String::new())), Code::InvalidArgument, "dpu_machine_id: is missing"),
        (ask(id("fm100".into())), Code::InvalidArgument, "59 characters"),
        (ask(id(host(1).to_string())), Code::InvalidArgument, "is not a DPU"),
    ] {
        use proto::forge::forge_server::Forge;
        let status = site.forge.get_managed_host_network_config(tonic::Request::new(request)).await.unwrap_err();
        assert_eq!(status.code(), code, "{status}");
        assert!(status.message().contains(text), "{status}");
    }
}

async fn a_known_dpu_without_a_loopback_is_not_ready_but_known(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let loopback = "10.180.62.1".parse().unwrap();
    site.write(async |tx| tx.release_address(loopback, dpu(1, 0).as_str()).await.unwrap()).await;
    let status = site.config(&dpu(1, 0)).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("has no loopback address yet"), "{status}");
}

async fn a_forgotten_dpu_hears_not_found_and_its_reports_are_refused(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let config = site.config(&dpu(1, 1)).await.unwrap();
    site.forget_dpu(&dpu(1, 1)).await;
    assert_eq!(site.config(&dpu(1, 1)).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(site.report(acknowledgement(&dpu(1, 1), &config)).await.unwrap_err().code(), Code::NotFound);
    assert!(site.config(&dpu(1, 0)).await.is_ok());
}

async fn a_site_that_never_had_a_dpu_tells_none_to_isolate_its_host(database: &Database) {
    let site = TestSite::with_hosts(&database.url, 0).await;
    assert!(site.store.is_new());
    let asked = site.config(&dpu(1, 0)).await.unwrap_err();
    let reported = site.report(healthy(&dpu(1, 0))).await.unwrap_err();
    for refusal in [asked, reported] {
        assert_eq!(refusal.code(), Code::FailedPrecondition);
        assert!(refusal.message().starts_with("the site knows no DPU at all"), "{refusal}");
    }
    site.store.close().await;
    // The same site once it has had one: what is not known there is not part of it.
    let site = TestSite::with_hosts(&database.url, 1).await;
    assert!(!site.store.is_new());
    assert_eq!(site.config(&dpu(9, 0)).await.unwrap_err().code(), Code::NotFound);
    site.forget_host(1).await;
    assert_eq!(site.config(&dpu(1, 0)).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(site.report(healthy(&dpu(1, 0))).await.unwrap_err().code(), Code::NotFound);
}

async fn without_its_database_a_site_never_says_not_found(database: &Database) {
    let site = TestSite::start(&database.url).await;
    site.store.close().await;
    assert_eq!(site.config(&dpu(1, 0)).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(site.config(&dpu(9, 0)).await.unwrap_err().code(), Code::Unavailable);
}

async fn a_malformed_report_is_refused_with_its_field(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let report = |change: fn(&mut forge::DpuNetworkStatus)| {
        let mut status = healthy(&dpu(1, 0));
        change(&mut status);
        status
    };
    let cases: [(forge::DpuNetworkStatus, &str); 11] = [
        (report(|it| it.dpu_machine_id = None), "dpu_machine_id: is missing"),
        (report(|it| it.dpu_health = None), "dpu_health: is missing"),
        (report(|it| it.instance_network_config_version = Some("V1".into())), "instance_network_config_version: `V1`"),
        (report(|it| it.instance_config_version = Some("x".into())), "instance_config_version: `x`"),
        (report(|it| it.dpu_extension_service_version = Some("x".into())), "dpu_extension_service_version: `x`"),
        (report(|it| it.instance_id = Some(common::InstanceId { value: "7".into() })), "instance_id: `7`"),
        (
            report(|it| {
                it.instance_network_config_version = Some("V1-T2".into());
                it.interfaces = vec![forge::InstanceInterfaceStatusObservation {
                    addresses: vec!["10.0.0".into()],
                    ..Default::default()
                }];
            }),
            "interfaces[0].addresses[0]: `10.0.0` is no IP address",
        ),
        (
            report(|it| {
                it.instance_network_config_version = Some("V1-T2".into());
                it.interfaces = vec![forge::InstanceInterfaceStatusObservation {
                    network_security_group: Some(forge::NetworkSecurityGroupStatus::default()),
                    ..Default::default()
                }];
            }),
            "interfaces[0].network_security_group.source: must not be INVALID",
        ),
        (report(|it| it.last_dhcp_requests = vec![Default::default()]), "last_dhcp_requests[0].host_interface_id"),
        (
            report(|it| {
                it.dpu_health = Some(health::HealthReport { alerts: vec![alert("", "x", &[])], ..Default::default() })
            }),
            "dpu_health.alerts[0].id: is missing",
        ),
        (
            report(|it| {
                it.dpu_health =
                    Some(health::HealthReport { alerts: vec![alert("A", "x", &["a b"])], ..Default::default() })
            }),
            "dpu_health.alerts[0].classifications[0]: `a b` has blanks",
        ),
    ];
    for (status, text) in cases {
        let refusal = site.report(status).await.unwrap_err();
        assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal}");
        assert!(refusal.message().contains(text), "{refusal}");
    }
    let mut tx = site.store.read().await.unwrap();
    assert_eq!(tx.observation(&dpu(1, 0)).await.unwrap(), None);
}

async fn an_unreadable_version_acknowledges_nothing_but_is_kept(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut status = healthy(&dpu(1, 0));
    status.network_config_version = Some("latest".into());
    status.network_config_error = Some("nv config apply failed".into());
    site.report(status).await.unwrap();
    let mut tx = site.store.read().await.unwrap();
    let seen = tx.observation(&dpu(1, 0)).await.unwrap().unwrap();
    assert_eq!((seen.observed_network_version, seen.network_error.as_deref()), (None, Some("nv config apply failed")));
}

async fn interfaces_count_only_with_an_instance_version(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let mut status = healthy(&dpu(1, 0));
    status.interfaces = vec![Default::default(); 3];
    site.report(status.clone()).await.unwrap();
    let mut tx = site.store.read().await.unwrap();
    assert_eq!(tx.observation(&dpu(1, 0)).await.unwrap().unwrap().details.interfaces.len(), 0);
}

async fn the_site_stamps_reports_and_keeps_since_when_an_alert_is(database: &Database) {
    let site = TestSite::start(&database.url).await;
    let with = |alerts: Vec<health::HealthProbeAlert>| {
        let mut status = healthy(&dpu(1, 0));
        let future = Some(prost_types::Timestamp { seconds: 4_000_000_000, nanos: 0 });
        status.dpu_health =
            Some(health::HealthReport { source: "me".into(), observed_at: future, alerts, ..Default::default() });
        status
    };
    let stored = async || {
        let mut tx = site.store.read().await.unwrap();
        let mut reports = tx.health_reports(&dpu(1, 0)).await.unwrap();
        assert_eq!(reports.len(), 1);
        reports.remove(0).report
    };
    site.report(with(vec![alert("BgpStats", "p0", &["PreventAllocations"])])).await.unwrap();
    let first = stored().await;
    assert_eq!(first.source, "forge-dpu-agent");
    assert!(first.observed_at.unwrap() <= controller::Timestamp::now());
    let since = first.alerts[0].in_alert_since.unwrap();
    site.report(with(vec![alert("BgpStats", "p0", &[]), alert("BgpStats", "p1", &[])])).await.unwrap();
    let second = stored().await;
    assert_eq!(second.alerts[0].in_alert_since, Some(since));
    assert!(second.alerts[1].in_alert_since.unwrap() > since);
    site.report(with(vec![])).await.unwrap();
    site.report(with(vec![alert("BgpStats", "p0", &[])])).await.unwrap();
    assert!(stored().await.alerts[0].in_alert_since.unwrap() > since, "a success in between starts again");
}

async fn a_report_marks_its_host_for_decision(database: &Database) {
    let site = TestSite::start(&database.url).await;
    site.report(healthy(&dpu(2, 1))).await.unwrap();
    assert_eq!(site.dirty.take().await, [host(2)]);
}

async fn the_last_report_of_every_dpu_can_be_listed(database: &Database) {
    use proto::forge::forge_server::Forge;
    let site = TestSite::start(&database.url).await;
    let vpc = site.vpc("blue", &["192.0.2.0/24"]).await;
    site.acknowledge_all(1).await;
    let allocated = site.rent(1, &vpc).await;
    site.use_admin_network(&host(1), false).await;
    site.acknowledge(&dpu(1, 0)).await;
    let all = site
        .forge
        .get_all_managed_host_network_status(tonic::Request::new(forge::ManagedHostNetworkStatusRequest {}))
        .await
        .unwrap()
        .into_inner()
        .all;
    assert_eq!(all.len(), 2);
    let primary = all.iter().find(|one| one.dpu_machine_id == Some((&dpu(1, 0)).into())).unwrap();
    assert_eq!(primary.instance_id, allocated.id);
    assert_eq!(primary.instance_network_config_version.as_deref(), Some(allocated.network_config_version.as_str()));
    assert_eq!(primary.interfaces[0].addresses, ["192.0.2.2"]);
    assert_eq!(primary.dpu_health.as_ref().unwrap().source, "forge-dpu-agent");
}
