//! One pass after the other, each a straight line from the controller's response to the report. `cli` runs it. What is known
//! of the DPU is in [`Dpu`], without I/O; this file does the I/O and reports events to it.

mod dpu;
mod proof;

use std::{
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use types::{HealthAlert, HealthReport};

use crate::{
    Settings,
    apply::{Before, KnownState, apply, on_disk, plan},
    config::ProbeFamily,
    controller::{Instruction, Report, Retry, Site},
    desired::Desired,
    hbn::{HbnContainer, HostPorts, Release, last_dhcp_requests},
    health::{self, Findings, Severity},
    render::Expectations,
    state::{AppliedDir, Digest, Marker, StatusFile},
};
use dpu::{Contact, Dpu};
use proof::{prove, uplinks_up};

/// Keeps one DPU at the configuration that its controller wants.
pub struct Agent {
    settings: Settings,
    site: Site,
    container: HbnContainer,
    release: Release,
    desired: Desired,
    dpu: Dpu,
    applied: AppliedDir,
    /// Spaces out the tries of one target.
    retry: Retry<(Digest, Option<Digest>)>,
    /// The status file as it was written last.
    status: Option<StatusFile>,
}

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The state directory cannot be used.
    #[error("cannot use the state directory {path}")]
    StateDir {
        /// The directory, as configured.
        path: PathBuf,
        /// The reason that the operating system gives.
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
        let period = settings.period.clone();
        Self {
            site: Site::new(&settings),
            container: HbnContainer::new(&settings),
            release: Release::new(&settings),
            desired: Desired::open(&settings),
            dpu: known_dpu(&settings, &applied),
            applied,
            retry: Retry::new(period.pass, period.longest_backoff),
            status: None,
            settings,
        }
    }

    /// One pass: fetch, render, plan, apply, check, report.
    pub async fn pass(&mut self) -> Pass {
        if self.container.is_missing() {
            self.container.look_up(&mut self.settings).await;
        }
        let fetched = self.site.fetch(self.dpu.marker()).await;
        self.follow(fetched.instruction).await;
        self.converge().await;
        let findings = self.check().await;
        match self.dpu.probed(findings.hbn_is_silent()) {
            Contact::Steady => (),
            Contact::Lost => self.release.invalidate(),
            Contact::Returned => {
                self.release.invalidate();
                tracing::info!("HBN answers again; what it runs is verified");
            }
        }
        if fetched.reachable {
            self.report(findings.report()).await;
        }
        self.write_status(&findings.report().alerts);
        let reconnect = self.settings.tls.renew && self.site.renew().await;
        Pass { next_in: if reconnect { Duration::ZERO } else { self.next_in() }, healthy: findings.is_healthy() }
    }

    /// Checks a DPU without changing anything: what its agent would find, what that agent could not do, and the probes that
    /// only people ask for.
    pub async fn look(settings: Settings) -> HealthReport {
        let mut agent = Self::open(settings);
        let error = StatusFile::read(&agent.settings.state_dir).ok().and_then(|status| status.error);
        if let Some(error) = error {
            agent.dpu.failed(false, error);
        }
        let mut findings = agent.check().await;
        health::check_once(&agent.settings, &mut findings).await;
        findings.into()
    }

    /// Makes the next pass try at once whatever failed.
    pub fn retry_now(&mut self) {
        self.retry.reset();
        self.site.retry_now();
    }

    /// Takes in what the controller wants.
    async fn follow(&mut self, instruction: Instruction) {
        if let Some(version) = self.release.find(&self.settings).await {
            self.desired.set_hbn_version(version);
            self.dpu.rename_uplinks(self.desired.uplinks());
        }
        self.desired.follow(instruction);
    }

    /// Makes the DPU run the target, if it does not yet and it is time to try.
    async fn converge(&mut self) {
        let Some(target) = self.desired.target() else { return };
        let (marker, verified) = (self.dpu.marker(), self.dpu.is_verified());
        let known = KnownState {
            marker,
            verified,
            dhcp_on_disk: on_disk(&self.settings, &target.files.dhcp),
            interfaces_recreated: self.dpu.interfaces_recreated(),
        };
        let plan = plan(target, &known);
        if plan.is_empty() {
            self.dpu.at_target(&target.files.expected);
            return;
        }
        let what = (target.nvue.clone(), target.dhcp.clone());
        if !self.retry.may_try(&what, Instant::now()) {
            return;
        }
        tracing::debug!(?plan, nvue = target.nvue.short(), "applying");
        let before = Before { marker, verified, applied: &self.applied };
        let (site, settings) = (&mut self.site, &self.settings);
        let up = uplinks_up(settings).await;
        let prove = async |time| prove(site, settings, &up, time).await;
        match apply(plan, target, &before, settings, prove).await {
            Ok(done) => {
                let versions = done.marker.versions.as_ref();
                let runs = versions.map_or("isolated", |versions| versions.managed_host.as_str());
                let how = if done.changed { "changed" } else { "unchanged" };
                tracing::info!("the DPU runs {runs} ({how})");
                self.dpu.applied(done.marker, done.changed, &target.files.expected, Instant::now());
                self.retry.reset();
                if let Err(error) = self.applied.record_boot() {
                    tracing::warn!("this boot cannot be recorded in the state directory: {error}");
                }
            }
            Err(fault) => {
                let pause = self.retry.failed(what, Instant::now());
                let reason = self.desired.redacted(&fault.reason);
                tracing::error!("{reason}; next try in {} s", pause.as_secs_f32());
                self.dpu.failed(fault.former_runs, reason);
                self.release.invalidate_if_unknown();
            }
        }
    }

    async fn check(&mut self) -> Findings {
        let containers = self.container.look_up(&mut self.settings).await;
        let mut findings = health::check(&self.settings, self.dpu.expected(), containers.as_ref()).await;
        if !findings.any() {
            findings.alert("HealthProbes", None, Severity::Critical, "Nothing was checked: no probe is configured");
        }
        self.site.check_certificate(&mut findings);
        if self.settings.probes(ProbeFamily::PostConfigCheck) && self.settles_in().is_some() {
            let wait = self.settings.period.post_config_check.as_secs_f32();
            let message = format!("The configuration changed less than {wait} s ago");
            findings.alert("PostConfigCheckWait", None, Severity::Critical, message);
        }
        if let Some(error) = self.error() {
            findings.alert("NetworkConfig", None, Severity::Critical, error);
        }
        findings
    }

    async fn report(&mut self, health: &HealthReport) {
        if !self.site.takes_reports() {
            return;
        }
        let runs = self.dpu.verified_versions();
        let ports = match runs {
            Some(_) => HostPorts::observe(&self.settings).await,
            None => HostPorts::default(),
        };
        let error = self.error();
        let report = Report {
            runs,
            desired: self.desired.last(),
            error: error.as_deref(),
            health,
            ports: &ports,
            dhcp_requests: last_dhcp_requests(&self.settings.dhcp, self.desired.last()),
            host_mac: self.settings.hbn.host_mac,
        };
        self.site.report(&report).await;
    }

    fn write_status(&mut self, alerts: &[HealthAlert]) {
        let status = StatusFile {
            runs: self.dpu.runs(),
            controller: self.site.last_response().clone(),
            error: self.error(),
            alerts: alerts.iter().map(alert_line).collect(),
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
        self.desired.fault().or_else(|| self.dpu.failure().map(str::to_owned))
    }

    /// How long the last change has yet to settle.
    fn settles_in(&self) -> Option<Duration> {
        self.dpu.settles_in(self.settings.period.post_config_check, Instant::now())
    }

    /// The next pass comes at the latest when the last change has settled, so that the site hears of it at once.
    fn next_in(&self) -> Duration {
        let pass = self.settings.period.pass;
        self.settles_in().map_or(pass, |left| left.min(pass))
    }
}

/// What the state directory says about the DPU.
fn known_dpu(settings: &Settings, applied: &AppliedDir) -> Dpu {
    let marker = applied.marker();
    let changed = marker.as_ref().and_then(|marker| unsettled_since(marker, settings.period.post_config_check));
    let expected = marker.as_ref().and_then(|marker| marker.expected.clone());
    let expected = expected.unwrap_or_else(|| {
        let uplinks = settings.environment().uplinks();
        Expectations { min_links: uplinks.len().min(2), uplinks, ..Expectations::default() }
    });
    Dpu::new(marker, applied.is_same_boot(), changed, expected)
}

/// When the marker's change was made, if the agent was restarted before it had settled.
fn unsettled_since(marker: &Marker, wait: Duration) -> Option<Instant> {
    let since: prost_types::Timestamp = marker.since.parse().ok()?;
    // If the clock was set back, the age is unknown and counts as zero.
    let age = SystemTime::now().duration_since(SystemTime::try_from(since).ok()?).unwrap_or_default();
    if age < wait { Instant::now().checked_sub(age) } else { None }
}

/// An alert as a line: `probe target: message`.
fn alert_line(alert: &HealthAlert) -> String {
    let HealthAlert { id, target, message, .. } = alert;
    match target {
        Some(target) => format!("{id} {target}: {message}"),
        None => format!("{id}: {message}"),
    }
}
