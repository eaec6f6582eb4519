//! The straight line: one pass after the other, each from the controller's answer to the report.

use std::{
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use crate::{
    Settings,
    apply::{Before, apply, on_disk},
    certificate::{NOTICE, seconds_left},
    controller::Controller,
    fetch::{Answer, Desired, Isolation},
    health::{self, Findings, Severity},
    intent::{Digest, Intent, IntentFile},
    marker::{Applied, Marker, timestamp},
    plan::{Running, Target, plan},
    proof::{prove, uplinks_up},
    render::{self, Environment, Expectations, NetworkConfig, TemplateError, Templates},
    report::{Report, status},
    retry::Retry,
    status::{Runs, Said, StatusFile, alert_lines},
};

/// Keeps one DPU at what its controller wants.
pub struct Agent {
    settings: Settings,
    environment: Environment,
    templates: Templates,
    controller: Controller,
    isolation: Isolation,
    intent_file: IntentFile,
    intent: Option<Intent>,
    /// The intent as files, with the digest of the intent it was rendered from.
    target: Option<(Digest, Target)>,
    /// An answer that cannot be rendered, and why; what ran before stays.
    unusable: Option<(Digest, String)>,
    applied: Applied,
    marker: Option<Marker>,
    /// What the marker says is known to be true.
    verified: bool,
    /// What a healthy DPU shows with what runs.
    expected: Expectations,
    failure: Option<String>,
    retry: Retry<(Digest, Option<Digest>)>,
    changed: Option<Instant>,
    said: Said,
    report_failure: Option<String>,
    status: Option<StatusFile>,
}

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The templates are at fault.
    #[error(transparent)]
    Templates(#[from] TemplateError),
    /// The state directory cannot be used.
    #[error("cannot use the state directory {path}: {source}")]
    StateDir {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What one pass came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Time to wait before the next one.
    pub next_in: Duration,
    /// Nothing is in alert.
    pub healthy: bool,
}

impl Agent {
    /// An agent that goes on from where the last one of this state directory stopped.
    ///
    /// # Errors
    /// [`AgentError`] if the templates or the state directory cannot be used. A damaged state file is no error.
    pub fn new(settings: Settings) -> Result<Self, AgentError> {
        let templates = match &settings.templates.dir {
            Some(dir) => Templates::from_dir(dir)?,
            None => Templates::embedded()?,
        };
        let state_dir = settings.state_dir.clone();
        std::fs::create_dir_all(&state_dir)
            .map_err(|source| AgentError::StateDir { path: state_dir.clone(), source })?;
        let intent_file = IntentFile::new(&state_dir);
        let intent = intent_file.read().unwrap_or_else(|error| {
            tracing::warn!("the kept answer of the controller cannot be used ({error}); a new one is waited for");
            None
        });
        let applied = Applied::new(&state_dir);
        let marker = applied.marker();
        let period = settings.period.clone();
        Ok(Self {
            environment: settings.environment(),
            templates,
            controller: Controller::new(&settings),
            isolation: Isolation::new(period.isolate_after),
            intent_file,
            intent,
            target: None,
            unusable: None,
            changed: marker.as_ref().and_then(|marker| still_waiting(marker, period.post_config_check)),
            applied,
            marker,
            verified: false,
            expected: Expectations {
                min_links: settings.hbn.uplinks.len().min(2),
                uplinks: settings.hbn.uplinks.clone(),
                ..Expectations::default()
            },
            failure: None,
            retry: Retry::new(period.pass, period.longest_backoff),
            said: Said::default(),
            report_failure: None,
            status: None,
            settings,
        })
    }

    /// One pass: fetch, render, plan, apply, check, report.
    pub async fn pass(&mut self) -> Pass {
        let reachable = self.fetch().await;
        self.render_kept();
        self.settle().await;
        let findings = self.check().await;
        if reachable {
            self.report(&findings).await;
        }
        self.keep_status(&findings);
        Pass { next_in: self.next_in(), healthy: findings.is_healthy() }
    }

    /// Checks the DPU without changing anything: what the last pass of a daemon made of it, and what only people ask.
    pub async fn look(&mut self) -> Findings {
        self.render_kept();
        if let (Some((_, target)), Some(marker)) = (&self.target, &self.marker)
            && target.nvue == marker.nvue
        {
            self.expected = target.files.expected.clone();
        }
        let mut findings = self.check().await;
        health::check_once(&self.settings, &mut findings).await;
        findings
    }

    /// Whatever failed is tried at once in the next pass.
    pub fn hurry(&mut self) {
        self.retry.reset();
    }

    /// Asks the controller; whether it can be told something too.
    async fn fetch(&mut self) -> bool {
        let answer = self.controller.desired(&self.settings.machine_id).await;
        let (said, reachable) = match &answer {
            Answer::Config(response) => (format!("run {}", response.managed_host_config_version), true),
            Answer::NotFound => ("this DPU is not known here (NotFound)".to_owned(), true),
            Answer::Failed(failure) => (format!("no answer: {}", failure.reason), failure.reachable),
        };
        if self.said.answer != said {
            tracing::info!("the controller: {said}");
            self.said = Said { answer: said, since: timestamp(SystemTime::now()) };
        }
        match self.isolation.judge(answer) {
            Desired::Config(response) => self.want(Intent::config(response)),
            Desired::Isolated => {
                let last = self.intent.clone();
                self.want(last.map_or(Intent::Isolated { last: None }, Intent::isolated));
            }
            Desired::KeepLast => (),
        }
        reachable
    }

    /// Takes on a new intent, unless it cannot be rendered: then the old one stays.
    fn want(&mut self, intent: Intent) {
        let digest = intent.digest();
        if self.target.as_ref().is_some_and(|(from, _)| *from == digest) {
            self.unusable = None;
            self.intent = Some(intent);
            return;
        }
        if self.unusable.as_ref().is_some_and(|(from, _)| *from == digest) {
            return;
        }
        match self.render(&intent) {
            Ok(target) => {
                if let Err(error) = self.intent_file.write(&intent) {
                    tracing::error!("the answer cannot be kept for a restart: {error}");
                }
                self.unusable = None;
                self.intent = Some(intent);
                self.target = Some((digest, target));
            }
            Err(reason) => {
                tracing::error!("the controller's configuration is not usable, what runs stays: {reason}");
                self.unusable = Some((digest, reason));
            }
        }
    }

    /// After a start without a controller, goes on with what it wanted last.
    fn render_kept(&mut self) {
        if self.target.is_some() || self.unusable.is_some() {
            return;
        }
        let Some(intent) = &self.intent else { return };
        let digest = intent.digest();
        match self.render(intent) {
            Ok(target) => self.target = Some((digest, target)),
            Err(reason) => {
                tracing::error!("the kept configuration is not usable any more: {reason}");
                self.unusable = Some((digest, reason));
            }
        }
    }

    fn render(&self, intent: &Intent) -> Result<Target, String> {
        let config = intent.last().map(NetworkConfig::try_from);
        let files = match (intent, config) {
            (Intent::Isolated { .. }, config) => {
                let underlay = config.as_ref().and_then(|config| config.as_ref().ok()).map(NetworkConfig::underlay);
                render::isolated(&self.environment, underlay, &self.templates)
            }
            (Intent::Config(response), Some(Ok(config))) => {
                let files = render::files(&config, &self.environment, &self.templates);
                // More links than there are is a fault of the site's configuration, and shown as one.
                let asked = response.min_dpu_functioning_links.and_then(|links| usize::try_from(links).ok());
                files.map(|mut files| {
                    files.expected.min_links = asked.unwrap_or(files.expected.min_links);
                    files
                })
            }
            (Intent::Config(_), Some(Err(error))) => return Err(error.to_string()),
            (Intent::Config(_), None) => return Err("there is no configuration".to_owned()),
        };
        files.map(Target::from).map_err(|error| error.to_string())
    }

    /// Makes the DPU run the target, if it does not yet and it is time to try.
    async fn settle(&mut self) {
        let Some((_, target)) = &self.target else { return };
        let running = Running {
            marker: self.marker.as_ref(),
            verified: self.verified,
            dhcp_on_disk: on_disk(&self.settings, &target.files.dhcp),
        };
        let plan = plan(target, &running);
        if plan.is_rest() {
            self.failure = None;
            self.expected = target.files.expected.clone();
            return;
        }
        let what = (target.nvue.clone(), target.dhcp.clone());
        if !self.retry.may_try(&what, Instant::now()) {
            return;
        }
        tracing::debug!(?plan, nvue = target.nvue.short(), "applying");
        let before = Before { marker: self.marker.as_ref(), applied: &self.applied };
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
                self.failure = None;
                self.retry.reset();
            }
            Err(fault) => {
                let pause = self.retry.failed(what, Instant::now());
                let reason = self.redacted(&fault.reason);
                tracing::error!("{reason}; next try in {} s", pause.as_secs_f32());
                self.verified &= fault.former_runs;
                self.failure = Some(reason);
            }
        }
    }

    async fn check(&self) -> Findings {
        let mut findings = health::check(&self.settings, &self.expected).await;
        if !findings.any() {
            findings.alert("HealthProbes", None, Severity::Critical, "Nothing was checked: no probe is configured");
        }
        if let Some(end) = self.controller.certificate_expiry() {
            let left = seconds_left(end, SystemTime::now());
            if u64::try_from(left).is_ok_and(|left| left > NOTICE.as_secs()) {
                findings.success("ClientCertificate", None);
            } else {
                let message = format!("This DPU's certificate ends in {} hours", left / 3600);
                findings.alert("ClientCertificate", None, Severity::Notice, message);
            }
        }
        if self.wait_left().is_some() {
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
        // The site does not know an isolated DPU, so there is nobody to tell.
        if self.intent.as_ref().is_some_and(Intent::is_isolated) {
            return;
        }
        let runs = self.marker.as_ref().filter(|_| self.verified).and_then(|marker| marker.versions.as_ref());
        let report = Report {
            id: &self.settings.machine_id,
            runs,
            wanted: self.intent.as_ref().and_then(Intent::last),
            error: self.error(),
            findings,
            certificate_expiry: self.controller.certificate_expiry(),
        };
        let failure = self.controller.record(status(&report)).await.err();
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
            controller: self.said.clone(),
            error: self.error().map(str::to_owned),
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

    /// Why what the controller wants does not run.
    fn error(&self) -> Option<&str> {
        self.unusable.as_ref().map(|(_, reason)| reason.as_str()).or(self.failure.as_deref())
    }

    /// How long a change has yet to prove itself.
    fn wait_left(&self) -> Option<Duration> {
        let left = self.settings.period.post_config_check.checked_sub(self.changed?.elapsed())?;
        Some(left).filter(|left| !left.is_zero())
    }

    /// A pass is due at the latest when a change has proved itself, so that the site hears of it at once.
    fn next_in(&self) -> Duration {
        let pass = self.settings.period.pass;
        self.wait_left().map_or(pass, |left| left.min(pass))
    }

    /// `text` without the secrets of the configuration, which NVUE may quote.
    fn redacted(&self, text: &str) -> String {
        let secret =
            self.intent.as_ref().and_then(Intent::last).and_then(|last| last.bgp_leaf_session_password.as_deref());
        match secret {
            Some(secret) if !secret.is_empty() => text.replace(secret, "***"),
            _ => text.to_owned(),
        }
    }
}

/// The moment of the marker's change, if the agent was started anew before the change had proved itself.
fn still_waiting(marker: &Marker, wait: Duration) -> Option<Instant> {
    let since: prost_types::Timestamp = marker.since.parse().ok()?;
    let age = SystemTime::now().duration_since(SystemTime::try_from(since).ok()?).ok()?;
    if age < wait { Instant::now().checked_sub(age) } else { None }
}
