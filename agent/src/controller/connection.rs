//! The connection to the site controller: TLS, time limits, and when a channel is dropped. `fetch`, `renewal` and `report`
//! put their calls on it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use proto::forge::{VersionRequest, forge_client::ForgeClient};
use tonic::{
    Code, Status,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use super::certificate::{OwnCertificate, Validity};
use crate::{
    Settings,
    config::{RpcSection, TlsSection},
    state::modified,
};

/// The site controller, seen from this DPU.
///
/// A channel is kept while it works and dropped after a failure that may be the transport's. So a half-open connection, a
/// restarted controller or renewed certificates cost one pass at most.
pub(super) struct Controller {
    pub(super) settings: ConnectionSettings,
    connection: Option<Connection>,
    pub(super) own: Option<OwnCertificate>,
}

pub(super) struct ConnectionSettings {
    uri: String,
    tls: TlsSection,
    rpc: RpcSection,
}

struct Connection {
    client: ForgeClient<Channel>,
    /// The certificate files that it was made with, and when each was written.
    certificates: Vec<(PathBuf, Option<SystemTime>)>,
}

/// Why no connection can be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectFault {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{uri} cannot be used with the certificates given: {reason}")]
    Endpoint { uri: String, reason: String },
}

impl Controller {
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { controller, tls, rpc, .. } = settings.clone();
        let pair = tls.cert.clone().zip(tls.key.clone()).filter(|_| controller.starts_with("https://"));
        let own = pair.map(|(cert, key)| OwnCertificate::new(cert, key));
        Self { settings: ConnectionSettings { uri: controller, tls, rpc }, connection: None, own }
    }

    /// When this DPU's own certificate is valid; none without a readable one.
    pub(super) fn certificate(&mut self) -> Option<Validity> {
        self.own.as_mut()?.validity()
    }

    /// Whether the controller responds at all.
    pub(super) async fn responds(&mut self) -> Result<(), String> {
        let mut client = self.client().map_err(|fault| fault.to_string())?;
        match bounded(self.call_limit(), client.version(VersionRequest::default())).await {
            Err(status) if may_be_transport(&status) => {
                self.after(&status);
                Err(describe(&status))
            }
            // A refusal is a response too.
            _ => Ok(()),
        }
    }

    /// A client on the present channel, or on a new one if there is none or certificates have changed.
    pub(super) fn client(&mut self) -> Result<ForgeClient<Channel>, ConnectFault> {
        if let Some(connection) = &self.connection
            && connection.certificates.iter().all(|(path, seen)| modified(path) == *seen)
        {
            return Ok(connection.client.clone());
        }
        if let Some(own) = &self.own
            && let Err(error) = own.finish()
        {
            tracing::warn!("an interrupted renewal of this DPU's certificate cannot be completed: {error}");
        }
        match self.settings.connect() {
            Ok(connection) => Ok(self.connection.insert(connection).client.clone()),
            // A renewal in progress leaves a half-written pair: the working channel stays until the files are good again.
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

    /// Drops the channel after an error that may be the transport's.
    pub(super) fn after(&mut self, status: &Status) {
        if may_be_transport(status) {
            self.connection = None;
        }
    }

    pub(super) fn call_limit(&self) -> Duration {
        self.settings.call_limit()
    }
}

pub(super) fn may_be_transport(status: &Status) -> bool {
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

    /// A client that identifies itself, or not. It connects when it is first used.
    pub(super) fn client(&self, identity: Option<Identity>) -> Result<ForgeClient<Channel>, ConnectFault> {
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

/// Limits a call as a whole: the endpoint's own limits do not cover a name server that never responds.
pub(super) async fn bounded<T>(
    limit: Duration,
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Status> {
    match tokio::time::timeout(limit, call).await {
        Ok(response) => response.map(tonic::Response::into_inner),
        Err(_) => Err(Status::deadline_exceeded(format!("no answer within {} s", limit.as_secs_f32()))),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ConnectFault> {
    types::read_file(path, crate::MAX_FILE_BYTES).map_err(|source| ConnectFault::Read { path: path.to_owned(), source })
}

/// A status in one line: its code, its message and its causes.
pub(super) fn describe(status: &Status) -> String {
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
