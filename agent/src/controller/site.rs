//! What the agent and the site tell each other, pass by pass. Each change of what is told is logged once.

use std::time::{Instant, SystemTime};

use proto::MachineId;

use super::{
    connection::Controller,
    fetch::{Instruction, Isolation, Response},
    renewal::Renewal,
    report::Report,
};
use crate::{
    Settings,
    health::{Findings, Severity},
    state::{LastResponse, Marker, timestamp},
};

/// The site, seen from this DPU.
pub(crate) struct Site {
    controller: Controller,
    id: MachineId,
    isolation: Isolation,
    renewal: Renewal,
    response: LastResponse,
    report_failure: Option<String>,
}

/// What a pass learns from the site.
pub(crate) struct Fetched {
    pub(crate) instruction: Instruction,
    /// The controller responded, so it can take a report.
    pub(crate) reachable: bool,
}

impl Site {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            controller: Controller::new(settings),
            id: settings.machine_id.clone(),
            isolation: Isolation::new(settings.period.isolate_after),
            renewal: Renewal::new(settings.machine_id.clone()),
            response: LastResponse::default(),
            report_failure: None,
        }
    }

    /// Asks what to run. The site hears what runs now.
    pub(crate) async fn fetch(&mut self, runs: Option<&Marker>) -> Fetched {
        let response = self.controller.fetch(&self.id, runs).await;
        let (answer, reachable) = match &response {
            Response::Config(config) => (format!("run {}", config.managed_host_config_version), true),
            Response::NotFound => ("this DPU is not known here (NotFound)".to_owned(), true),
            Response::Failed(failure) => (format!("no answer: {}", failure.reason), failure.reachable),
        };
        if self.response.answer != answer {
            tracing::info!("the controller: {answer}");
            self.response = LastResponse { answer, since: timestamp(SystemTime::now()) };
        }
        Fetched { instruction: self.isolation.instruction(response), reachable }
    }

    /// What the controller last responded, for people.
    pub(crate) fn last_response(&self) -> &LastResponse {
        &self.response
    }

    /// Whether the controller responds at all.
    pub(crate) async fn responds(&mut self) -> Result<(), String> {
        self.controller.responds().await
    }

    /// Whether the site takes reports: not if it does not know this DPU.
    pub(crate) fn takes_reports(&self) -> bool {
        !self.isolation.is_unknown_to_site()
    }

    /// Sends a report.
    pub(crate) async fn report(&mut self, report: &Report<'_>) {
        let failure = self.controller.report(&self.id, report).await.err();
        if failure != self.report_failure {
            match &failure {
                Some(reason) => tracing::warn!("the report did not reach the controller: {reason}"),
                None => tracing::info!("reports reach the controller"),
            }
            self.report_failure = failure;
        }
    }

    /// Alerts people before this DPU's certificate expires.
    pub(crate) fn check_certificate(&mut self, findings: &mut Findings) {
        let Some(validity) = self.controller.certificate() else { return };
        match validity.warning(SystemTime::now()) {
            None => findings.success("ClientCertificate", None),
            Some(when) => {
                let failure = self.renewal.failure().map(|why| format!("; it cannot be renewed: {why}"));
                let message = format!("This DPU's certificate {when}{}", failure.unwrap_or_default());
                findings.alert("ClientCertificate", None, Severity::Notice, message);
            }
        }
    }

    /// Renews this DPU's certificate, if that is due; true if the former one had expired, so that the next pass can connect.
    pub(crate) async fn renew(&mut self) -> bool {
        let Some(former) = self.controller.certificate() else { return false };
        if !self.renewal.is_due(&former, SystemTime::now(), Instant::now()) {
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

    /// Makes the next pass try the renewal at once.
    pub(crate) fn retry_now(&mut self) {
        self.renewal.retry_now();
    }
}
