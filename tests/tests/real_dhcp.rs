//! What a host is told by a real DHCP server that runs what the agent rendered: Kea and ISC dhcpd.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::time::{Duration, SystemTime};

use proto::forge::{FlatInterfaceConfig, LastDhcpRequest, ManagedHostNetworkConfigResponse};
use testbed::{
    Binaries, block_until,
    real::{
        AgentProcess, AgentSetup, DhcpService, HostClient, Lab, Lease, Part, ScriptedController, ServerKind,
        admin_answer, missing,
    },
};

const REPORTED: Duration = Duration::from_secs(20);
const PHYSICAL: i32 = 0;
const VIRTUAL: i32 = 1;
/// All that could end a string or a statement in a server's configuration.
const BOOT_URL: &str = r#"http://boot.example.com/a,b;c}/"d"/e\f/'g'/$(h)/ipxe.efi?x=1"#;
const PXE_SERVER: &str = "192.168.126.20";
/// What firmware that boots over HTTP says it is.
const HTTP_BOOT_X86: &str = "HTTPClient:Arch:00016:UNDI:003001";
const HTTP_BOOT_ARM: &str = "HTTPClient:Arch:00019:UNDI:003001";

/// A host with a physical port (VLAN 16) and a virtual one (VLAN 17), behind a DPU with an agent and a DHCP server.
struct Site {
    agent: AgentProcess,
    controller: ScriptedController,
    service: DhcpService,
    lab: Lab,
}

/// A port of the DPU, the host's interface behind it, and the port's address.
const PORTS: [(&str, &str, &str); 3] = [
    ("vlan16", "eth0", "192.168.98.1/26"),
    ("vlan17", "eth1", "192.168.99.1/24"),
    ("vlan14", "eth2", "192.168.97.1/24"),
];

fn connect(lab: &Lab, (port, host, address): (&str, &str, &str)) {
    lab.link(("dpu", port), ("host", host));
    lab.ip("dpu", &format!("addr add {address} dev {port}"));
}

impl Site {
    fn up(kind: ServerKind) -> Self {
        let lab = Lab::new(&["dpu", "host"]);
        // On a DPU these are the SVIs of HBN's bridge, and NVUE gives them their addresses.
        for port in PORTS {
            connect(&lab, port);
        }
        let service = DhcpService::install(&lab, "dpu", kind);
        let controller = ScriptedController::start();
        let setup = AgentSetup {
            controller: controller.url(),
            dhcp: service.section(&["192.168.126.2", "192.168.126.3"], &["192.168.126.9"], PXE_SERVER),
            ..AgentSetup::default()
        };
        let programs = Binaries::ready(false).unwrap();
        Self { agent: AgentProcess::new(&lab, &programs, &setup), controller, service, lab }
    }

    /// Has the agent run a configuration, and waits until it reports that version.
    fn run(&mut self, response: ManagedHostNetworkConfigResponse) {
        let version = response.managed_host_config_version.clone();
        self.controller.wants(response);
        self.controller.wait_for_report(&version, REPORTED, |report| {
            let said = || {
                format!("{report:?}\nthe agent says:\n{}\nthe server says:\n{}", self.agent.log(), self.service.log())
            };
            let runs = report.is_some_and(|report| {
                report.network_config_version.as_ref() == Some(&version) && report.network_config_error.is_none()
            });
            if runs { Ok(()) } else { Err(said()) }
        });
    }

    fn client<'lab>(&'lab self, interface: &'lab str) -> HostClient<'lab> {
        HostClient::new(&self.lab, "host", interface)
    }

    fn lease(&self, interface: &str) -> Lease {
        let answer = self.client(interface).ask();
        answer.unwrap_or_else(|| panic!("no answer on {interface}; the server says:\n{}", self.service.log()))
    }
}

fn told(lease: &Lease, wanted: &[(&str, &str)]) {
    for (name, value) in wanted {
        assert_eq!(lease.get(name), *value, "{name} of {lease:?}");
    }
}

fn port(function_type: i32, vlan_id: u32, network: &str, length: u8, host: u8) -> FlatInterfaceConfig {
    FlatInterfaceConfig {
        function_type,
        vlan_id,
        vni: 1_025_000 + vlan_id,
        vpc_vni: 42,
        gateway: format!("{network}.1/{length}"),
        ip: format!("{network}.{host}"),
        interface_prefix: format!("{network}.{host}/32"),
        prefix: format!("{network}.0/{length}"),
        fqdn: format!("host-{host}.tenant.example.com"),
        is_l2_segment: true,
        ..FlatInterfaceConfig::default()
    }
}

fn admin(version: u64) -> ManagedHostNetworkConfigResponse {
    ManagedHostNetworkConfigResponse {
        enable_dhcp: true,
        host_interface_id: Some("3912c59c-8fc0-400d-b05f-7bf62405018f".into()),
        ..admin_answer(version, port(PHYSICAL, 14, "192.168.97", 24, 49))
    }
}

fn tenant(version: u64, ports: Vec<FlatInterfaceConfig>) -> ManagedHostNetworkConfigResponse {
    ManagedHostNetworkConfigResponse {
        use_admin_network: false,
        tenant_interfaces: ports,
        instance_network_config_version: format!("V{version}-T1733950572461281"),
        vpc_vni: Some(42),
        ..admin(version)
    }
}

/// One site through a host's life: admin network, tenant, changed, secondary DPU, back, forgotten.
fn a_host_is_told_what_the_controller_says(kind: ServerKind) {
    let mut site = Site::up(kind);
    site.controller.wants(admin(1));
    site.agent.start();
    site.run(admin(1));
    let lease = site.lease("eth2");
    told(&lease, &[("ip", "192.168.97.49"), ("subnet", "255.255.255.0"), ("router", "192.168.97.1"), ("mtu", "1500")]);

    if kind == ServerKind::Kea {
        site.controller.wait_for_report("the host's request", REPORTED, |report| {
            let requests = report.map_or(&[][..], |report| &report.last_dhcp_requests);
            let id = |it: &&LastDhcpRequest| it.host_interface_id.as_ref().map(|id| id.value.clone());
            let of_host = requests.first().filter(|it| id(it) == admin(1).host_interface_id);
            let time = of_host.and_then(|request| request.timestamp.parse::<prost_types::Timestamp>().ok());
            let age = time.and_then(|time| SystemTime::try_from(time).ok()?.elapsed().ok());
            age.filter(|age| *age < REPORTED).map(drop).ok_or_else(|| format!("{requests:?}"))
        });
    }

    let physical = FlatInterfaceConfig {
        mtu: Some(9000),
        booturl: Some(BOOT_URL.into()),
        ..port(PHYSICAL, 16, "192.168.98", 26, 11)
    };
    let virtual_port = FlatInterfaceConfig { virtual_function_id: Some(0), ..port(VIRTUAL, 17, "192.168.99", 24, 12) };
    site.run(tenant(2, vec![physical.clone(), virtual_port.clone()]));
    let lease = site.lease("eth0");
    told(
        &lease,
        &[
            ("ip", "192.168.98.11"),
            ("subnet", "255.255.255.192"),
            ("broadcast", "192.168.98.63"),
            ("router", "192.168.98.1"),
            ("dns", "192.168.126.2 192.168.126.3"),
            ("ntpsrv", "192.168.126.9"),
            ("mtu", "9000"),
            ("hostname", "host-11.tenant.example.com"),
            ("domain", "host-11.tenant.example.com"),
            ("lease", "604800"),
            ("siaddr", PXE_SERVER),
        ],
    );
    let lease = site.lease("eth1");
    told(
        &lease,
        &[
            ("ip", "192.168.99.12"),
            ("router", "192.168.99.1"),
            ("mtu", "1500"),
            ("hostname", "host-12.tenant.example.com"),
        ],
    );
    assert!(site.client("eth2").hears_nothing(), "the admin network is not served to a tenant");

    // Firmware that boots over HTTP is another client to the server, and still the same host.
    let firmware =
        site.client("eth0").with_vendor_class(HTTP_BOOT_X86).with_client_id("00112233445566778899aabbccddeeff00");
    told(&firmware.ask().expect("an answer for the firmware"), &[("ip", "192.168.98.11"), ("bootfile", BOOT_URL)]);
    for (class, architecture) in [(HTTP_BOOT_X86, "x86_64"), (HTTP_BOOT_ARM, "aarch64")] {
        let url = format!("http://{PXE_SERVER}:8080/public/blobs/internal/{architecture}/ipxe.efi");
        let lease = site.client("eth1").with_vendor_class(class).ask().expect("an answer for the firmware");
        told(&lease, &[("ip", "192.168.99.12"), ("bootfile", &url)]);
    }

    let changed = FlatInterfaceConfig {
        ip: "192.168.98.13".into(),
        interface_prefix: "192.168.98.13/32".into(),
        mtu: Some(1450),
        fqdn: "renamed.tenant.example.com".into(),
        ..physical
    };
    site.run(tenant(3, vec![changed.clone(), virtual_port]));
    let lease = site.lease("eth0");
    told(&lease, &[("ip", "192.168.98.13"), ("mtu", "1450"), ("hostname", "renamed.tenant.example.com")]);

    site.run(ManagedHostNetworkConfigResponse { is_primary_dpu: false, ..admin(4) });
    for interface in ["eth0", "eth2"] {
        assert!(site.client(interface).hears_nothing(), "a secondary DPU answered on {interface}");
    }

    site.run(tenant(5, vec![changed]));
    told(&site.lease("eth0"), &[("ip", "192.168.98.13")]);
    site.controller.forgets();
    // Nobody is told of it: the controller does not know this DPU.
    block_until("isolated", REPORTED, || match site.agent.runs().as_str() {
        "isolated" => Ok(()),
        other => Err(format!("{other}; the agent says:\n{}", site.agent.log())),
    });
    assert!(site.client("eth0").hears_nothing(), "an isolated DPU answered");
}

/// A host whose network card was exchanged, and that boots with yet another address, is the host of that port.
fn whoever_asks_on_a_port_gets_its_address(kind: ServerKind) {
    let mut site = Site::up(kind);
    let virtual_port = FlatInterfaceConfig { virtual_function_id: Some(0), ..port(VIRTUAL, 17, "192.168.99", 24, 12) };
    let response = tenant(1, vec![port(PHYSICAL, 16, "192.168.98", 26, 11), virtual_port]);
    site.controller.wants(response.clone());
    // The host is off while the server starts.
    site.lab.ip("host", "link set eth0 down");
    site.agent.start();
    site.run(response.clone());
    site.lab.ip("host", "link set eth0 up");
    for card in ["02:00:5e:10:00:01", "02:00:5e:10:00:02", "02:00:5e:10:00:03", "02:00:5e:10:00:01"] {
        site.lab.ip("host", &format!("link set eth0 address {card}"));
        let lease = site.lease("eth0");
        told(&lease, &[("ip", "192.168.98.11"), ("router", "192.168.98.1"), ("lease", "604800")]);
        assert_eq!(
            (lease.get("opt58"), lease.get("opt59")),
            ("00000e10", "00069780"),
            "an hour and five days: {lease:?}"
        );
    }
    told(&site.lease("eth1"), &[("ip", "192.168.99.12"), ("lease", "604800")]);

    // The server may have forgotten it by the time that the host wants to go on with its address.
    let lease = site.client("eth0").renews(Duration::from_secs(3));
    told(&lease, &[("ip", "192.168.98.11"), ("lease", "604800")]);

    // NVUE takes another loopback address, and recreates the ports; for the DHCP server nothing else changes.
    for port in &PORTS[..2] {
        site.lab.ip("dpu", &format!("link del {}", port.0));
        connect(&site.lab, *port);
    }
    let mut response = tenant(2, response.tenant_interfaces);
    response.managed_host_config.as_mut().unwrap().loopback_ip = "192.168.96.37".into();
    site.run(response);
    for (interface, address) in [("eth0", "192.168.98.11"), ("eth1", "192.168.99.12")] {
        told(&site.lease(interface), &[("ip", address)]);
    }
}

/// Two ports on one VLAN are one to the server: it tells them by their MAC addresses, and with an address goes its name.
fn ports_on_one_vlan_have_an_address_each(kind: ServerKind) {
    let mut site = Site::up(kind);
    site.lab.ip("dpu", "link del vlan16");
    site.lab.ip("dpu", "link add vlan16 type bridge");
    for (port, host) in [("pf0hpf_if", "eth0"), ("pf0vf0_if", "eth3")] {
        site.lab.link(("dpu", port), ("host", host));
        site.lab.ip("dpu", &format!("link set {port} master vlan16"));
    }
    site.lab.ip("dpu", "addr add 192.168.98.1/26 dev vlan16");
    site.lab.ip("dpu", "link set vlan16 up");
    let virtual_port = FlatInterfaceConfig { virtual_function_id: Some(0), ..port(VIRTUAL, 16, "192.168.98", 26, 12) };
    let response = tenant(1, vec![port(PHYSICAL, 16, "192.168.98", 26, 11), virtual_port]);
    site.controller.wants(response.clone());
    site.agent.start();
    site.run(response);
    let mut given = ["eth0", "eth3"].map(|interface| {
        let lease = site.lease(interface);
        told(&lease, &[("router", "192.168.98.1"), ("lease", "604800")]);
        let again = site.lease(interface);
        assert_eq!(again.get("ip"), lease.get("ip"), "{interface} keeps its address");
        (lease.get("ip").to_owned(), lease.get("hostname").to_owned())
    });
    given.sort();
    let wanted = [11, 12].map(|host| (format!("192.168.98.{host}"), format!("host-{host}.tenant.example.com")));
    assert_eq!(given, wanted);
}

/// Runs each test with each server.
macro_rules! with_each_server {
    ($($test:ident),* $(,)?) => {
        mod needs_kea {
            $(#[test]
            fn $test() {
                if !super::missing(&[super::Part::Namespaces, super::Part::Kea, super::Part::DhcpClient]) {
                    super::$test(super::ServerKind::Kea);
                }
            })*
        }
        mod needs_dhcpd {
            $(#[test]
            fn $test() {
                if !super::missing(&[super::Part::Namespaces, super::Part::Dhcpd, super::Part::DhcpClient]) {
                    super::$test(super::ServerKind::Dhcpd);
                }
            })*
        }
    };
}

with_each_server! {
    ports_on_one_vlan_have_an_address_each,
    whoever_asks_on_a_port_gets_its_address,
    a_host_is_told_what_the_controller_says,
}
