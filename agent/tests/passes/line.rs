//! From the controller's answer to the report, when all goes well, and what the agent keeps when it does not.

use std::time::Duration;

use proto::forge::{Instance, ManagedHostNetworkConfigResponse};
use tonic::Code;

use super::{
    controller::{Controller, admin},
    dpu::{Dpu, running},
};

#[tokio::test(flavor = "current_thread")]
async fn the_first_pass_configures_and_acknowledges() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(3, 11));
    let dpu = Dpu::new(&uri);
    let mut agent = dpu.agent();
    assert!(agent.pass().await.healthy);
    assert_eq!(
        dpu.commands(),
        [
            "dhcp check",
            "nv config diff",
            "nv config replace DPU/nvue.yaml",
            "nv config diff",
            "nv config apply --confirm 1s -y",
            "dhcp reload",
            "nv config apply --confirm-yes",
        ]
    );
    assert!(dpu.read("applied").unwrap().contains("192.0.2.11"));
    assert!(dpu.read("served").unwrap().contains("198.51.100.49"));
    let told = controller.told();
    assert_eq!(told.network_config_version.as_deref(), Some("V3-T3"));
    assert_eq!(told.network_config_error, None);
    assert_eq!(told.interfaces.len(), 1);
    assert_eq!(told.interfaces[0].addresses, ["198.51.100.49"]);
    let health = told.dpu_health.unwrap();
    assert_eq!(health.source, "forge-dpu-agent");
    assert!(health.alerts.is_empty(), "{:?}", health.alerts);
    let successes: Vec<_> = health.successes.iter().map(|it| (it.id.as_str(), it.target.as_deref())).collect();
    assert_eq!(successes, [("BgpPeeringTor", Some("p0_if")), ("BgpPeeringTor", Some("p1_if")), ("BgpStats", None)]);
}

#[tokio::test(flavor = "current_thread")]
async fn an_unchanged_answer_runs_nothing_and_writes_nothing() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(3, 11));
    let dpu = Dpu::new(&uri);
    let mut agent = dpu.agent();
    agent.pass().await;
    agent.pass().await;
    dpu.commands();
    let written = || {
        let files = ["state/intent.pb", "state/status.json", "state/applied/marker.json", "nvue.yaml", "kea.conf"];
        files.map(|name| std::fs::metadata(dpu.path().join(name)).unwrap().modified().unwrap())
    };
    let before = written();
    dpu.remove("probes");
    for _ in 0..3 {
        agent.pass().await;
    }
    assert_eq!(dpu.commands(), Vec::<String>::new());
    let probes = dpu.read("probes").unwrap();
    assert_eq!(probes.lines().collect::<Vec<_>>(), ["vtysh -c show bgp summary json"; 3], "one probe a pass");
    assert_eq!(written(), before);
    assert_eq!(controller.state().reports.len(), 5);
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_is_alive_only_after_the_wait() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let wait = Duration::from_millis(300);
    let mut agent = dpu.agent_with(|settings| {
        settings.period.post_config_check = wait;
        settings.period.pass = Duration::from_secs(30);
    });
    let pass = agent.pass().await;
    assert!(pass.next_in <= wait, "the end of the wait is reported at once");
    let alert = controller.told().dpu_health.unwrap().alerts.remove(0);
    assert_eq!(alert.id, "PostConfigCheckWait");
    assert_eq!(alert.classifications, ["PreventAllocations", "PreventHostStateChanges"]);
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"));
    tokio::time::sleep(pass.next_in).await;
    assert!(agent.pass().await.healthy);
    // A version alone is no change.
    controller.says(admin(2, 11));
    assert!(agent.pass().await.healthy);
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V2-T2"));
}

#[tokio::test(flavor = "current_thread")]
async fn only_not_found_isolates_and_the_first_good_answer_ends_it() {
    let (controller, dpu, mut agent) = running().await;
    for code in [Code::Unavailable, Code::Internal, Code::Unknown, Code::Unauthenticated, Code::DeadlineExceeded] {
        controller.fails(code);
        dpu.commands();
        agent.pass().await;
        assert_eq!(dpu.commands(), Vec::<String>::new(), "{code:?}");
    }
    let runs = dpu.read("applied").unwrap();
    controller.fails(Code::NotFound);
    let reports = controller.state().reports.len();
    agent.pass().await;
    assert_ne!(dpu.read("applied").unwrap(), runs);
    assert_eq!(dpu.read("served"), None, "no DHCP server answers the host");
    assert_eq!(controller.state().reports.len(), reports, "nothing is told to a site that does not know this DPU");
    dpu.commands();
    agent.pass().await;
    assert_eq!(dpu.commands(), Vec::<String>::new(), "isolating is done once");
    controller.says(admin(1, 11));
    agent.pass().await;
    assert_eq!(dpu.read("applied").unwrap(), runs);
    assert!(dpu.read("served").is_some());
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_restart_without_a_controller_keeps_what_ran() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    dpu.agent().pass().await;
    let runs = dpu.read("applied").unwrap();
    controller.fails(Code::Unavailable);
    for (case, drift) in [("as it was", false), ("somebody changed it", true)] {
        if drift {
            dpu.write("applied", "- set: {}\n");
        }
        dpu.commands();
        let mut agent = dpu.agent();
        agent.pass().await;
        let asked = ["nv config diff", "nv config replace DPU/nvue.yaml", "nv config diff"];
        let commands = dpu.commands();
        assert_eq!(commands[..3], asked, "{case}: NVUE is asked what runs");
        // That there is no difference is believed only where NVUE shows what runs.
        let then: &[&str] = match drift {
            true => &["nv config apply --confirm 1s -y"],
            false => &["nv config diff empty 2", "nv config diff empty applied", "nv config detach"],
        };
        assert_eq!(commands[3..3 + then.len()], *then, "{case}");
        assert_eq!(dpu.read("applied").unwrap(), runs, "{case}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn after_a_boot_the_dhcp_server_looks_for_its_interfaces_once() {
    let (controller, dpu, _) = running().await;
    controller.says(admin(1, 11));
    dpu.write("state/applied/boot", "another one");
    for reloads in [1, 0] {
        dpu.agent().pass().await;
        assert_eq!(dpu.commands().iter().filter(|it| *it == "dhcp reload").count(), reloads);
        assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_restart_while_isolated_stays_isolated() {
    let (controller, dpu, mut agent) = running().await;
    controller.fails(Code::NotFound);
    agent.pass().await;
    let isolated = dpu.read("applied").unwrap();
    controller.fails(Code::Unavailable);
    let mut agent = dpu.agent();
    agent.pass().await;
    assert_eq!(dpu.read("applied").unwrap(), isolated);
    assert_eq!(dpu.read("served"), None);
}

#[tokio::test(flavor = "current_thread")]
async fn an_answer_that_cannot_be_used_keeps_the_last_good_one() {
    let (controller, dpu, mut agent) = running().await;
    let runs = dpu.read("applied").unwrap();
    let mut unknown = admin(2, 12);
    unknown.network_virtualization_type = Some(99);
    let mut empty = admin(3, 12);
    (empty.use_admin_network, empty.admin_interface) = (false, None);
    for (response, field) in [(unknown, "network_virtualization_type"), (empty, "tenant_interfaces")] {
        controller.says(response);
        agent.pass().await;
        agent.pass().await;
        let told = controller.told();
        assert!(told.network_config_error.as_deref().unwrap().contains(field), "{:?}", told.network_config_error);
        assert_eq!(told.network_config_version.as_deref(), Some("V1-T1"), "what runs is V1 still");
        assert_eq!(dpu.read("applied").unwrap(), runs);
    }
    // The bad answer is not what a restart goes on with.
    controller.fails(Code::Unavailable);
    dpu.agent().pass().await;
    assert_eq!(dpu.read("applied").unwrap(), runs);
    controller.says(admin(4, 12));
    agent.pass().await;
    assert_eq!(controller.told().network_config_error, None);
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V4-T4"));
}

#[tokio::test(flavor = "current_thread")]
async fn hbn_that_comes_back_empty_is_configured_again() {
    let (controller, dpu, mut agent) = running().await;
    let runs = dpu.read("applied").unwrap();
    // HBN restarts: it answers nothing for a while, and has forgotten what it ran.
    dpu.write("on-vtysh", "echo 'Exiting: failed to connect to any daemons.' >&2; exit 1");
    dpu.commands();
    agent.pass().await;
    assert_eq!(dpu.commands(), Vec::<String>::new(), "nothing is tried while HBN is away");
    let alerts = controller.told().dpu_health.unwrap().alerts;
    assert!(alerts[0].message.contains("failed to connect to any daemons"), "{alerts:?}");
    dpu.remove("on-vtysh");
    dpu.write("applied", "- set: {}\n");
    agent.pass().await;
    assert_eq!(controller.told().network_config_version, None, "what HBN runs is not known");
    agent.pass().await;
    assert!(dpu.commands().contains(&"dhcp reload".to_owned()), "HBN's interfaces are new ones");
    assert_eq!(dpu.read("applied").unwrap(), runs);
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"));
    dpu.commands();
    agent.pass().await;
    assert_eq!(dpu.commands(), Vec::<String>::new());
}

#[tokio::test(flavor = "current_thread")]
async fn templates_at_fault_keep_what_runs_and_never_keep_a_host_from_being_cut_off() {
    let own = "nvue/isolated.nv.j2";
    for (case, file, text, line) in [
        ("one that does not parse", "nvue/base.nv.j2", "{% if %}", ", line 1"),
        ("one of the DHCP server", "dhcp/kea-dhcp4.json.j2", "{{ networkz }}", ", line 1"),
        ("a name that is not there", own, "evpn enable = {{ evpm }}\n", ", line 1"),
        ("a key that NVUE does not know", own, "evpn enabled = on\n", ", line 1: /evpn/enabled"),
    ] {
        let fault = format!("{file}{line}");
        let (controller, uri) = Controller::start().await;
        controller.says(admin(1, 11));
        let dpu = Dpu::new(&uri);
        dpu.agent().pass().await;
        let runs = dpu.read("applied").unwrap();
        controller.fails(Code::NotFound);
        dpu.agent().pass().await;
        let isolated = dpu.read("applied").unwrap();
        controller.says(admin(1, 11));
        dpu.agent().pass().await;
        assert_eq!(dpu.read("applied").unwrap(), runs, "{case}");

        for directory in ["templates/nvue", "templates/dhcp"] {
            std::fs::create_dir_all(dpu.path().join(directory)).unwrap();
        }
        dpu.write(&format!("templates/{file}"), text);
        let with_templates = || dpu.agent_with(|it| it.templates.dir = Some(dpu.path().join("templates")));
        let mut agent = with_templates();
        agent.pass().await;
        assert_eq!(dpu.read("applied").unwrap(), runs, "{case}");
        controller.fails(Code::NotFound);
        for _ in 0..2 {
            agent.pass().await;
            assert_eq!(dpu.read("applied").unwrap(), isolated, "{case}");
            assert_eq!(dpu.read("served"), None, "{case}");
            let error = agent::StatusFile::read(&dpu.path().join("state")).unwrap().error;
            assert!(error.as_ref().is_some_and(|error| error.contains(&fault)), "{case}: {error:?}");
        }
        // The site that knows the DPU again hears of the fault, if it still matters.
        controller.says(admin(1, 11));
        agent.pass().await;
        let (told, broken) = (controller.told(), !file.contains("isolated"));
        assert_eq!(told.network_config_error.is_some_and(|error| error.contains(&fault)), broken, "{case}");
        assert_eq!(told.network_config_version.as_deref(), Some("V1-T1").filter(|_| !broken), "{case}");
        std::fs::remove_dir_all(dpu.path().join("templates")).unwrap();
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_instances_config_is_acknowledged_once_it_runs() {
    let (controller, uri) = Controller::start().await;
    let dpu = Dpu::new(&uri);
    let says = |version: u64, octet: u8| {
        let instance = Instance { config_version: format!("V{version}-T{version}"), ..Instance::default() };
        controller.says(ManagedHostNetworkConfigResponse { instance: Some(instance), ..admin(version, octet) });
    };
    let told = || controller.told().instance_config_version;
    says(1, 11);
    let mut agent = dpu.agent();
    agent.pass().await;
    assert_eq!(told().as_deref(), Some("V1-T1"));
    dpu.write("on-replace", "echo 'Error: no'; exit 1");
    says(2, 12);
    agent.pass().await;
    assert_eq!(told().as_deref(), Some("V1-T1"), "the second does not run");
    dpu.remove("on-replace");
    agent.retry_now();
    agent.pass().await;
    assert_eq!(told().as_deref(), Some("V2-T2"));
}
