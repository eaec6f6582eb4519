//! A change whose agent was killed in the middle of it, and the command that is to run once for each change.

use std::time::Duration;

use agent::Agent;

use super::{
    applying::{assert_v1_runs, assert_v2_follows, error, pause, second, version},
    controller::{Controller, admin},
    doubt::assert_told_is_true,
    dpu::{Dpu, running},
};

/// An agent that adds a line to the file `after` for each time that NVUE applied something.
fn counting(dpu: &Dpu) -> Agent {
    let script = format!("echo once >> {}/after", dpu.path().display());
    dpu.agent_with(|settings| settings.hbn.after_apply = vec!["sh".into(), "-c".into(), script])
}

fn count(dpu: &Dpu) -> usize {
    dpu.read("after").unwrap_or_default().lines().count()
}

/// A DPU that runs V1, and whose agent was killed while V2 was on trial and the DHCP server had it already.
async fn killed_on_trial() -> (Controller, Dpu) {
    let (controller, dpu, mut agent) = running().await;
    controller.says(second());
    dpu.write("on-vtysh", "[ -f trial ] && sleep 60");
    assert!(tokio::time::timeout(Duration::from_millis(600), agent.pass()).await.is_err());
    drop(agent);
    dpu.remove("on-vtysh");
    assert!(dpu.read("served").unwrap().contains("198.51.100.50"));
    (controller, dpu)
}

#[tokio::test(flavor = "current_thread")]
async fn nvue_and_dhcp_go_back_together_after_the_agent_was_killed() {
    for (case, step, script) in [
        ("refused by NVUE", "on-apply", "grep -q 192.0.2.12 pending && { echo 'Invalid config [rev_id: 8]'; exit 1; }"),
        ("not taken by NVUE", "on-replace", "grep -q 192.0.2.12 \"$3\" && { echo 'Error: no' >&2; exit 1; }"),
        ("refused by DHCP", "on-dhcp-check", "echo 'syntax error in line 3' >&2; exit 1"),
    ] {
        for went_back in [true, false] {
            let (controller, dpu) = killed_on_trial().await;
            if went_back {
                std::fs::rename(dpu.path().join("former"), dpu.path().join("applied")).unwrap();
                dpu.remove("trial");
            }
            dpu.write(step, script);
            let mut agent = dpu.agent();
            for _ in 0..2 {
                agent.pass().await;
                assert!(error(&controller).contains("the former configuration"), "{case}: {}", error(&controller));
                assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{case}: {}", error(&controller));
                assert_told_is_true(&controller, &dpu, case);
                pause().await;
            }
            dpu.remove(step);
            assert_v2_follows(&controller, &dpu, &mut agent, case).await;
            assert_eq!(dpu.read("state/applied/dhcp-before.json"), None, "{case}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn after_a_kill_dhcp_waits_again_for_an_nvue_of_which_nothing_is_known() {
    let (controller, dpu) = killed_on_trial().await;
    dpu.write("on-apply", "echo 'Unrecoverable internal error'; exit 1");
    let mut agent = dpu.agent();
    agent.pass().await;
    assert_eq!(version(&controller), None, "{}", error(&controller));
    assert_v1_runs(&dpu, "in doubt");
    dpu.remove("on-apply");
    assert_v2_follows(&controller, &dpu, &mut agent, "in doubt").await;
}

#[tokio::test(flavor = "current_thread")]
async fn the_command_after_a_change_runs_once_for_each_change() {
    let (controller, dpu, _) = running().await;
    let mut agent = counting(&dpu);
    agent.pass().await;
    assert_eq!(count(&dpu), 0, "nothing was applied");
    // Refused.
    controller.says(second());
    dpu.write("on-apply", "echo 'Invalid config [rev_id: 8]'; exit 1");
    agent.pass().await;
    assert_eq!(count(&dpu), 0);
    dpu.remove("on-apply");
    // Applied.
    assert_v2_follows(&controller, &dpu, &mut agent, "applied").await;
    agent.pass().await;
    assert_eq!(count(&dpu), 1);
    // Applied by an apply that did not say so.
    dpu.write("on-apply", "put; sleep 60");
    controller.says(admin(1, 11));
    agent.pass().await;
    assert_eq!(count(&dpu), 1);
    dpu.remove("on-apply");
    pause().await;
    agent.pass().await;
    assert_eq!((version(&controller).as_deref(), count(&dpu)), (Some("V1-T1"), 2), "{}", error(&controller));
    // Taken back.
    dpu.write("on-vtysh", "[ -f trial ] && { sed s/Established/Idle/g bgp.json; exit; }");
    controller.says(second());
    agent.pass().await;
    assert_eq!((version(&controller).as_deref(), count(&dpu)), (Some("V1-T1"), 3), "{}", error(&controller));
    dpu.remove("on-vtysh");
    pause().await;
    agent.pass().await;
    assert_eq!((version(&controller).as_deref(), count(&dpu)), (Some("V2-T2"), 4), "{}", error(&controller));
    // Isolated.
    controller.fails(tonic::Code::NotFound);
    agent.pass().await;
    agent.pass().await;
    assert_eq!(count(&dpu), 5);
}

#[tokio::test(flavor = "current_thread")]
async fn the_command_after_a_change_runs_even_if_the_agent_was_killed_before_it() {
    let (controller, dpu, _) = running().await;
    let script = format!("echo once >> {}/after", dpu.path().display());
    let at_once = || {
        dpu.agent_with(|settings| {
            settings.hbn.after_apply = vec!["sh".into(), "-c".into(), script.clone()];
            settings.hbn.confirm = Duration::ZERO;
        })
    };
    let mut agent = at_once();
    agent.pass().await;
    controller.says(second());
    dpu.write("on-dhcp-reload", "sleep 60");
    assert!(tokio::time::timeout(Duration::from_millis(400), agent.pass()).await.is_err());
    drop(agent);
    dpu.remove("on-dhcp-reload");
    assert_eq!(count(&dpu), 0);
    assert!(dpu.read("applied").unwrap().contains("192.0.2.12"));
    let mut agent = at_once();
    agent.pass().await;
    agent.pass().await;
    assert_told_is_true(&controller, &dpu, "killed");
    assert_eq!((version(&controller).as_deref(), count(&dpu)), (Some("V2-T2"), 1));
}

#[tokio::test(flavor = "current_thread")]
async fn what_nvue_runs_already_goes_back_with_a_dhcp_server_that_does_not_follow() {
    let (controller, dpu, _) = running().await;
    // The agent is killed after NVUE took V2 for good, and before the DHCP server did.
    let at_once = || dpu.agent_with(|settings| settings.hbn.confirm = Duration::ZERO);
    let mut agent = at_once();
    agent.pass().await;
    controller.says(second());
    dpu.write("on-apply", "put; sleep 60");
    assert!(tokio::time::timeout(Duration::from_millis(400), agent.pass()).await.is_err());
    drop(agent);
    dpu.remove("on-apply");
    dpu.write("on-dhcp-reload", "grep -q 198.51.100.50 kea.conf && { echo 'no such interface' >&2; exit 1; }");
    let mut agent = at_once();
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{}", error(&controller));
    assert_told_is_true(&controller, &dpu, "DHCP does not follow");
    dpu.remove("on-dhcp-reload");
    assert_v2_follows(&controller, &dpu, &mut agent, "DHCP does not follow").await;
}
