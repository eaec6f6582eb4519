use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use proto::health::HealthReport;

use super::{Lab, started};
use crate::{Binaries, Process};

/// A `dpu-agent` process on a lab's DPU, with its configuration and state in the lab's directory.
///
/// NVUE is the stand-in of this crate; whatever else the agent talks to is what the test gives it.
#[derive(Debug)]
pub struct AgentProcess {
    program: PathBuf,
    config: PathBuf,
    log: PathBuf,
    process: Option<Process>,
}

/// How an agent is set up.
#[derive(Debug, Clone, Default)]
pub struct AgentSetup {
    /// URL of its controller.
    pub controller: String,
    /// The command that is `vtysh`; empty: BGP is not checked.
    pub vtysh: Vec<String>,
    /// The section `[dhcp]` of its configuration, in TOML; empty: `server = "none"`.
    pub dhcp: String,
    /// Seconds that a change must run before it counts as healthy.
    pub post_config_check_secs: f64,
}

/// Id of the DPU that agents under test run on.
pub const DPU_ID: &str = "fm100ds0000000000000000000000000000000000000000000000000001";

/// What `dpu-agent parse` reads in `output`, a text of that kind.
///
/// # Panics
/// If it reads nothing.
#[must_use]
pub fn parsed(programs: &Binaries, kind: &str, output: &str) -> serde_json::Value {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, output).expect("a file to write to");
    let done = Command::new(programs.path("dpu-agent")).args(["parse", kind]).arg(file.path()).output();
    let done = done.expect("dpu-agent runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "dpu-agent parse {kind}, {}: {said}\nof:\n{output}", done.status);
    serde_json::from_slice(&done.stdout).expect("JSON from dpu-agent parse")
}

impl AgentProcess {
    /// Writes the agent's configuration; nothing runs yet.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn new(lab: &Lab, programs: &Binaries, setup: &AgentSetup) -> Self {
        let directory = lab.subdirectory("agent");
        let text = |path: &Path| toml_text(&path.display().to_string());
        let dpu = format!("DPU_DIR={}", lab.subdirectory("nvue").display());
        let nv = ["env", &dpu, &programs.path("nv").display().to_string()].map(str::to_owned);
        let dhcp = if setup.dhcp.is_empty() { "server = \"none\"" } else { &setup.dhcp };
        let config = format!(
            "controller = {controller}\nmachine_id = \"{DPU_ID}\"\nstate_dir = {state}\n\
             [period]\nloop_secs = 0.3\npost_config_check_secs = {check:?}\n\
             [hbn]\nuplinks = [\"p0_if\", \"p1_if\"]\nnv = {nv}\nvtysh = {vtysh}\ncommand_timeout_secs = 10\nnvue_file = {nvue}\n\
             [dhcp]\n{dhcp}\n",
            controller = toml_text(&setup.controller),
            state = text(&directory.join("state")),
            check = setup.post_config_check_secs,
            nv = toml_list(&nv),
            vtysh = toml_list(&setup.vtysh),
            nvue = text(&directory.join("nvue_startup.yaml")),
        );
        let path = directory.join("config.toml");
        std::fs::write(&path, config).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { program: programs.path("dpu-agent"), config: path, log: directory.join("log"), process: None }
    }

    /// Starts the daemon.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(&mut self) {
        self.process = Some(started(Process::new("dpu-agent", self.command(&["run"]), self.log.clone())));
    }

    /// Stops the daemon.
    pub fn stop(&mut self) {
        self.process = None;
    }

    /// What the daemon has printed so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// What the agent says that the DPU runs: `nothing`, `configuration`, `isolated` or `unknown`.
    #[must_use]
    pub fn runs(&self) -> String {
        let file = self.config.with_file_name("state").join("status.json");
        let status: serde_json::Value =
            std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        status["runs"]["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// `dpu-agent check`: the report, and whether the command says that all is well.
    ///
    /// # Panics
    /// If it prints no report.
    #[must_use]
    pub fn check(&self) -> (HealthReport, bool) {
        let done = self.command(&["check", "--output", "json"]).stdin(Stdio::null()).output().expect("dpu-agent runs");
        let said = String::from_utf8_lossy(&done.stderr);
        let report = serde_json::from_slice(&done.stdout);
        let report = report.unwrap_or_else(|error| panic!("dpu-agent check, {}: {error}\n{said}", done.status));
        (report, done.status.success())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(&self.config).args(arguments);
        command
    }
}

fn toml_text(text: &str) -> String {
    // A JSON string is a TOML string.
    serde_json::Value::from(text).to_string()
}

fn toml_list(words: &[String]) -> String {
    serde_json::Value::from(words).to_string()
}
