//! `dpu-agent run`: the daemon, with its signals, log and service manager.

use std::{process::ExitCode, time::Duration};

use agent::{Agent, LogFormat, Settings, StateDirLock, render::DhcpServer};
use anyhow::{Context as _, bail};
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{Layer as _, filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// Runs until SIGTERM or SIGINT. SIGHUP makes the next pass come at once.
pub(crate) fn run(settings: Settings) -> anyhow::Result<ExitCode> {
    log(&settings)?;
    let state_dir = settings.state_dir.display().to_string();
    let lock = StateDirLock::take(&settings.state_dir)
        .with_context(|| format!("cannot use the state directory {state_dir}"))?;
    let Some(_lock) = lock else { bail!("another dpu-agent runs with the state directory {state_dir}") };
    // Host names are resolved on a thread of its own, which ends soon after.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .thread_keep_alive(Duration::from_millis(100))
        .build()?;
    runtime.block_on(passes(settings))
}

/// One pass after the other until a signal ends it.
async fn passes(settings: Settings) -> anyhow::Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tracing::info!("dpu-agent {} for {} at {}", env!("CARGO_PKG_VERSION"), settings.machine_id, settings.controller);
    if settings.dhcp.server == DhcpServer::Kea && settings.dhcp.kea_hooks.is_none() {
        tracing::info!("without `dhcp.kea_hooks` Kea knows the host by its MAC address, not by its port");
    }
    let mut agent = Agent::new(settings)?;
    notify(&[NotifyState::Ready]);
    loop {
        // A signal during a pass waits for its end, so that no change is left half-way.
        let pass = agent.pass().await;
        // Only here: a pass that hangs must not look alive.
        notify(&[NotifyState::Watchdog]);
        tokio::select! {
            biased;
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {
                tracing::info!("SIGHUP: the next pass comes now");
                agent.retry_now();
            }
            () = tokio::time::sleep(pass.next_in) => (),
        }
    }
    notify(&[NotifyState::Stopping]);
    tracing::info!("stopped; the DPU keeps running its configuration");
    Ok(ExitCode::SUCCESS)
}

/// Notifies systemd, if it listens.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("systemd cannot be notified: {error}");
    }
}

/// Starts logging to standard error.
fn log(settings: &Settings) -> anyhow::Result<()> {
    let filter: Targets = settings.log.filter.parse().context("`log.filter` of the configuration")?;
    let format = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let format = match settings.log.format {
        LogFormat::Text => format.with_target(false).with_ansi(false).boxed(),
        LogFormat::Json => format.json().boxed(),
    };
    tracing_subscriber::registry().with(filter).with(format).init();
    Ok(())
}
