//! What runs HBN is looked at from the outside in, and commands reach the container that runs now.

use std::collections::BTreeSet;

use agent::Agent;

use super::{
    controller::{Controller, admin},
    dpu::Dpu,
};

/// A runtime with one container, by the files `id` and `phase`.
const CRICTL: &str = r#"
cd "$1"; shift
case "$1" in
ps) [ -f id ] || { echo '{"containers": []}'; exit; }
    echo "{\"containers\": [{\"id\": \"$(cat id)\", \"metadata\": {\"name\": \"doca-hbn\", \"attempt\": 0},"
    echo "\"state\": \"CONTAINER_$(cat phase)\"}]}" ;;
images) echo '{"images": []}' ;;
exec) [ "$2" = "$(cat id)" ] || { echo "container \"$2\" not found" >&2; exit 1; }
    shift 2; program=$1; shift; exec sh "./$program" "$PWD" "$@" ;;
esac
"#;

const SUPERVISOR: &str = "frr  RUNNING  pid 1, uptime 1:00:00\nnl2doca  RUNNING  pid 2, uptime 1:00:00\n";
const DF: &str = "Filesystem Size Used Avail Use% Mounted on\n/dev/sda1 10G 5G 5G 50% /\n";

/// A healthy DPU whose HBN is container `one`, and its agent, which probes all that there is.
async fn contained() -> (Controller, Dpu, Agent) {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    for (name, text) in [
        ("crictl", CRICTL),
        ("id", "one"),
        ("phase", "RUNNING"),
        ("supervisorctl", "cat \"$1/services\""),
        ("services", SUPERVISOR),
        ("df", DF),
        ("ifreload", "cat \"$1/interfaces\""),
        ("interfaces", ""),
        ("daemons", "bgpd=yes\n"),
        ("frr.conf", &"router bgp 1\n".repeat(10)),
    ] {
        dpu.write(name, text);
    }
    let mut agent = dpu.agent_with(|settings| {
        let place = dpu.path().display().to_string();
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let crictl = words(&["sh", &format!("{place}/crictl"), &place]);
        let inside = |program| [crictl.clone(), words(&["exec", "{container}", program])].concat();
        settings.hbn.nv = inside("nv");
        settings.hbn.vtysh = inside("vtysh");
        settings.hbn.supervisorctl = inside("supervisorctl");
        settings.hbn.root_dir = dpu.path().into();
        settings.hbn.nvue_file = "/nvue.yaml".into();
        settings.health.ifreload = inside("ifreload");
        settings.health.services = words(&["frr", "nl2doca"]);
        settings.health.df = words(&["cat", &format!("{place}/df")]);
        settings.health.files = vec!["/frr.conf".into()];
        settings.health.frr_daemons = Some("/daemons".into());
        settings.health.crictl = crictl;
    });
    let pass = agent.pass().await;
    assert!(pass.healthy, "{:?}", alerts(&controller));
    (controller, dpu, agent)
}

/// Alerts of the last report, by probe and target.
fn alerts(controller: &Controller) -> BTreeSet<String> {
    let health = controller.told().dpu_health.unwrap();
    let name = |alert: proto::health::HealthProbeAlert| match alert.target {
        Some(target) => format!("{} {target}", alert.id),
        None => alert.id,
    };
    health.alerts.into_iter().map(name).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn an_alert_that_explains_the_others_stands_alone() {
    let (controller, dpu, mut agent) = contained().await;
    let frr_conf = format!("FileIsValid {}/frr.conf", dpu.path().display());
    let missing = format!("FileExists {}/frr.conf", dpu.path().display());
    type Change = fn(&Dpu);
    for (case, change, expected, bgp_is_asked) in [
        ("no container", (|dpu| dpu.remove("id")) as Change, &["ContainerExists"][..], false),
        ("a container that starts", |dpu| dpu.write("phase", "CREATED"), &["ContainerExists"], false),
        ("no supervisor", |dpu| dpu.write("services", ""), &["SupervisorctlStatus"], false),
        (
            "a service that stopped",
            |dpu| dpu.write("services", &SUPERVISOR.replacen("RUNNING", "STOPPED", 1)),
            &["ServiceRunning frr"],
            false,
        ),
        ("FRR without BGP", |dpu| dpu.write("daemons", "bgpd=no\n"), &["BgpDaemonEnabled"], false),
        (
            "no session on p0, and a full disk",
            |dpu| {
                dpu.sessions(&[("p0_if", "Active"), ("p1_if", "Established")]);
                dpu.write("df", &DF.replace("50%", "97%"));
            },
            &["BgpPeeringTor p0_if", "DpuDiskUtilizationCritical"],
            true,
        ),
        ("wrong interfaces", |dpu| dpu.write("interfaces", "error: vlan14: no such bridge"), &["Ifreload"], true),
        ("a file cut off", |dpu| dpu.write("frr.conf", "router"), &[&frr_conf], true),
        ("a file that is gone", |dpu| dpu.remove("frr.conf"), &[&missing], true),
    ] {
        change(&dpu);
        dpu.write("probes", "");
        agent.pass().await;
        let found = alerts(&controller);
        assert_eq!(found, expected.iter().map(|&name| name.to_owned()).collect(), "{case}");
        let asked = dpu.read("probes").unwrap().contains("bgp summary");
        assert_eq!(asked, bgp_is_asked, "{case}");
        for (name, text) in [
            ("id", "one"),
            ("phase", "RUNNING"),
            ("services", SUPERVISOR),
            ("df", DF),
            ("interfaces", ""),
            ("daemons", "bgpd=yes\n"),
            ("frr.conf", &"router bgp 1\n".repeat(10)),
        ] {
            dpu.write(name, text);
        }
        dpu.sessions(&[("p0_if", "Established"), ("p1_if", "Established")]);
        agent.pass().await;
        assert_eq!(alerts(&controller), BTreeSet::new(), "after {case}");
        // What HBN runs is looked up once it is back.
        agent.pass().await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn hbn_that_was_started_anew_is_reached_by_its_new_id() {
    let (controller, dpu, mut agent) = contained().await;
    dpu.write("id", "two");
    assert!(agent.pass().await.healthy, "{:?}", alerts(&controller));
    controller.says(admin(2, 12));
    agent.pass().await;
    let told = controller.told();
    assert_eq!(told.network_config_version.as_deref(), Some("V2-T2"), "{:?}", told.network_config_error);
}
