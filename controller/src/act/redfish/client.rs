//! One HTTP request to a BMC, with its limits and its errors. For [`super::service`] alone.

use std::{fmt::Display, path::PathBuf, time::Duration};

use reqwest::{Certificate, Client, Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;

use super::BmcError;
use crate::store;

/// How BMCs are reached.
#[derive(Debug, Clone)]
pub struct RedfishSettings {
    /// PEM certificate that BMC certificates must come from; without it a BMC's certificate is not checked, since BMCs
    /// come with self-signed ones.
    pub ca: Option<PathBuf>,
    /// Limit for one request.
    pub timeout: Duration,
}

impl Default for RedfishSettings {
    fn default() -> Self {
        Self { ca: None, timeout: Duration::from_secs(30) }
    }
}

/// Redfish over HTTP or HTTPS with basic authentication.
#[derive(Debug, Clone)]
pub struct Redfish {
    http: Client,
    timeout: Duration,
}

/// The client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum RedfishSetupError {
    /// The CA certificate cannot be read.
    #[error("cannot use the BMC CA certificate {path}: {why}")]
    Ca {
        /// Where it should be.
        path: String,
        /// Why not.
        why: String,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS for BMCs: {0}")]
    Tls(String),
}

// A system resource of a large server is about 20 KB.
const ANSWER_LIMIT: usize = 1 << 20;

impl Redfish {
    /// A client for all BMCs of the site.
    ///
    /// # Errors
    /// If the CA certificate cannot be read, or TLS not set up.
    pub fn new(settings: &RedfishSettings) -> Result<Self, RedfishSetupError> {
        // A second installation is refused, which is as good: some provider is there.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .timeout(settings.timeout)
            .connect_timeout(settings.timeout.min(Duration::from_secs(10)))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        let builder = match &settings.ca {
            Some(path) => {
                let fault = |why: &dyn Display| RedfishSetupError::Ca {
                    path: path.display().to_string(),
                    why: why.to_string(),
                };
                let pem = types::read_file(path, 1 << 20).map_err(|error| fault(&error))?;
                let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| fault(&error))?;
                builder.tls_certs_only(certificates)
            }
            None => builder.tls_danger_accept_invalid_certs(true),
        };
        let http = builder.build().map_err(|error| RedfishSetupError::Tls(causes(&error)))?;
        Ok(Self { http, timeout: settings.timeout })
    }

    pub(super) fn call<'a>(&'a self, bmc: &'a store::Bmc, doing: &'static str) -> Result<Call<'a>, BmcError> {
        if bmc.url.is_empty() {
            return Err(BmcError::NoAddress);
        }
        let base = Url::parse(&bmc.url)
            .map_err(|error| BmcError::BadAddress { bmc: "(unreadable)".into(), why: error.to_string() })?;
        let host = base.host_str().unwrap_or_default();
        let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
        let name = format!("{}://{host}{port}", base.scheme());
        if !matches!(base.scheme(), "http" | "https") {
            return Err(BmcError::BadAddress { bmc: name, why: "expected http or https".into() });
        }
        Ok(Call { redfish: self, bmc, base, name, doing })
    }
}

/// One task at one BMC.
pub(super) struct Call<'a> {
    redfish: &'a Redfish,
    bmc: &'a store::Bmc,
    base: Url,
    pub(super) name: String,
    doing: &'static str,
}

#[derive(Deserialize)]
pub(super) struct Link {
    #[serde(rename = "@odata.id")]
    pub(super) path: String,
}

#[derive(Deserialize)]
struct Collection {
    #[serde(rename = "Members", default)]
    members: Vec<Link>,
}

impl Call<'_> {
    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, BmcError> {
        // A BMC that answers with a link to elsewhere must not get the password sent there.
        let url = self.base.join(path).map_err(|error| self.unexpected(format!("link `{path}`: {error}")))?;
        if url.origin() != self.base.origin() {
            return Err(self.unexpected(format!("link `{path}` leads away from the BMC")));
        }
        Ok(self.redfish.http.request(method, url).basic_auth(&self.bmc.username, Some(&self.bmc.password)))
    }

    pub(super) async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, BmcError> {
        let body = self.send(self.request(Method::GET, path)?).await?.body;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(format!("{path}: {error}")))
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<RedfishResponse, BmcError> {
        self.send(self.request(Method::POST, path)?.json(body)).await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Result<RedfishResponse, BmcError> {
        self.send(self.request(Method::PATCH, path)?.json(body)).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<RedfishResponse, BmcError> {
        let mut response = request.send().await.map_err(|error| self.network(&error))?;
        let status = response.status();
        let location = response.headers().get("location").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.network(&error))? {
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Err(self.unexpected(format!("more than {ANSWER_LIMIT} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        match status {
            _ if status.is_success() => Ok(RedfishResponse { location, body }),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(BmcError::Unauthorized { bmc: self.name.clone(), doing: self.doing })
            }
            _ => Err(BmcError::Refused {
                bmc: self.name.clone(),
                doing: self.doing,
                status: status.as_u16(),
                message: extended_message(&body),
            }),
        }
    }

    /// Path of the only member of a collection, or of the one that the site file names.
    pub(super) async fn member(&self, collection: &'static str, named: &str) -> Result<String, BmcError> {
        let all: Collection = self.get(collection).await?;
        let mut paths = all.members.into_iter().map(|link| link.path.trim_end_matches('/').to_owned());
        if !named.is_empty() {
            let found = paths.find(|path| path.rsplit('/').next() == Some(named));
            return found.ok_or_else(|| self.unexpected(format!("{collection} has no `{named}`")));
        }
        match (paths.next(), paths.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(self.unexpected(format!("{collection} is empty"))),
            (Some(_), Some(_)) => Err(self.unexpected(format!("{collection} has several members: set system_id"))),
        }
    }

    pub(super) fn system_id(&self) -> &str {
        &self.bmc.system_id
    }

    pub(super) async fn action(&self, path: &str, name: &str, body: &Value) -> Result<(), BmcError> {
        let resource: Value = self.get(path).await?;
        let action = &resource["Actions"][format!("#{name}")];
        if action.is_null() {
            return Err(BmcError::Unsupported { bmc: self.name.clone(), what: name.to_owned() });
        }
        let target = action["target"].as_str().map_or_else(|| format!("{path}/Actions/{name}"), str::to_owned);
        self.post(&target, body).await.map(drop)
    }

    fn network(&self, error: &reqwest::Error) -> BmcError {
        let (bmc, doing) = (self.name.clone(), self.doing);
        if error.is_timeout() && !error.is_connect() {
            return BmcError::Late { bmc, doing, seconds: self.redfish.timeout.as_secs().max(1) };
        }
        BmcError::Unreachable { bmc, doing, why: causes(error) }
    }

    pub(super) fn unexpected(&self, why: String) -> BmcError {
        BmcError::Unexpected { bmc: self.name.clone(), doing: self.doing, why }
    }
}

pub(super) struct RedfishResponse {
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

/// The message of a Redfish error body, shortened; empty if there is none.
fn extended_message(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let error = &body["error"];
    let extended = error["@Message.ExtendedInfo"][0]["Message"].as_str();
    let message = extended.or(error["message"].as_str()).unwrap_or_default();
    message.chars().take(300).collect()
}

fn causes(error: &reqwest::Error) -> String {
    let mut source = std::error::Error::source(error);
    let mut text = String::new();
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    // The innermost cause says it best; the outer ones repeat the address.
    if text.is_empty() { error.to_string() } else { text }
}
