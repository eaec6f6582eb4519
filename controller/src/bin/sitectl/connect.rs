//! The way to the controller.

use std::{path::PathBuf, time::Duration};

use proto::{
    MachineId,
    forge::forge_client::ForgeClient,
    site::{Alert, HostRef, ListDpusRequest, site_client::SiteClient},
};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::failure::Failure;

/// Where the controller is and how it is trusted.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ControllerArgs {
    /// Address of the site controller
    #[arg(long, env = "SITECTL_CONTROLLER", global = true, default_value = "http://127.0.0.1:1079")]
    pub(crate) controller: String,
    /// CA certificate (PEM) that the controller's certificate must come from; needed for https
    #[arg(long, env = "SITECTL_CA", global = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Certificate (PEM) of this operator
    #[arg(long, env = "SITECTL_CERT", global = true, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Key (PEM) of this operator
    #[arg(long, env = "SITECTL_KEY", global = true, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
}

/// Both interfaces of one controller.
pub(crate) struct Controller {
    url: String,
    pub(crate) site: SiteClient<Channel>,
    pub(crate) forge: ForgeClient<Channel>,
}

// Every answer of the operator API fits; a pack with its tests is the largest request.
const MESSAGE_LIMIT: usize = 32 << 20;

impl ControllerArgs {
    /// Connects, or says why not.
    pub(crate) async fn connect(&self) -> Result<Controller, Failure> {
        let url = self.controller.clone();
        let endpoint = Endpoint::from_shared(url.clone())
            .map_err(|error| Failure::Usage(format!("--controller {url}: {error}")))?
            .connect_timeout(Duration::from_secs(5))
            .timeout(Duration::from_secs(60));
        let endpoint = match self.tls()? {
            Some(tls) => endpoint.tls_config(tls).map_err(|error| Failure::Usage(format!("TLS: {error}")))?,
            None => endpoint,
        };
        let channel = endpoint
            .connect()
            .await
            .map_err(|error| Failure::Unreachable { controller: url.clone(), why: causes(&error) })?;
        Ok(Controller {
            site: SiteClient::new(channel.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            forge: ForgeClient::new(channel).max_decoding_message_size(MESSAGE_LIMIT),
            url,
        })
    }

    fn tls(&self) -> Result<Option<ClientTlsConfig>, Failure> {
        if !self.controller.starts_with("https://") {
            return Ok(None);
        }
        let Some(ca) = &self.ca else {
            return Err(Failure::Usage("https needs --ca FILE (or SITECTL_CA)".into()));
        };
        let read = |path: &PathBuf| {
            types::read_file(path, 1 << 20)
                .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))
        };
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(ca)?));
        Ok(Some(match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => tls.identity(Identity::from_pem(read(cert)?, read(key)?)),
            _ => tls,
        }))
    }
}

impl Controller {
    /// For `map_err` on any call.
    pub(crate) fn failure(&self) -> impl Fn(tonic::Status) -> Failure + use<> {
        let url = self.url.clone();
        move |status| Failure::from_status(&status, &url)
    }

    /// The alerts in all reports on a host or DPU.
    pub(crate) async fn alerts(&mut self, machine: &MachineId) -> Result<Vec<Alert>, Failure> {
        let failure = self.failure();
        let dpus = self.site.list_dpus(ListDpusRequest::default()).await.map_err(&failure)?.into_inner().dpus;
        let (host, dpu) = match dpus.into_iter().find(|dpu| dpu.machine_id == machine.as_str()) {
            Some(dpu) => (dpu.host, dpu.name),
            None => (machine.to_string(), String::new()),
        };
        let detail = self.site.get_host(HostRef { host }).await.map_err(failure)?.into_inner();
        Ok(detail.alerts.into_iter().filter(|alert| alert.dpu == dpu).collect())
    }

    /// The machine id of a host or DPU given by id or by name.
    pub(crate) async fn machine(&mut self, name: &str) -> Result<MachineId, Failure> {
        if let Ok(id) = name.parse() {
            return Ok(id);
        }
        let failure = self.failure();
        let text = match self.site.get_host(HostRef { host: name.to_owned() }).await {
            Ok(host) => host.into_inner().summary.unwrap_or_default().machine_id,
            Err(status) if status.code() == tonic::Code::NotFound => {
                let dpus = self.site.list_dpus(ListDpusRequest::default()).await.map_err(&failure)?;
                let dpu = dpus.into_inner().dpus.into_iter().find(|dpu| dpu.name == name);
                dpu.ok_or_else(|| Failure::NotFound(format!("no host or DPU is named `{name}`")))?.machine_id
            }
            Err(status) => return Err(failure(status)),
        };
        text.parse().map_err(|error| Failure::Refused(format!("the controller named `{name}` badly: {error}")))
    }
}

/// An error and what is behind it, in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
