//! The release of HBN, which the agent finds out by itself.

use tonic::Code;

use super::{
    controller::{Controller, admin},
    dpu::Dpu,
};

const CRICTL: &str = r#"
cd "$1"; shift
echo "crictl $*" >> probes
cat "crictl-$1.json"
"#;

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A DPU whose HBN runs in the container of the fixtures, with an image of this tag.
async fn in_container(tag: &str) -> (Controller, Dpu) {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    dpu.write("crictl", CRICTL);
    dpu.write("crictl-ps.json", &fixture("commands/crictl_ps_all.json"));
    dpu.write("crictl-images.json", &images(tag));
    (controller, dpu)
}

fn images(tag: &str) -> String {
    fixture("commands/crictl_images.json").replace("2.3.0-doca2.8.0", tag)
}

fn agent(dpu: &Dpu) -> agent::Agent {
    let path = dpu.path().display().to_string();
    dpu.agent_with(|settings| settings.health.crictl = vec!["sh".into(), format!("{path}/crictl"), path.clone()])
}

/// What was asked about the release since the last look.
fn asked(dpu: &Dpu) -> Vec<String> {
    let probes = dpu.read("probes").unwrap_or_default();
    dpu.write("probes", "");
    // One `crictl ps` of a pass is the probe of the container.
    let about = |line: &&str| line.starts_with("nv show") || line.starts_with("crictl images");
    probes.lines().filter(about).map(str::to_owned).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn the_containers_image_says_it_or_else_nvue() {
    let nvue = "nv show system -o json";
    let crictl = "crictl images -o json";
    for (case, tag, system, port, questions) in [
        ("an image of today", "2.3.0-doca2.8.0", "{}", "pf0hpf_if", &[crictl][..]),
        ("an image of old", "2.2.0-doca2.7.0", r#"{"build": "HBN 3.2.0"}"#, "pf0hpf_sf", &[crictl]),
        ("a tag that is no version", "latest", r#"{"build": "HBN 2.2.0"}"#, "pf0hpf_sf", &[crictl, nvue]),
        (
            "neither",
            "latest",
            r#"{"product-name": "Cumulus Linux", "product-release": "2.2.0"}"#,
            "pf0hpf_if",
            &[crictl, nvue],
        ),
    ] {
        let (controller, dpu) = in_container(tag).await;
        dpu.write("system.json", system);
        let mut agent = agent(&dpu);
        agent.pass().await;
        assert_eq!(asked(&dpu), questions, "{case}");
        assert!(dpu.read("applied").unwrap().contains(&format!("      {port}:\n")), "{case}");
        let told = controller.told();
        assert_eq!(told.network_config_version.as_deref(), Some("V1-T1"), "{case}");
        // The DPU has uplinks of today's names only, and health looks for those of the release.
        let found = told.dpu_health.unwrap().alerts;
        let suffix = port.rsplit('_').next().unwrap();
        let missing: Vec<_> = found.iter().filter_map(|alert| alert.target.clone()).collect();
        let uplinks = [format!("p0_{suffix}"), format!("p1_{suffix}")];
        assert_eq!(missing, if suffix == "sf" { &uplinks[..] } else { &[] }, "{case}");
        for _ in 0..2 {
            agent.pass().await;
        }
        assert_eq!(asked(&dpu), Vec::<String>::new(), "{case}: once is enough");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn without_a_container_nvue_says_it() {
    let (_controller, dpu) = in_container("2.3.0-doca2.8.0").await;
    dpu.write("system.json", r#"{"product-name": "HBN", "product-release": "2.2.0"}"#);
    dpu.agent().pass().await;
    assert_eq!(asked(&dpu), ["nv show system -o json"]);
    assert!(dpu.read("applied").unwrap().contains("pf0hpf_sf"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_configured_release_is_not_asked_for() {
    let (_controller, dpu) = in_container("2.3.0-doca2.8.0").await;
    dpu.agent_with(|settings| settings.hbn.version = Some("2.2.0-doca2.7.0".parse().unwrap())).pass().await;
    assert_eq!(asked(&dpu), Vec::<String>::new());
    assert!(dpu.read("applied").unwrap().contains("pf0hpf_sf"));
}

#[tokio::test(flavor = "current_thread")]
async fn hbn_that_comes_back_as_another_release_is_rendered_for_anew() {
    let (controller, dpu) = in_container("2.2.0-doca2.7.0").await;
    let mut agent = agent(&dpu);
    agent.pass().await;
    assert!(dpu.read("applied").unwrap().contains("pf0hpf_sf"));
    // HBN is updated: for a while only its first container runs.
    dpu.write("crictl-ps.json", &fixture("cases/crictl-restarting.json"));
    controller.fails(Code::Unavailable);
    agent.pass().await;
    agent.pass().await;
    assert!(dpu.read("applied").unwrap().contains("pf0hpf_sf"), "what is not known changes nothing");
    dpu.write("crictl-ps.json", &fixture("commands/crictl_ps_all.json"));
    dpu.write("crictl-images.json", &images("2.3.0-doca2.8.0"));
    agent.pass().await;
    agent.pass().await;
    assert!(dpu.read("applied").unwrap().contains("pf0hpf_if"));
    asked(&dpu);
    agent.pass().await;
    assert_eq!(asked(&dpu), Vec::<String>::new());
}

#[tokio::test(flavor = "current_thread")]
async fn a_release_that_could_not_be_asked_is_asked_for_after_a_failure() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    // NVUE starts after FRR.
    dpu.write("on-diff", "echo 'Error: Could not connect to nvued.' >&2; exit 1");
    let mut agent = dpu.agent();
    agent.pass().await;
    assert!(controller.told().network_config_error.is_some());
    dpu.remove("on-diff");
    dpu.write("system.json", r#"{"build": "HBN 2.2.0"}"#);
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    agent.pass().await;
    assert!(dpu.read("applied").unwrap().contains("pf0hpf_sf"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_release_that_is_too_old_is_said_and_what_runs_stays() {
    let (controller, dpu) = in_container("1.5.0-doca2.2.0").await;
    agent(&dpu).pass().await;
    assert_eq!(dpu.read("applied"), None);
    let told = controller.told();
    let fault = "HBN 1.5.0-doca2.2.0 is too old: files are written for 2.0.0-doca2.5.0 and later";
    assert_eq!(told.network_config_error.as_deref(), Some(fault));
    assert!(told.dpu_health.unwrap().alerts.iter().any(|alert| alert.id == "NetworkConfig"));
}
