//! What the agent costs a DPU: its size on disk and in memory, its processor time, and what it writes while nothing
//! changes. `size.sh` runs it on the program as it is shipped; the limits make it fail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a bench stops where a test would")]

#[path = "../tests/passes/authority.rs"]
mod authority;
#[path = "../tests/passes/controller.rs"]
mod controller;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant, SystemTime},
};

use authority::Authority;
use controller::{Controller, admin};
use tonic::Code;

const ID: &str = "fm100ds0123456789abcdefghijklmnopqrstuv0123456789abcdefghij";
const MIB: f64 = 1024.0 * 1024.0;
const PASSES: usize = 100;

fn main() -> ExitCode {
    let program = env::var("DPU_AGENT").unwrap_or_else(|_| env!("CARGO_BIN_EXE_dpu-agent").to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rows = runtime.block_on(measure(Path::new(&program)));
    let mut good = true;
    for Row { what, value, unit, limit } in rows {
        let verdict = match limit {
            Some(limit) if value > limit => {
                good = false;
                format!("OVER the limit of {limit} {unit}")
            }
            Some(limit) => format!("limit {limit} {unit}"),
            None => String::new(),
        };
        println!("{what:<44} {value:>8.2} {unit:<4} {verdict}");
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Row {
    what: &'static str,
    value: f64,
    unit: &'static str,
    limit: Option<f64>,
}

async fn measure(program: &Path) -> Vec<Row> {
    let directory = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    let mut row = |what, value, unit, limit| rows.push(Row { what, value, unit, limit });
    row("program on disk, as built", fs::metadata(program).unwrap().len() as f64 / MIB, "MiB", Some(5.0));

    let (plain, uri) = Controller::start().await;
    plain.says(admin(1, 11));
    let begun = Instant::now();
    let agent = Agent::start(program, &directory.path().join("plain"), &uri, None);
    until(|| plain.state().reports.len() == 1).await;
    assert_eq!(plain.told().network_config_version.as_deref(), Some("V1-T1"));
    row("start to first report", begun.elapsed().as_secs_f64() * 1000.0, "ms", None);
    drop(agent);

    let site = Authority::new();
    let controller = Controller::default();
    controller.says(admin(1, 11));
    let (address, serving) = controller.listen("127.0.0.1:0", Some(site.server("localhost"))).await;
    let uri = format!("https://localhost:{}", address.port());
    let begun = Instant::now();
    let agent = Agent::start(program, &directory.path().join("tls"), &uri, Some(&site));
    until(|| controller.state().reports.len() == 1).await;
    row("start to first report, TLS", begun.elapsed().as_secs_f64() * 1000.0, "ms", None);
    until(|| controller.state().reports.len() >= 5).await;
    let (files, processor) = (agent.files(), agent.processor());
    let first = controller.state().reports.len();
    until(|| controller.state().reports.len() >= first + PASSES).await;
    let passes = (controller.state().reports.len() - first) as f64;
    row("processor time of an idle pass", agent.processor_since(processor) / passes, "ms", Some(3.0));
    row("resident memory after 100 idle passes", agent.status("VmRSS") / 1024.0, "MiB", Some(10.0));
    row("most memory ever", agent.status("VmHWM") / 1024.0, "MiB", None);
    row("threads", agent.status("Threads"), "", Some(1.0));
    let written = agent.files().into_iter().filter(|entry| files.get(&entry.0) != Some(&entry.1)).count();
    row("files written in 100 idle passes", written as f64, "", Some(0.0));

    // A controller that answers nothing of use costs no more.
    controller.fails(Code::Unavailable);
    let (asked, processor) = (controller.state().asked, agent.processor());
    until(|| controller.state().asked >= asked + PASSES).await;
    row(
        "processor time of a pass without an answer",
        agent.processor_since(processor) / PASSES as f64,
        "ms",
        Some(6.0),
    );
    row("resident memory after 100 of them", agent.status("VmRSS") / 1024.0, "MiB", Some(10.0));
    serving.stop();
    rows
}

async fn until(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the agent does not come on; see its log above");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The program on a DPU whose commands are as small as commands get.
struct Agent {
    process: Child,
    directory: PathBuf,
}

impl Agent {
    fn start(program: &Path, directory: &Path, controller: &str, site: Option<&Authority>) -> Self {
        fs::create_dir(directory).unwrap();
        let place = directory.display();
        let peers = r#""peers": {"p0_if": {"state": "Established"}, "p1_if": {"state": "Established"}}"#;
        let table = format!(r#"{{"vrfName": "default", {peers}, "dynamicPeers": 0}}"#);
        fs::write(directory.join("bgp.json"), format!(r#"{{"ipv4Unicast": {table}, "l2VpnEvpn": {table}}}"#)).unwrap();
        let nv = r#"case "$2 $3" in
            diff*) echo '- set: {a: b}' ;;
            replace*) echo 'created [rev_id: 1]' ;;
            apply*) echo 'applied [rev_id: 1]' ;;
        esac"#;
        fs::write(directory.join("nv"), nv).unwrap();
        let mut config = format!(
            r#"
            controller = "{controller}"
            machine_id = "{ID}"
            state_dir = "{place}/state"
            [period]
            loop_secs = 0.05
            post_config_check_secs = 0
            [hbn]
            nv = ["sh", "{place}/nv"]
            vtysh = ["sh", "-c", "cat {place}/bgp.json"]
            nvue_file = "{place}/nvue.yaml"
            confirm_secs = 0
            [dhcp]
            config_file = "{place}/kea.conf"
            nameservers = ["192.0.2.53"]
            "#
        );
        if let Some(site) = site {
            let (certificate, key) = site.issue("dpu");
            for (name, text) in [("ca", site.pem()), ("cert", certificate), ("key", key)] {
                fs::write(directory.join(name), text).unwrap();
            }
            config += &format!("[tls]\nca = \"{place}/ca\"\ncert = \"{place}/cert\"\nkey = \"{place}/key\"\n");
        }
        fs::write(directory.join("config.toml"), config).unwrap();
        let process = Command::new(program)
            .arg("--config")
            .arg(directory.join("config.toml"))
            .stdin(Stdio::null())
            .spawn()
            .expect("the agent starts");
        Self { process, directory: directory.to_owned() }
    }

    /// A number of `/proc/PID/status`.
    fn status(&self, name: &str) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = text.lines().find(|line| line.split(':').next() == Some(name)).unwrap();
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap()
    }

    /// Time on the processor so far, in milliseconds.
    fn processor(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.process.id())).unwrap();
        text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap() / 1e6
    }

    fn processor_since(&self, before: f64) -> f64 {
        self.processor() - before
    }

    /// All files with the time of their last change.
    fn files(&self) -> BTreeMap<PathBuf, SystemTime> {
        let mut found = BTreeMap::new();
        let mut directories = vec![self.directory.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                let metadata = entry.metadata().unwrap();
                if metadata.is_dir() {
                    directories.push(entry.path());
                }
                found.insert(entry.path(), metadata.modified().unwrap());
            }
        }
        found
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.process.kill().expect("the agent can be ended");
        self.process.wait().expect("the agent has ended");
    }
}
