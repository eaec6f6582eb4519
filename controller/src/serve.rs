//! The daemon: opens everything, serves until told to stop, and stops without dropping what it has begun.

use std::{fs, future::Future, io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use axum::{Router, http::StatusCode, routing::get};
use proto::{forge::forge_server::ForgeServer, site::site_server::SiteServer};
use tokio::{net::TcpListener, sync::watch};
use tonic::transport::Server;
use tracing::{error, info, warn};

use crate::{
    AccessFault, Config, DirtyHosts, ForgeService, IssuerFault, Judge, ReconcileCounters, ReconcileSettings,
    Reconciler, Redfish, RedfishSettings, RedfishSetupError, RulePackError, RulePacks, RuleSettings, RulesInForce,
    SiteFile, SiteFileError, SiteService, SpecFault, Timestamp,
    access::{Clients, Gatekeeper, Issuer, RefusedCertificates},
    add_hosts, check_hosts, database_health,
    inventory::give_missing_addresses,
    listen::{Scrapers, TlsFault, TlsFiles, accept},
    metrics::{self, Calls},
    network::{AdoptError, SiteNetwork, adopt_settings},
    new_site::{self, NewSiteError, without_deleted},
    rule_packs::reload_on_hangup,
    store::{SoleController, Store, StoreError},
};

/// Longest message that is taken; a report of a DPU with many ports and alerts stays far below.
const LONGEST_MESSAGE: usize = 8 << 20;

/// Longest message to what machines and tenants call: a report is bounded field by field, an instance's config is 128 KiB.
const LONGEST_REPORT: usize = 2 << 20;

/// Calls that one connection may have open at once.
const MOST_STREAMS: u32 = 256;

/// Longest time that one call may take.
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// Why the daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The site file has faults.
    #[error("the site file is refused:\n{0}")]
    SiteFile(SiteFileError),
    /// Hosts of the site file do not fit the rules.
    #[error("the site file's hosts are refused:\n{0}")]
    Hosts(String),
    /// The site file's networks do not fit what is given out.
    #[error(transparent)]
    Networks(#[from] AdoptError),
    /// The site is new without a word, or is said to be new and is not.
    #[error(transparent)]
    NewSite(#[from] NewSiteError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another controller has started.
    #[error("this controller has stopped, because another works on the database now ({0})")]
    LockLost(StoreError),
    /// The configuration's roles make no sense.
    #[error(transparent)]
    Access(#[from] AccessFault),
    /// Everybody could do everything.
    #[error(
        "{0} is no address of this machine alone, and without tls.client_ca whoever reaches it may do everything: set \
         tls.client_ca, or `open = true` if that is meant"
    )]
    Open(SocketAddr),
    /// There are roles, but nothing to know clients by.
    #[error("[access] needs tls.client_ca: without certificates nobody is known")]
    NoCertificates,
    /// The server's own files.
    #[error(transparent)]
    Tls(#[from] TlsFault),
    /// Certificates of machines cannot be renewed.
    #[error(transparent)]
    Issuer(#[from] IssuerFault),
    /// Certificates are issued, but nobody is asked for one.
    #[error("[issuer] needs tls.client_ca: without certificates there is nothing to renew")]
    NothingToRenew,
    /// There are no usable rules.
    #[error(transparent)]
    Rules(#[from] RulePackError),
    /// BMCs cannot be reached at all.
    #[error(transparent)]
    Bmc(#[from] RedfishSetupError),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {fault}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        fault: String,
    },
    /// A file cannot be read or written.
    #[error("cannot use {path}: {fault}")]
    File {
        /// The file.
        path: String,
        /// Why.
        fault: String,
    },
    /// The server failed while it ran.
    #[error("gRPC server failed: {0}")]
    Server(String),
}

/// Runs a site until `stop` is ready.
///
/// # Errors
/// If it cannot start, or its server fails. Faults of requests, hosts and BMCs are not errors of the daemon.
pub async fn serve(config: Config, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
    let clients = clients(&config)?;
    let issuer = issuer(&config, clients.as_ref())?.map(Arc::new);
    let gatekeeper = Gatekeeper::new(clients, refused_certificates(&config)?);
    let site_file = config.site_file.as_ref().map(SiteFile::read).transpose().map_err(ServeError::SiteFile)?;
    let site = site_file.as_ref().and_then(|file| file.network.clone()).map(Arc::new);
    if site.is_none() {
        warn!("there is no site file with `network`: DPUs cannot be configured");
    }
    new_site::refuse_missing(&config.database, site_file.as_ref(), config.new_site)?;
    let store = Store::open(&config.database).await?;
    let sole = store.sole_controller().await?;
    new_site::check(&store, site_file.as_ref(), config.new_site).await?;
    if store.is_new() {
        let database = store.shown();
        warn!(database, "a NEW, EMPTY database was made; if the site has one already, stop and mend `database`");
    }
    let dirty = DirtyHosts::default();
    let options = rules::LoadOptions {
        timeouts: config.rule_timeouts.clone(),
        limits: config.rule_limits.clone(),
        ..Default::default()
    };
    let switches = config.site.clone();
    let rule_settings = RuleSettings {
        switches: switches.clone(),
        options,
        dir: config.rules.clone(),
        changed_share: config.rules_changed_share,
        replace: config.replace_rules,
    };
    let packs = Arc::new(RulePacks::open(store.clone(), dirty.clone(), rule_settings).await?);
    take_in(&store, site.as_deref(), site_file.as_ref(), &packs).await?;
    if !store.read().await?.has_had_dpus().await? {
        warn!("the site knows no DPU at all: it tells none what to run, and none to isolate its host");
    }

    let listener = listen(config.listen).await?;
    let address = local(&listener, config.listen)?;
    let metrics_listener = match config.metrics_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    // Where certificates are renewed, clients get in without one: theirs may be over.
    let tls = config.tls.as_ref().map(|tls| TlsFiles::open(tls, issuer.is_some())).transpose()?.map(Arc::new);
    if let Some(tls) = tls.clone() {
        tokio::spawn(async move { tls.watch().await });
    }

    let redfish = Redfish::new(&RedfishSettings { ca: config.bmc.ca.clone(), timeout: config.bmc.timeout() })?;
    let settings =
        ReconcileSettings { sweep: config.timing.sweep(), site: switches.clone(), ..ReconcileSettings::default() };
    let reconciler = Reconciler::new(store.clone(), dirty.clone(), packs.rules().clone(), Arc::new(redfish), settings);
    let counters = reconciler.counters();
    let (health, health_service) = tonic_health::server::health_reporter();
    let (stopping, stopped) = watch::channel(false);
    let ending = health.clone();
    tokio::spawn(async move {
        stop.await;
        info!("stopping");
        ending.set_not_serving::<ForgeServer<ForgeService>>().await;
        ending.set_not_serving::<SiteServer<SiteService>>().await;
        let _ = stopping.send(true);
    });
    tokio::spawn(reload_on_hangup(Arc::clone(&packs)));
    let calls = Calls::default();
    if let Some(listener) = metrics_listener {
        info!(address = %local(&listener, config.listen)?, "metrics are served");
        let rules = Arc::clone(packs.rules());
        let seen = Seen { store: store.clone(), rules, counters, calls: calls.clone() };
        tokio::spawn(serve_metrics(listener, seen, until(stopped.clone())));
    }

    let judge = Judge::new(Arc::clone(packs.rules()), switches.clone());
    let forge = ForgeServer::new(ForgeService::new(store.clone(), site.clone(), judge, dirty.clone()).renewing(issuer))
        .max_decoding_message_size(LONGEST_REPORT);
    let operator = SiteServer::new(SiteService::new(store.clone(), site, packs, switches, dirty))
        .max_decoding_message_size(LONGEST_MESSAGE);
    health.set_serving::<ForgeServer<ForgeService>>().await;
    health.set_serving::<SiteServer<SiteService>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .build_v1()
        .map_err(|error| ServeError::Server(error.to_string()))?;
    let at_the_door = gatekeeper.clone();
    let incoming = accept(listener, tls, Arc::new(move |peer| at_the_door.is_operator(peer)));
    let mut server = Server::builder()
        .max_concurrent_streams(Some(MOST_STREAMS))
        .timeout(LONGEST_CALL)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .layer(calls)
        .layer(gatekeeper);
    if let Some(path) = &config.address_file {
        write_address(path, address)?;
    }
    info!(%address, tls = config.tls.is_some(), "site is served");
    let serving = server
        .add_service(health_service)
        .add_service(reflection)
        .add_service(forge)
        .add_service(operator)
        .serve_with_incoming_shutdown(incoming, until(stopped.clone()));
    let drained = async || {
        until(stopped.clone()).await;
        tokio::time::sleep(config.timing.drain()).await;
    };
    let serving = async {
        tokio::select! {
            served = serving => served.map_err(|error| ServeError::Server(error.to_string())),
            () = drained() => {
                warn!("requests were cut off after {} s", config.timing.drain_secs);
                Ok(())
            }
        }
    };
    let reconciling = async {
        tokio::select! {
            sole = reconcile(reconciler, sole, &store, &stopped) => sole.map(Some),
            () = drained() => {
                warn!("host work was cut off after {} s: the journal says what was under way", config.timing.drain_secs);
                Ok(None)
            }
        }
    };
    let watching =
        async { database_health::watch(&store, &health, until(stopped.clone())).await.map_err(ServeError::Store) };
    let (sole, (), ()) = tokio::try_join!(reconciling, serving, watching)?;
    drop(sole);
    store.close().await;
    info!("stopped");
    Ok(())
}

/// Works on hosts until it is to stop, as long as no other controller may; gives back that it is the only one.
async fn reconcile(
    reconciler: Reconciler,
    mut sole: SoleController,
    store: &Store,
    stopped: &watch::Receiver<bool>,
) -> Result<SoleController, ServeError> {
    loop {
        let respite = sole.respite();
        let working = async {
            tokio::select! {
                () = tokio::time::sleep(respite) => reconciler.clone().run(until(stopped.clone())).await,
                () = until(stopped.clone()) => {}
            }
        };
        // At once and in the middle of whatever it is: who comes after reads in the journal what was under way.
        let fault = tokio::select! {
            () = working => return Ok(sole),
            fault = sole.lost() => fault,
        };
        error!(%fault, "the lock on the database is lost: hosts are left alone until it is held again");
        tokio::select! {
            () = until(stopped.clone()) => return Ok(sole),
            held = sole.held_again(store) => match held {
                true => info!("the lock on the database is held again"),
                false => return Err(ServeError::LockLost(fault)),
            },
        }
    }
}

/// Brings the site file's hosts into the database, and gives DPUs the addresses that they lack.
async fn take_in(
    store: &Store,
    site: Option<&SiteNetwork>,
    site_file: Option<&SiteFile>,
    packs: &RulePacks,
) -> Result<(), ServeError> {
    let now = Timestamp::now();
    if let Some(site) = site
        && adopt_settings(store, site, now).await?
    {
        info!("the site's network settings have changed: all hosts have a new network version");
    }
    if let Some(file) = site_file {
        let rules = packs.rules().current();
        let refuse = |faults: Vec<SpecFault>| {
            ServeError::Hosts(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        };
        let hosts = check_hosts(&file.hosts, rules.initial()).map_err(refuse)?;
        let strangers = hosts.iter().enumerate().filter(|(_, host)| !rules.has_state(&host.state));
        let strangers: Vec<SpecFault> = strangers
            .map(|(place, host)| SpecFault {
                field: format!("hosts[{place}].initial_state"),
                fault: format!("the rules have no state `{}`", host.state),
                other: None,
            })
            .collect();
        if !strangers.is_empty() {
            return Err(refuse(strangers));
        }
        let hosts = without_deleted(store, hosts).await?;
        let counts = add_hosts(store, site, &hosts, now).await?;
        info!(added = counts.added, changed = counts.changed, unchanged = counts.unchanged, "site file was read");
    }
    if let Some(site) = site {
        give_missing_addresses(store, site, now).await?;
    }
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|error| ServeError::Listen { address, fault: error.to_string() })
}

fn local(listener: &TcpListener, wanted: SocketAddr) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(|error| ServeError::Listen { address: wanted, fault: error.to_string() })
}

/// Whole or not at all, for whoever waits for the file.
fn write_address(path: &Path, address: SocketAddr) -> Result<(), ServeError> {
    let write = || -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        fs::write(&beside, format!("{address}\n"))?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| ServeError::File { path: path.display().to_string(), fault: error.to_string() })
}

/// Who clients are; none where they need no certificate.
fn clients(config: &Config) -> Result<Option<Clients>, ServeError> {
    let has_ca = config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    match &config.access {
        Some(_) if !has_ca => Err(ServeError::NoCertificates),
        access if has_ca => Ok(Some(Clients::new(&access.clone().unwrap_or_default())?)),
        _ if !config.listen.ip().is_loopback() && !config.open => Err(ServeError::Open(config.listen)),
        _ => {
            warn!("whoever reaches this address may do everything: set tls.client_ca on anything but a demo");
            Ok(None)
        }
    }
}

/// Certificates that are let in no more.
fn refused_certificates(config: &Config) -> Result<Option<RefusedCertificates>, ServeError> {
    let Some(path) = config.access.as_ref().and_then(|access| access.refused.as_ref()) else { return Ok(None) };
    let fault = |error: io::Error| ServeError::File { path: path.display().to_string(), fault: error.to_string() };
    RefusedCertificates::open(path).map(Some).map_err(fault)
}

fn issuer(config: &Config, clients: Option<&Clients>) -> Result<Option<Issuer>, ServeError> {
    let Some(files) = &config.issuer else { return Ok(None) };
    let client_ca = config.tls.as_ref().and_then(|tls| tls.client_ca.as_ref());
    let (Some(client_ca), Some(clients)) = (client_ca, clients) else { return Err(ServeError::NothingToRenew) };
    Ok(Some(Issuer::open(files, client_ca, clients.clone())?))
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // The sender is gone only when the process ends.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// What metrics are read from.
struct Seen {
    store: Store,
    rules: Arc<RulesInForce>,
    counters: Arc<ReconcileCounters>,
    calls: Calls,
}

async fn serve_metrics(listener: TcpListener, seen: Seen, stop: impl Future<Output = ()> + Send + 'static) {
    let seen = Arc::new(seen);
    let scrape = move || {
        let seen = Arc::clone(&seen);
        async move {
            match metrics::render(&seen.store, &seen.rules, &seen.counters, &seen.calls).await {
                Ok(text) => (StatusCode::OK, text),
                Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            }
        }
    };
    let router = Router::new().route("/metrics", get(scrape));
    if let Err(error) = axum::serve(Scrapers::new(listener), router).with_graceful_shutdown(stop).await {
        error!(%error, "metrics are no longer served");
    }
}
