//! Simulates the hosts of a site behind their BMCs: a Redfish service a system, and hosts that boot and report.

use std::path::PathBuf;

use clap::Parser;
use testbed::{SimHostConfig, serve_bmcs};

/// Simulates the hosts of a site behind their BMCs.
#[derive(Parser)]
struct SimHostArgs {
    /// What to simulate (TOML).
    #[arg(long)]
    config: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    serve_bmcs(&SimHostConfig::load(&SimHostArgs::parse().config)?).await
}
