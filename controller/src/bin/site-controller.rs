//! The site controller's daemon.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Parser;
use controller::{Config, Log, LogFormat, has_password, serve};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Runs a site: takes DPU reports and tenant requests, and moves hosts as the rules decide.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Settings, TOML.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database in place of the config's: `sqlite:PATH` or `sqlite::memory:`. One with a password is given by the
    /// environment variable SITE_CONTROLLER_DATABASE or by the config's `database_file`: everybody on this machine can read
    /// command lines.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Serve whoever reaches the address, without certificates, also where that is not this machine alone.
    #[arg(long)]
    open: bool,
    /// Address in place of the config's.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Rule pack in place of the config's.
    #[arg(long, value_name = "DIRECTORY")]
    rules: Option<PathBuf>,
    /// Start with the rule pack of the directory if this controller cannot use the one that was active last.
    #[arg(long)]
    replace_rules: bool,
    /// Begin a new site: hosts of the site file go into a database that never had one. For the first start alone.
    #[arg(long)]
    new_site: bool,
    /// Site file in place of the config's.
    #[arg(long, value_name = "FILE")]
    site_file: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("site-controller: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Environment variable for a database whose URL is nobody's business.
const DATABASE: &str = "SITE_CONTROLLER_DATABASE";

async fn run(arguments: Arguments) -> Result<()> {
    if arguments.database.as_deref().is_some_and(has_password) {
        bail!(
            "--database holds a password, which everybody on this machine can read: give it by the environment variable \
             {DATABASE} or by `database_file` of the config"
        );
    }
    let mut config = match &arguments.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if let Some(database) = arguments.database.or_else(|| std::env::var(DATABASE).ok()) {
        config.database = database;
    }
    config.open |= arguments.open;
    config.listen = arguments.listen.unwrap_or(config.listen);
    config.rules = arguments.rules.or(config.rules);
    config.replace_rules = arguments.replace_rules;
    config.new_site = arguments.new_site;
    config.site_file = arguments.site_file.or(config.site_file);
    log(&config.log)?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    serve(config, async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
    .await?;
    Ok(())
}

fn log(log: &Log) -> Result<()> {
    let filter = EnvFilter::try_new(&log.filter).with_context(|| format!("log.filter: `{}`", log.filter))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log.format {
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Json => lines.json().init(),
    }
    Ok(())
}
