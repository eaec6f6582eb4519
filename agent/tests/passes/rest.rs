//! NVUE by its REST interface.

use std::{fs, time::Duration};

use hyper::Method;
use serde_json::{Value, json};

use super::{
    controller::admin,
    nvue_rest::{LOST, Site, self_signed},
};

#[tokio::test(flavor = "current_thread")]
async fn a_revision_is_applied_when_it_says_so() {
    let site = Site::new().await;
    let sequence =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/cases/revision-poll-sequence.json"));
    let sequence: Vec<Value> = serde_json::from_str(&sequence.unwrap()).unwrap();
    let looks = sequence.iter().map(|it| (it["http"].as_u64().unwrap().try_into().unwrap(), it["body"].clone()));
    site.nvue.state().looks = looks.collect();
    site.agent().pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    let health = site.controller.told().dpu_health.unwrap();
    assert!(health.successes.iter().any(|success| success.id == "NvueApiRunning"));
    assert!(site.nvue.state().looks.is_empty(), "all looks were taken");
    assert!(site.runs("192.0.2.11"));
    assert!(site.nvue.state().requests.iter().all(|request| !request.contains("changeset/")), "ids are escaped");
    assert_eq!(site.dpu.commands(), ["dhcp check", "dhcp reload"], "`nv` is not run");
}

#[tokio::test(flavor = "current_thread")]
async fn what_runs_already_is_dropped_and_acknowledged() {
    let site = Site::new().await;
    site.agent().pass().await;
    let orders =
        |site: &Site| site.nvue.state().requests.iter().filter(|it| it.starts_with("PATCH /nvue_v1/rev")).count();
    assert_eq!(orders(&site), 1);
    // An agent without a memory. A revision that equals the applied one never becomes applied: nobody may wait for it.
    fs::remove_dir_all(site.dpu.path().join("state")).unwrap();
    site.nvue.state().looks = vec![(200, json!({ "state": "pending" })); 100].into();
    site.agent().pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    assert_eq!(orders(&site), 1);
    assert_eq!(site.nvue.state().revisions.len(), 1, "the second revision is dropped");
}

#[tokio::test(flavor = "current_thread")]
async fn each_end_of_a_revision_has_its_outcome() {
    let issue = json!({ "progress": "Invalid config", "issue": { "0": { "message": "vlan 14 is no vlan" } } });
    let broken = json!({ "progress": "Failure during apply. Ignore?", "issue": {} });
    let error = json!({ "progress": "", "issue": {
        "0": { "severity": "warning", "message": "a name is new" },
        "1": { "severity": "error", "message": "frr did not reload" },
    } });
    for (case, look, wanted, keeps) in [
        ("refused", json!({ "state": "invalid", "transition": issue }), "vlan 14 is no vlan", true),
        ("broken off", json!({ "state": "ignore_fail", "transition": broken }), "Failure during apply", false),
        ("applied with an error", json!({ "state": "applied", "transition": error }), "frr did not reload", false),
        ("saved with an error", json!({ "state": "applied_and_saved", "transition": error }), "frr did not", false),
        ("an error on the way", json!({ "state": "apply", "transition": error }), "frr did not reload", false),
    ] {
        let site = Site::new().await;
        let mut agent = site.agent();
        agent.pass().await;
        site.controller.says(admin(2, 12));
        site.nvue.state().looks = vec![(200, look)].into();
        agent.pass().await;
        assert!(site.error().contains(wanted), "{case}: {}", site.error());
        assert_eq!(site.version().as_deref(), Some("V1-T1").filter(|_| keeps), "{case}");
        tokio::time::sleep(Duration::from_millis(60)).await;
        agent.pass().await;
        assert_eq!(site.version().as_deref(), Some("V2-T2"), "{case}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_that_never_ends_is_of_unknown_outcome() {
    let site = Site::new().await;
    site.nvue.state().looks = vec![(200, json!({ "state": "apply" })); 100].into();
    let mut agent = site.agent_with(|settings| settings.hbn.command_timeout = Duration::from_millis(1200));
    agent.pass().await;
    assert!(site.error().contains("not known"), "{}", site.error());
    assert_eq!(site.version(), None);
    // It was applied after all: the next try finds no difference.
    site.nvue.state().looks.clear();
    tokio::time::sleep(Duration::from_millis(60)).await;
    agent.pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_on_trial_is_kept_or_taken_back() {
    let site = Site::new().await;
    let mut agent = site.agent_with(|settings| settings.hbn.confirm = Duration::from_secs(1));
    agent.pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    assert!(!site.nvue.state().trial);
    site.controller.says(admin(2, 12));
    // The uplinks go down with the change.
    site.dpu.write("on-vtysh", "[ -f down ] && { sed s/Established/Idle/g bgp.json; exit; }; touch down");
    agent.pass().await;
    assert!(site.error().contains("cut the DPU off"), "{}", site.error());
    assert_eq!(site.version().as_deref(), Some("V1-T1"));
    assert!(site.runs("192.0.2.11"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_release_without_trials_applies_at_once() {
    let site = Site::new().await;
    site.nvue.state().knows_no_trials = true;
    site.agent_with(|settings| settings.hbn.confirm = Duration::from_secs(1)).pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    assert!(site.runs("192.0.2.11"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_trial_that_outlived_its_agent_is_taken_back_first() {
    let site = Site::new().await;
    let agent = || site.agent_with(|settings| settings.hbn.confirm = Duration::from_secs(1));
    let mut first = agent();
    first.pass().await;
    site.controller.says(admin(2, 12));
    // The agent is ended while it proves the change.
    site.dpu.write("on-vtysh", "[ -f asked ] && sleep 60; touch asked");
    assert!(tokio::time::timeout(Duration::from_secs(2), first.pass()).await.is_err());
    drop(first);
    assert!(site.nvue.state().trial && site.runs("192.0.2.12"));
    site.dpu.remove("on-vtysh");
    agent().pass().await;
    assert_eq!(site.nvue.state().taken_back, 1);
    assert!(!site.nvue.state().trial && site.runs("192.0.2.12"), "applied anew, and kept");
    assert_eq!(site.version().as_deref(), Some("V2-T2"), "{}", site.error());
}

#[tokio::test(flavor = "current_thread")]
async fn it_says_what_release_of_hbn_this_is() {
    let site = Site::new().await;
    site.nvue.state().build = Some("HBN 2.2.0");
    site.agent().pass().await;
    assert!(site.nvue.state().applied["interface"].get("pf0hpf_sf").is_some());
}

#[tokio::test(flavor = "current_thread")]
async fn nobody_else_is_taken_for_nvue() {
    for (case, file, text, wanted) in [
        ("another certificate", "nvue.pem", self_signed().0, "another certificate"),
        ("another password", "password", "guess".into(), "user agent may not do that"),
        ("no certificate", "nvue.pem", String::new(), "nvue.pem"),
    ] {
        let site = Site::new().await;
        site.dpu.write(file, &text);
        site.agent().pass().await;
        assert!(site.error().contains(wanted), "{case}: {}", site.error());
        assert_eq!(site.nvue.state().applied, Value::Null, "{case}");
        assert!(!format!("{:?}", site.controller.told()).contains("guess"), "{case}");
    }
}

/// A site with changes on trial that runs V1, and is told to run V2.
async fn changing(orders: &[(bool, u16)], trial: Duration) -> (Site, agent::Agent) {
    let site = Site::new().await;
    let mut agent = site.agent_with(|settings| {
        settings.hbn.confirm = trial;
        settings.hbn.command_timeout = Duration::from_millis(900);
    });
    agent.pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    site.controller.says(admin(2, 12));
    site.nvue.state().orders = orders.iter().copied().collect();
    (site, agent)
}

fn orders(site: &Site) -> usize {
    site.nvue.state().requests.iter().filter(|it| it.starts_with("PATCH /nvue_v1/rev")).count()
}

#[tokio::test(flavor = "current_thread")]
async fn an_order_without_a_good_answer_is_of_unknown_outcome() {
    for trial in [Duration::ZERO, Duration::from_secs(1)] {
        for (done, status) in
            [(true, 500), (false, 500), (true, LOST), (false, LOST), (true, 502), (false, 504), (true, 408)]
        {
            let case = format!("{trial:?}, done: {done}, status: {status}");
            for back in [false, true] {
                let (site, mut agent) = changing(&[(done, status)], trial).await;
                agent.pass().await;
                assert_eq!(site.version(), None, "{case}: {}", site.error());
                assert!(site.error().contains("not known"), "{case}: {}", site.error());
                if back {
                    site.controller.says(admin(1, 11));
                }
                tokio::time::sleep(Duration::from_millis(60)).await;
                agent.pass().await;
                let wanted = if back { ("V1-T1", "192.0.2.11") } else { ("V2-T2", "192.0.2.12") };
                assert_eq!(site.version().as_deref(), Some(wanted.0), "{case}: {}", site.error());
                assert!(site.runs(wanted.1) && !site.nvue.state().trial, "{case}");
            }
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_is_kept_only_if_nvue_says_so() {
    for (done, status) in [(true, 500), (false, 500), (true, LOST), (false, LOST), (false, 404), (true, 502)] {
        let case = format!("done: {done}, status: {status}");
        let (site, mut agent) = changing(&[(true, 200), (done, status)], Duration::from_secs(1)).await;
        agent.pass().await;
        let wanted = if done { ("V2-T2", "192.0.2.12") } else { ("V1-T1", "192.0.2.11") };
        assert_eq!(site.version().as_deref(), Some(wanted.0), "{case}: {}", site.error());
        assert!(site.runs(wanted.1) && !site.nvue.state().trial, "{case}");
        tokio::time::sleep(Duration::from_millis(60)).await;
        agent.pass().await;
        assert_eq!(site.version().as_deref(), Some("V2-T2"), "{case}: {}", site.error());
        assert!(site.runs("192.0.2.12") && !site.nvue.state().trial, "{case}");
    }
    // Neither kept nor taken back, as far as anybody can tell: nothing is told until it is.
    let (site, mut agent) =
        changing(&[(true, 200), (false, 500), (false, 500), (false, 500)], Duration::from_secs(1)).await;
    agent.pass().await;
    assert_eq!(site.version(), None, "{}", site.error());
    tokio::time::sleep(Duration::from_millis(60)).await;
    agent.pass().await;
    assert_eq!(site.nvue.state().taken_back, 1, "what is on trial is not compared with");
    assert_eq!(site.version().as_deref(), Some("V2-T2"), "{}", site.error());
    assert!(!site.nvue.state().trial);
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_whose_warnings_are_answered_is_not_applied_yet() {
    for trial in [Duration::ZERO, Duration::from_secs(1)] {
        let (site, mut agent) = changing(&[], trial).await;
        site.nvue.state().looks = vec![(200, json!({ "state": "ays" }))].into();
        agent.pass().await;
        assert_eq!(site.version().as_deref(), Some("V2-T2"), "{}", site.error());
        assert!(site.runs("192.0.2.12"));
        // It never gets over it, and does not say that it is in force.
        site.controller.says(admin(3, 13));
        site.nvue.state().difference = Some(json!({ "evpn": { "enable": "on" } }));
        site.nvue.state().looks = vec![(200, json!({ "state": "ays" })); 100].into();
        agent.pass().await;
        assert_eq!(site.version(), None, "{}", site.error());
        // As long as it is under way, nothing is compared.
        site.controller.says(admin(2, 12));
        tokio::time::sleep(Duration::from_millis(60)).await;
        agent.pass().await;
        assert_eq!(site.version(), None, "{}", site.error());
        site.nvue.state().looks.clear();
        site.nvue.state().difference = None;
        tokio::time::sleep(Duration::from_millis(60)).await;
        agent.pass().await;
        assert_eq!(site.version().as_deref(), Some("V2-T2"), "{}", site.error());
        assert!(site.runs("192.0.2.12"));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_trial_may_be_told_as_a_question_too() {
    let (site, mut agent) = changing(&[], Duration::from_secs(1)).await;
    site.nvue.state().trial_asks = true;
    agent.pass().await;
    assert_eq!(site.version().as_deref(), Some("V2-T2"), "{}", site.error());
    site.controller.says(admin(3, 13));
    site.dpu.write("on-vtysh", "[ -f down ] && { sed s/Established/Idle/g bgp.json; exit; }; touch down");
    agent.pass().await;
    assert_eq!(site.version().as_deref(), Some("V2-T2"), "{}", site.error());
    assert!(site.runs("192.0.2.12") && !site.nvue.state().trial);
}

#[tokio::test(flavor = "current_thread")]
async fn a_refused_order_is_not_given_again_without_a_trial() {
    let (site, mut agent) = changing(&[(false, 409)], Duration::from_secs(1)).await;
    let before = orders(&site);
    agent.pass().await;
    assert_eq!(orders(&site), before + 1, "{}", site.error());
    assert!(site.error().contains("the former configuration stays"), "{}", site.error());
    assert_eq!(site.version().as_deref(), Some("V1-T1"));
    assert!(site.runs("192.0.2.11"));
}

#[tokio::test(flavor = "current_thread")]
async fn an_answer_that_is_no_difference_is_not_taken_for_an_empty_one() {
    let (site, mut agent) = changing(&[], Duration::ZERO).await;
    site.nvue.state().difference = Some(json!("<html>"));
    agent.pass().await;
    assert!(site.error().contains("not understood"), "{}", site.error());
    assert_eq!(site.version().as_deref(), Some("V1-T1"));
}

#[tokio::test(flavor = "current_thread")]
async fn an_empty_answer_is_no_proof_that_a_configuration_runs() {
    for shown in [json!({}), Value::Null, json!("")] {
        let (site, mut agent) = changing(&[], Duration::ZERO).await;
        site.nvue.state().difference = Some(json!({}));
        site.nvue.state().shown = Some(shown.clone());
        for _ in 0..3 {
            agent.pass().await;
            assert_eq!(site.version().as_deref(), Some("V1-T1"), "{shown}: {}", site.error());
            assert!(site.runs("192.0.2.11"), "{shown}");
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        // Only the difference is lost.
        site.nvue.state().shown = None;
        agent.pass().await;
        assert_eq!(site.version().as_deref(), Some("V2-T2"), "{shown}: {}", site.error());
        assert!(site.runs("192.0.2.12"), "{shown}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_that_was_not_emptied_or_filled_proves_nothing() {
    for idle in [vec![Method::DELETE, Method::PATCH], vec![Method::PATCH], vec![Method::DELETE]] {
        let (site, mut agent) = changing(&[], Duration::ZERO).await;
        site.nvue.state().fills_nothing = idle.clone();
        for _ in 0..3 {
            agent.pass().await;
            assert_eq!(site.version().as_deref(), Some("V1-T1"), "{idle:?}: {}", site.error());
            assert!(site.error().contains("was not emptied") || site.error().contains("was not filled"), "{idle:?}");
            assert!(site.runs("192.0.2.11"), "{idle:?}");
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        site.nvue.state().fills_nothing.clear();
        agent.pass().await;
        assert_eq!(site.version().as_deref(), Some("V2-T2"), "{idle:?}: {}", site.error());
    }
}
