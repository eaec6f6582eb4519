//! The program as a service manager and people run it.

use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    net::UnixDatagram,
    process::{Child, Command},
};

use super::{
    controller::{Controller, admin},
    dpu::Dpu,
};

pub(super) fn program(dpu: &Dpu, arguments: &[&str]) -> Command {
    let config = dpu.path().join("config.toml");
    if !config.exists() {
        fs::write(&config, dpu.settings_text()).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpu-agent"));
    command.arg("--config").arg(config).args(arguments).kill_on_drop(true).stdin(Stdio::null());
    command
}

async fn output(dpu: &Dpu, arguments: &[&str]) -> (i32, String, String) {
    let output = program(dpu, arguments).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn signal(child: &Child, signal: Signal) {
    let id = child.id().and_then(|id| Pid::from_raw(id.try_into().unwrap())).unwrap();
    kill_process(id, signal).unwrap();
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not come");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn sighup_hurries_and_sigterm_ends_well() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    fs::write(dpu.path().join("config.toml"), dpu.settings_text().replace("loop_secs = 0.05", "loop_secs = 3600"))
        .unwrap();
    let mut child = program(&dpu, &["run"]).stderr(Stdio::piped()).spawn().unwrap();
    until("the first report", || controller.state().reports.len() == 1).await;
    signal(&child, Signal::HUP);
    until("the second report", || controller.state().reports.len() == 2).await;
    signal(&child, Signal::TERM);
    let ended = tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert!(dpu.read("applied").is_some(), "the DPU goes on with what it runs");
}

#[tokio::test(flavor = "current_thread")]
async fn the_service_manager_hears_of_each_pass_at_its_end_and_of_none_that_hangs() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let socket = UnixDatagram::bind(dpu.path().join("notify")).unwrap();
    let said = || {
        let mut text = [0; 256];
        socket.try_recv(&mut text).ok().map(|length| String::from_utf8_lossy(&text[..length]).into_owned())
    };
    let mut command = program(&dpu, &["run"]);
    let mut child = command.env("NOTIFY_SOCKET", dpu.path().join("notify")).stderr(Stdio::null()).spawn().unwrap();
    let mut heard = Vec::new();
    until("two passes", || {
        heard.extend(said());
        heard.iter().filter(|word| word.contains("WATCHDOG=1")).count() == 2
    })
    .await;
    assert_eq!(heard.first().map(|word| word.trim()), Some("READY=1"));
    // A command that does not end holds the pass for `command_timeout_secs`, 1 s here.
    dpu.write("on-vtysh", "sleep 60");
    until("a pass that hangs", || {
        let hangs = dpu.read("probes").unwrap_or_default();
        dpu.write("probes", "");
        while said().is_some() {}
        hangs.contains("vtysh")
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(said(), None, "nothing is said while a pass hangs");
    dpu.remove("on-vtysh");
    until("the end of that pass", || said().is_some_and(|word| word.contains("WATCHDOG=1"))).await;
    signal(&child, Signal::TERM);
    until("the end", || said().is_some_and(|word| word.contains("STOPPING=1"))).await;
    child.wait().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn an_agent_that_is_killed_goes_on_where_it_was() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let mut child = program(&dpu, &[]).stderr(Stdio::null()).spawn().unwrap();
    until("a report", || !controller.state().reports.is_empty()).await;
    child.kill().await.unwrap();
    dpu.commands();
    let reports = controller.state().reports.len();
    let mut child = program(&dpu, &[]).stderr(Stdio::null()).spawn().unwrap();
    until("a report", || controller.state().reports.len() > reports).await;
    child.kill().await.unwrap();
    assert_eq!(controller.told().network_config_version.as_deref(), Some("V1-T1"));
    assert!(!dpu.commands().iter().any(|command| command.contains("apply")), "nothing is applied twice");
}

#[tokio::test(flavor = "current_thread")]
async fn people_see_what_runs() {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let (code, _, stderr) = output(&dpu, &["status"]).await;
    assert_eq!(code, 2);
    assert!(stderr.contains("has the agent run?"), "{stderr}");
    let mut child = program(&dpu, &["run"]).stderr(Stdio::null()).spawn().unwrap();
    until("a status", || dpu.read("state/status.json").is_some()).await;
    let (code, stdout, _) = output(&dpu, &["status"]).await;
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.starts_with("runs        configuration since 20"), "{stdout}");
    assert!(stdout.contains("Z\n  host      V1-T1\ncontroller  run V1-T1 (since 20"), "{stdout}");
    let (code, stdout, _) = output(&dpu, &["status", "--output", "json"]).await;
    let status: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &status["runs"]["managed_host_version"]), (0, &"V1-T1".into()));
    assert_eq!(status["agent_runs"], true);
    let (code, _, stderr) = output(&dpu, &["run"]).await;
    assert_eq!(code, 2);
    assert!(stderr.contains("another dpu-agent runs with the state directory"), "{stderr}");
    child.kill().await.unwrap();
    let odd = dpu.read("state/status.json").unwrap().replace("run V1-T1", "\\u001b[31mrun\\nV1");
    dpu.write("state/status.json", &odd);
    let (code, stdout, _) = output(&dpu, &["status"]).await;
    assert!(stdout.contains("\ncontroller  \\u001b[31mrun; V1 (since"), "nothing of it reaches the terminal: {stdout}");
    assert_eq!(code, 1, "nobody looks after the DPU");
    assert!(stdout.starts_with("agent       does not run: this is what it wrote last\nruns  "), "{stdout}");

    let (code, stdout, _) = output(&dpu, &["check"]).await;
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("ok        BgpPeeringTor p0_if\n"), "{stdout}");
    dpu.sessions(&[("p0_if", "Active"), ("p1_if", "Established")]);
    let (code, stdout, _) = output(&dpu, &["check"]).await;
    assert_eq!(code, 1);
    assert!(
        stdout.contains("alert     BgpPeeringTor p0_if: Session p0_if is not Established, but in state Active\n"),
        "{stdout}"
    );
    let (code, stdout, _) = output(&dpu, &["check", "--output", "json"]).await;
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &report["alerts"][0]["classifications"][0]), (1, &"PreventAllocations".into()));

    // FRR counts failed sessions and calls them all Established, and its text, which would name them, is not to be had.
    let peers = r#""p0_if": {"state": "Established"}, "p1_if": {"state": "Established"}"#;
    let table = |failed: u8| format!(r#"{{"peers": {{{peers}}}, "failedPeers": {failed}}}"#);
    for (failed, wanted) in [
        (
            1,
            "CRITICAL  BgpStats ipv4_unicast: 1 of 2 sessions that are Established failed in ipv4_unicast, which ones is not known: ",
        ),
        (
            2,
            "CRITICAL  BgpPeeringTor p1_if: Session p1_if is Established, but the peer did not agree to this address family\n",
        ),
    ] {
        dpu.write("bgp.json", &format!(r#"{{"ipv4Unicast": {}, "l2VpnEvpn": {}}}"#, table(failed), table(0)));
        for text in ["echo no >&2; exit 1", "echo garbage; exit 0"] {
            dpu.write("on-vtysh", &format!("case \"$*\" in *json) ;; *) {text} ;; esac\n"));
            let (code, stdout, _) = output(&dpu, &["check"]).await;
            assert!(code == 1 && stdout.contains(wanted), "{stdout}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn outputs_are_read_by_kind() {
    let dpu = Dpu::new("http://127.0.0.1:1");
    let path = dpu.path().join("bgp.json").display().to_string();
    let (code, stdout, _) = output(&dpu, &["parse", "bgp-json", &path]).await;
    let read: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &read["tables"][0]["peers"][0]["state"]), (0, &"Established".into()));
    let (code, _, stderr) = output(&dpu, &["parse", "df", &path]).await;
    assert_eq!(code, 2);
    assert!(stderr.contains("df -HP, line 1, column 1: expected the header of df"), "{stderr}");
    // A description need not be UTF-8: read as the agent reads it.
    let latin = b"{\"ipv4Unicast\": {\"peers\": {\"p0_if\": {\"state\": \"Idle\", \"desc\": \"B\xfcro\"}}}}";
    fs::write(dpu.path().join("latin.json"), latin).unwrap();
    let (code, stdout, _) =
        output(&dpu, &["parse", "bgp-json", &dpu.path().join("latin.json").display().to_string()]).await;
    let read: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &read["tables"][0]["peers"][0]["description"]), (0, &"B\u{fffd}ro".into()));
    let (code, _, stderr) = output(&dpu, &["parse", "dfx", &path]).await;
    assert_eq!(code, 2);
    assert!(stderr.contains("supervisorctl"), "the kinds are listed: {stderr}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_configuration_that_is_not_usable_is_refused_with_its_place() {
    let dpu = Dpu::new("http://127.0.0.1:1");
    fs::write(dpu.path().join("config.toml"), dpu.settings_text().replace("loop_secs", "loop_sec")).unwrap();
    let (code, _, stderr) = output(&dpu, &["run"]).await;
    assert_eq!(code, 2);
    assert!(stderr.contains("config.toml") && stderr.contains("loop_sec"), "{stderr}");
}
