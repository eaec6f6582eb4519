//! One request to NVUE's REST interface, over HTTP with a pinned certificate. `apply` configures NVUE with it; this room and
//! `health` only ask whether NVUE answers and what it is.

use std::{path::PathBuf, sync::Arc, time::Duration};

use data_encoding::BASE64;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Request, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
        pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    },
};

use crate::{config::NvueRest, parse::excerpt};

/// Largest answer that is read.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// What NVUE's web server answered: a status and, mostly, JSON.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFault {
    #[error("cannot read {path}: {reason}")]
    Settings { path: PathBuf, reason: String },
    #[error("NVUE at {url} cannot be reached: {reason}")]
    Connect { url: String, reason: String },
    #[error("NVUE at {url} did not answer within {} s", limit.as_secs_f32())]
    TimedOut { url: String, limit: Duration },
    #[error("NVUE at {url} broke the connection: {reason}")]
    Broken { url: String, reason: String },
}

impl HttpFault {
    /// The request never reached NVUE.
    pub(crate) fn never_sent(&self) -> bool {
        matches!(self, Self::Settings { .. } | Self::Connect { .. })
    }
}

/// Whether NVUE answers at all.
pub(crate) async fn answers(rest: &NvueRest, limit: Duration) -> Result<(), String> {
    system(rest, limit).await.map(drop)
}

/// What `nv show system -o json` would print.
pub(super) async fn system(rest: &NvueRest, limit: Duration) -> Result<String, String> {
    match send(rest, Method::GET, "/nvue_v1/system", None, limit).await {
        Ok(Reply { status: 200..=299, body }) => Ok(body.to_string()),
        Ok(Reply { status, .. }) => Err(format!("NVUE at {} answers with status {status}", rest.url)),
        Err(fault) => Err(fault.to_string()),
    }
}

/// Sends one request on a connection of its own.
pub(crate) async fn send(
    rest: &NvueRest,
    method: Method,
    path: &str,
    body: Option<&Value>,
    limit: Duration,
) -> Result<Reply, HttpFault> {
    let answer = tokio::time::timeout(limit, exchange(rest, method, path, body)).await;
    answer.unwrap_or_else(|_| Err(HttpFault::TimedOut { url: rest.url.clone(), limit }))
}

async fn exchange(rest: &NvueRest, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, HttpFault> {
    let unreachable = |reason: String| HttpFault::Connect { url: rest.url.clone(), reason };
    let broken = |reason: String| HttpFault::Broken { url: rest.url.clone(), reason };
    let uri: hyper::Uri = rest.url.parse().map_err(|_| unreachable("its URL is not valid".into()))?;
    let host = uri.host().unwrap_or_default();
    let secure = uri.scheme_str() != Some("http");
    let port = uri.port_u16().unwrap_or(8765);
    let secret = types::read_text(&rest.password_file, crate::MAX_FILE_BYTES)
        .map_err(|error| HttpFault::Settings { path: rest.password_file.clone(), reason: error.to_string() })?;
    let login = BASE64.encode(format!("{}:{}", rest.user, secret.trim_end_matches(['\r', '\n'])).as_bytes());
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, format!("{host}:{port}"))
        .header(header::AUTHORIZATION, format!("Basic {login}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body.map(|body| Bytes::from(body.to_string())).unwrap_or_default()))
        .map_err(|error| broken(error.to_string()))?;

    let stream = TcpStream::connect((host, port)).await.map_err(|error| unreachable(error.to_string()))?;
    let response = if secure {
        let pinned = pinned(rest)?;
        let name = ServerName::try_from(host.to_owned()).map_err(|error| unreachable(error.to_string()))?;
        let stream = TlsConnector::from(Arc::new(pinned)).connect(name, stream).await;
        talk(TokioIo::new(stream.map_err(|error| unreachable(error.to_string()))?), request).await
    } else {
        talk(TokioIo::new(stream), request).await
    };
    let (status, bytes) = response.map_err(broken)?;
    // A body that is not JSON must not pass for an empty answer.
    let text = || Value::String(excerpt(&String::from_utf8_lossy(&bytes)));
    Ok(Reply { status, body: serde_json::from_slice(&bytes).unwrap_or_else(|_| text()) })
}

async fn talk(
    io: impl hyper::rt::Read + hyper::rt::Write + Unpin,
    request: Request<Full<Bytes>>,
) -> Result<(u16, Bytes), String> {
    let (mut sender, connection) = http1::handshake(io).await.map_err(|error| error.to_string())?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await.map_err(|error| error.to_string())?;
        Ok((status, body.to_bytes()))
    };
    tokio::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // The connection may close as soon as the answer is there.
        closed = connection => match closed {
            Ok(()) => exchange.await,
            Err(error) => Err(error.to_string()),
        },
    }
}

/// TLS settings that trust one certificate only: NVUE's own, which is self-signed.
fn pinned(rest: &NvueRest) -> Result<ClientConfig, HttpFault> {
    let fault = |reason: String| HttpFault::Settings { path: rest.certificate.clone(), reason };
    let pem = types::read_file(&rest.certificate, crate::MAX_FILE_BYTES).map_err(|error| fault(error.to_string()))?;
    let certificate = CertificateDer::from_pem_slice(&pem).map_err(|error| fault(error.to_string()))?.into_owned();
    let provider = Arc::new(ring::default_provider());
    let verifier = Pin { certificate, provider: Arc::clone(&provider) };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(error.to_string()))?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

#[derive(Debug)]
struct Pin {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if *end_entity == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(TlsError::General("NVUE shows another certificate than the one configured".into()))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
