//! A DPU whose NVUE is reached by its REST interface, and that interface as far as an agent sees it.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use agent::{Agent, Settings};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use super::{
    controller::{Controller, admin},
    dpu::Dpu,
};

/// NVUE's REST interface: revisions as trees, and what looks at the one that is applied say, one after the other.
#[derive(Clone, Default)]
pub(crate) struct Nvue(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    next: u64,
    pub(crate) revisions: BTreeMap<String, Value>,
    pub(crate) applied: Value,
    former: Value,
    /// What looks at a revision see, each with its status; then that it is applied.
    pub(crate) looks: VecDeque<(u16, Value)>,
    /// What becomes of orders: whether each is carried out, and the status that is answered; then all is well.
    pub(crate) orders: VecDeque<(bool, u16)>,
    /// What is answered well and not done with a revision's content.
    pub(crate) fills_nothing: Vec<Method>,
    /// What a look at a configuration is answered with, if not with it.
    pub(crate) shown: Option<Value>,
    /// What a difference is answered with, if not with the difference.
    pub(crate) difference: Option<Value>,
    /// A change is on trial: that of the last order.
    pub(crate) trial: bool,
    /// A change on trial is told as a question.
    pub(crate) trial_asks: bool,
    ordered: String,
    pub(crate) knows_no_trials: bool,
    pub(crate) taken_back: usize,
    pub(crate) requests: Vec<String>,
    /// What NVUE is a part of, if not of a current HBN.
    pub(crate) build: Option<&'static str>,
}

/// An answer that never comes.
pub(crate) const LOST: u16 = 0;

/// User `agent`, password `s3cret`.
const LOGIN: &str = "Basic YWdlbnQ6czNjcmV0";

impl Nvue {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Listens on a port of its own, with the certificate and key given.
    async fn listen(&self, (certificate, key): &(String, String)) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap().into_owned()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let nvue = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                let nvue = nvue.clone();
                let service = service_fn(move |request| nvue.clone().answer(request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        port
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let known = head.headers.get("authorization").is_some_and(|login| login == LOGIN);
        let (status, answer) = match known {
            true => self.state().answer(&head.method, &head.uri.to_string(), body),
            false => (401, Value::Null),
        };
        if status == LOST {
            std::future::pending::<()>().await;
        }
        let response = Response::builder().status(status).body(Full::new(Bytes::from(answer.to_string())));
        Ok(response.unwrap())
    }
}

impl State {
    fn answer(&mut self, method: &Method, uri: &str, body: Value) -> (u16, Value) {
        self.requests.push(format!("{method} {uri}"));
        let path = uri.strip_prefix("/nvue_v1/").unwrap();
        match (method, path) {
            (&Method::POST, "revision") => {
                self.next += 1;
                let id = format!("changeset/agent/{}", self.next);
                self.revisions.insert(id.clone(), self.applied.clone());
                (200, json!({ id: { "state": "pending" } }))
            }
            (&Method::GET, "revision") => {
                let state = |id: &String| match self.looks.front() {
                    Some((_, look)) if *id == self.ordered => look.clone(),
                    _ if self.trial && *id == self.ordered => json!({ "state": "confirm" }),
                    _ => json!({ "state": "applied" }),
                };
                (200, self.revisions.keys().map(|id| (id.clone(), state(id))).collect())
            }
            (&Method::GET, "system") => (200, json!({ "build": self.build.unwrap_or("HBN 3.2.0") })),
            (&Method::GET, path) if path.starts_with('?') => {
                let query = path.trim_start_matches("?rev=").trim_end_matches("&filled=false");
                let Some((rev, diff)) = query.split_once("&diff=") else {
                    return (200, self.shown.clone().unwrap_or_else(|| self.tree(query).clone()));
                };
                if let Some(answer) = &self.difference {
                    return (200, answer.clone());
                }
                let (this, that) = (self.tree(rev), self.tree(diff));
                (200, if this == that { json!({}) } else { this.clone() })
            }
            (_, path) if path.starts_with("?rev=") => {
                if self.fills_nothing.contains(method) {
                    return (200, json!({}));
                }
                let id = path.trim_start_matches("?rev=").replace("%2F", "/");
                let tree = if method == Method::DELETE { json!({}) } else { body };
                self.revisions.insert(id, tree);
                (200, json!({}))
            }
            (method, path) => {
                let id = path.strip_prefix("revision/").unwrap().replace("%2F", "/");
                match *method {
                    Method::PATCH if self.knows_no_trials && body.get("state-controls").is_some() => {
                        return (400, json!({ "detail": "state-controls was unexpected" }));
                    }
                    Method::PATCH => {
                        let (done, status) = self.orders.pop_front().unwrap_or((true, 200));
                        if done {
                            self.order(&id, &body);
                        }
                        return (status, json!({ "title": "as the test says" }));
                    }
                    Method::DELETE => {
                        self.revisions.remove(&id);
                    }
                    _ => return self.look(),
                }
                (200, json!({}))
            }
        }
    }

    fn tree(&self, id: &str) -> &Value {
        let id = id.replace("%2F", "/");
        if id == "applied" { &self.applied } else { &self.revisions[&id] }
    }

    fn order(&mut self, id: &str, order: &Value) {
        assert_eq!(order["state"], "apply");
        match (self.trial, order["auto-prompt"]["ays"].as_str(), order["state-controls"]["confirm"].as_u64()) {
            (true, Some("ays_yes"), None) => self.trial = false,
            (true, _, _) => {
                self.taken_back += 1;
                (self.trial, self.applied) = (false, self.former.clone());
                self.looks.push_back((200, json!({ "state": "confirm_fail" })));
            }
            (false, _, confirm) => {
                self.former = std::mem::replace(&mut self.applied, self.revisions[id].clone());
                self.trial = confirm.is_some();
                self.ordered = id.to_owned();
            }
        }
    }

    fn look(&mut self) -> (u16, Value) {
        let last = match (self.trial, self.trial_asks) {
            (true, false) => "confirm",
            (true, true) => "ays",
            (false, _) => "applied_and_saved",
        };
        self.looks.pop_front().unwrap_or((200, json!({ "state": last })))
    }
}

/// A certificate that its owner signed, and the key.
pub(crate) fn self_signed() -> (String, String) {
    let signed = rcgen::generate_simple_self_signed(vec!["hbn".to_owned()]).unwrap();
    (signed.cert.pem(), signed.signing_key.serialize_pem())
}

/// A DPU whose NVUE is reached by REST.
pub(crate) struct Site {
    pub(crate) controller: Controller,
    pub(crate) dpu: Dpu,
    pub(crate) nvue: Nvue,
    port: u16,
}

impl Site {
    pub(crate) async fn new() -> Self {
        let (controller, uri) = Controller::start().await;
        let (dpu, nvue, pair) = (Dpu::new(&uri), Nvue::default(), self_signed());
        let port = nvue.listen(&pair).await;
        dpu.write("nvue.pem", &pair.0);
        dpu.write("password", "s3cret\n");
        controller.says(admin(1, 11));
        Self { controller, dpu, nvue, port }
    }

    pub(crate) fn agent(&self) -> Agent {
        self.agent_with(|_| ())
    }

    pub(crate) fn agent_with(&self, change: impl FnOnce(&mut Settings)) -> Agent {
        let (dpu, port) = (self.dpu.path().display(), self.port);
        let table = format!(
            "[hbn.rest]\nurl = \"https://127.0.0.1:{port}\"\nuser = \"agent\"\n\
             password_file = \"{dpu}/password\"\ncertificate = \"{dpu}/nvue.pem\"\n"
        );
        let mut settings = Settings::parse(&format!("{}\n{table}", self.dpu.settings_text())).unwrap();
        settings.hbn.command_timeout = Duration::from_secs(3);
        settings.hbn.confirm = Duration::ZERO;
        change(&mut settings);
        Agent::new(settings).unwrap()
    }

    pub(crate) fn version(&self) -> Option<String> {
        self.controller.told().network_config_version
    }

    pub(crate) fn error(&self) -> String {
        self.controller.told().network_config_error.unwrap_or_default()
    }

    /// NVUE runs the configuration with this loopback address.
    pub(crate) fn runs(&self, loopback: &str) -> bool {
        self.nvue.state().applied["interface"]["lo"]["ip"]["address"].get(format!("{loopback}/32")).is_some()
    }
}
