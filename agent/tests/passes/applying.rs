//! What becomes of a change that NVUE or the DHCP server does not take, or takes in a strange way.

use std::time::{Duration, Instant};

use agent::Agent;
use proto::forge::ManagedHostNetworkConfigResponse;
use tonic::Code;

use super::{
    controller::{Controller, admin},
    dpu::{Dpu, running},
};

/// V2: loopback address 192.0.2.12, host address 198.51.100.50.
pub(crate) fn second() -> ManagedHostNetworkConfigResponse {
    let mut changed = admin(2, 12);
    changed.admin_interface.as_mut().unwrap().ip = "198.51.100.50".into();
    changed
}

/// Longer than the pause after a failure.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(60)).await;
}

pub(crate) fn version(controller: &Controller) -> Option<String> {
    controller.told().network_config_version
}

pub(crate) fn error(controller: &Controller) -> String {
    controller.told().network_config_error.unwrap_or_default()
}

pub(crate) fn assert_v1_runs(dpu: &Dpu, case: &str) {
    assert!(dpu.read("applied").unwrap().contains("192.0.2.11"), "{case}: NVUE");
    assert!(dpu.read("served").unwrap().contains("198.51.100.49"), "{case}: DHCP");
}

pub(crate) async fn assert_v2_follows(controller: &Controller, dpu: &Dpu, agent: &mut Agent, case: &str) {
    pause().await;
    let pass = agent.pass().await;
    assert_eq!(version(controller).as_deref(), Some("V2-T2"), "{case}: {}", error(controller));
    assert!(pass.healthy, "{case}");
    assert!(dpu.read("applied").unwrap().contains("192.0.2.12"), "{case}");
    assert!(dpu.read("served").unwrap().contains("198.51.100.50"), "{case}");
    assert_eq!(dpu.read("pending"), None, "{case}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_refusal_leaves_the_former_configuration_whole() {
    for (step, script, reason) in [
        ("replace", "echo \"Error: 'set' operation values must not be 'null'.\" >&2; exit 1", "must not be 'null'"),
        // An error with exit status 0.
        (
            "apply",
            "printf 'Invalid config [rev_id: 8]\\n  Config invalid at interface.x: no\\n'; exit 0",
            "interface.x",
        ),
        // A question; nobody answers.
        ("apply", "printf 'Warning: new name\\n\\nAre you sure? [y/N] '; read yes || exit 0", "a question"),
    ] {
        let (controller, dpu, mut agent) = running().await;
        let file = dpu.read("nvue.yaml").unwrap();
        dpu.write(&format!("on-{step}"), script);
        controller.says(second());
        assert!(!agent.pass().await.healthy);
        assert!(error(&controller).contains(reason), "{}", error(&controller));
        assert!(error(&controller).contains("the former configuration stays"), "{}", error(&controller));
        assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "V1 runs still");
        assert_v1_runs(&dpu, reason);
        assert_eq!(dpu.read("nvue.yaml").unwrap(), file, "the former file is back");
        assert!(dpu.read("nvue.yaml.error").unwrap().contains("192.0.2.12"), "the refused one is kept aside");
        assert_eq!(dpu.read("pending"), None, "nothing of ours is left behind in NVUE");
        dpu.remove(&format!("on-{step}"));
        assert_v2_follows(&controller, &dpu, &mut agent, reason).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_first_configuration_that_is_refused_leaves_no_file_and_no_version() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    dpu.write("on-apply", "echo 'Invalid config [rev_id: 1]'; exit 1");
    dpu.agent().pass().await;
    // An error means no versions, the error's text, and an unhealthy DPU.
    let told = controller.told();
    assert_eq!((told.network_config_version, told.instance_network_config_version), (None, None));
    assert!(told.network_config_error.is_some());
    let alerts = told.dpu_health.unwrap().alerts;
    assert_eq!(alerts.iter().map(|alert| alert.id.as_str()).collect::<Vec<_>>(), ["NetworkConfig"]);
    assert_eq!(dpu.read("nvue.yaml"), None);
    assert_eq!(dpu.read("served"), None);
}

#[tokio::test(flavor = "current_thread")]
async fn an_apply_of_unknown_outcome_claims_nothing_and_looks_first() {
    let gone = "Error: Could not connect to nvued.\\nTo start nvued, use\\n";
    for (case, script, applied) in [
        // NVUE's daemon goes away, before or after the change took effect.
        ("gone before", format!("printf 'reloading{gone}'; exit 1"), false),
        ("gone after", format!("put; printf 'reloading{gone}'; exit 1"), true),
        // It takes too long.
        ("slow before", "sleep 60".into(), false),
        ("slow after", "put; sleep 60".into(), true),
        ("silent", "exit 0".into(), false),
    ] {
        let (controller, dpu, mut agent) = running().await;
        dpu.write("on-apply", &script);
        controller.says(second());
        let begun = Instant::now();
        agent.pass().await;
        assert!(begun.elapsed() < Duration::from_secs(5), "{case}");
        assert_eq!(version(&controller), None, "{case}: {}", error(&controller));
        assert!(error(&controller).contains("not known"), "{case}: {}", error(&controller));
        assert!(dpu.read("served").unwrap().contains("198.51.100.49"), "{case}: DHCP waits for NVUE");
        dpu.remove("on-apply");
        dpu.commands();
        assert_v2_follows(&controller, &dpu, &mut agent, case).await;
        let commands = dpu.commands();
        let applies = commands.iter().filter(|command| command.contains("apply --confirm 1s")).count();
        assert_eq!(applies, usize::from(!applied), "{case}: {commands:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_apply_that_broke_off_is_done_again_even_if_nvue_sees_nothing_to_do() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-apply", "mv pending applied; printf 'Failed to apply [rev_id: 2]\\n  frr did not reload\\n'; exit 1");
    controller.says(second());
    agent.pass().await;
    assert_eq!(version(&controller), None, "{}", error(&controller));
    dpu.remove("on-apply");
    pause().await;
    // Not even a restart forgets it.
    let mut agent = dpu.agent();
    dpu.commands();
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"), "{}", error(&controller));
    assert!(dpu.commands().contains(&"nv config apply 3 -y".to_owned()), "the revision is named");
    agent.pass().await;
    assert_eq!(dpu.commands(), Vec::<String>::new());
}

#[tokio::test(flavor = "current_thread")]
async fn what_runs_already_is_acknowledged_without_an_apply() {
    let (controller, dpu, _) = running().await;
    // An agent without any memory, on a DPU that runs what is wanted.
    std::fs::remove_dir_all(dpu.path().join("state")).unwrap();
    dpu.agent().pass().await;
    let commands = dpu.commands();
    assert!(commands.contains(&"nv config detach".to_owned()));
    assert!(!commands.iter().any(|command| command.contains("apply")), "{commands:?}");
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"));
}

#[tokio::test(flavor = "current_thread")]
async fn secrets_that_nvue_masks_are_applied_once() {
    let (controller, dpu, _) = running().await;
    dpu.write("on-diff", "[ -f pending ] && printf -- \"- set:\\n    system: {aaa: {user: {agent: {hashed-password: '*'}}}}\\n\"; exit 0");
    // What is known to run is not applied again for a mask.
    let mut agent = dpu.agent();
    agent.pass().await;
    agent.pass().await;
    assert!(!dpu.commands().iter().any(|command| command.contains("apply")));
    // A changed secret is only seen as a mask, and must be applied all the same.
    controller.says(second());
    agent.pass().await;
    agent.pass().await;
    let applies = dpu.commands().iter().filter(|command| command.contains("apply --confirm 1s")).count();
    assert_eq!(applies, 1);
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_of_a_stranger_is_detached_first() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("pending", "- set: {system: {hostname: stranger}}\n");
    controller.says(second());
    agent.pass().await;
    let commands = dpu.commands();
    let nv: Vec<&str> = commands.iter().map(String::as_str).filter(|it| it.starts_with("nv")).collect();
    assert_eq!(nv[..3], ["nv config diff", "nv config detach", "nv config replace DPU/nvue.yaml"]);
    assert!(!dpu.read("applied").unwrap().contains("stranger"));
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"));
}

#[tokio::test(flavor = "current_thread")]
async fn dhcp_and_nvue_move_together_or_not_at_all() {
    for (step, script, reason) in [
        ("check", "echo 'syntax error in line 3' >&2; exit 1", "syntax error in line 3"),
        ("reload", "grep -q 198.51.100.50 kea.conf && { echo 'no such interface' >&2; exit 1; }", "no such interface"),
    ] {
        let (controller, dpu, mut agent) = running().await;
        let file = dpu.read("kea.conf").unwrap();
        dpu.write(&format!("on-dhcp-{step}"), script);
        controller.says(second());
        agent.pass().await;
        assert!(error(&controller).contains(reason), "{}", error(&controller));
        assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{reason}");
        assert_v1_runs(&dpu, reason);
        assert_eq!(dpu.read("kea.conf").unwrap(), file, "{reason}");
        dpu.remove(&format!("on-dhcp-{step}"));
        assert_v2_follows(&controller, &dpu, &mut agent, reason).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn the_dhcp_server_listens_anew_whenever_nvue_changed() {
    let (controller, dpu, mut agent) = running().await;
    // Another loopback address; nothing of it is in the DHCP server's file.
    controller.says(admin(2, 12));
    agent.pass().await;
    let after_apply = |dpu: &Dpu| {
        let commands = dpu.commands();
        let apply = commands.iter().position(|it| it.contains("apply --confirm 1s")).unwrap();
        commands[apply + 1..].to_vec()
    };
    assert_eq!(after_apply(&dpu), ["dhcp reload", "nv config apply --confirm-yes"]);
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"));
    // A change that is taken back makes interfaces anew a second time.
    dpu.write("on-apply", "sed -i s/Established/Idle/g bgp.json");
    controller.says(admin(3, 13));
    agent.pass().await;
    assert_eq!(after_apply(&dpu), ["dhcp reload", "nv config apply --confirm-no", "dhcp reload"]);
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_dhcp_server_that_is_to_stop_goes_on_while_nvue_refuses_the_change() {
    let (controller, dpu, mut agent) = running().await;
    let mut secondary = second();
    secondary.is_primary_dpu = false;
    controller.says(secondary);
    for (step, script) in [
        ("on-apply", "printf 'Invalid config [rev_id: 8]\n'; exit 1"),
        ("on-dhcp-stop", "rm served; echo 'cannot stop' >&2; exit 1"),
        ("on-confirm-yes", "echo 'Error: no' >&2; exit 1"),
    ] {
        dpu.write(step, script);
        agent.pass().await;
        assert!(error(&controller).contains("the former configuration"), "{step}: {}", error(&controller));
        assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{step}");
        assert_v1_runs(&dpu, step);
        dpu.remove(step);
        pause().await;
    }
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"), "{}", error(&controller));
    assert_eq!(dpu.read("served"), None);
}

#[tokio::test(flavor = "current_thread")]
async fn other_content_under_the_same_version_is_applied() {
    let (controller, dpu, mut agent) = running().await;
    let mut changed = second();
    changed.managed_host_config_version = "V1-T1".into();
    controller.says(changed);
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"));
    assert!(dpu.read("served").unwrap().contains("198.51.100.50"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_dhcp_file_that_somebody_changed_is_put_right() {
    let (_controller, dpu, mut agent) = running().await;
    dpu.write("kea.conf", "{}");
    agent.pass().await;
    assert_eq!(dpu.commands(), ["dhcp check", "dhcp reload"]);
    assert_v1_runs(&dpu, "put right");
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_that_cuts_the_dpu_off_is_taken_back() {
    let down = |name: &str| {
        format!("sed -i 's/\"{name}\": {{\"state\": \"Established\"/\"{name}\": {{\"state\": \"Idle\"/g' bgp.json")
    };
    for (uplink, reason) in [("p0_if", "no BGP session on p0_if"), ("p1_if", "no BGP session on p1_if")] {
        let (controller, dpu, mut agent) = running().await;
        dpu.write("on-apply", &down(uplink));
        dpu.write("on-confirm-no", "rm on-apply; sed -i 's/Idle/Established/g' bgp.json");
        controller.says(second());
        agent.pass().await;
        assert!(error(&controller).contains(reason), "{}", error(&controller));
        assert!(error(&controller).contains("the former configuration is back"), "{}", error(&controller));
        assert_eq!(version(&controller).as_deref(), Some("V1-T1"));
        assert_v1_runs(&dpu, reason);
        dpu.remove("on-confirm-no");
        assert_v2_follows(&controller, &dpu, &mut agent, reason).await;
    }
    // An uplink that was down before need not be up after.
    let (controller, dpu, mut agent) = running().await;
    dpu.sessions(&[("p0_if", "Established"), ("p1_if", "Idle")]);
    controller.says(second());
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"), "{}", error(&controller));
}

#[tokio::test(flavor = "current_thread")]
async fn a_trial_that_outlived_its_agent_is_taken_back_first() {
    let (controller, dpu, mut agent) = running().await;
    controller.says(second());
    // The agent is ended while the change is on trial.
    dpu.write("on-vtysh", "[ -f trial ] && sleep 60");
    let cut = tokio::time::timeout(Duration::from_millis(500), agent.pass()).await;
    assert!(cut.is_err());
    drop(agent);
    dpu.remove("on-vtysh");
    assert!(dpu.read("trial").is_some());
    controller.fails(Code::Unavailable);
    dpu.commands();
    let mut agent = dpu.agent();
    agent.pass().await;
    assert!(dpu.commands().contains(&"nv config apply --confirm-no".to_owned()));
    controller.says(second());
    pause().await;
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"), "{}", error(&controller));
    assert!(dpu.read("served").unwrap().contains("198.51.100.50"));
    assert_eq!(dpu.read("trial"), None);
}

#[tokio::test(flavor = "current_thread")]
async fn a_release_without_trials_applies_at_once() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-apply", "[ \"$3\" = --confirm ] && { echo 'Error: Invalid option: --confirm' >&2; exit 1; }");
    controller.says(second());
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"), "{}", error(&controller));
    assert!(dpu.commands().contains(&"nv config apply -y".to_owned()));
}

#[tokio::test(flavor = "current_thread")]
async fn isolating_goes_as_far_as_it_can() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-dhcp-stop", "exit 1");
    controller.fails(Code::NotFound);
    agent.pass().await;
    assert!(!dpu.read("applied").unwrap().contains("198.51.100"), "NVUE cuts the host off though DHCP does not stop");
    dpu.remove("on-dhcp-stop");
    pause().await;
    agent.pass().await;
    assert_eq!(dpu.read("served"), None);
    dpu.commands();
    agent.pass().await;
    assert_eq!(dpu.commands(), Vec::<String>::new());
}

#[tokio::test(flavor = "current_thread")]
async fn a_password_that_nvue_quotes_is_not_told_on() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-apply", "printf 'Invalid config [rev_id: 8]\\n  password hunter22 is too weak\\n'; exit 1");
    let mut secret = second();
    secret.bgp_leaf_session_password = Some("hunter22".into());
    controller.says(secret);
    agent.pass().await;
    let told = format!("{:?}", controller.told());
    assert!(told.contains("password *** is too weak") && !told.contains("hunter22"), "{told}");
    assert!(!dpu.read("state/status.json").unwrap().contains("hunter22"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_that_keeps_failing_is_tried_less_and_less() {
    let (controller, dpu, _) = running().await;
    let mut agent = dpu.agent_with(|settings| settings.period.longest_backoff = Duration::from_secs(60));
    agent.pass().await;
    dpu.write("on-apply", "echo 'Invalid config [rev_id: 8]'; exit 1");
    controller.says(second());
    dpu.commands();
    let begun = Instant::now();
    let mut tries = 0;
    while begun.elapsed() < Duration::from_millis(1500) {
        agent.pass().await;
        tries += dpu.commands().iter().filter(|command| command.contains("replace")).count();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!((3..=6).contains(&tries), "{tries}");
    assert!(error(&controller).contains("NVUE refused"), "the error stays while nothing is tried");
    // A person who fixed it need not wait.
    dpu.remove("on-apply");
    agent.retry_now();
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"));
}
