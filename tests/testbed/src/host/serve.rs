//! BMCs as they are started: one in this process, for tests of the controller's parts, or a rack of them with the hosts
//! behind, as the program `sim-host`.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{net::TcpListener, task::JoinSet};

use super::{
    bmc::{Bmc, BmcFaults, BootedAs, FaultSource, Power, locked},
    boot::boot,
    config::SimHostConfig,
    redfish::router,
};

/// A simulated BMC on a loopback port of this process. Its system boots in no time, and no host reports from it. It lasts
/// as long as the runtime that it was started in.
#[derive(Debug, Clone)]
pub struct SimBmc {
    url: String,
    bmc: Arc<Bmc>,
}

impl SimBmc {
    /// Starts one.
    ///
    /// # Errors
    /// If no port is available.
    pub async fn start(faults: BmcFaults) -> Result<Self> {
        let (listener, url) = listen(0).await?;
        let bmc = Arc::new(Bmc::new("simulated", None, Duration::ZERO, FaultSource::Memory(Mutex::new(faults))));
        let service = router(Arc::clone(&bmc));
        tokio::spawn(async move { axum::serve(listener, service).await });
        Ok(Self { url, bmc })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Changes what goes wrong with it.
    pub fn set_faults(&self, change: impl FnOnce(&mut BmcFaults)) {
        if let FaultSource::Memory(faults) = &self.bmc.faults {
            change(&mut locked(faults));
        }
    }

    /// The resets that were carried out, oldest first.
    #[must_use]
    pub fn resets(&self) -> Vec<String> {
        self.bmc.view().resets
    }

    /// Carries a reset out that nobody hears of.
    pub fn reset(&self, kind: &str) {
        self.bmc.reset(kind);
    }

    /// Whether the system is off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.bmc.view().power == Power::Off
    }

    /// Turns the system off, as somebody at its button would.
    pub fn turn_off(&self) {
        self.bmc.turn_off();
    }

    /// How many requests came in, answered or not.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.bmc.requests.load(Ordering::Relaxed)
    }
}

/// Serves all BMCs until one of them fails.
///
/// # Errors
/// If a port or the address file is unavailable, or a server ends.
pub async fn serve_bmcs(config: &SimHostConfig) -> Result<()> {
    let mut servers = JoinSet::new();
    let mut addresses = BTreeMap::new();
    for (system, settings) in &config.systems {
        let (listener, url) = listen(settings.port).await.with_context(|| format!("BMC of {system}"))?;
        addresses.insert(system.clone(), url);
        let host = settings.host.clone().map(|host| BootedAs {
            host,
            controller_file: config.controller_file.clone(),
            poll: Duration::from_secs_f64(config.poll_secs),
        });
        let faults = FaultSource::File(config.faults.join(format!("{system}.toml")));
        let bmc = Arc::new(Bmc::new(system, host, Duration::from_secs_f64(config.boot_secs), faults));
        if config.boots_at_start {
            tokio::spawn(boot(bmc.clone(), 0));
        }
        servers.spawn(async move { axum::serve(listener, router(bmc)).await });
    }
    let file = &config.address_file;
    let unfinished = file.with_extension("part");
    fs::write(&unfinished, serde_json::to_string_pretty(&addresses)?)?;
    fs::rename(&unfinished, file).with_context(|| format!("write {}", file.display()))?;
    while let Some(ended) = servers.join_next().await {
        ended??;
    }
    Ok(())
}

/// A loopback port, any free one for 0, and the URL of what is served there.
pub(super) async fn listen(port: u16) -> Result<(TcpListener, String)> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}
