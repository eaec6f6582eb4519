//! A site file is taken whole or not at all, and every fault is named with its line.

use crate::support::{TestSite, dpu, host, new_hosts, site_network, site_text};
use controller::{
    SiteFile, add_hosts,
    network::{RoutedVpcs, SiteNetwork, adopt_settings},
    store::{Store, StoreError, Virtualization},
};

fn faults(text: &str) -> Vec<String> {
    SiteFile::parse("site.yaml", text).unwrap_err().to_string().lines().map(str::to_owned).collect()
}

#[test]
fn all_faults_are_named_at_once() {
    let text = "\
network:
  asn: many
  loopback_prefix: 10.0.0.1/24
  admin: {prefix: 10.0.0.0/16, gateway: 10.1.0.1, vlan: 4095}
  vni_pool: {first: 5, last: 3}
  vlan_pool: {first: 16}
  route_server: []
  deny_prefixes: [10.0.0.0/33]
  vpc_isolation: closed
hosts:
- name: a
- name: A b
  machine_id: fm100
  dpu: []
- oops
";
    assert_eq!(
        faults(text),
        [
            "site.yaml:2: network.asn: `many`: invalid digit found in string",
            "site.yaml:3: network.loopback_prefix: 10.0.0.1/24 has bits beyond its length: did you mean 10.0.0.0/24?",
            "site.yaml:4: network.admin.gateway: 10.1.0.1 is not in 10.0.0.0/16",
            "site.yaml:4: network.admin.vlan: must be 1 to 4094",
            "site.yaml:5: network.vni_pool: 5-3 is no range within 1-16777215",
            "site.yaml:6: network.vlan_pool.last: is missing",
            "site.yaml:7: network.route_server: unknown key, did you mean `route_servers`?",
            "site.yaml:8: network.deny_prefixes: `10.0.0.0/33`: invalid IP address syntax",
            "site.yaml:9: network.vpc_isolation: `closed`: expected mutual or open",
            "site.yaml:11: hosts[0].machine_id: is missing",
            "site.yaml:12: hosts[1].name: `A b` is no DNS label: 1 to 63 of a-z, 0-9 and - (not first or last)",
            "site.yaml:13: hosts[1].machine_id: `fm100` is no machine id: it must be 59 characters long",
            "site.yaml:14: hosts[1].dpu: unknown key, did you mean `dpus`?",
            "site.yaml:15: hosts[2]: expected a mapping",
        ]
    );
}

#[test]
fn pools_that_collide_with_the_admin_segment_are_refused() {
    let text = "\
network:
  asn: 1
  loopback_prefix: 10.0.0.0/24
  admin: {prefix: 10.0.0.0/16, vlan: 20, vni: 7}
  vni_pool: {first: 1, last: 9}
  vlan_pool: {first: 16, last: 30}
";
    assert_eq!(
        faults(text),
        [
            "site.yaml:3: network.loopback_prefix: overlaps with the admin prefix 10.0.0.0/16",
            "site.yaml:5: network.vni_pool: holds a VNI of the admin segment",
            "site.yaml:6: network.vlan_pool: holds the admin VLAN 20",
        ]
    );
}

#[test]
fn a_routed_site_names_all_that_routing_needs() {
    let network = "network:\n  asn: 1\n  loopback_prefix: 10.0.0.0/24\n  admin: {prefix: 10.1.0.0/24, vlan: 20, svi: 10.1.0.1}\n  \
                   vni_pool: {first: 1, last: 9}\n  vlan_pool: {first: 30, last: 39}\n  virtualization: fnn\n";
    assert_eq!(
        faults(network),
        [
            "site.yaml:4: network.admin.svi: must be an address of the prefix beside the gateway's",
            "site.yaml:4: network.admin: needs vni, vpc_vni and svi if virtualization is fnn",
            "site.yaml:7: network.virtualization: fnn needs the settings of `fnn`",
        ]
    );
    let fnn = "  fnn:\n    asn_pool: {first: 0, last: 9}\n    common_internal_route_target: '7'\n";
    let found = faults(&format!("{network}{fnn}"));
    for fault in [
        "site.yaml:9: network.fnn.asn_pool: 0-9 is no range within 1-4294967295",
        "site.yaml:9: network.fnn.vrf_loopback_prefix: is missing",
        "site.yaml:10: network.fnn.common_internal_route_target: `7`: expected ASN:VNI",
    ] {
        assert!(found.iter().any(|line| line == fault), "{found:#?}");
    }
}

#[test]
fn values_that_no_network_could_run_with_are_all_named() {
    let text = "\
network:
  asn: 0
  loopback_prefix: 2001:db8::/64
  admin:
    prefix: 10.0.0.0/24
    gateway: 10.0.0.0
    vlan: 16
    vni: 99999999
    vpc_vni: 7
    svi: 10.0.0.255
  vni_pool: {first: 10000}
  vlan_pool: {}
  boot_url: 'http://10.0.0.9/\"boot'
  domain: 'bad domain; \"x'
  mtu: 1
  fnn:
    asn_pool: {first: 1, last: 9}
    vrf_loopback_prefix: 10.0.0.0/25
    tenant_host_asn: 0
    site_global_vpc_vni: 16777216
";
    assert_eq!(
        faults(text),
        [
            "site.yaml:2: network.asn: 0 is not within 1-4294967295",
            "site.yaml:3: network.loopback_prefix: 2001:db8::/64 is no IPv4 prefix",
            "site.yaml:6: network.admin.gateway: 10.0.0.0 is not one for hosts in 10.0.0.0/24",
            "site.yaml:8: network.admin.vni: 99999999 is not within 0-16777215",
            "site.yaml:10: network.admin.svi: must be an address of the prefix beside the gateway's",
            "site.yaml:11: network.vni_pool.last: is missing",
            "site.yaml:12: network.vlan_pool.first: is missing",
            "site.yaml:12: network.vlan_pool.last: is missing",
            "site.yaml:13: network.boot_url: `http://10.0.0.9/\\\"boot`: no URL: expected the letters that URLs are made \
             of, 255 at most",
            "site.yaml:14: network.domain: `bad domain; \\\"x`: no domain: expected labels of letters, digits and - with \
             dots between, 189 bytes at most",
            "site.yaml:15: network.mtu: 1 is not within 1280-9216",
            "site.yaml:18: network.fnn.vrf_loopback_prefix: overlaps with the admin prefix 10.0.0.0/24",
            "site.yaml:19: network.fnn.tenant_host_asn: 0 is not within 1-4294967295",
            "site.yaml:20: network.fnn.site_global_vpc_vni: 16777216 is not within 1-16777215",
        ]
    );
}

#[test]
fn numbers_and_prefixes_that_stand_for_two_things_are_refused() {
    for (from, to, fault) in [
        ("vlan: 16", "vlan: 16, vni: 9000, vpc_vni: 9000", "network.admin.vpc_vni: 9000 is that of the segment, too"),
        (
            "vrf_loopback_prefix: 10.180.63.0/24",
            "vrf_loopback_prefix: 10.180.62.0/23",
            "network.fnn.vrf_loopback_prefix: overlaps with the loopback prefix 10.180.62.0/24",
        ),
        (
            "vrf_loopback_prefix: 10.180.63.0/24",
            "vrf_loopback_prefix: 10.180.60.0/24",
            "network.fnn.vrf_loopback_prefix: overlaps with the admin prefix 10.180.60.0/24",
        ),
        (
            "tenant_host_asn: 65100",
            "site_global_vpc_vni: 10999",
            "network.fnn.site_global_vpc_vni: 10999 is in vni_pool",
        ),
        (
            "route_servers: [10.180.61.5]",
            "route_servers: [10.180.61.5, 10.180.62.5]",
            "network.loopback_prefix: has the address of the route server 10.180.62.5",
        ),
        (
            "prefix: 10.180.60.0/24",
            "prefix: 10.180.60.0/32",
            "network.admin.prefix: is too small for a gateway and a host",
        ),
    ] {
        let text = site_text(1).replacen(from, to, 1);
        let found = faults(&text);
        assert!(found.len() == 1 && found[0].ends_with(fault), "{to}: {found:#?}");
    }
}

#[test]
fn text_that_is_no_site_file_is_refused() {
    for (text, fault) in [
        ("- a", "site.yaml:1: a site file is a mapping of `network` and `hosts`"),
        ("hosts: []\nhosts: []", "site.yaml:2: key `hosts` is there twice"),
        ("hosts: 5", "site.yaml:1: hosts: expected a list"),
        ("host: []", "site.yaml:1: host: unknown key, did you mean `hosts`?"),
    ] {
        assert_eq!(faults(text), [fault], "{text}");
    }
    assert!(faults("hosts: [").iter().all(|fault| fault.starts_with("site.yaml:")));
}

#[test]
fn passwords_are_never_shown() {
    let text = format!(
        "hosts:\n- name: a\n  machine_id: {}\n  bmc: {{url: 'x://root:secret@h', password: hidden, mac: zz}}\n",
        host(1)
    );
    let shown = faults(&text).join("\n");
    assert!(shown.contains("hosts[0].bmc.mac") && !shown.contains("secret") && !shown.contains("hidden"), "{shown}");
    let store_bmc = controller::store::Bmc { password: "hidden".into(), ..Default::default() };
    assert!(!format!("{store_bmc:?}").contains("hidden"));
}

#[test]
fn an_id_can_be_written_as_in_the_operator_protocol() {
    let text = format!("hosts:\n- name: a\n  machine_id: {{id: {}}}\n", host(1));
    assert_eq!(SiteFile::parse("s", &text).unwrap().hosts[0].machine_id.as_ref().unwrap().id, host(1).to_string());
}

#[tokio::test]
async fn hosts_come_in_all_or_none_and_a_second_time_change_nothing() {
    let store = Store::open("sqlite::memory:").await.unwrap();
    let (hosts, network) = (new_hosts(2), site_network());
    let now = controller::Timestamp::now();
    let counts = add_hosts(&store, Some(&network), &hosts, now).await.unwrap();
    assert_eq!((counts.added, counts.changed, counts.unchanged), (2, 0, 0));
    let counts = add_hosts(&store, Some(&network), &hosts, now).await.unwrap();
    assert_eq!((counts.added, counts.changed, counts.unchanged), (0, 0, 2));

    let mut third = hosts[0].clone();
    third.id = host(3);
    third.name = "host-3".into();
    third.bmc.url = "http://127.0.0.1:3".into();
    third.dpus.truncate(1);
    third.dpus[0].id = dpu(3, 0);
    third.dpus[0].name = "host-3-dpu0".into();
    let mut thief = hosts[1].clone();
    thief.dpus[0].id = dpu(1, 0);
    let refusal = add_hosts(&store, Some(&network), &[third, thief], now).await.unwrap_err();
    assert!(matches!(refusal, StoreError::Taken { what: "DPU", .. }), "{refusal}");
    let mut tx = store.read().await.unwrap();
    assert_eq!(tx.hosts().await.unwrap().len(), 2, "host-3 did not come in alone");
}

#[tokio::test]
async fn changed_networks_are_confirmed_and_fit_what_is_given_out() {
    let store = Store::open("sqlite::memory:").await.unwrap();
    let (hosts, network) = (new_hosts(2), site_network());
    let now = controller::Timestamp::now();
    add_hosts(&store, Some(&network), &hosts, now).await.unwrap();
    let versions = async || {
        let all = store.read().await.unwrap().hosts().await.unwrap();
        all.iter().map(|host| host.desired_network_version.number()).collect::<Vec<_>>()
    };
    for (changed, after) in [(false, [1, 1]), (false, [1, 1])] {
        assert_eq!(adopt_settings(&store, &network, now).await.unwrap(), changed);
        assert_eq!(versions().await, after);
    }
    let more_servers = SiteNetwork { route_servers: vec!["10.180.61.6".parse().unwrap()], ..(*network).clone() };
    assert!(adopt_settings(&store, &more_servers, now).await.unwrap());
    assert_eq!(versions().await, [2, 2]);

    let mut moved = (*network).clone();
    moved.loopbacks = "10.99.0.0/24".parse().unwrap();
    moved.admin.gateway = "10.180.60.2".parse().unwrap();
    let refusal = adopt_settings(&store, &moved, now).await.unwrap_err().to_string();
    assert!(
        refusal.contains(&format!("loopback_prefix: 10.180.62.1 of {} is not in 10.99.0.0/24", dpu(1, 0))),
        "{refusal}"
    );
    assert!(refusal.contains(&format!("admin.gateway: 10.180.60.2 is held by {}", dpu(1, 0))), "{refusal}");
    assert_eq!(versions().await, [2, 2]);
}

#[tokio::test]
async fn settings_that_collide_with_what_is_given_out_are_not_adopted() {
    let site = TestSite::start("sqlite::memory:").await;
    let blue = site.vpc("blue", &["192.0.2.0/24", "2001:db8:2::/64"]).await;
    let green = site.vpc_of(Virtualization::Fnn, "green", &["198.51.100.0/24"]).await;
    site.acknowledge_all(1).await;
    site.rent(1, &green).await;
    let now = controller::Timestamp::now();
    adopt_settings(&site.store, &site.network, now).await.unwrap();
    let (d10, d11) = (dpu(1, 0), dpu(1, 1));
    let instance = site.store.read().await.unwrap().instances().await.unwrap().remove(0).id;
    type Change<'a> = &'a dyn Fn(&mut SiteNetwork, &mut RoutedVpcs);
    let changes: [(Change<'_>, String); 13] = [
        (&|it, _| it.vnis = 20000..=29999, "vni_pool: 10000 of VPC `blue` is not in 20000-29999".into()),
        (&|it, _| it.admin.vni = blue.prefixes[0].vni, "admin.vni: 10001 is that of VPC `blue`".into()),
        (&|it, _| it.admin.vpc_vni = blue.vni, "admin.vpc_vni: 10000 is that of VPC `blue`".into()),
        (
            &|_, fnn| fnn.site_global_vpc_vni = Some(green.vni),
            "fnn.site_global_vpc_vni: 10002 is that of VPC `green`".into(),
        ),
        (&|it, _| it.vlans = 101..=199, "vlan_pool: 100 of VPC `blue` is not in 101-199".into()),
        (&|it, _| it.admin.vlan = 101, "admin.vlan: 101 is that of 198.51.100.0/24 in VPC `green`".into()),
        (
            &|it, _| it.admin.svi = Some("10.180.60.2".parse().unwrap()),
            format!("admin.svi: 10.180.60.2 is held by {d10}"),
        ),
        (
            &|it, _| it.admin.prefix = "10.180.60.0/30".parse().unwrap(),
            format!("admin.prefix: 10.180.60.3 of {d11} is not one for hosts in 10.180.60.0/30"),
        ),
        (
            &|_, fnn| fnn.vrf_loopbacks = "192.0.2.0/24".parse().unwrap(),
            "fnn.vrf_loopback_prefix: 192.0.2.0/24 overlaps with 192.0.2.0/24 of VPC `blue`".into(),
        ),
        (
            &|_, fnn| fnn.vrf_loopbacks = "10.99.0.0/24".parse().unwrap(),
            format!("fnn.vrf_loopback_prefix: 10.180.63.1 of {instance} is not in 10.99.0.0/24"),
        ),
        (
            &|it, _| it.loopbacks = "2001:db8::/32".parse().unwrap(),
            "loopback_prefix: 2001:db8::/32 overlaps with 2001:db8:2::/64 of VPC `blue`".into(),
        ),
        (
            &|it, _| it.loopbacks = "10.180.0.0/16".parse().unwrap(),
            format!("loopback_prefix: 10.180.0.0/16 has 10.180.63.1, which {instance} holds"),
        ),
        (
            &|_, fnn| fnn.asns = 4_200_000_001..=4_200_000_099,
            "fnn.asn_pool: 4200000000 of a DPU is not in 4200000001-4200000099".into(),
        ),
    ];
    for (change, misfit) in changes {
        let mut changed = (*site.network).clone();
        let mut fnn = changed.routed.take().unwrap();
        change(&mut changed, &mut fnn);
        changed.routed = Some(fnn);
        let refusal = adopt_settings(&site.store, &changed, now).await.unwrap_err().to_string();
        assert!(refusal.lines().any(|line| line == misfit), "no `{misfit}` in {refusal}");
    }
    let bridged = SiteNetwork { routed: None, ..(*site.network).clone() };
    let refusal = adopt_settings(&site.store, &bridged, now).await.unwrap_err().to_string();
    assert!(refusal.contains("fnn: is missing, but VPC `green` is routed"), "{refusal}");
    assert!(!adopt_settings(&site.store, &site.network, now).await.unwrap(), "nothing was adopted");
}

#[test]
fn files_that_are_none_and_deep_ones_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    assert!(std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    let stairs: String = (0..3_200).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    std::fs::write(path("stairs"), stairs).unwrap();
    std::fs::write(path("brackets"), "[".repeat(3_200)).unwrap();
    for (file, fault) in [
        (path("fifo"), "cannot be read: it is no regular file"),
        ("/dev/zero".into(), "cannot be read: it is no regular file"),
        (dir.path().to_owned(), "cannot be read: it is no regular file"),
        (path("stairs"), "is nested deeper than 64 levels"),
        (path("brackets"), "is nested deeper than 64 levels"),
    ] {
        let name = file.display().to_string();
        assert_eq!(SiteFile::read(&file).unwrap_err().to_string(), format!("{name}: {fault}"));
        let told = controller::Config::read(&file).unwrap_err().to_string();
        assert!(told.contains(&name), "{told}");
    }
}
