//! What runs is told only where it is proved, whatever NVUE answers and whenever the agent ends.

use std::time::{Duration, SystemTime};

use super::{
    applying::{assert_v1_runs, assert_v2_follows, error, pause, second, version},
    controller::{Controller, admin},
    dpu::{Dpu, running},
};

/// What the controller was last told is what NVUE runs, for good, and the DHCP server with it.
pub(crate) fn assert_told_is_true(controller: &Controller, dpu: &Dpu, case: &str) {
    assert_eq!(dpu.read("trial"), None, "{case}");
    let (loopback, host) = match version(controller).as_deref() {
        Some("V1-T1") => ("192.0.2.11", "198.51.100.49"),
        Some("V2-T2") => ("192.0.2.12", "198.51.100.50"),
        told => panic!("{case}: {told:?} is told: {}", error(controller)),
    };
    assert!(dpu.read("applied").unwrap().contains(loopback), "{case}: NVUE: {}", error(controller));
    assert!(dpu.read("served").unwrap().contains(host), "{case}: DHCP: {}", error(controller));
}

#[tokio::test(flavor = "current_thread")]
async fn an_apply_that_fails_in_strange_words_claims_nothing() {
    for (case, answer) in [
        ("an internal error", "echo 'Unrecoverable internal error'; exit 1"),
        ("a proxy's error", "echo 'Error: 504 Gateway Time-out'; exit 1"),
        ("both yes and no", "printf 'applied [rev_id: 7]\\nError: cannot save\\n'; exit 0"),
        ("a traceback", "printf 'Traceback (most recent call last):\\n  File \"nv\"\\nKeyError: 1\\n'; exit 1"),
        ("another apply", "echo 'Error: another apply is in progress'; exit 1"),
        ("glued words", "echo 'reloadingError: 500'; exit 0"),
        ("a late question", "echo 'Failure during apply. Ignore? [y/N] '; exit 0"),
        ("another question", "echo 'Go on? [y/N] '; exit 0"),
        ("yes, with a bad exit status", "echo 'applied [rev_id: 7]'; exit 1"),
    ] {
        for (done, on_trial) in [(false, false), (true, false), (true, true)] {
            for back in [false, true] {
                let case = format!("{case}, done: {done}, on trial: {on_trial}, back: {back}");
                let (controller, dpu, mut agent) = running().await;
                let put = if done { "put;" } else { "" };
                let trial = if on_trial { "touch trial;" } else { "" };
                dpu.write("on-apply", &format!("{put} {trial} {answer}"));
                controller.says(second());
                agent.pass().await;
                assert_eq!(version(&controller), None, "{case}: {}", error(&controller));
                assert!(!error(&controller).contains("former"), "{case}: {}", error(&controller));
                let applies = dpu.commands().iter().filter(|it| it.contains("config apply")).count();
                assert_eq!(applies, 1, "{case}: not applied at once in another way");
                dpu.remove("on-apply");
                if back {
                    controller.says(admin(1, 11));
                }
                pause().await;
                agent.pass().await;
                assert_eq!(version(&controller).as_deref(), Some(if back { "V1-T1" } else { "V2-T2" }), "{case}");
                assert_told_is_true(&controller, &dpu, &case);
            }
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn what_nvue_could_not_prepare_is_refused() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-apply", "printf 'Failed to prepare to apply\\n  no space left\\n'; exit 1");
    controller.says(second());
    agent.pass().await;
    assert!(error(&controller).contains("the former configuration stays"), "{}", error(&controller));
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"));
    assert!(!dpu.commands().contains(&"nv config apply -y".to_owned()));
    assert_v1_runs(&dpu, "not prepared");
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_is_kept_only_if_nvue_says_so() {
    let none = "Error: There is no configuration to confirm.";
    for (case, script) in [
        ("too late", "rm trial; mv former applied; echo 'confirm_fail [rev_id: 2]'; exit 0".to_owned()),
        ("far too late", format!("rm trial; mv former applied; echo '{none}'; exit 0")),
        ("in other words", "rm trial; mv former applied; echo 'nothing to do'; exit 0".into()),
        ("silence", "exit 0".into()),
        ("silence when done", "rm trial; exit 0".into()),
        ("a revision", "echo 'attached [rev_id: 2]'; exit 0".into()),
        ("slow", "sleep 60".into()),
        ("slow when done", "rm trial; sleep 60".into()),
        ("gone when done", "rm trial; echo 'Error: Could not connect to nvued.'; exit 1".into()),
    ] {
        for code in [0, 1] {
            let (controller, dpu, mut agent) = running().await;
            dpu.write("on-confirm-yes", &script);
            dpu.write("on-confirm-no", &format!("[ -f trial ] || {{ echo '{none}'; exit {code}; }}"));
            controller.says(second());
            agent.pass().await;
            assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{case}: {}", error(&controller));
            assert_told_is_true(&controller, &dpu, case);
            dpu.remove("on-confirm-yes");
            assert_v2_follows(&controller, &dpu, &mut agent, case).await;
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn what_may_be_on_trial_is_not_compared_with() {
    for no in ["exit 0", "echo 'Error: busy'; exit 0", "echo 'Error: Could not connect to nvued.'; exit 1"] {
        let (controller, dpu, mut agent) = running().await;
        dpu.write("on-confirm-yes", "echo 'Error: busy'; exit 0");
        dpu.write("on-confirm-no", no);
        controller.says(second());
        for _ in 0..2 {
            agent.pass().await;
            assert_eq!(version(&controller), None, "{no}: {}", error(&controller));
            assert!(dpu.read("trial").is_some());
            pause().await;
        }
        // Nor by the next agent.
        agent = dpu.agent();
        agent.pass().await;
        assert_eq!(version(&controller), None, "{no}: {}", error(&controller));
        dpu.remove("on-confirm-yes");
        dpu.remove("on-confirm-no");
        assert_v2_follows(&controller, &dpu, &mut agent, no).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_trial_whose_time_is_long_over_holds_nothing_up() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-confirm-yes", "echo 'Error: busy'; exit 0");
    dpu.write("on-confirm-no", "echo 'Error: in words that nobody knows'; exit 1");
    controller.says(second());
    agent.pass().await;
    assert_eq!(version(&controller), None, "{}", error(&controller));
    dpu.remove("on-confirm-yes");
    // NVUE went back by itself.
    std::fs::rename(dpu.path().join("former"), dpu.path().join("applied")).unwrap();
    dpu.remove("trial");
    let note = std::fs::File::options().write(true).open(dpu.path().join("state/applied/on-trial")).unwrap();
    note.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    assert_v2_follows(&controller, &dpu, &mut agent, "over").await;
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_is_compared_while_nvue_is_still_at_work() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-apply", "sleep 60");
    dpu.write("on-revision", "echo '{\"1\": {\"state\": \"applied\"}, \"2\": {\"state\": \"apply\"}}'; exit");
    controller.says(second());
    agent.pass().await;
    controller.says(admin(1, 11));
    pause().await;
    agent.pass().await;
    assert_eq!(version(&controller), None, "V2 may yet come: {}", error(&controller));
    // It came.
    dpu.write("on-revision", "echo '{\"1\": {\"state\": \"applied\"}, \"2\": {\"state\": \"confirm\"}}'; exit");
    dpu.remove("on-apply");
    std::fs::copy(dpu.path().join("applied"), dpu.path().join("former")).unwrap();
    dpu.write("applied", "- set: {}\n");
    dpu.write("trial", "");
    pause().await;
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{}", error(&controller));
    assert_told_is_true(&controller, &dpu, "late");
}

#[tokio::test(flavor = "current_thread")]
async fn revisions_say_whether_there_is_a_trial_where_words_are_not_known() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-confirm-yes", "rm trial; mv former applied; echo 'Error: busy'; exit 1");
    dpu.write("on-confirm-no", "[ -f trial ] || { echo 'Error: in words that nobody knows'; exit 1; }");
    let state = "[ -f trial ] && state=confirm || state=confirm_fail";
    dpu.write("on-revision", &format!("{state}; echo \"{{\\\"2\\\": {{\\\"state\\\": \\\"$state\\\"}}}}\"; exit"));
    controller.says(second());
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{}", error(&controller));
    assert_told_is_true(&controller, &dpu, "unknown words");
    dpu.remove("on-confirm-yes");
    assert_v2_follows(&controller, &dpu, &mut agent, "unknown words").await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_restarted_agent_finds_out_that_the_former_configuration_runs() {
    let (controller, dpu, _) = running().await;
    dpu.write("on-apply", "echo 'Invalid config [rev_id: 8]'; exit 1");
    controller.says(second());
    dpu.agent().pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{}", error(&controller));
    assert_v1_runs(&dpu, "restarted");
    // What cannot be found out is not told.
    dpu.write("on-diff", "echo 'Error: Could not connect to nvued.'; exit 1");
    dpu.agent().pass().await;
    assert_eq!(version(&controller), None, "{}", error(&controller));
    assert!(!error(&controller).contains("former configuration stays"), "{}", error(&controller));
    dpu.remove("on-diff");
    dpu.write("kea.conf", "{}");
    dpu.agent().pass().await;
    assert_eq!(version(&controller), None, "{}", error(&controller));
}

#[tokio::test(flavor = "current_thread")]
async fn where_there_is_no_former_configuration_none_is_said_to_stay() {
    for nv in [None, Some("/nonexistent/nv")] {
        let (controller, uri) = Controller::start().await;
        controller.says(admin(1, 11));
        let dpu = Dpu::new(&uri);
        dpu.write("on-apply", "echo 'Invalid config [rev_id: 1]'; exit 1");
        let mut agent = dpu.agent_with(|settings| {
            if let Some(nv) = nv {
                settings.hbn.nv = vec![nv.into()];
            }
        });
        agent.pass().await;
        assert!(error(&controller).ends_with("there is no former configuration"), "{}", error(&controller));
        assert_eq!(version(&controller), None);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_dhcp_server_that_cannot_listen_anew_is_not_said_to_run() {
    let (controller, dpu, _) = running().await;
    dpu.write("state/applied/boot", "another one");
    dpu.write("on-dhcp-reload", "echo 'no such interface' >&2; exit 1");
    let mut agent = dpu.agent();
    for _ in 0..2 {
        agent.pass().await;
        assert!(error(&controller).contains("no such interface"), "{}", error(&controller));
        assert_eq!(version(&controller), None);
        pause().await;
    }
    dpu.remove("on-dhcp-reload");
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{}", error(&controller));
    assert_told_is_true(&controller, &dpu, "listens");
}

#[tokio::test(flavor = "current_thread")]
async fn a_host_is_cut_off_even_while_a_change_is_in_doubt() {
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-confirm-yes", "echo 'Error: busy'; exit 0");
    dpu.write("on-confirm-no", "echo 'Error: busy'; exit 0");
    controller.says(second());
    agent.pass().await;
    assert!(dpu.read("trial").is_some() && dpu.read("applied").unwrap().contains("198.51.100"));
    controller.fails(tonic::Code::NotFound);
    pause().await;
    agent.pass().await;
    assert!(!dpu.read("applied").unwrap().contains("198.51.100"), "at once");
    assert_eq!(dpu.read("served"), None);
    let runs = || agent::StatusFile::read(&dpu.path().join("state")).unwrap().runs.kind;
    assert_eq!(runs(), "unknown", "NVUE may yet go back");
    dpu.remove("on-confirm-yes");
    dpu.remove("on-confirm-no");
    pause().await;
    agent.pass().await;
    assert_eq!(runs(), "isolated");
    assert!(!dpu.read("applied").unwrap().contains("198.51.100"));
    assert_eq!(dpu.read("trial"), None);
}

#[tokio::test(flavor = "current_thread")]
async fn a_trial_that_nobody_asked_for_is_confirmed() {
    let (controller, dpu, _) = running().await;
    let mut agent = dpu.agent_with(|settings| settings.hbn.confirm = Duration::ZERO);
    agent.pass().await;
    dpu.write("on-apply", "put; touch trial; echo \"confirm [rev_id: $(revision 0)]\"; exit 0");
    controller.says(second());
    agent.pass().await;
    assert_eq!(version(&controller).as_deref(), Some("V2-T2"), "{}", error(&controller));
    assert_told_is_true(&controller, &dpu, "confirmed");
}

/// What a step prints is lost, whatever it does.
const LOST: &str = "exec >/dev/null 2>&1";

#[tokio::test(flavor = "current_thread")]
async fn silence_is_no_proof_that_a_configuration_runs() {
    for (case, steps, script) in [
        ("no difference is printed", vec!["diff"], LOST),
        ("a replacement does nothing", vec!["replace"], "exit 0"),
        ("a replacement is not told of", vec!["replace"], LOST),
        ("what is applied is not told of", vec!["apply"], LOST),
        ("a detachment is not told of", vec!["detach"], LOST),
        ("revisions are not told of", vec!["revision"], LOST),
        ("nothing is printed, nothing is done", vec!["diff", "replace", "apply", "revision"], "exit 0"),
        ("nothing is printed", vec!["diff", "replace", "apply", "revision", "confirm-yes", "confirm-no"], LOST),
    ] {
        for restarted in [false, true] {
            let case = format!("{case}, restarted: {restarted}");
            let (controller, dpu, mut agent) = running().await;
            for step in &steps {
                dpu.write(&format!("on-{step}"), script);
            }
            if restarted {
                agent = dpu.agent();
            }
            controller.says(second());
            for _ in 0..10 {
                agent.pass().await;
                if version(&controller).as_deref() == Some("V2-T2") {
                    assert!(dpu.read("applied").unwrap().contains("192.0.2.12"), "{case}: V2 is told and does not run");
                }
                if version(&controller).as_deref() == Some("V1-T1") {
                    assert_v1_runs(&dpu, &case);
                }
                pause().await;
            }
            for step in &steps {
                dpu.remove(&format!("on-{step}"));
            }
            if version(&controller).as_deref() != Some("V2-T2") {
                assert_v2_follows(&controller, &dpu, &mut agent, &case).await;
            }
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_command_that_is_not_nvue_proves_nothing() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let mut agent = dpu.agent_with(|settings| settings.hbn.nv = vec!["true".into()]);
    for _ in 0..10 {
        agent.pass().await;
        assert_eq!(version(&controller), None);
        assert!(error(&controller).contains("no revision was opened"), "{}", error(&controller));
        pause().await;
    }
    // Nor that a host is cut off.
    controller.fails(tonic::Code::NotFound);
    agent.pass().await;
    assert_eq!(agent::StatusFile::read(&dpu.path().join("state")).unwrap().runs.kind, "nothing");
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_of_somebody_else_is_not_taken_for_ours() {
    // It was left behind by a detachment that keeps revisions, and equals what runs.
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-replace", "exit 0");
    dpu.write("on-detach", "exit 0");
    std::fs::copy(dpu.path().join("applied"), dpu.path().join("pending")).unwrap();
    controller.says(second());
    for _ in 0..3 {
        agent.pass().await;
        assert_eq!(version(&controller).as_deref(), Some("V1-T1"), "{}", error(&controller));
        assert_v1_runs(&dpu, "left behind");
        pause().await;
    }
    // It is another configuration, and applied in place of ours.
    let (controller, dpu, mut agent) = running().await;
    dpu.write("on-replace", "echo 'created [rev_id: 77]'; exit 0");
    dpu.write("on-detach", "exit 0");
    dpu.write("pending", "- set: {}\n");
    controller.says(second());
    agent.pass().await;
    assert_eq!(version(&controller), None, "{}", error(&controller));
    assert!(error(&controller).contains("was applied, not 77"), "{}", error(&controller));
}
