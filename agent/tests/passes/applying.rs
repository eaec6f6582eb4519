//! What becomes of a change that NVUE or the DHCP server does not take.

use super::{
    controller::{Controller, admin},
    dpu::Dpu,
};

/// A DPU that runs V1 with loopback address 192.0.2.11.
async fn running() -> (Controller, Dpu, agent::Agent) {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let mut agent = dpu.agent();
    assert!(agent.pass().await.healthy);
    (controller, dpu, agent)
}

#[tokio::test(flavor = "current_thread")]
async fn a_refusal_leaves_the_former_configuration_whole() {
    for (step, script, reason) in [
        // C45
        ("replace", "echo \"Error: 'set' operation values must not be 'null'.\" >&2; exit 1", "must not be 'null'"),
        // C42: an error with exit status 0.
        (
            "apply",
            "printf 'Invalid config [rev_id: 8]\\n  Config invalid at interface.x: no\\n'; exit 0",
            "interface.x",
        ),
        // C43: a question; nobody answers.
        ("apply", "printf 'Are you sure? [y/N] '; read yes || exit 0", "a question"),
    ] {
        let (controller, dpu, mut agent) = running().await;
        let file = dpu.read("nvue.yaml").unwrap();
        dpu.write(&format!("on-{step}"), script);
        controller.says({
            let mut changed = admin(2, 12);
            changed.admin_interface.as_mut().unwrap().ip = "198.51.100.50".into();
            changed
        });
        let pass = agent.pass().await;
        assert!(!pass.healthy);
        let told = controller.told();
        assert!(told.network_config_error.as_deref().unwrap().contains(reason), "{:?}", told.network_config_error);
        assert_eq!(told.network_config_version.as_deref(), Some("V1-T1"), "V1 runs still");
        assert!(dpu.read("applied").unwrap().contains("192.0.2.11"));
        assert!(dpu.read("served").unwrap().contains("198.51.100.49"), "C70: DHCP does not move alone");
        assert_eq!(dpu.read("nvue.yaml").unwrap(), file, "the former file is back");
        assert!(dpu.read("nvue.yaml.error").unwrap().contains("192.0.2.12"), "the refused one is kept aside");
        dpu.remove(&format!("on-{step}"));
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        agent.pass().await;
        assert_eq!(controller.told().network_config_version.as_deref(), Some("V2-T2"));
        assert!(dpu.read("served").unwrap().contains("198.51.100.50"));
    }
}
