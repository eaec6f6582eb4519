use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use proto::{
    MachineId,
    forge::{
        DpuNetworkStatus, MachineCertificate, MachineCertificateRenewRequest, ManagedHostNetworkConfigRequest,
        VersionRequest, forge_client::ForgeClient,
    },
};
use tonic::{
    Code, Request, Status,
    metadata::{MetadataMap, MetadataValue},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::{
    Settings,
    certificate::{OwnCertificate, Validity},
    fetch::{Answer, Failure},
    marker::{Marker, Versions},
    private_file::modified,
};

/// The connection to the site controller.
///
/// A channel is kept while it works and dropped after a failure that may be the transport's, so that a half-open
/// connection, a restarted controller or renewed certificates cost one pass and never stick.
pub(crate) struct Controller {
    settings: ConnectionSettings,
    connection: Option<Connection>,
    own: Option<OwnCertificate>,
}

struct ConnectionSettings {
    uri: String,
    tls: crate::config::Tls,
    rpc: crate::config::Rpc,
}

struct Connection {
    client: ForgeClient<Channel>,
    certificates: Vec<(PathBuf, Option<SystemTime>)>,
}

/// Why there is no connection to try.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectFault {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{uri} cannot be used with the certificates given: {reason}")]
    Endpoint { uri: String, reason: String },
}

impl Controller {
    pub(crate) fn new(settings: &Settings) -> Self {
        let Settings { controller, tls, rpc, .. } = settings.clone();
        let pair = tls.cert.clone().zip(tls.key.clone()).filter(|_| controller.starts_with("https://"));
        let own = pair.map(|(cert, key)| OwnCertificate::new(cert, key));
        Self { settings: ConnectionSettings { uri: controller, tls, rpc }, connection: None, own }
    }

    /// Asks what this DPU is to run. What it runs goes along: a site that never gave that leaves it alone.
    pub(crate) async fn desired(&mut self, id: &MachineId, runs: Option<&Marker>) -> Answer {
        let mut request = Request::new(ManagedHostNetworkConfigRequest { dpu_machine_id: Some(id.into()) });
        if let Some(runs) = runs.and_then(|marker| marker.versions.as_ref()) {
            tell(request.metadata_mut(), runs);
        }
        let mut client = match self.client() {
            Ok(client) => client,
            Err(fault) => return Answer::Failed(Failure { reason: fault.to_string(), reachable: false }),
        };
        match bounded(self.settings.call_limit(), client.get_managed_host_network_config(request)).await {
            Ok(response) => Answer::Config(Box::new(response)),
            Err(status) if status.code() == Code::NotFound => Answer::NotFound,
            Err(status) => {
                self.after(&status);
                let reachable = !transport_may_be_at_fault(&status);
                Answer::Failed(Failure { reason: plain(&status), reachable })
            }
        }
    }

    /// Tells what runs and how healthy it is.
    pub(crate) async fn record(&mut self, status: DpuNetworkStatus) -> Result<(), String> {
        let mut client = self.client().map_err(|fault| fault.to_string())?;
        bounded(self.settings.call_limit(), client.record_dpu_network_status(status)).await.map_err(|status| {
            self.after(&status);
            plain(&status)
        })
    }

    /// When this DPU's own certificate is valid; none without a readable one.
    pub(crate) fn certificate(&mut self) -> Option<Validity> {
        self.own.as_mut()?.validity()
    }

    /// Has this DPU's certificate renewed; when the new one is valid.
    ///
    /// A certificate that is over opens no connection. So its renewal is asked for on one without, which shows the
    /// former certificate and gets another for the same key.
    pub(crate) async fn renew(&mut self) -> Result<Validity, String> {
        let validity = self.certificate().ok_or("there is none that can be read")?;
        let mut request = Request::new(MachineCertificateRenewRequest::default());
        let mut client = if validity.left(SystemTime::now()) > 0 {
            self.client().map_err(|fault| fault.to_string())?
        } else {
            let own = self.own.as_ref().ok_or("there is none")?;
            let former = own.der().map_err(|why| format!("it cannot be read: {why}"))?;
            request.metadata_mut().insert_bin(proto::FORMER_CERTIFICATE, MetadataValue::from_bytes(&former));
            self.settings.client(None).map_err(|fault| fault.to_string())?
        };
        let answer =
            bounded(self.settings.call_limit(), client.renew_machine_certificate(request)).await.map_err(|status| {
                self.after(&status);
                plain(&status)
            })?;
        let new = answer.machine_certificate.ok_or("the answer holds no certificate")?;
        self.install(&new, &validity)
    }

    /// Puts a new certificate in place, if it is of use.
    fn install(&self, new: &MachineCertificate, former: &Validity) -> Result<Validity, String> {
        let own = self.own.as_ref().ok_or("there is none to replace")?;
        let validity = Validity::read(&new.public_key);
        let validity = validity.map_err(|why| format!("the one that was sent cannot be read: {why}"))?;
        if validity.end <= former.end {
            return Err("the one that was sent does not last longer".to_owned());
        }
        let new_key = Some(new.private_key.as_slice()).filter(|key| !key.is_empty());
        let key = match new_key {
            Some(key) => key.to_vec(),
            None => own.key().map_err(|error| format!("its key cannot be read: {error}"))?,
        };
        let pem = [&new.public_key[..], b"\n", &new.issuing_ca, b"\n"].concat();
        let fits = self.settings.client(Some(Identity::from_pem(&pem, key)));
        fits.map_err(|fault| format!("the one that was sent is of no use: {fault}"))?;
        own.replace(&pem, new_key).map_err(|error| format!("its files cannot be replaced: {error}"))?;
        Ok(validity)
    }

    /// Whether the controller answers at all.
    pub(crate) async fn answers(&mut self) -> Result<(), String> {
        let mut client = self.client().map_err(|fault| fault.to_string())?;
        match bounded(self.settings.call_limit(), client.version(VersionRequest::default())).await {
            Err(status) if transport_may_be_at_fault(&status) => {
                self.after(&status);
                Err(plain(&status))
            }
            // A refusal is an answer too.
            _ => Ok(()),
        }
    }

    fn client(&mut self) -> Result<ForgeClient<Channel>, ConnectFault> {
        if let Some(connection) = &self.connection
            && connection.certificates.iter().all(|(path, seen)| modified(path) == *seen)
        {
            return Ok(connection.client.clone());
        }
        if let Some(own) = &self.own
            && let Err(error) = own.finish()
        {
            tracing::warn!("a renewal of this DPU's certificate that was cut off cannot be ended: {error}");
        }
        match self.settings.connect() {
            Ok(connection) => Ok(self.connection.insert(connection).client.clone()),
            // A renewal in progress leaves a half-written pair: what works is kept until the files are good again.
            Err(fault) => match &mut self.connection {
                Some(connection) => {
                    tracing::warn!("the new certificates are not usable, the old ones stay: {fault}");
                    connection.certificates.iter_mut().for_each(|(path, seen)| *seen = modified(path));
                    Ok(connection.client.clone())
                }
                None => Err(fault),
            },
        }
    }

    fn after(&mut self, status: &Status) {
        if transport_may_be_at_fault(status) {
            self.connection = None;
        }
    }
}

fn transport_may_be_at_fault(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown)
}

impl ConnectionSettings {
    /// For a call on a connection that has yet to be made.
    fn call_limit(&self) -> Duration {
        self.rpc.connect_timeout + self.rpc.call_timeout
    }

    fn connect(&self) -> Result<Connection, ConnectFault> {
        let files = [&self.tls.ca, &self.tls.cert, &self.tls.key];
        let certificates = files.iter().filter_map(|file| file.as_ref()).map(|path| (path.clone(), modified(path)));
        let certificates = certificates.collect();
        let identity = match (&self.tls.cert, &self.tls.key) {
            (Some(cert), Some(key)) => Some(Identity::from_pem(read(cert)?, read(key)?)),
            _ => None,
        };
        Ok(Connection { client: self.client(identity)?, certificates })
    }

    /// A client that shows who it is, or not. It connects when it is first used.
    fn client(&self, identity: Option<Identity>) -> Result<ForgeClient<Channel>, ConnectFault> {
        let fault =
            |error: tonic::transport::Error| ConnectFault::Endpoint { uri: self.uri.clone(), reason: chain(&error) };
        let mut endpoint = Endpoint::from_shared(self.uri.clone())
            .map_err(fault)?
            .connect_timeout(self.rpc.connect_timeout)
            .timeout(self.rpc.call_timeout)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(self.rpc.connect_timeout);
        if self.uri.starts_with("https://") {
            endpoint = endpoint.tls_config(self.tls(identity)?).map_err(fault)?;
        }
        let limit = usize::from(self.rpc.max_message_mib) * 1024 * 1024;
        Ok(ForgeClient::new(endpoint.connect_lazy()).max_decoding_message_size(limit))
    }

    fn tls(&self, identity: Option<Identity>) -> Result<ClientTlsConfig, ConnectFault> {
        let mut tls = ClientTlsConfig::new();
        if let Some(ca) = &self.tls.ca {
            tls = tls.ca_certificate(Certificate::from_pem(read(ca)?));
        }
        if let Some(identity) = identity {
            tls = tls.identity(identity);
        }
        if let Some(domain) = &self.tls.domain {
            tls = tls.domain_name(domain);
        }
        Ok(tls)
    }
}

fn tell(metadata: &mut MetadataMap, runs: &Versions) {
    let told = [
        (proto::RUNNING_VERSION, Some(&runs.managed_host)),
        (proto::RUNNING_INSTANCE, runs.instance_id.as_ref()),
        (proto::RUNNING_INSTANCE_VERSION, runs.instance_network.as_ref()),
    ];
    for (name, text) in told {
        if let Some(value) = text.and_then(|text| text.parse().ok()) {
            metadata.insert(name, value);
        }
    }
}

/// The endpoint's own limits do not cover a name server that never answers; this one does.
async fn bounded<T>(
    limit: Duration,
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Status> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer.map(tonic::Response::into_inner),
        Err(_) => Err(Status::deadline_exceeded(format!("no answer within {} s", limit.as_secs_f32()))),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ConnectFault> {
    types::read_file(path, crate::MOST_BYTES).map_err(|source| ConnectFault::Read { path: path.to_owned(), source })
}

fn plain(status: &Status) -> String {
    let cause = std::error::Error::source(status).map(|source| format!(" ({})", chain(source)));
    format!("{:?}: {}{}", status.code(), status.message(), cause.unwrap_or_default())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_carries_what_runs() {
        let mut metadata = MetadataMap::new();
        let runs = Versions { managed_host: "V7-T8".into(), ..Versions::default() };
        tell(&mut metadata, &runs);
        assert_eq!(metadata.get("running-network-version").unwrap(), "V7-T8");
        assert_eq!(metadata.len(), 1);
        let instance = Versions { instance_network: Some("V2-T9".into()), instance_id: Some("i-1".into()), ..runs };
        tell(&mut metadata, &instance);
        assert_eq!(metadata.get("running-instance").unwrap(), "i-1");
        assert_eq!(metadata.get("running-instance-network-version").unwrap(), "V2-T9");
    }
}
