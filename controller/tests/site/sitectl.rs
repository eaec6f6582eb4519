//! `sitectl` as programs use it: exit codes, JSON, and what it says when there is no controller.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

use crate::support::{Daemon, alert, change_pack, config_of, copy_pack, healthy, start};

/// A controller with two hosts whose BMCs nobody answers for, and an operator at it.
struct Desk {
    url: String,
    daemon: Daemon,
    dir: tempfile::TempDir,
}

impl Desk {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let daemon = start(dir.path(), config_of(dir.path(), 2, "")).await;
        Self { url: daemon.url(), daemon, dir }
    }

    async fn run(&self, line: &str) -> Output {
        sitectl(&self.url, line).await
    }

    /// Answer of a command that must work, as JSON.
    async fn json(&self, line: &str) -> Value {
        let output = self.run(&format!("{line} --output json")).await;
        assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

async fn sitectl(url: &str, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sitectl"));
    command.env("SITECTL_CONTROLLER", url).env("NO_COLOR", "1").args(line.split_whitespace());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn error(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr.clone()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_tell_failures_apart() {
    let site = Desk::start().await;
    for (line, code, words) in [
        ("host list", 0, ""),
        ("host show nobody", 3, "there is no host `nobody`"),
        ("host request host-1 decomission", 1, "did you mean `decommission`?"),
        ("host frobnicate", 2, "unrecognized subcommand"),
        ("instance create --host any", 2, "required"),
        ("instance show nobody", 3, "no instance has the id or name `nobody`"),
        ("vpc delete nobody", 3, "there is no VPC `nobody`"),
        ("vpc create blue --tenant acme --prefix 10.0.0.0/33", 1, "prefixes"),
        ("instance create --host any --vpc nobody", 3, "no VPC `nobody`"),
        ("health list nobody", 3, "no host or DPU is named `nobody`"),
        ("dpu forget nobody", 3, "there is no DPU `nobody`"),
        ("rules rollback 0000", 3, "no pack of the site has the hash 0000"),
    ] {
        let (found, text) = error(&site.run(line).await);
        assert_eq!(found, Some(code), "{line}: {text}");
        assert!(text.contains(words), "{line}: {text}");
    }
    let (code, text) = error(&sitectl("http://127.0.0.1:1", "host list").await);
    assert!(code == Some(4) && text.contains("cannot reach the controller at http://127.0.0.1:1"), "{code:?}: {text}");
    let (code, text) = error(&sitectl("https://127.0.0.1:1", "host list").await);
    assert!(code == Some(2) && text.contains("needs --ca"), "{code:?}: {text}");
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_get_the_same_answers_as_json() {
    let site = Desk::start().await;
    let hosts = site.json("host list").await;
    assert_eq!(hosts["hosts"][0]["name"], "host-1");
    assert_eq!(hosts["hosts"][1]["machine_id"], "fm100hs0000000000000000000000000000000000000000000000000002");
    let vpc = site.json("vpc create blue --tenant acme --prefix 10.20.0.0/24").await;
    assert_eq!(site.json("vpc list").await["vpcs"][0], vpc);

    // Nobody has reported for the DPUs, so only somebody who insists gets the host.
    let (code, text) = error(&site.run("instance create --host any --vpc blue").await);
    assert!(code == Some(1) && text.contains("no Ready host is available"), "{text}");
    let line = "instance create --host host-2 --vpc blue --vf 1 --hostname web --name web --allow-unhealthy";
    let instance = site.json(line).await;
    assert_eq!(
        (&instance["host"], &instance["tenant"], &instance["state"]),
        (&"host-2".into(), &"acme".into(), &"provisioning".into())
    );
    // Held, but not shown as the instance's before its DPU has said so.
    assert_eq!(instance["interfaces"][0]["addresses"], Value::Array(vec![]));
    let addresses = site.json("address list").await;
    let held = addresses["addresses"].as_array().unwrap().iter().filter(|held| held["owner"] == "web");
    assert_eq!(held.map(|held| held["address"].as_str().unwrap()).collect::<Vec<_>>(), ["10.20.0.2", "10.20.0.3"]);
    assert_eq!(instance["interfaces"][1]["function"], "vf1");
    assert_eq!(site.json("instance show web").await["id"], instance["id"]);
    assert_eq!(site.json("instance show host-2").await["id"], instance["id"]);
    assert_eq!(site.json("instance list").await[0]["name"], "web");
    let (code, text) = error(&site.run("instance show web --wait-for ready --timeout 1").await);
    assert!(code == Some(1) && text.contains("is not ready after 1 s"), "{text}");

    site.json(
        "health insert host-1 --probe SkuValidation --target rack-7 --message burning --classification PreventAllocations",
    )
    .await;
    site.json("health insert host-1-dpu0 --probe BgpStats --source technician --mode replace").await;
    let reports = site.json("health list host-1").await;
    assert_eq!((&reports[0]["probe"], &reports[0]["source"]), (&"SkuValidation".into(), &"operator".into()));
    let detail = site.json("host show host-1").await;
    assert_eq!(detail["alerts"][0]["probe"], "SkuValidation");
    assert_eq!(detail["alerts"][1]["dpu"], "host-1-dpu0");
    assert!(!detail.to_string().contains("wont-tell"));
    site.json("health remove host-1 --source operator").await;
    assert_eq!(site.json("health list host-1").await, Value::Array(vec![]));

    let explained = site.json("host explain host-2").await;
    assert_eq!(explained["outcome"], "wait");
    assert!(explained["arms"][0]["at"].as_str().unwrap().contains(".rhai:"));
    assert_eq!(site.json("rules history").await["packs"][0]["in_force"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_count_for_nothing_are_marked() {
    let site = Desk::start().await;
    let dpu: proto::MachineId =
        site.json("dpu status host-1").await["dpus"][0]["machine_id"].as_str().unwrap().parse().unwrap();
    let alerts = vec![alert("BgpStats", "", &["PreventAllocations"]), alert("BgpStat", "", &["PreventAllocation"])];
    let mut status = healthy(&dpu);
    status.dpu_health.as_mut().unwrap().alerts = alerts;
    site.daemon.forge().await.record_dpu_network_status(status).await.unwrap();
    for machine in ["host-1-dpu0", dpu.as_str()] {
        let lines = site.json(&format!("health list {machine}")).await;
        let marks: Vec<&Value> = lines.as_array().unwrap().iter().map(|line| &line["undeclared"]).collect();
        assert_eq!(marks, [&serde_json::json!([]), &serde_json::json!(["BgpStat", "PreventAllocation"])]);
        let shown = String::from_utf8(site.run(&format!("health list {machine}")).await.stdout).unwrap();
        assert!(
            shown.contains("BgpStat (not declared)") && shown.contains("PreventAllocation (not declared)"),
            "{shown}"
        );
        assert!(!shown.contains("BgpStats (not") && !shown.contains("PreventAllocations (not"), "{shown}");
    }
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_is_tried_first_and_activated_by_consent() {
    let site = Desk::start().await;
    let pack = site.dir.path().join("pack");
    copy_pack(&pack);
    let ready = pack.join("ready.rhai");
    let shipped = fs::read_to_string(&ready).unwrap();
    change_pack(&pack);
    let dir = pack.display();
    let tried = site.json(&format!("rules apply {dir} --dry-run")).await;
    assert_eq!(tried["changes"].as_array().unwrap().len(), 2, "{tried}");
    assert_eq!(tried["changes"][0]["after"], "wait: Nobody wants it");
    let (code, text) = error(&site.run(&format!("rules apply {dir}")).await);
    assert!(code == Some(1) && text.contains("agree with --yes"), "{text}");
    let (code, text) = error(&site.run(&format!("rules apply {dir} --yes")).await);
    assert!(code == Some(1) && text.contains("insist with force"), "{text}");
    let applied = site.json(&format!("rules apply {dir} --yes --force")).await;
    assert_eq!(applied["applied"], true);
    let packs = site.json("rules history").await;
    let (new, old) = (packs["packs"][0]["hash"].as_str().unwrap(), packs["packs"][1]["hash"].as_str().unwrap());
    assert_eq!(new, applied["hash"].as_str().unwrap());
    let back = site.json(&format!("rules rollback {} --yes --force", &old[..12])).await;
    assert_eq!((back["applied"].as_bool(), back["hash"].as_str()), (Some(true), Some(old)));

    fs::write(&ready, shipped.replace("instance.present", "instance.presnt")).unwrap();
    let (code, text) = error(&site.run(&format!("rules apply {dir} --yes")).await);
    assert!(
        code == Some(1) && text.contains("did you mean `present`?") && text.contains("h.instance.presnt"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_others_reaches_a_terminal_raw() {
    let site = Desk::start().await;
    let hostile = "x\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}y\u{2066}\u{200f}\u{2028}\u{7f}\r\nhost-9  Ready";
    let insert = |url: String| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sitectl"));
        command.env("SITECTL_CONTROLLER", url).env("NO_COLOR", "1");
        command.args("health insert host-1 --probe SkuValidation --classification PreventAllocations".split(' '));
        command.args(["--target", "a\u{1b}b", "--message", hostile, "--tenant-message", hostile]);
        command
    };
    let url = site.url.clone();
    let output = tokio::task::spawn_blocking(move || insert(url).output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let acts = |letter: char| {
        letter != '\n' && letter.is_control()
            || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    for line in ["host list", "host show host-1", "host explain host-1", "health list host-1", "dpu status"] {
        for format in ["table", "json"] {
            let output = site.run(&format!("{line} --output {format}")).await;
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(!text.chars().any(acts), "{line} {format}: {text:?}");
            assert!(
                !text.lines().any(|line| line.starts_with("host-9")),
                "{line} {format}: no line of its own:\n{text}"
            );
            if format == "json" {
                serde_json::from_str::<Value>(&text).unwrap();
            }
        }
    }
    let shown = String::from_utf8(site.run("health list host-1").await.stdout).unwrap();
    assert!(shown.contains("x\\u001b[2J") && shown.contains("\\u202ey"), "{shown}");
    site.daemon.stop().await;
}
