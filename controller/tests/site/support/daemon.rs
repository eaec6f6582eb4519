//! A whole controller in the test's process: its configuration, its start and its end.

use std::{fs, path::Path};

use controller::{Config, ServeError, serve};
use proto::{forge::forge_client::ForgeClient, site::site_client::SiteClient};
use tokio::{sync::oneshot, task::JoinHandle};
use tonic::transport::{Channel, Endpoint};

use super::{eventually, shipped_pack, site_text};

pub(crate) struct Daemon {
    pub(crate) address: String,
    stop: oneshot::Sender<()>,
    pub(crate) task: JoinHandle<Result<(), ServeError>>,
}

/// A config in `dir` for a site of one host, for the first start if it has no database yet; `more` is added to it.
pub(crate) fn config(dir: &Path, more: &str) -> Config {
    config_of(dir, 1, more)
}

/// The same for a site of so many hosts.
pub(crate) fn config_of(dir: &Path, hosts: usize, more: &str) -> Config {
    fs::write(dir.join("site.yaml"), site_text(hosts)).unwrap();
    let text = format!(
        "listen = '127.0.0.1:0'\nmetrics_listen = '127.0.0.1:0'\ndatabase = 'sqlite:site.db'\nrules = '{}'\n\
         site_file = 'site.yaml'\naddress_file = 'address'\n{more}\n[site]\nattestation = false\nbom_validation = false\n\
         dpf = false\ninfiniband = false\nnvlink = false\nspdm = false\nsupernics = false\n",
        shipped_pack().display()
    );
    fs::write(dir.join("config.toml"), text).unwrap();
    let new_site = !dir.join("site.db").exists();
    Config { new_site, ..Config::read(&dir.join("config.toml")).unwrap() }
}

/// Starts a daemon that says where it listens in the file `address` of `dir`.
pub(crate) async fn start(dir: &Path, config: Config) -> Daemon {
    let file = dir.join("address");
    // A former daemon's.
    let _ = fs::remove_file(&file);
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(serve(config, async {
        let _ = stopped.await;
    }));
    eventually("the controller to say its address", async || file.exists() || task.is_finished()).await;
    assert!(!task.is_finished(), "{:?}", task.await);
    Daemon { address: fs::read_to_string(file).unwrap().trim().to_owned(), stop, task }
}

impl Daemon {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) async fn channel(&self) -> Channel {
        Endpoint::from_shared(self.url()).unwrap().connect().await.unwrap()
    }

    /// The interface of agents and tenants.
    pub(crate) async fn forge(&self) -> ForgeClient<Channel> {
        ForgeClient::new(self.channel().await).max_encoding_message_size(64 << 20)
    }

    /// The interface of operators.
    pub(crate) async fn operators(&self) -> SiteClient<Channel> {
        SiteClient::new(self.channel().await)
    }

    /// Ends it in good order, which it has to.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

/// Why a daemon does not start.
pub(crate) async fn refused(config: Config) -> String {
    serve(config, std::future::pending()).await.unwrap_err().to_string()
}
