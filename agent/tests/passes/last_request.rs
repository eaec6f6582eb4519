//! When the host last asked for its address, as the site hears of it.

use agent::render::DhcpServer;
use proto::forge::FlatInterfaceConfig;

use super::{
    controller::{Controller, admin},
    dpu::Dpu,
};

const ID: &str = "3912c59c-8fc0-400d-b05f-7bf62405018f";

/// Id and time of each request in the last report.
fn told(controller: &Controller) -> Vec<(String, String)> {
    let requests = controller.told().last_dhcp_requests.into_iter();
    requests.map(|it| (it.host_interface_id.unwrap().value, it.timestamp)).collect()
}

fn lease(address: &str, asked_at: u64) -> String {
    format!("{address},02:00:5e:10:00:21,,604800,{},1,0,0,host-7,0,,0\n", asked_at + 604_800)
}

fn agent(dpu: &Dpu, server: DhcpServer) -> agent::Agent {
    dpu.agent_with(|settings| {
        settings.dhcp.server = server;
        settings.dhcp.requests_file = Some(dpu.path().join("requests"));
    })
}

#[tokio::test(flavor = "current_thread")]
async fn the_newest_request_for_an_address_of_the_host_is_reported() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let mut agent = agent(&dpu, DhcpServer::Kea);
    agent.pass().await;
    assert_eq!(told(&controller), [], "nobody asked");
    let config: serde_json::Value = serde_json::from_str(&dpu.read("served").unwrap()).unwrap();
    let database = &config["Dhcp4"]["lease-database"];
    assert_eq!((&database["persist"], &database["name"]), (&true.into(), &dpu.path().join("requests").to_str().into()));

    let newest = [(ID.to_owned(), "2031-03-22T02:40:00Z".to_owned())];
    let (before, other) = (lease("198.51.100.49", 1_931_900_000), lease("198.51.100.50", 1_932_999_999));
    dpu.write("requests", &(before.clone() + &lease("198.51.100.49", 1_931_913_600) + &other + "198.51.100.49,02:00"));
    dpu.commands();
    agent.pass().await;
    assert_eq!(told(&controller), newest);
    // Kea tidies up, and has not come to an end yet.
    dpu.write("requests.1", &dpu.read("requests").unwrap());
    dpu.write("requests", &before);
    agent.pass().await;
    assert_eq!(told(&controller), newest);
    // It has come to an end, and only the names are to be changed.
    std::fs::rename(dpu.path().join("requests.1"), dpu.path().join("requests.completed")).unwrap();
    agent.pass().await;
    assert_eq!(told(&controller), newest);
    assert_eq!(dpu.commands(), Vec::<String>::new(), "nothing is run for it");

    // A tenant's host asks for other addresses.
    let mut tenant = admin(2, 11);
    tenant.use_admin_network = false;
    let port = |octet: u8, function: Option<u32>| FlatInterfaceConfig {
        function_type: function.map_or(0, |_| 1),
        virtual_function_id: function,
        ip: format!("198.51.100.{octet}"),
        interface_prefix: format!("198.51.100.{octet}/32"),
        ..admin(1, 11).admin_interface.unwrap()
    };
    tenant.tenant_interfaces = vec![port(60, None), port(61, Some(0))];
    controller.says(tenant.clone());
    agent.pass().await;
    assert_eq!(controller.told().network_config_error, None);
    assert_eq!(told(&controller), []);
    dpu.write("requests", &(lease("198.51.100.61", 1_931_913_600) + &lease("198.51.100.60", 1_931_913_599)));
    agent.pass().await;
    assert_eq!(told(&controller), newest);
    tenant.host_interface_id = None;
    controller.says(tenant);
    agent.pass().await;
    assert_eq!(told(&controller), [], "of which interface is not known");
}

#[tokio::test(flavor = "current_thread")]
async fn nicos_server_tells_its_own_way_and_a_stopped_one_is_not_asked() {
    let (controller, uri) = Controller::start().await;
    let dpu = Dpu::new(&uri);
    let mut agent = agent(&dpu, DhcpServer::Nico);
    let other = "00000000-0000-0000-0000-000000000000";
    let text =
        format!(r#"{{"timestamps": {{"{other}": "2031-03-23T00:00:00Z", "{ID}": "2031-03-22T04:40:00+02:00"}}}}"#);
    dpu.write("requests", &text);
    for (case, primary, text, wanted) in [
        ("written", true, &text[..], Some("2031-03-22T02:40:00Z")),
        ("half written", true, &text[..40], None),
        ("emptied", true, "", None),
        ("a secondary DPU", false, &text, None),
    ] {
        controller.says(proto::forge::ManagedHostNetworkConfigResponse { is_primary_dpu: primary, ..admin(1, 11) });
        dpu.write("requests", text);
        agent.pass().await;
        let wanted: Vec<_> = wanted.into_iter().map(|time| (ID.to_owned(), time.to_owned())).collect();
        assert_eq!(told(&controller), wanted, "{case}");
    }
}
