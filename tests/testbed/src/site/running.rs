//! A site that runs: its processes start and end here, in the order in which they need each other.

use std::{collections::BTreeMap, fs, process::Command, thread};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

use super::{Binaries, DpuPlan, HostPlan, SitePlan, certificates, layout::SiteDir};
use crate::{DpuDir, Process, host::controller_address, until};

/// Seconds that a program has to come up.
const START_SECS: f64 = 20.0;
/// Lines of each log that are shown after a failure.
const TAIL: usize = 25;

/// A site that runs on this machine.
#[derive(Debug)]
pub struct Site {
    /// What it consists of.
    pub plan: SitePlan,
    /// The controller's process.
    pub controller: Process,
    /// The process that simulates hosts and BMCs.
    pub hosts: Process,
    /// The agents' processes, by name of the DPU.
    pub agents: BTreeMap<String, Process>,
    pub(super) binaries: Binaries,
    pub(super) dir: SiteDir,
    pub(super) address: String,
    temporary: Option<TempDir>,
}

impl Site {
    /// Lays a site out without starting anything.
    ///
    /// # Errors
    /// If its directory cannot be made.
    pub fn prepare(plan: SitePlan, binaries: Binaries) -> Result<Self> {
        let temporary = tempfile::Builder::new().prefix("site-").tempdir().context("make a directory for the site")?;
        let dir = SiteDir(temporary.path().to_path_buf());
        fs::create_dir_all(dir.logs())?;
        fs::create_dir_all(dir.path("dpus"))?;
        fs::create_dir_all(dir.path("bmc"))?;
        if plan.tls {
            certificates::write(&dir, &plan)?;
        }
        let process = |name: &str, program: &str, config: &str| {
            let mut command = Command::new(binaries.path(program));
            command.arg("--config").arg(dir.path(config));
            Process::new(name, command, dir.log(name))
        };
        let mut controller = process("controller", "site-controller", "controller.toml");
        controller.add_once("--new-site");
        Ok(Self {
            controller,
            hosts: process("hosts", "sim-host", "sim-host.toml"),
            agents: BTreeMap::new(),
            address: "127.0.0.1:0".into(),
            temporary: Some(temporary),
            plan,
            binaries,
            dir,
        })
    }

    /// Starts the hosts, the controller and all agents.
    ///
    /// # Errors
    /// If a program does not start or come up.
    pub async fn start(&mut self) -> Result<()> {
        self.start_hosts().await?;
        self.start_controller().await?;
        self.start_agents()
    }

    /// Starts the simulated hosts and their BMCs.
    ///
    /// # Errors
    /// If they do not come up.
    pub async fn start_hosts(&mut self) -> Result<()> {
        self.dir.sim_host_config(&self.plan)?;
        self.hosts.start()?;
        let addresses = self.dir.path("bmc.addresses");
        until("the BMCs", START_SECS, async || Ok(addresses.exists().then_some(()))).await?;
        self.dir.site_file(&self.plan).map(drop)
    }

    /// Starts the controller, at its former address if it had one.
    ///
    /// # Errors
    /// If it does not come up.
    pub async fn start_controller(&mut self) -> Result<()> {
        self.dir.controller_config(&self.plan, &self.address)?;
        self.controller.start()?;
        let file = self.dir.path("controller.address");
        let controller = &mut self.controller;
        until("the controller to say its address", START_SECS, async || {
            Ok((file.exists() || !controller.is_running()).then_some(()))
        })
        .await?;
        ensure!(self.controller.is_running(), "the controller does not start:\n{}", self.controller.tail(TAIL));
        self.address = controller_address(&file)?;
        until("the controller", START_SECS, async || self.list_hosts().await.map(Some)).await.map(drop)
    }

    /// Starts the agents of all DPUs.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn start_agents(&mut self) -> Result<()> {
        for dpu in self.plan.clone().dpus() {
            let config = self.dir.agent_config(&self.plan, dpu, &self.binaries, &self.url())?;
            let mut command = Command::new(self.binaries.path("dpu-agent"));
            command.arg("--config").arg(config).env(crate::DPU_DIR, self.dir.dpu(&dpu.name));
            let agent = Process::new(&dpu.name, command, self.dir.log(&dpu.name));
            self.agents.entry(dpu.name.clone()).or_insert(agent).start()?;
        }
        Ok(())
    }

    /// URL of the controller.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.plan.tls { "https" } else { "http" }, self.address)
    }

    /// A connection to the controller that is made when it is used.
    pub(super) fn channel(&self) -> Result<Channel> {
        let endpoint = Channel::from_shared(self.url())?;
        if !self.plan.tls {
            return Ok(endpoint.connect_lazy());
        }
        let read = |name: &str| fs::read(self.dir.path(name)).with_context(|| format!("read {name}"));
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(read("ca.pem")?))
            .identity(Identity::from_pem(read("operator.pem")?, read("operator.key")?));
        Ok(endpoint.tls_config(tls)?.connect_lazy())
    }

    /// A host of the plan, from 0.
    ///
    /// # Errors
    /// If there is no such host.
    pub fn host(&self, place: usize) -> Result<HostPlan> {
        self.plan.hosts.get(place).cloned().with_context(|| format!("the site has no host {place}"))
    }

    /// The simulated DPU behind an agent.
    ///
    /// # Errors
    /// If its directory cannot be made.
    pub fn dpu(&self, dpu: &DpuPlan) -> Result<DpuDir> {
        DpuDir::at(self.dir.dpu(&dpu.name))
    }

    /// The process of a DPU's agent.
    ///
    /// # Errors
    /// If it was never started.
    pub fn agent(&mut self, dpu: &DpuPlan) -> Result<&mut Process> {
        self.agents.get_mut(&dpu.name).with_context(|| format!("{} has no agent", dpu.name))
    }

    /// Where the programs of the site are.
    #[must_use]
    pub fn programs(&self) -> std::path::PathBuf {
        self.binaries.path("")
    }

    /// Where the site's files and logs are.
    #[must_use]
    pub fn directory(&self) -> &std::path::Path {
        &self.dir.0
    }

    /// Leaves the site's files where they are.
    pub fn keep_files(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            let _ = temporary.keep();
        }
    }

    fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        [&mut self.controller, &mut self.hosts].into_iter().chain(self.agents.values_mut())
    }

    /// The ends of all logs.
    #[must_use]
    pub fn tails(&mut self) -> String {
        self.processes().map(|process| process.tail(TAIL)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.tails());
        }
    }
}

/// Runs a test on a site that runs.
///
/// # Errors
/// What the test gives, with the place of the site's files.
pub async fn on_site(plan: SitePlan, test: impl AsyncFnOnce(&mut Site) -> Result<()>) -> Result<()> {
    let site = Site::prepare(plan, Binaries::ready(false)?)?;
    on_prepared(site, async |site| {
        site.start().await?;
        test(site).await
    })
    .await
}

/// Runs a test that starts the site by itself. If it fails, the logs are shown and the site's files are kept.
///
/// # Errors
/// What the test gives, with the place of the site's files.
pub async fn on_prepared(mut site: Site, test: impl AsyncFnOnce(&mut Site) -> Result<()>) -> Result<()> {
    let outcome = test(&mut site).await;
    if outcome.is_err() {
        site.keep_files();
        eprintln!("{}", site.tails());
    }
    outcome.with_context(|| format!("on the site in {}", site.directory().display()))
}
