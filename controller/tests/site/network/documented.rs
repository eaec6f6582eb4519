//! A site like the one in the protocol's documentation gives its DPU the documented response.

use std::{fs, path::Path};

use controller::{
    InstanceId, Timestamp, VpcId, VpcPrefixId,
    network::{AdminSegment, DesiredInput, Isolation, SiteNetwork, desired_config},
    store::{Bmc, Dpu, Host, Instance, InstanceInterface, PortFunction, Virtualization, Vpc, VpcPrefix},
};
use proto::forge::ManagedHostNetworkConfigResponse;

use crate::support::{dpu, host};

#[test]
fn the_documented_response_comes_from_the_documented_site() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/nvue/docs_example_etv.input.json");
    let documented: ManagedHostNetworkConfigResponse =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut ours = made();
    assert!(ours.instance.is_some() && ours.tenant_interfaces[0].internal_uuid.is_some());
    assert_eq!(ours.admin_interface.as_ref().unwrap().fqdn, "host-1.example.com");

    // What differs on purpose: names of hosts are the site's, the instance and its ids come along, the old name of the
    // virtualization and fields that no agent reads any more are not sent.
    ours.instance = None;
    ours.tenant_interfaces[0].internal_uuid = None;
    ours.admin_interface.as_mut().unwrap().fqdn = "192.168-97-49.example.com".into();
    ours.tenant_interfaces[0].fqdn = "192.168-98-11.unknowndomain".into();
    ours.network_virtualization_type = Some(2);
    ours.remote_id.clone_from(&documented.remote_id);
    ours.deprecated_deny_prefixes.clone_from(&documented.deprecated_deny_prefixes);
    ours.dpu_network_pinger_type.clone_from(&documented.dpu_network_pinger_type);
    assert_eq!(ours, documented);
}

fn made() -> ManagedHostNetworkConfigResponse {
    let site = SiteNetwork {
        asn: 4_294_967_000,
        datacenter_asn: 0,
        loopbacks: "192.168.96.0/24".parse().unwrap(),
        admin: AdminSegment {
            prefix: "192.168.97.0/24".parse().unwrap(),
            gateway: "192.168.97.1".parse().unwrap(),
            vlan: 14,
            vni: 0,
            vpc_vni: 0,
            svi: None,
        },
        vnis: 1..=10,
        vlans: 16..=20,
        route_servers: ["192.168.126.5", "192.168.126.11", "192.168.126.12"].map(|one| one.parse().unwrap()).into(),
        deny_prefixes: vec![],
        site_fabric_prefixes: ["192.168.4.128/26", "192.168.98.0/24", "172.16.205.0/24"]
            .map(|one| one.parse().unwrap())
            .into(),
        anycast_site_prefixes: vec![],
        isolation: Isolation::Mutual,
        virtualization: Virtualization::Etv,
        min_dpu_functioning_links: None,
        dhcp_servers: vec!["192.168.126.2".parse().unwrap()],
        boot_url: None,
        domain: "example.com".into(),
        mtu: None,
        routed: None,
    };
    let vpc = Vpc {
        id: VpcId::random(),
        name: "docs".into(),
        tenant: "docs".into(),
        virtualization: Virtualization::Etv,
        vni: 42,
        prefixes: vec![VpcPrefix {
            id: VpcPrefixId::random(),
            prefix: "192.168.98.0/26".parse().unwrap(),
            ipv6: None,
            vni: 1_025_032,
            vlan: 16,
        }],
        security_group: None,
        peers: vec![],
        created_at: Timestamp::default(),
    };
    let the_host = Host {
        id: host(1),
        name: "host-1".into(),
        mac: String::new(),
        bmc: Bmc::default(),
        added_at: Timestamp::default(),
        desired_network_version: "V3-T1733950583707475".parse().unwrap(),
        use_admin_network: false,
        quarantine: None,
    };
    let the_dpu = Dpu {
        id: dpu(1, 0),
        host: host(1),
        position: 0,
        name: "host-1-dpu0".into(),
        bmc: Bmc::default(),
        oob_mac: String::new(),
        host_interface_id: "3912c59c-8fc0-400d-b05f-7bf62405018f".into(),
    };
    let id: InstanceId = "b4c38910-9319-4bee-ac04-10cabb569a4c".parse().unwrap();
    let instance = Instance {
        id,
        host: host(1),
        tenant: "docs".into(),
        instance_type_id: None,
        config: Default::default(),
        metadata: Default::default(),
        config_version: "V1-T1733950572461281".parse().unwrap(),
        desired_instance_version: "V1-T1733950572461281".parse().unwrap(),
        interfaces: vec![InstanceInterface {
            dpu_position: 0,
            function: PortFunction::Physical,
            vpc: vpc.id,
            prefix: vpc.prefixes[0].id,
            address: "192.168.98.11".parse().unwrap(),
            ipv6: None,
            vrf_loopback: None,
            anycast_prefixes: None,
            internal_uuid: uuid::Uuid::new_v4(),
            device: None,
            device_instance: 0,
        }],
        network_update: None,
        created_at: Timestamp::default(),
        deletion_requested_at: None,
        phone_home_at: None,
    };
    desired_config(DesiredInput {
        site: &site,
        host: &the_host,
        dpu: &the_dpu,
        loopback: "192.168.96.36".parse().unwrap(),
        admin_address: "192.168.97.49".parse().unwrap(),
        asn: None,
        instance: Some(&instance),
        groups: &[],
        vpcs: &[vpc],
    })
}
