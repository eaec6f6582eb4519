//! The daemon: opens everything, serves until told to stop, and stops without dropping what it has begun. `main` calls it.

mod error;
mod identities;
mod new_site;
mod open_site;
mod tasks;

use std::{fs, future::Future, io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use proto::{forge::forge_server::ForgeServer, site::site_server::SiteServer};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic_health::server::HealthReporter;
use tracing::{info, warn};

pub use error::ServeError;
pub use new_site::NewSiteError;

use crate::{
    Config, ForgeService, Judge, ReconcileSettings, Reconciler, Redfish, RedfishSettings, SiteService,
    listen::{TlsFiles, accept},
    metrics::{Calls, Sources, TaskRuns},
};
use open_site::OpenSite;
use tasks::{Stop, Tasks, database_health, host_work, metrics_page, rules_reload, tls_reload};

/// Longest message that is taken; a report of a DPU with many ports and alerts stays far below.
const LONGEST_MESSAGE: usize = 8 << 20;

/// Longest message to what machines and tenants call: a report is bounded field by field, an instance's config is 128 KiB.
const LONGEST_REPORT: usize = 2 << 20;

/// Calls that one connection may have open at once.
const MOST_STREAMS: u32 = 256;

/// Longest time that one call may take.
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// Runs a site until `stop` is ready.
///
/// # Errors
/// If it cannot start, or its server fails. Faults of requests, hosts and BMCs are not errors of the daemon.
pub async fn serve(config: Config, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
    let (gatekeeper, issuer) = identities::open(&config)?;
    let site = open_site::open(&config).await?;
    let listener = listen(config.listen).await?;
    let address = local(&listener, config.listen)?;
    let metrics_listener = match config.metrics_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    // Where certificates are renewed, clients get in without one: theirs may have expired.
    let tls = config.tls.as_ref().map(|tls| TlsFiles::open(tls, issuer.is_some())).transpose()?.map(Arc::new);
    let redfish = Redfish::new(&RedfishSettings {
        ca: config.bmc.ca.clone(),
        timeout: config.bmc.timeout(),
        uefi_password: config.bmc.uefi_password()?,
    })?;
    let (health, health_service) = tonic_health::server::health_reporter();
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .build_v1()
        .map_err(|error| ServeError::Server(error.to_string()))?;

    let stop = stop_signal(stop, health.clone());
    let (runs, calls) = (TaskRuns::default(), Calls::default());
    let (store, rules) = (site.store.clone(), Arc::clone(site.packs.rules()));
    let mut tasks = Tasks::new(runs.clone(), stop.clone());
    let swept = runs.heartbeat("hosts");
    let settings = ReconcileSettings {
        sweep: config.timing.sweep(),
        site: config.site.clone(),
        dpu_bmc_firmware: config.firmware.dpu_bmc.clone(),
        ..ReconcileSettings::default()
    };
    let reconciler = Reconciler::new(store.clone(), site.dirty.clone(), rules.clone(), Arc::new(redfish), settings)
        .on_sweep(move || swept.beat());
    if let Some(tls) = tls.clone() {
        tasks.start("tls", |heartbeat| tls_reload::run(tls, heartbeat));
    }
    tasks.start("rules", |heartbeat| rules_reload::run(Arc::clone(&site.packs), heartbeat));
    tasks.start("database", |heartbeat| database_health::run(store.clone(), health.clone(), heartbeat));
    if let Some(listener) = metrics_listener {
        info!(address = %local(&listener, config.listen)?, "metrics are served");
        let counters = reconciler.counters();
        let sources = Sources { store: store.clone(), rules, counters, calls: calls.clone(), runs };
        tasks.start("metrics", |heartbeat| metrics_page::run(listener, sources, heartbeat));
    }

    let at_the_door = gatekeeper.clone();
    let incoming = accept(listener, tls, Arc::new(move |peer| at_the_door.is_operator(peer)));
    let OpenSite { lock, packs, dirty, network, .. } = site;
    let judge = Judge::new(Arc::clone(packs.rules()), config.site.clone());
    let forge = ForgeService::new(store.clone(), network.clone(), judge, dirty.clone()).renewing(issuer);
    let operator = SiteService::new(store.clone(), network, packs, config.site.clone(), dirty);
    health.set_serving::<ForgeServer<ForgeService>>().await;
    health.set_serving::<SiteServer<SiteService>>().await;
    let server = Server::builder()
        .max_concurrent_streams(Some(MOST_STREAMS))
        .timeout(LONGEST_CALL)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .layer(calls)
        .layer(gatekeeper)
        .add_service(health_service)
        .add_service(reflection)
        .add_service(ForgeServer::new(forge).max_decoding_message_size(LONGEST_REPORT))
        .add_service(SiteServer::new(operator).max_decoding_message_size(LONGEST_MESSAGE));
    if let Some(path) = &config.address_file {
        write_address(path, address)?;
    }
    info!(%address, tls = config.tls.is_some(), "site is served");
    let drain = config.timing.drain();
    let serving = async {
        tokio::select! {
            served = server.serve_with_incoming_shutdown(incoming, stop.requested()) => {
                served.map_err(|error| ServeError::Server(error.to_string()))
            }
            () = stop.drained(drain) => {
                warn!("requests were cut off after {} s", drain.as_secs_f64());
                Ok(())
            }
        }
    };
    let host_work = host_work::run(reconciler, lock, store.clone(), stop.clone(), drain);
    let (lock, (), ()) = tokio::try_join!(host_work, serving, tasks.failed())?;
    drop(lock);
    store.close().await;
    info!("stopped");
    Ok(())
}

/// The signal to stop, given once `stop` is ready and health says so.
fn stop_signal(stop: impl Future<Output = ()> + Send + 'static, health: HealthReporter) -> Stop {
    let (stopping, signal) = Stop::new();
    tokio::spawn(async move {
        stop.await;
        info!("stopping");
        health.set_not_serving::<ForgeServer<ForgeService>>().await;
        health.set_not_serving::<SiteServer<SiteService>>().await;
        let _ = stopping.send(true);
    });
    signal
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
