//! NVUE by its REST interface.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    fs,
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
struct Nvue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next: u64,
    revisions: BTreeMap<String, Value>,
    applied: Value,
    former: Value,
    /// What looks at a revision see, each with its status; then that it is applied.
    looks: VecDeque<(u16, Value)>,
    /// A change is on trial: that of the last order.
    trial: bool,
    ordered: String,
    knows_no_trials: bool,
    taken_back: usize,
    requests: Vec<String>,
    /// What NVUE is a part of, if not of a current HBN.
    build: Option<&'static str>,
}

/// User `agent`, password `s3cret`.
const LOGIN: &str = "Basic YWdlbnQ6czNjcmV0";

impl Nvue {
    fn state(&self) -> MutexGuard<'_, State> {
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
                let state = |id: &String| if self.trial && *id == self.ordered { "confirm" } else { "applied" };
                (200, self.revisions.keys().map(|id| (id.clone(), json!({ "state": state(id) }))).collect())
            }
            (&Method::GET, "system") => (200, json!({ "build": self.build.unwrap_or("HBN 3.2.0") })),
            (&Method::GET, path) if path.starts_with('?') => {
                let (rev, diff) = path.trim_start_matches("?rev=").split_once("&diff=").unwrap();
                let (this, that) = (self.tree(rev), self.tree(diff.trim_end_matches("&filled=false")));
                (200, if this == that { json!({}) } else { this.clone() })
            }
            (_, path) if path.starts_with("?rev=") => {
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
                    Method::PATCH => self.order(&id, &body),
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
        let last = if self.trial { "confirm" } else { "applied_and_saved" };
        self.looks.pop_front().unwrap_or((200, json!({ "state": last })))
    }
}

/// A certificate that its owner signed, and the key.
fn self_signed() -> (String, String) {
    let signed = rcgen::generate_simple_self_signed(vec!["hbn".to_owned()]).unwrap();
    (signed.cert.pem(), signed.signing_key.serialize_pem())
}

/// A DPU whose NVUE is reached by REST.
struct Site {
    controller: Controller,
    dpu: Dpu,
    nvue: Nvue,
    port: u16,
}

impl Site {
    async fn new() -> Self {
        let (controller, uri) = Controller::start().await;
        let (dpu, nvue, pair) = (Dpu::new(&uri), Nvue::default(), self_signed());
        let port = nvue.listen(&pair).await;
        dpu.write("nvue.pem", &pair.0);
        dpu.write("password", "s3cret\n");
        controller.says(admin(1, 11));
        Self { controller, dpu, nvue, port }
    }

    fn agent(&self) -> Agent {
        self.agent_with(|_| ())
    }

    fn agent_with(&self, change: impl FnOnce(&mut Settings)) -> Agent {
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

    fn version(&self) -> Option<String> {
        self.controller.told().network_config_version
    }

    fn error(&self) -> String {
        self.controller.told().network_config_error.unwrap_or_default()
    }

    /// NVUE runs the configuration with this loopback address.
    fn runs(&self, loopback: &str) -> bool {
        self.nvue.state().applied["interface"]["lo"]["ip"]["address"].get(format!("{loopback}/32")).is_some()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_is_applied_when_it_says_so() {
    let site = Site::new().await;
    let sequence =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/cases/revision-poll-sequence.json"));
    let sequence: Vec<Value> = serde_json::from_str(&sequence.unwrap()).unwrap();
    let looks = sequence.iter().map(|it| (it["http"].as_u64().unwrap().try_into().unwrap(), it["body"].clone()));
    site.nvue.state().looks = looks.collect();
    site.agent().pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    let health = site.controller.told().dpu_health.unwrap();
    assert!(health.successes.iter().any(|success| success.id == "NvueApiRunning"));
    assert!(site.nvue.state().looks.is_empty(), "all looks were taken");
    assert!(site.runs("192.0.2.11"));
    assert!(site.nvue.state().requests.iter().all(|request| !request.contains("changeset/")), "ids are escaped");
    assert_eq!(site.dpu.commands(), ["dhcp check", "dhcp reload"], "`nv` is not run");
}

#[tokio::test(flavor = "current_thread")]
async fn what_runs_already_is_dropped_and_acknowledged() {
    let site = Site::new().await;
    site.agent().pass().await;
    let orders =
        |site: &Site| site.nvue.state().requests.iter().filter(|it| it.starts_with("PATCH /nvue_v1/rev")).count();
    assert_eq!(orders(&site), 1);
    // An agent without a memory. A revision that equals the applied one never becomes applied: nobody may wait for it.
    fs::remove_dir_all(site.dpu.path().join("state")).unwrap();
    site.nvue.state().looks = vec![(200, json!({ "state": "pending" })); 100].into();
    site.agent().pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    assert_eq!(orders(&site), 1);
    assert_eq!(site.nvue.state().revisions.len(), 1, "the second revision is dropped");
}

#[tokio::test(flavor = "current_thread")]
async fn each_end_of_a_revision_has_its_outcome() {
    let issue = json!({ "progress": "Invalid config", "issue": { "0": { "message": "vlan 14 is no vlan" } } });
    let broken = json!({ "progress": "Failure during apply. Ignore?", "issue": {} });
    for (case, look, wanted, keeps) in [
        ("refused", json!({ "state": "invalid", "transition": issue }), "vlan 14 is no vlan", true),
        ("broken off", json!({ "state": "ignore_fail", "transition": broken }), "Failure during apply", false),
    ] {
        let site = Site::new().await;
        let mut agent = site.agent();
        agent.pass().await;
        site.controller.says(admin(2, 12));
        site.nvue.state().looks = vec![(200, look)].into();
        agent.pass().await;
        assert!(site.error().contains(wanted), "{case}: {}", site.error());
        assert_eq!(site.version().as_deref(), Some("V1-T1").filter(|_| keeps), "{case}");
        tokio::time::sleep(Duration::from_millis(60)).await;
        agent.pass().await;
        assert_eq!(site.version().as_deref(), Some("V2-T2"), "{case}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_that_never_ends_is_of_unknown_outcome() {
    let site = Site::new().await;
    site.nvue.state().looks = vec![(200, json!({ "state": "apply" })); 100].into();
    let mut agent = site.agent_with(|settings| settings.hbn.command_timeout = Duration::from_millis(1200));
    agent.pass().await;
    assert!(site.error().contains("not known"), "{}", site.error());
    assert_eq!(site.version(), None);
    // It was applied after all: the next try finds no difference.
    site.nvue.state().looks.clear();
    tokio::time::sleep(Duration::from_millis(60)).await;
    agent.pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_on_trial_is_kept_or_taken_back() {
    let site = Site::new().await;
    let mut agent = site.agent_with(|settings| settings.hbn.confirm = Duration::from_secs(1));
    agent.pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    assert!(!site.nvue.state().trial);
    site.controller.says(admin(2, 12));
    // The uplinks go down with the change.
    site.dpu.write("on-vtysh", "[ -f down ] && { sed s/Established/Idle/g bgp.json; exit; }; touch down");
    agent.pass().await;
    assert!(site.error().contains("cut the DPU off"), "{}", site.error());
    assert_eq!(site.version().as_deref(), Some("V1-T1"));
    assert!(site.runs("192.0.2.11"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_release_without_trials_applies_at_once() {
    let site = Site::new().await;
    site.nvue.state().knows_no_trials = true;
    site.agent_with(|settings| settings.hbn.confirm = Duration::from_secs(1)).pass().await;
    assert_eq!(site.version().as_deref(), Some("V1-T1"), "{}", site.error());
    assert!(site.runs("192.0.2.11"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_trial_that_outlived_its_agent_is_taken_back_first() {
    let site = Site::new().await;
    let agent = || site.agent_with(|settings| settings.hbn.confirm = Duration::from_secs(1));
    let mut first = agent();
    first.pass().await;
    site.controller.says(admin(2, 12));
    // The agent is ended while it proves the change.
    site.dpu.write("on-vtysh", "[ -f asked ] && sleep 60; touch asked");
    assert!(tokio::time::timeout(Duration::from_secs(2), first.pass()).await.is_err());
    drop(first);
    assert!(site.nvue.state().trial && site.runs("192.0.2.12"));
    site.dpu.remove("on-vtysh");
    agent().pass().await;
    assert_eq!(site.nvue.state().taken_back, 1);
    assert!(!site.nvue.state().trial && site.runs("192.0.2.12"), "applied anew, and kept");
    assert_eq!(site.version().as_deref(), Some("V2-T2"), "{}", site.error());
}

#[tokio::test(flavor = "current_thread")]
async fn it_says_what_release_of_hbn_this_is() {
    let site = Site::new().await;
    site.nvue.state().build = Some("HBN 2.2.0");
    site.agent().pass().await;
    assert!(site.nvue.state().applied["interface"].get("pf0hpf_sf").is_some());
}

#[tokio::test(flavor = "current_thread")]
async fn nobody_else_is_taken_for_nvue() {
    for (case, file, text, wanted) in [
        ("another certificate", "nvue.pem", self_signed().0, "another certificate"),
        ("another password", "password", "guess".into(), "user agent may not do that"),
        ("no certificate", "nvue.pem", String::new(), "nvue.pem"),
    ] {
        let site = Site::new().await;
        site.dpu.write(file, &text);
        site.agent().pass().await;
        assert!(site.error().contains(wanted), "{case}: {}", site.error());
        assert_eq!(site.nvue.state().applied, Value::Null, "{case}");
        assert!(!format!("{:?}", site.controller.told()).contains("guess"), "{case}");
    }
}
