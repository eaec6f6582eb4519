//! `cargo demo`: a small site on this machine, and the life of an instance on it, told as it happens.

mod story;
mod timeline;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Parser;
use testbed::{Binaries, Site, SitePlan};
use tokio::signal::{
    ctrl_c,
    unix::{SignalKind, signal},
};

use timeline::Timeline;

/// Runs a small site on this machine: a controller, agents, and simulated DPUs and hosts around them.
#[derive(Parser)]
#[command(name = "demo")]
struct Args {
    /// Leaves the site running for `sitectl`, until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Rules to run the site by, instead of those of this checkout
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
}

const HOSTS: usize = 4;
const DPUS: usize = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nThe demo failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> anyhow::Result<()> {
    println!("Building the site's programs.");
    let binaries = Binaries::ready(true)?;
    let mut plan = SitePlan { loop_secs: 1.0, post_config_check_secs: 3.0, ..SitePlan::new(HOSTS, DPUS) };
    if let Some(rules) = &args.rules {
        plan.rules = rules.canonicalize().with_context(|| format!("no rules in {}", rules.display()))?;
    }
    println!(
        "\nA site of {HOSTS} hosts with {DPUS} DPUs each. The controller and the agents are the real programs; DPUs and \
         BMCs are\nsimulated. Times are shortened: agents loop every {} s (30 s on a real site), a changed configuration \
         has to run\nfor {} s (30 s) before it counts as healthy, the controller sweeps every {} s (30 s), hosts boot \
         within {} s.",
        plan.loop_secs, plan.post_config_check_secs, plan.sweep_secs, plan.boot_secs
    );
    let mut site = Site::prepare(plan, binaries)?;
    let mut timeline = Timeline::new(&site);
    let told = tokio::select! {
        told = story::tell(&mut site, &mut timeline) => told,
        () = interrupted() => anyhow::bail!("interrupted"),
    };
    if let Err(error) = told {
        site.keep_files();
        let logs = site.directory().join("logs");
        return Err(error.context(format!("{} (logs are in {})", timeline.act(), logs.display())));
    }
    if args.keep {
        println!("\nThe site runs on. In another terminal:\n");
        println!("  export SITECTL_CONTROLLER={} PATH=\"{}:$PATH\"", site.url(), timeline.programs());
        for command in ["host list", "host explain host-1", "dpu status", "address list", "instance list"] {
            println!("  sitectl {command}");
        }
        println!("\nIts files and logs are in {}. Ctrl-C ends it.", site.directory().display());
        interrupted().await;
    }
    Ok(())
}

/// Returns when somebody asks the demo to end.
async fn interrupted() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
