//! Requests to one BMC, with their limits and errors. For the rest of this crate alone.

use std::{fmt::Display, path::PathBuf, time::Duration};

use reqwest::{Certificate, Client, Method, Response, StatusCode, Url, header};
use serde_json::Value;

use crate::{Access, BmcError, Secret, words};

/// How BMCs are reached.
#[derive(Debug, Clone)]
pub struct RedfishSettings {
    /// PEM certificate that BMC certificates must come from; without it a BMC's certificate is not checked, since BMCs
    /// come with self-signed ones.
    pub ca: Option<PathBuf>,
    /// Limit for one request.
    pub timeout: Duration,
    /// The UEFI password of the site's machines.
    pub uefi_password: Option<Secret>,
}

impl Default for RedfishSettings {
    fn default() -> Self {
        Self { ca: None, timeout: Duration::from_secs(30), uefi_password: None }
    }
}

/// Redfish over HTTP or HTTPS with basic authentication.
#[derive(Debug, Clone)]
pub struct Redfish {
    http: Client,
    timeout: Duration,
    uefi_password: Option<Secret>,
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

/// The BIOS of a large machine is about 200 KB.
const ANSWER_LIMIT: usize = 8 << 20;

/// Redirects that are followed, all within the BMC.
const MOST_REDIRECTS: usize = 3;

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
            // They would go to wherever the BMC says, the password with them, and turn a POST into a GET.
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
        Ok(Self { http, timeout: settings.timeout, uefi_password: settings.uefi_password.clone() })
    }

    pub(crate) fn uefi_password(&self) -> Result<&str, BmcError> {
        self.uefi_password.as_ref().map(Secret::text).ok_or(BmcError::NotConfigured { what: "bmc.uefi_password_file" })
    }

    pub(crate) fn call<'a>(&'a self, access: &'a Access, doing: &'static str) -> Result<Call<'a>, BmcError> {
        if access.url.is_empty() {
            return Err(BmcError::NoAddress);
        }
        let base = Url::parse(&access.url)
            .map_err(|error| BmcError::BadAddress { bmc: "(unreadable)".into(), why: error.to_string() })?;
        let host = base.host_str().unwrap_or_default();
        let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
        let name = format!("{}://{host}{port}", base.scheme());
        if !matches!(base.scheme(), "http" | "https") {
            return Err(BmcError::BadAddress { bmc: name, why: "expected http or https".into() });
        }
        Ok(Call { redfish: self, access, base, name, doing })
    }
}

/// One task at one BMC.
pub(crate) struct Call<'a> {
    redfish: &'a Redfish,
    access: &'a Access,
    base: Url,
    pub(crate) name: String,
    doing: &'static str,
}

/// An answer, whatever its status.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    etag: Option<String>,
    location: Option<String>,
    /// The body as JSON, null if it is none.
    pub(crate) body: Value,
}

/// A resource, and its ETag, which some BMCs want with what changes it.
pub(crate) struct Resource {
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) etag: Option<String>,
}

/// What `If-Match` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMatch<'e> {
    None,
    Any,
    This(&'e str),
}

impl Call<'_> {
    pub(crate) fn system_id(&self) -> &str {
        &self.access.system_id
    }

    /// A link of the BMC's as a URL of the BMC. A BMC that names itself otherwise is taken at its path: credentials go
    /// nowhere else.
    pub(crate) fn own_path(&self, link: &str) -> Result<String, BmcError> {
        let url = self.base.join(link).map_err(|error| self.unexpected(format!("link `{link}`: {error}")))?;
        let path = url.path();
        if !path.starts_with("/redfish/") {
            return Err(self.unexpected(format!("link `{link}` leads away from the BMC")));
        }
        Ok(url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")))
    }

    async fn once(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
        if_match: IfMatch<'_>,
    ) -> Result<Response, reqwest::Error> {
        let request = self.redfish.http.request(method.clone(), url.clone());
        let request = request.basic_auth(&self.access.username, Some(&self.access.password));
        let request = match if_match {
            IfMatch::None => request,
            IfMatch::Any => request.header(header::IF_MATCH, "*"),
            IfMatch::This(etag) => request.header(header::IF_MATCH, etag),
        };
        match body {
            Some(body) => request.json(body),
            None => request,
        }
        .send()
        .await
    }

    /// Sends a request and reads its answer, whatever its status. Redirects are followed within the BMC, with method and
    /// body; a read that breaks off is tried once more, as iLOs close connections that are used again.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        if_match: IfMatch<'_>,
    ) -> Result<Answer, BmcError> {
        let mut path = self.own_path(path)?;
        for _ in 0..=MOST_REDIRECTS {
            let url = self.base.join(&path).map_err(|error| self.unexpected(format!("path `{path}`: {error}")))?;
            let sent = match self.once(&method, &url, body, if_match).await {
                Err(error) if method == Method::GET && !error.is_timeout() && !error.is_connect() => {
                    self.once(&method, &url, body, if_match).await
                }
                sent => sent,
            };
            let response = sent.map_err(|error| self.network(&error))?;
            let text = |name: header::HeaderName| {
                response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
            };
            let (status, etag, location) = (response.status(), text(header::ETAG), text(header::LOCATION));
            if status.is_redirection()
                && let Some(location) = &location
            {
                let target = url.join(location).map_err(|error| self.unexpected(format!("redirect: {error}")))?;
                if target.origin() != self.base.origin() {
                    return Err(self.unexpected(format!("redirect to `{target}` leads away from the BMC")));
                }
                path = target.path().to_owned();
                continue;
            }
            let bytes = self.read(response).await?;
            let body = serde_json::from_slice(&bytes);
            if status.is_success() && !bytes.is_empty() && method == Method::GET && body.is_err() {
                return Err(self.unexpected(format!("{path} is no JSON")));
            }
            return Ok(Answer { status, etag, location, body: body.unwrap_or_default() });
        }
        Err(self.unexpected(format!("more than {MOST_REDIRECTS} redirects")))
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, BmcError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.network(&error))? {
            if bytes.len() + chunk.len() > ANSWER_LIMIT {
                return Err(self.unexpected(format!("more than {ANSWER_LIMIT} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// The answer, if it is a good one.
    pub(crate) fn good(&self, answer: Answer) -> Result<Answer, BmcError> {
        let (bmc, doing) = (self.name.clone(), self.doing);
        match answer.status {
            status if status.is_success() => Ok(answer),
            StatusCode::FORBIDDEN if words::has_message(&answer.body, "PasswordChangeRequired") => {
                Err(BmcError::PasswordChangeRequired { bmc, doing })
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(BmcError::Unauthorized { bmc, doing }),
            status => {
                let message = self.without_secrets(&words::messages(&answer.body));
                Err(BmcError::Refused { bmc, doing, status: status.as_u16(), message })
            }
        }
    }

    /// Error bodies can repeat what was sent.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        match self.access.password.as_str() {
            "" => text.to_owned(),
            password => text.replace(password, "***"),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Resource, BmcError> {
        let answer = self.good(self.send(Method::GET, path, None, IfMatch::None).await?)?;
        let path = path.trim_end_matches('/').to_owned();
        Ok(Resource { path, etag: answer.etag, body: answer.body })
    }

    /// Members of a collection, as paths of the BMC.
    pub(crate) async fn members(&self, path: &str) -> Result<Vec<String>, BmcError> {
        let collection = self.get(path).await?.body;
        let links = collection["Members"].as_array().into_iter().flatten();
        links
            .filter_map(|link| link["@odata.id"].as_str())
            .map(|link| self.own_path(link.trim_end_matches('/')))
            .collect()
    }

    fn network(&self, error: &reqwest::Error) -> BmcError {
        let (bmc, doing) = (self.name.clone(), self.doing);
        if error.is_timeout() && !error.is_connect() {
            return BmcError::Late { bmc, doing, seconds: self.redfish.timeout.as_secs().max(1) };
        }
        BmcError::Unreachable { bmc, doing, why: causes(error) }
    }

    pub(crate) fn unexpected(&self, why: String) -> BmcError {
        BmcError::Unexpected { bmc: self.name.clone(), doing: self.doing, why }
    }

    pub(crate) fn unsupported(&self, what: impl Into<String>) -> BmcError {
        BmcError::Unsupported { bmc: self.name.clone(), what: what.into() }
    }
}

impl Answer {
    /// Path of the task or job that the request started, if it started one: in the body, or in `Location`, which may be a
    /// monitor that is gone once the task has ended.
    pub(crate) fn task(&self, call: &Call<'_>) -> Option<String> {
        let named = self.body["@odata.id"].as_str().filter(|path| is_task(path));
        let path = named.or(self.location.as_deref().filter(|path| is_task(path)))?;
        call.own_path(path).ok()
    }
}

fn is_task(path: &str) -> bool {
    ["/Tasks/", "/TaskMonitors/", "/Jobs/"].iter().any(|part| path.contains(part))
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
