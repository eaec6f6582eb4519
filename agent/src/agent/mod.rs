//! One pass after the other, each a straight line from the controller's response to the report. `cli` runs it.

mod proof;

use std::{
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use crate::{
    Settings,
    apply::{Before, Running, apply, on_disk, plan},
    config::ProbeFamily,
    controller::{Controller, Instruction, Isolation, Renewal, Report, Response, Retry},
    desired::Desired,
    hbn::{HbnContainer, HostPorts, Release, last_dhcp_requests},
    health::{self, Findings, Severity},
    render::Expectations,
    state::{AppliedDir, Digest, LastResponse, Marker, Runs, StatusFile, timestamp},
};
use proof::{prove, uplinks_up};

/// Keeps one DPU at the configuration that its controller wants.
pub struct Agent {
    settings: Settings,
    controller: Controller,
    isolation: Isolation,
    release: Release,
    desired: Desired,
    applied: AppliedDir,
    marker: Option<Marker>,
    /// What the marker says is known to be true.
    verified: bool,
    /// What a healthy DPU shows with what runs.
    expected: Expectations,
    hbn_was_silent: bool,
    /// HBN recreated its interfaces: it came back, or the DPU booted.
    interfaces_recreated: bool,
    failure: Option<String>,
    retry: Retry<(Digest, Option<Digest>)>,
    changed: Option<Instant>,
    response: LastResponse,
    report_failure: Option<String>,
    renewal: Renewal,
    container: HbnContainer,
    status: Option<StatusFile>,
}

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The state directory cannot be used.
    #[error("cannot use the state directory {path}")]
    StateDir {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The result of one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Time to wait before the next one.
    pub next_in: Duration,
    /// No probe is in alert.
    pub healthy: bool,
}

impl Agent {
    /// An agent that goes on from where the last one of this state directory stopped.
    ///
    /// # Errors
    /// [`AgentError`] if the state directory cannot be used. Damaged state files and faulty templates are no errors.
    pub fn new(settings: Settings) -> Result<Self, AgentError> {
        let state_dir = settings.state_dir.clone();
        std::fs::create_dir_all(&state_dir)
            .map_err(|source| AgentError::StateDir { path: state_dir.clone(), source })?;
        Ok(Self::open(settings))
    }

    fn open(settings: Settings) -> Self {
        let applied = AppliedDir::new(&settings.state_dir);
        let marker = applied.marker();
        let period = settings.period.clone();
        let expected = marker.as_ref().and_then(|marker| marker.expected.clone());
        let expected = expected.unwrap_or_else(|| {
            let uplinks = settings.environment().uplinks();
            Expectations { min_links: uplinks.len().min(2), uplinks, ..Expectations::default() }
        });
        Self {
            release: Release::new(&settings),
            desired: Desired::open(&settings),
            controller: Controller::new(&settings),
            isolation: Isolation::new(period.isolate_after),
            changed: marker.as_ref().and_then(|marker| still_waiting(marker, period.post_config_check)),
            marker,
            verified: false,
            expected,
            hbn_was_silent: false,
            interfaces_recreated: !applied.is_same_boot(),
            applied,
            failure: None,
            retry: Retry::new(period.pass, period.longest_backoff),
            response: LastResponse::default(),
            report_failure: None,
            renewal: Renewal::new(settings.machine_id.clone()),
            container: HbnContainer::new(&settings),
            status: None,
            settings,
        }
    }

    /// One pass: fetch, render, plan, apply, check, report.
    pub async fn pass(&mut self) -> Pass {
        if self.container.is_missing() {
            self.container.look_up(&mut self.settings).await;
        }
        let reachable = self.fetch().await;
        self.converge().await;
        let findings = self.check().await;
        if self.hbn_was_silent || findings.hbn_is_silent() {
            self.release.invalidate();
        }
        // HBN may have come back without what it ran: the marker proves nothing until NVUE confirms it.
        if std::mem::replace(&mut self.hbn_was_silent, findings.hbn_is_silent()) && !self.hbn_was_silent {
            tracing::info!("HBN answers again; what it runs is verified");
            self.verified = false;
            self.interfaces_recreated = true;
        }
        if reachable {
            self.report(&findings).await;
        }
        self.keep_status(&findings);
        let next_in = if self.renew().await { Duration::ZERO } else { self.next_in() };
        Pass { next_in, healthy: findings.is_healthy() }
    }

    /// Checks a DPU without changing anything: what its agent would find, what that agent could not do, and the probes that
    /// only people ask for.
    pub async fn look(settings: Settings) -> Findings {
        let mut agent = Self::open(settings);
        agent.failure = StatusFile::read(&agent.settings.state_dir).ok().and_then(|status| status.error);
        let mut findings = agent.check().await;
        health::check_once(&agent.settings, &mut findings).await;
        findings
    }

    /// Makes the next pass try at once whatever failed.
    pub fn retry_now(&mut self) {
        self.retry.reset();
        self.renewal.retry_now();
    }

    /// Renews this DPU's certificate, if that is due; true if the former one had expired, so that the next pass can connect.
    async fn renew(&mut self) -> bool {
        let Some(former) = self.controller.certificate() else { return false };
        if !self.settings.tls.renew || !self.renewal.is_due(&former, SystemTime::now(), Instant::now()) {
            return false;
        }
        let renewed = self.controller.renew().await;
        self.renewal.tried(renewed.as_ref().err().cloned(), Instant::now());
        let Ok(new) = renewed else { return false };
        tracing::info!(
            "this DPU's certificate was renewed: it expires in {} hours",
            new.left(SystemTime::now()) / 3600
        );
        former.left(SystemTime::now()) <= 0
    }

    /// Asks the controller what to run; whether it can take a report.
    async fn fetch(&mut self) -> bool {
        let response = self.controller.fetch(&self.settings.machine_id, self.marker.as_ref()).await;
        let (answer, reachable) = match &response {
            Response::Config(config) => (format!("run {}", config.managed_host_config_version), true),
            Response::NotFound => ("this DPU is not known here (NotFound)".to_owned(), true),
            Response::Failed(failure) => (format!("no answer: {}", failure.reason), failure.reachable),
        };
        if self.response.answer != answer {
            tracing::info!("the controller: {answer}");
            self.response = LastResponse { answer, since: timestamp(SystemTime::now()) };
        }
        let instruction = self.isolation.instruction(response);
        self.follow(instruction).await;
        reachable
    }

    async fn follow(&mut self, instruction: Instruction) {
        if let Some(version) = self.release.find(&self.settings).await {
            self.desired.set_hbn_version(version);
            // What runs may be of the release before, but the uplinks have the names that this release gives them.
            if !self.expected.uplinks.is_empty() {
                self.expected.uplinks = self.desired.uplinks();
            }
        }
        self.desired.follow(instruction);
    }

    /// Makes the DPU run the target, if it does not yet and it is time to try.
    async fn converge(&mut self) {
        let Some(target) = self.desired.target() else { return };
        let running = Running {
            marker: self.marker.as_ref(),
            verified: self.verified,
            dhcp_on_disk: on_disk(&self.settings, &target.files.dhcp),
            interfaces_recreated: self.interfaces_recreated,
        };
        let plan = plan(target, &running);
        if plan.is_empty() {
            self.failure = None;
            self.expected = target.files.expected.clone();
            return;
        }
        let what = (target.nvue.clone(), target.dhcp.clone());
        if !self.retry.may_try(&what, Instant::now()) {
            return;
        }
        tracing::debug!(?plan, nvue = target.nvue.short(), "applying");
        let before = Before { marker: self.marker.as_ref(), verified: self.verified, applied: &self.applied };
        let (controller, settings) = (&mut self.controller, &self.settings);
        let up = uplinks_up(settings).await;
        let prove = async |time| prove(controller, settings, &up, time).await;
        match apply(plan, target, &before, settings, prove).await {
            Ok(done) => {
                self.expected = target.files.expected.clone();
                let versions = done.marker.versions.as_ref();
                let runs = versions.map_or("isolated", |versions| versions.managed_host.as_str());
                let how = if done.changed { "changed" } else { "unchanged" };
                tracing::info!("the DPU runs {runs} ({how})");
                if done.changed {
                    self.changed = Some(Instant::now());
                }
                self.marker = Some(done.marker);
                self.verified = true;
                self.interfaces_recreated = false;
                if let Err(error) = self.applied.record_boot() {
                    tracing::warn!("this boot cannot be recorded in the state directory: {error}");
                }
                self.failure = None;
                self.retry.reset();
            }
            Err(fault) => {
                let pause = self.retry.failed(what, Instant::now());
                let reason = self.desired.redacted(&fault.reason);
                tracing::error!("{reason}; next try in {} s", pause.as_secs_f32());
                self.verified = fault.former_runs;
                self.failure = Some(reason);
                self.release.invalidate_if_unknown();
            }
        }
    }

    async fn check(&mut self) -> Findings {
        let containers = self.container.look_up(&mut self.settings).await;
        let mut findings = health::check(&self.settings, &self.expected, containers.as_ref()).await;
        if !findings.any() {
            findings.alert("HealthProbes", None, Severity::Critical, "Nothing was checked: no probe is configured");
        }
        if let Some(validity) = self.controller.certificate() {
            match validity.warning(SystemTime::now()) {
                None => findings.success("ClientCertificate", None),
                Some(when) => {
                    let failure = self.renewal.failure().map(|why| format!("; it cannot be renewed: {why}"));
                    let message = format!("This DPU's certificate {when}{}", failure.unwrap_or_default());
                    findings.alert("ClientCertificate", None, Severity::Notice, message);
                }
            }
        }
        if self.settings.probes(ProbeFamily::PostConfigCheck) && self.wait_left().is_some() {
            let wait = self.settings.period.post_config_check.as_secs_f32();
            let message = format!("The configuration changed less than {wait} s ago");
            findings.alert("PostConfigCheckWait", None, Severity::Critical, message);
        }
        if let Some(error) = self.error() {
            findings.alert("NetworkConfig", None, Severity::Critical, error);
        }
        findings
    }

    async fn report(&mut self, findings: &Findings) {
        // A site that does not know this DPU takes no reports.
        if self.isolation.is_unknown_to_site() {
            return;
        }
        let runs = self.marker.as_ref().filter(|_| self.verified).and_then(|marker| marker.versions.as_ref());
        let ports = match runs {
            Some(_) => HostPorts::observe(&self.settings).await,
            None => HostPorts::default(),
        };
        let error = self.error();
        let report = Report {
            id: &self.settings.machine_id,
            runs,
            desired: self.desired.last(),
            error: error.as_deref(),
            findings,
            ports: &ports,
            dhcp_requests: last_dhcp_requests(&self.settings.dhcp, self.desired.last()),
            host_mac: self.settings.hbn.host_mac,
            certificate_expiry: self.controller.certificate().map(|validity| validity.end),
        };
        let failure = self.controller.report(&report).await.err();
        if failure != self.report_failure {
            match &failure {
                Some(reason) => tracing::warn!("the report did not reach the controller: {reason}"),
                None => tracing::info!("reports reach the controller"),
            }
            self.report_failure = failure;
        }
    }

    fn keep_status(&mut self, findings: &Findings) {
        let status = StatusFile {
            runs: Runs::of(self.marker.as_ref(), self.verified),
            controller: self.response.clone(),
            error: self.error(),
            alerts: alert_lines(findings),
        };
        if self.status.as_ref() == Some(&status) {
            return;
        }
        match status.write(&self.settings.state_dir) {
            Ok(()) => self.status = Some(status),
            Err(error) => tracing::warn!("the status file cannot be written: {error}"),
        }
    }

    /// Why the desired configuration does not run.
    fn error(&self) -> Option<String> {
        self.desired.fault().or_else(|| self.failure.clone())
    }

    /// How long the last change has yet to settle.
    fn wait_left(&self) -> Option<Duration> {
        let left = self.settings.period.post_config_check.checked_sub(self.changed?.elapsed())?;
        Some(left).filter(|left| !left.is_zero())
    }

    /// The next pass comes at the latest when the last change has settled, so that the site hears of it at once.
    fn next_in(&self) -> Duration {
        let pass = self.settings.period.pass;
        self.wait_left().map_or(pass, |left| left.min(pass))
    }
}

/// When the marker's change was made, if the agent was restarted before it had settled.
fn still_waiting(marker: &Marker, wait: Duration) -> Option<Instant> {
    let since: prost_types::Timestamp = marker.since.parse().ok()?;
    // If the clock was set back, the age is unknown and counts as zero.
    let age = SystemTime::now().duration_since(SystemTime::try_from(since).ok()?).unwrap_or_default();
    if age < wait { Instant::now().checked_sub(age) } else { None }
}

/// Alerts as lines: `probe target: message`.
fn alert_lines(findings: &Findings) -> Vec<String> {
    let line = |(id, target, _, message): (&str, Option<&str>, _, String)| match target {
        Some(target) => format!("{id} {target}: {message}"),
        None => format!("{id}: {message}"),
    };
    findings.alerts().map(line).collect()
}
