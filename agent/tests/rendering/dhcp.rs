//! What DHCP servers are told.

use std::{fs, path::PathBuf};

use agent::render::{self, Dhcp, DhcpFiles, DhcpServer, DhcpSettings, Environment, NetworkConfig, Templates};
use proto::forge::ManagedHostNetworkConfigResponse;
use serde_json::Value;

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn response(name: &str) -> ManagedHostNetworkConfigResponse {
    let mut input: Value = serde_json::from_str(&fixture(&format!("{name}.input.json"))).unwrap();
    let response = match input.get_mut("network_config") {
        Some(response) => response.take(),
        None => input,
    };
    serde_json::from_value(response).unwrap()
}

fn environment(server: DhcpServer, ntp_servers: &[&str]) -> Environment {
    Environment {
        dhcp: DhcpSettings {
            server,
            nameservers: vec!["10.1.1.1".parse().unwrap()],
            ntp_servers: ntp_servers.iter().map(|server| server.parse().unwrap()).collect(),
            provisioning_server: Some("10.0.0.1".parse().unwrap()),
            ..Default::default()
        },
        ..Default::default()
    }
}

fn rendered(response: &ManagedHostNetworkConfigResponse, environment: &Environment) -> Dhcp {
    let config = NetworkConfig::try_from(response).unwrap();
    render::files(&config, environment, &Templates::embedded().unwrap()).unwrap().dhcp
}

fn served(response: &ManagedHostNetworkConfigResponse, server: DhcpServer) -> DhcpFiles {
    match rendered(response, &environment(server, &["10.1.1.2"])) {
        Dhcp::Serve(files) => files,
        other => panic!("not served: {other:?}"),
    }
}

fn kea(response: &ManagedHostNetworkConfigResponse) -> Value {
    serde_json::from_str(&served(response, DhcpServer::Kea).config).unwrap()
}

#[test]
fn nicos_server_gets_the_files_it_knows() {
    let three = &["127.0.0.1", "127.0.0.2", "127.0.0.3"][..];
    for (name, hbn, ntp_servers, serves) in [
        ("upstream_admin", "2.2.0-doca2.7.0", three, true),
        ("upstream_tenant", "2.2.0-doca2.7.0", &[][..], true),
        ("derived_fnn_mixed_l2_l3", "2.3.0-doca2.8.0", three, true),
        ("derived_admin_secondary", "2.3.0-doca2.8.0", three, false),
    ] {
        let environment =
            Environment { hbn_version: Some(hbn.parse().unwrap()), ..environment(DhcpServer::Nico, ntp_servers) };
        let files = match (rendered(&response(&format!("dhcp/{name}")), &environment), serves) {
            (Dhcp::Serve(files), true) | (Dhcp::Stop(files), false) => files,
            (other, _) => panic!("{name}: {other:?}"),
        };
        let beside = |name: &str| &files.beside.iter().find(|file| file.name == name).unwrap().text;
        let yaml = |text: &str| serde_yaml::from_str::<serde_yaml::Value>(text).unwrap();
        let expected = |kind: &str| fixture(&format!("dhcp/{name}.{kind}"));
        assert_eq!(yaml(&files.config), yaml(&expected("dhcp.expected.yaml")), "{name}");
        assert_eq!(yaml(beside("host.yaml")), yaml(&expected("host.expected.yaml")), "{name}");
        // The first line says who wrote the file.
        let program =
            |text: &str| text.lines().skip(1).flat_map(str::split_whitespace).map(str::to_owned).collect::<Vec<_>>();
        let supervisor = expected("supervisor.expected.conf");
        assert_eq!(program(beside("default-forge-dhcp-server.conf")), program(&supervisor), "{name}");
    }
}

#[test]
fn nicos_server_listens_where_its_hosts_are() {
    let mut response = response("nvue/admin_fnn_primary");
    for (layer2, interface) in [(false, "pf0hpf_if"), (true, "vlan14")] {
        let admin = response.admin_interface.as_mut().unwrap();
        (admin.is_l2_segment, admin.vlan_id) = (layer2, 14);
        let files = served(&response, DhcpServer::Nico);
        let hosts: serde_yaml::Value = serde_yaml::from_str(&files.beside[0].text).unwrap();
        let names: Vec<_> = hosts["host_ip_addresses"].as_mapping().unwrap().keys().collect();
        assert_eq!(names, [interface]);
        assert!(files.beside[1].text.contains(&format!(" --interfaces {interface} ")), "{}", files.beside[1].text);
    }
}

#[test]
fn kea_gives_each_port_its_own_address_and_options() {
    let config = kea(&response("nvue/nvue_startup_fnn_with_leaks"));
    let dhcp = &config["Dhcp4"];
    assert_eq!(dhcp["valid-lifetime"], 604_800);
    assert_eq!(dhcp["renew-timer"], 3_600);
    assert_eq!(dhcp["rebind-timer"], 432_000);
    let subnets = dhcp["subnet4"].as_array().unwrap();
    let told = |subnet: &Value| {
        let option = |name: &str| {
            let options = subnet["option-data"].as_array().unwrap();
            options
                .iter()
                .find(|option| option["name"] == name)
                .map(|option| option["data"].as_str().unwrap().to_owned())
        };
        (
            subnet["client-class"].as_str().unwrap().to_owned(),
            subnet["subnet"].as_str().unwrap().to_owned(),
            subnet["pools"][0]["pool"].as_str().unwrap().to_owned(),
            ["routers", "domain-name-servers", "ntp-servers", "host-name", "domain-name", "interface-mtu"]
                .map(|name| option(name).unwrap()),
        )
    };
    let options = |router: &str, name: &str| [router, "10.1.1.1", "10.1.1.2", name, name, "1500"].map(str::to_owned);
    assert_eq!(
        subnets.iter().map(told).collect::<Vec<_>>(),
        [
            (
                "port-vlan196".into(),
                "10.217.5.168/29".into(),
                "10.217.5.170 - 10.217.5.170".into(),
                options("10.217.5.169", "myhost.forge.1"),
            ),
            (
                "port-pf0hpf_if".into(),
                "10.217.5.160/30".into(),
                "10.217.5.162 - 10.217.5.162".into(),
                options("10.217.5.161", "myhost.forge.2"),
            ),
        ]
    );
    assert_eq!(subnets[0]["next-server"], "10.0.0.1");
    let classes = dhcp["client-classes"].as_array().unwrap();
    let tests: Vec<_> =
        classes.iter().map(|class| (class["name"].as_str().unwrap(), class["test"].as_str().unwrap())).collect();
    assert_eq!(tests[0], ("port-vlan196", "pkt.iface == 'vlan196'"));
    assert_eq!(
        tests[1],
        (
            "http-vlan196-x86_64",
            "member('port-vlan196') and substring(option[60].hex,0,10) == 'HTTPClient' and \
             (substring(option[60].hex,16,5) == '00007' or substring(option[60].hex,16,5) == '00016')"
        )
    );
    let url = "http://10.0.0.1:8080/public/blobs/internal/aarch64/ipxe.efi";
    assert_eq!(classes[2]["option-data"][1]["data"], url);
}

#[test]
fn a_boot_url_and_an_mtu_of_the_port_win() {
    let mut response = response("nvue/docs_example_etv");
    let port = &mut response.tenant_interfaces[0];
    port.booturl = Some("http://10.9.9.9/os.efi?a=1,2".into());
    port.mtu = Some(9000);
    let dhcp = &kea(&response)["Dhcp4"];
    assert_eq!(dhcp["client-classes"].as_array().unwrap().len(), 2);
    assert_eq!(dhcp["client-classes"][1]["option-data"][1]["data"], "http://10.9.9.9/os.efi?a=1\\,2");
    assert_eq!(
        dhcp["client-classes"][1]["test"],
        "member('port-vlan16') and substring(option[60].hex,0,10) == 'HTTPClient'"
    );
    let text = served(&response, DhcpServer::Dhcpd).config;
    assert!(text.contains("option bootfile-name \"http://10.9.9.9/os.efi?a=1,2\";"), "{text}");
    assert!(text.contains("option interface-mtu 9000;"), "{text}");
}

#[test]
fn dhcpd_is_told_the_same() {
    let text = served(&response("nvue/docs_example_etv"), DhcpServer::Dhcpd).config;
    let expected = r#"
# vlan16
subnet 192.168.98.0 netmask 255.255.255.192 {
  option routers 192.168.98.1;
  option broadcast-address 192.168.98.63;
  option domain-name-servers 10.1.1.1;
  option ntp-servers 10.1.1.2;
  option interface-mtu 1500;
  option host-name "192.168-98-11.unknowndomain";
  option domain-name "192.168-98-11.unknowndomain";
  option vendor-encapsulated-options 06:04:00:00:00:08:46:24:33:39:31:32:63:35:39:63:2d:38:66:63:30:2d:34:30:30:64:2d:62:30:35:66:2d:37:62:66:36:32:34:30:35:30:31:38:66;
  next-server 10.0.0.1;
  if substring(option vendor-class-identifier, 0, 10) = "HTTPClient"
    and (substring(option vendor-class-identifier, 16, 5) = "00007" or substring(option vendor-class-identifier, 16, 5) = "00016")
  {
    option vendor-class-identifier "HTTPClient";
    option bootfile-name "http://10.0.0.1:8080/public/blobs/internal/x86_64/ipxe.efi";
  }
  if substring(option vendor-class-identifier, 0, 10) = "HTTPClient"
    and (substring(option vendor-class-identifier, 16, 5) = "00011" or substring(option vendor-class-identifier, 16, 5) = "00019")
  {
    option vendor-class-identifier "HTTPClient";
    option bootfile-name "http://10.0.0.1:8080/public/blobs/internal/aarch64/ipxe.efi";
  }
}
host vlan16-discover { host-identifier option dhcp-message-type 1; fixed-address 192.168.98.11; }
host vlan16-request { host-identifier option dhcp-message-type 3; fixed-address 192.168.98.11; }
"#;
    assert!(text.contains(expected), "{text}");
}

#[test]
fn ports_on_one_vlan_share_a_network() {
    let mut response = response("nvue/docs_example_etv");
    let mut second = response.tenant_interfaces[0].clone();
    second.function_type = 1;
    second.virtual_function_id = Some(0);
    second.ip = "192.168.98.12".into();
    second.fqdn = "second.example.net".into();
    second.mtu = Some(9000);
    response.tenant_interfaces.push(second.clone());
    let pools = &kea(&response)["Dhcp4"]["subnet4"][0]["pools"];
    for (pool, (address, name, mtu)) in pools.as_array().unwrap().iter().zip([
        ("192.168.98.11", "192.168-98-11.unknowndomain", "1500"),
        ("192.168.98.12", "second.example.net", "9000"),
    ]) {
        assert_eq!(pool["pool"], format!("{address} - {address}"));
        let told = ["host-name", "domain-name", "interface-mtu"].map(|name| {
            let options = pool["option-data"].as_array().unwrap();
            options.iter().find(|option| option["name"] == name).unwrap()["data"].as_str().unwrap()
        });
        assert_eq!(told, [name, name, mtu]);
    }
    let text = served(&response, DhcpServer::Dhcpd).config;
    let expected = r#"
  pool {
    range 192.168.98.12;
    option interface-mtu 9000;
    option host-name "second.example.net";
    option domain-name "second.example.net";
  }
  option routers 192.168.98.1;
"#;
    assert!(text.contains(expected) && !text.contains("host vlan16"), "{text}");

    // Neither server listens at one address on two interfaces.
    let (vlan, vni) = (second.vlan_id + 1, second.vni + 1);
    (response.tenant_interfaces[1].vlan_id, response.tenant_interfaces[1].vni) = (vlan, vni);
    let config = NetworkConfig::try_from(&response).unwrap();
    for server in [DhcpServer::Kea, DhcpServer::Dhcpd] {
        let error = render::files(&config, &environment(server, &[]), &Templates::embedded().unwrap()).unwrap_err();
        let fault = "tenant_interfaces[1].prefix: another interface than `vlan17` serves 192.168.98.0/26 already";
        assert_eq!(error.to_string(), fault, "{server:?}");
    }
}

#[test]
fn kea_holds_addresses_only_where_ports_identify_hosts() {
    let environment = Environment {
        dhcp: DhcpSettings { kea_hooks: Some("/hooks".into()), ..environment(DhcpServer::Kea, &[]).dhcp },
        ..Environment::default()
    };
    let kea = |response: &ManagedHostNetworkConfigResponse| match rendered(response, &environment) {
        Dhcp::Serve(files) => serde_json::from_str::<Value>(&files.config).unwrap()["Dhcp4"].clone(),
        other => panic!("not served: {other:?}"),
    };
    let mut response = response("nvue/docs_example_etv");
    let alone = kea(&response);
    assert_eq!(alone["subnet4"][0]["valid-lifetime"], 1);
    let hook = &alone["hooks-libraries"][0];
    assert_eq!(hook["library"], "/hooks/libdhcp_flex_option.so");
    // The client is told a week, to renew after an hour, and to ask anybody after five days.
    let times = [(51, "0x00093a80"), (58, "0x00000e10"), (59, "0x00069780")];
    for (option, (code, time)) in hook["parameters"]["options"].as_array().unwrap().iter().zip(times) {
        assert_eq!((&option["code"], &option["supersede"]), (&code.into(), &time.into()));
    }
    let mut second = response.tenant_interfaces[0].clone();
    second.function_type = 1;
    second.virtual_function_id = Some(0);
    second.ip = "192.168.98.12".into();
    response.tenant_interfaces.push(second);
    assert_eq!(kea(&response)["subnet4"][0].get("valid-lifetime"), None);
}

#[test]
fn addresses_outside_every_network_of_the_port_are_refused() {
    let mut response = response("nvue/docs_example_etv");
    response.tenant_interfaces[0].ip = "192.168.1.1".into();
    let config = NetworkConfig::try_from(&response).unwrap();
    let templates = Templates::embedded().unwrap();
    let error = render::files(&config, &environment(DhcpServer::Kea, &[]), &templates).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tenant_interfaces[0].ip: 192.168.1.1 is neither in the interface's prefix nor in its gateway's"
    );
}

#[test]
fn a_secondary_dpu_and_an_isolated_one_answer_nobody() {
    for server in [DhcpServer::Kea, DhcpServer::Dhcpd, DhcpServer::Nico] {
        let environment = environment(server, &[]);
        let Dhcp::Stop(files) = rendered(&response("nvue/admin_fnn_secondary"), &environment) else {
            panic!("{server:?}")
        };
        let isolated = render::isolated(&environment, None, &Templates::embedded().unwrap()).unwrap();
        let Dhcp::Stop(cut_off) = isolated.dhcp else { panic!("{server:?}") };
        if server == DhcpServer::Nico {
            assert!(files.beside[1].text.contains("autostart = false"), "{}", files.beside[1].text);
            assert!(!cut_off.beside[1].text.contains("program"));
        } else {
            for text in [&files.config, &cut_off.config] {
                assert!(!text.contains("192.168."), "{text}");
            }
        }
        assert!(!isolated.expected.dhcp_served);
    }
    let unmanaged = rendered(&response("nvue/docs_example_etv"), &environment(DhcpServer::None, &[]));
    assert_eq!(unmanaged, Dhcp::Unmanaged);
}
