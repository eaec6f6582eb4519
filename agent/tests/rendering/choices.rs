//! Choices of rendering that no pair of response and tree shows; most are deliberate differences from NICo.

use agent::render::{self, Environment, Expectations, NetworkConfig, TenantPeer, Underlay};
use proto::forge::{Instance, ManagedHostNetworkConfigResponse, ManagedHostQuarantineState, PrefixFilterPolicyEntry};

use serde_yaml::Value;

use super::responses::{TEMPLATES, environment, files, names, response, settings};

fn refusal(response: &ManagedHostNetworkConfigResponse) -> String {
    NetworkConfig::try_from(response).unwrap_err().to_string()
}

#[test]
fn deprecated_types_of_fnn_are_fnn_in_every_respect() {
    let mut response = response("admin_fnn_primary");
    response.network_virtualization_type = Some(5);
    let fnn = files(&response);
    for number in [3, 4] {
        response.network_virtualization_type = Some(number);
        assert_eq!(files(&response), fnn);
    }
}

#[test]
fn a_secondary_dpu_of_an_etv_admin_network_serves_no_host() {
    let mut response = response("admin_etv_primary");
    response.is_primary_dpu = false;
    let files = files(&response);
    assert_eq!(
        files.expected,
        Expectations {
            uplinks: vec!["p0_if".into(), "p1_if".into()],
            min_links: 2,
            route_servers: ["192.168.126.5", "192.168.126.11", "192.168.126.12"].map(|ip| ip.parse().unwrap()).into(),
            ..Expectations::default()
        }
    );
    let settings = settings(&response);
    assert_eq!(names(&settings["interface"]), ["lo", "p0_if", "p1_if", "pf0dpu1_if"]);
    let router = &settings["vrf"]["default"]["router"];
    assert!(router.get("static").is_none());
    assert_eq!(names(&router["bgp"]["address-family"]["ipv4-unicast"]["network"]), ["192.168.96.36/32"]);
}

#[test]
fn texts_that_yaml_takes_for_something_else_stay_texts() {
    let mut response = response("nvue_startup_fnn_with_leaks");
    for password in ["0x1e3", "on", "null", "1e10", "uplink: p0 # spare", "64500:100", "02:00:00:00:00:10", "~", "12"] {
        response.bgp_leaf_session_password = Some(password.into());
        let underlay = &settings(&response)["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"];
        assert_eq!(underlay["password"], password);
    }
}

#[test]
fn ports_are_named_by_the_version_of_hbn() {
    for (version, suffix) in
        [("2.2.0-doca2.7.0", "sf"), ("2.3.0-doca2.8.0", "if"), ("2.10.0", "if"), ("HBN 3.2.0", "if"), ("10.0.0", "if")]
    {
        let environment = Environment { hbn_version: Some(version.parse().unwrap()), ..environment() };
        let named = |ports: &[&str]| ports.iter().map(|port| format!("{port}_{suffix}")).collect::<Vec<_>>();
        for name in ["nvue_startup", "nvue_startup_fnn_classic"] {
            let config = NetworkConfig::try_from(&response(name)).unwrap();
            let files = render::files(&config, &environment, &TEMPLATES).unwrap();
            let document: Value = serde_yaml::from_str(&files.nvue).unwrap();
            let mut ports = names(&document[1]["set"]["interface"]);
            ports.retain(|port| port.starts_with('p'));
            assert_eq!(ports, named(&["p0", "p1", "pf0dpu1", "pf0dpu5", "pf0hpf", "pf0vf0"]), "{version} {name}");
            assert_eq!(files.expected.uplinks, named(&["p0", "p1"]));
            let isolated = render::isolated(&environment, Some(config.underlay()), &TEMPLATES).unwrap();
            let document: Value = serde_yaml::from_str(&isolated.nvue).unwrap();
            assert_eq!(names(&document[1]["set"]["interface"])[1..], named(&["p0", "p1", "pf0hpf"]));
            assert_eq!(isolated.expected.uplinks, named(&["p0", "p1"]));
        }
    }
    let config = NetworkConfig::try_from(&response("nvue_startup")).unwrap();
    let environment = Environment { hbn_version: Some("1.4.0".parse().unwrap()), ..environment() };
    let refused = render::files(&config, &environment, &TEMPLATES).unwrap_err().to_string();
    assert_eq!(refused, "HBN 1.4.0 is too old: files are written for 2.0.0-doca2.5.0 and later");
}

#[test]
fn what_health_is_to_expect_follows_the_configuration() {
    let mut response = response("nvue_startup_fnn_with_leaks");
    response.min_dpu_functioning_links = Some(1);
    let peer = |vrf: &str, address: &str| TenantPeer { vrf: vrf.into(), address: address.parse().unwrap() };
    assert_eq!(
        files(&response).expected,
        Expectations {
            uplinks: vec!["p0_if".into(), "p1_if".into()],
            min_links: 1,
            evpn_on_uplinks: false,
            route_servers: ["172.43.0.1", "172.43.0.2"].map(|ip| ip.parse().unwrap()).into(),
            tenant_peers: [
                peer("vpc_1025186", "10.10.10.3"),
                peer("vpc_1025186", "10.217.5.162"),
                peer("vpc_1025197", "10.10.10.3"),
                peer("vpc_1025197", "10.217.5.170"),
            ]
            .into(),
            dhcp_served: false,
            isolated: false,
        }
    );
    let isolated = render::isolated(&environment(), None, &TEMPLATES).unwrap();
    assert_eq!(isolated.expected, Expectations { isolated: true, ..Expectations::default() });
    assert_eq!(isolated.acknowledge, None);
}

#[test]
fn of_two_instance_versions_the_older_is_acknowledged() {
    let mut response = response("docs_example_etv");
    let acknowledged = |response: &ManagedHostNetworkConfigResponse| {
        let known = files(response).acknowledge.unwrap();
        (known.managed_host.to_string(), known.instance_network.map(|version| version.to_string()), known.instance_id)
    };
    let id = Some("b4c38910-9319-4bee-ac04-10cabb569a4c".to_owned());
    let host = "V3-T1733950583707475".to_owned();
    let own = "V1-T1733950572461281".to_owned();
    assert_eq!(acknowledged(&response), (host.clone(), Some(own.clone()), id.clone()));
    for (embedded, expected) in [
        ("V1-T1733950572461200", "V1-T1733950572461200".to_owned()),
        ("V2-T1733950572461999", own.clone()),
        ("nonsense", own.clone()),
        ("", own.clone()),
    ] {
        response.instance = Some(Instance { network_config_version: embedded.into(), ..Default::default() });
        assert_eq!(acknowledged(&response), (host.clone(), Some(expected), id.clone()));
    }
    response.instance_network_config_version = String::new();
    assert_eq!(acknowledged(&response).1, None);
}

#[test]
fn responses_that_mean_something_else_are_refused_by_name() {
    type Change = fn(&mut ManagedHostNetworkConfigResponse);
    let cases: [(&str, Change, &str); 22] = [
        (
            "nvue_startup",
            |r| r.traffic_intercept_config.as_mut().unwrap().bridging = None,
            "traffic_intercept_config.bridging is missing: additional_overlay_vtep_ip is reached through its bridge",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[1].vlan_id = r.tenant_interfaces[0].vlan_id,
            "tenant_interfaces[1].vlan_id is 196, which tenant_interfaces[0] has with another VNI",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[1].vni = r.tenant_interfaces[0].vni,
            "tenant_interfaces[1].vni is 1025196, which tenant_interfaces[0] has with another VLAN",
        ),
        (
            "nvue_startup",
            |r| r.route_servers.push(r.tenant_interfaces[1].ip.clone()),
            "tenant_interfaces[1].ip is 10.217.5.162, which a route server has too",
        ),
        (
            "nvue_startup",
            |r| r.route_servers.push("10.10.10.3".into()),
            "traffic_intercept_config.bridging.internal_bridge_routing_prefix has 10.10.10.3 as its third host, which a route server has too",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| {
                r.tenant_interfaces[1].is_l2_segment = true;
                r.tenant_interfaces[1].svi_ip = r.tenant_interfaces[0].svi_ip.clone();
                r.tenant_interfaces[1].vlan_id = r.tenant_interfaces[0].vlan_id;
                r.tenant_interfaces[1].vni = r.tenant_interfaces[0].vni;
            },
            "tenant_interfaces[1].vlan_id is 196, which tenant_interfaces[0] has in another VPC",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| r.tenant_interfaces[0].vni = r.tenant_interfaces[1].vpc_vni,
            "tenant_interfaces[0].vni is 1025186, which is the VNI of a VPC",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| {
                r.tenant_interfaces[1].vpc_vni = r.tenant_interfaces[0].vpc_vni;
                r.tenant_interfaces[1].ip = r.tenant_interfaces[0].ip.clone();
            },
            "tenant_interfaces[1].ip is 10.217.5.170, which tenant_interfaces[0] has too",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| r.tenant_interfaces[1].ip = "10.10.10.3".into(),
            "traffic_intercept_config.bridging.internal_bridge_routing_prefix has 10.10.10.3 as its third host, which tenant_interfaces[1] has too",
        ),
        ("nvue_startup", |r| r.asn = 0, "asn is missing"),
        ("nvue_startup", |r| r.tenant_interfaces.clear(), "tenant_interfaces is empty on a tenant network"),
        (
            "nvue_startup",
            |r| r.deny_prefixes[1] = "198.51.100.0/33".into(),
            "deny_prefixes[1] is \"198.51.100.0/33\", not an IP prefix",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[0].virtual_function_id = None,
            "tenant_interfaces[0].virtual_function_id is missing on a virtual function",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[0].function_type = 0,
            "tenant_interfaces[1].function_type names a function that an earlier interface has already",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[1].vlan_id = 0,
            "tenant_interfaces[1].vlan_id is missing on a bridged port",
        ),
        (
            "nvue_startup",
            |r| r.tenant_interfaces[1].vni = 16_777_216,
            "tenant_interfaces[1].vni is 16777216, not a VNI, 1 to 16777215",
        ),
        (
            "nvue_startup",
            |r| r.network_security_policy_overrides[0].rule.as_mut().unwrap().action = 0,
            "network_security_policy_overrides[0] (anything).rule.action is 0, which has no meaning",
        ),
        (
            "nvue_startup",
            |r| r.network_security_policy_overrides[0].rule.as_mut().unwrap().dst_port_end = Some(79),
            "network_security_policy_overrides[0] (anything).rule.dst_port_start is 80-79, not a range of ports",
        ),
        (
            "nvue_startup",
            |r| r.network_security_policy_overrides[0].rule.as_mut().unwrap().dst_port_end = Some(65_535),
            "network_security_policy_overrides expand to 130912 ACL rules, more than 10000",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| r.tenant_interfaces[0].svi_ip = None,
            "tenant_interfaces[0].svi_ip is missing on a layer 2 port of an FNN network",
        ),
        (
            "nvue_startup_fnn_classic",
            |r| {
                r.routing_profile = None;
                r.tenant_interfaces[1].vpc_routing_profile = None;
            },
            "tenant_interfaces[1].vpc_routing_profile is missing, and the site has no routing_profile either",
        ),
        (
            "nvue_startup",
            |r| {
                r.traffic_intercept_config.as_mut().unwrap().bridging.as_mut().unwrap().internal_bridge_routing_prefix =
                    "10.0.0.0/30".into()
            },
            "traffic_intercept_config.bridging.internal_bridge_routing_prefix is `10.0.0.0/30`, which has fewer than three hosts",
        ),
    ];
    for (name, change, expected) in cases {
        let mut response = response(name);
        change(&mut response);
        assert_eq!(refusal(&response), expected);
    }
}

#[test]
fn unused_fields_hold_up_no_quarantine_and_no_admin_network() {
    let broken = |name| {
        let mut broken = response(name);
        let too_many = broken.network_security_policy_overrides[0].rule.as_mut().unwrap();
        (too_many.dst_port_start, too_many.dst_port_end) = (Some(1), Some(65_535));
        let group = broken.tenant_interfaces[1].network_security_group.as_mut().unwrap();
        group.rules[0].rule.as_mut().unwrap().protocol = 77;
        broken
    };
    for (name, list) in [
        ("nvue_startup_with_nsg", "p0005_security_group_ipv4_in"),
        ("tenant_fnn_classic_with_nsg", "p0005_0_security_group_ipv4_host_egress"),
    ] {
        let mut quarantined = broken(name);
        let fault =
            "tenant_interfaces[1].network_security_group.rules[0] (anything).rule.protocol is 77, which has no meaning";
        assert_eq!(refusal(&quarantined), fault);
        quarantined.managed_host_config.as_mut().unwrap().quarantine_state =
            Some(ManagedHostQuarantineState::default());
        let acls = settings(&quarantined)["acl"].clone();
        let first = &acls["p0004_security_policy_override_ipv4_host_egress"]["rule"]["2000"];
        assert!(first["action"]["deny"].is_mapping());
        assert_eq!(names(&acls[list]["rule"]), ["65535"]);
    }

    let mut admin = broken("nvue_startup_with_nsg");
    admin.use_admin_network = true;
    admin.is_primary_dpu = true;
    admin.admin_interface = response("admin_etv_primary").admin_interface;
    admin.deny_prefixes = vec!["nothing".into()];
    assert_eq!(
        names(&settings(&admin)["interface"]),
        ["lo", "p0_if", "p1_if", "pf0dpu1_if", "pf0dpu5_if", "pf0hpf_if", "vlan14"]
    );
    admin.deny_prefixes = Vec::new();
    admin.network_virtualization_type = Some(5);
    assert_eq!(refusal(&admin), "network_security_policy_overrides expand to 131070 ACL rules, more than 10000");
    admin.network_security_policy_overrides = Vec::new();
    admin.admin_interface = response("admin_fnn_primary").admin_interface;
    assert!(settings(&admin)["acl"]["p0005_0_security_group_ipv4_host_egress"].is_mapping());

    let mut tenant = response("nvue_startup");
    tenant.admin_interface.get_or_insert_default().gateway = String::new();
    tenant.routing_profile.as_mut().unwrap().accepted_leaks_from_underlay =
        vec![PrefixFilterPolicyEntry { prefix: "nothing".into() }];
    assert_eq!(files(&tenant).nvue, files(&response("nvue_startup")).nvue);
    tenant.network_virtualization_type = Some(5);
    assert_eq!(refusal(&tenant), "routing_profile.accepted_leaks_from_underlay[0] is \"nothing\", not an IP prefix");
}

#[test]
fn an_address_may_be_a_route_server_and_a_host_in_different_vrfs() {
    let mut response = response("nvue_startup_fnn_classic");
    response.route_servers = vec![response.tenant_interfaces[0].ip.clone()];
    assert!(!files(&response).nvue.is_empty());
}

#[test]
fn the_underlay_is_known_whatever_else_is_wrong() {
    let mut response = response("nvue_startup_fnn_with_leaks");
    let whole = NetworkConfig::try_from(&response).unwrap();
    response.tenant_interfaces.clear();
    response.deny_prefixes = vec!["nothing".into()];
    response.managed_host_config_version = String::new();
    assert!(NetworkConfig::try_from(&response).is_err());
    assert_eq!(Underlay::try_from(&response).as_ref(), Ok(whole.underlay()));
    response.asn = 0;
    assert_eq!(Underlay::try_from(&response).unwrap_err().to_string(), "asn is missing");
}

#[test]
fn an_isolated_dpu_takes_the_routes_that_its_network_took() {
    for (name, inbound, lists) in [
        ("nvue_startup", Some("FORGE_FROM_UNDERLAY"), &["FORGE_FROM_UNDERLAY", "OWN_LOOPBACK"][..]),
        ("nvue_startup_fnn_classic", None, &["OWN_LOOPBACK"]),
    ] {
        let config = NetworkConfig::try_from(&response(name)).unwrap();
        let text = render::isolated(&environment(), Some(config.underlay()), &TEMPLATES).unwrap().nvue;
        let document: Value = serde_yaml::from_str(&text).unwrap();
        let set = &document[1]["set"];
        let group = |set: &Value| set["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"].clone();
        let policy = |set: &Value| group(set)["address-family"]["ipv4-unicast"]["policy"].clone();
        assert_eq!(policy(set)["inbound"]["prefix-list"].as_str(), inbound);
        assert_eq!(policy(set)["outbound"]["prefix-list"], "OWN_LOOPBACK");
        assert_eq!(policy(set).get("inbound"), policy(&settings(&response(name))).get("inbound"));
        assert_eq!(names(&set["router"]["policy"]["prefix-list"]), lists);
    }
}

#[test]
fn a_password_is_in_the_file_and_nowhere_else() {
    let mut response = response("nvue_startup_fnn_with_leaks");
    response.bgp_leaf_session_password = Some("s3cret: #x".into());
    let config = NetworkConfig::try_from(&response).unwrap();
    let files = render::files(&config, &environment(), &TEMPLATES).unwrap();
    assert!(files.nvue.contains("password: 's3cret: #x'"));
    assert!(!format!("{config:?}{files:?}").contains("s3cret"));
    response.bgp_leaf_session_password = Some("s3cret\n".into());
    assert_eq!(refusal(&response), "bgp_leaf_session_password has a control character");
}
