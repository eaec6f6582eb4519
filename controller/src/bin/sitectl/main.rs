//! `sitectl`: what operators ask of a site controller, and the tools that make rules safe to edit.

mod address;
mod connect;
mod dpu;
mod explain;
mod failure;
mod health;
mod host;
mod instance;
mod output;
mod rules;
mod security_group;
mod vpc;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{CommandFactory, Parser, Subcommand};

use crate::{connect::ControllerArgs, failure::Failure, output::Format};

/// Operates a site: its hosts, DPUs, instances, VPCs, security groups, health reports and rules.
///
/// Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 no such thing, 4 controller unreachable.
#[derive(Parser)]
#[command(name = "sitectl", version, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    controller: ControllerArgs,
    /// Tables for people or JSON for programs
    #[arg(long, short, global = true, value_enum, default_value = "table")]
    output: Format,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hosts, and why they are where they are
    #[command(subcommand)]
    Host(host::HostCommand),
    /// Instances of tenants
    #[command(subcommand)]
    Instance(instance::InstanceCommand),
    /// VPCs and their prefixes
    #[command(subcommand)]
    Vpc(vpc::VpcCommand),
    /// Which traffic of instances is let through
    #[command(subcommand)]
    SecurityGroup(security_group::SecurityGroupCommand),
    /// Health reports that operators and tools put on hosts and DPUs
    #[command(subcommand)]
    Health(health::HealthCommand),
    /// DPUs, what they should run and what they say they run
    #[command(subcommand)]
    Dpu(dpu::DpuCommand),
    /// Addresses the site has given out
    #[command(subcommand)]
    Address(address::AddressCommand),
    /// The rules that decide, and the tools to change them safely
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    /// Prints completions of this command for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli).await {
        Ok(text) => print(&text),
        Err(failure @ Failure::Found(_)) => {
            print(&failure.to_string());
            failure.exit_code()
        }
        Err(failure) => {
            let _ = writeln!(io::stderr(), "sitectl: {}", output::shown_error(&failure.to_string()));
            failure.exit_code()
        }
    }
}

async fn run(cli: Cli) -> Result<String, Failure> {
    let format = cli.output;
    let connect = async || cli.controller.connect().await;
    match cli.command {
        Command::Host(command) => host::run(command, connect().await?, format).await,
        Command::Instance(command) => instance::run(command, connect().await?, format).await,
        Command::Vpc(command) => vpc::run(command, connect().await?, format).await,
        Command::SecurityGroup(command) => security_group::run(command, connect().await?, format).await,
        Command::Health(command) => health::run(command, connect().await?, format).await,
        Command::Dpu(command) => dpu::run(command, connect().await?, format).await,
        Command::Address(command) => address::run(command, connect().await?, format).await,
        Command::Rules(command) => rules::run(command, &cli.controller, format).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "sitectl", &mut script);
            Ok(String::from_utf8_lossy(&script).trim_end().to_owned())
        }
    }
}

/// A reader that went away (`sitectl … | head`) is no failure.
fn print(text: &str) -> ExitCode {
    if text.is_empty() {
        return ExitCode::SUCCESS;
    }
    match writeln!(io::stdout(), "{}", types::printable(text)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_of_the_site_parses() {
        for line in [
            "host list --state Assigned",
            "host show host-1",
            "host explain host-1 --output json",
            "host history host-1 --limit 5",
            "host request host-1 decommission",
            "host request host-1 host_reprovision --withdraw",
            "host event host-1 rebooted --argument boot=disk",
            "host add --file site.yaml",
            "host restore host-1",
            "dpu accept host-1-dpu0",
            "instance create --host any --vpc blue --vf 0 --vf 1 --hostname web --tenant acme --name web",
            "instance create --host host-1 --vpc-prefix 10.0.0.0/24",
            "instance update web --vf 0",
            "instance delete web --wait",
            "instance show web --wait-for ready --timeout 60",
            "instance list",
            "vpc create blue --tenant acme --prefix 10.0.0.0/24 --virtualization fnn",
            "vpc list",
            "vpc delete blue",
            "health insert host-1 --source operator --probe Broken --classification PreventAllocations --mode replace",
            "health remove host-1 --source operator",
            "health list host-1",
            "dpu status",
            "dpu forget host-1-dpu0",
            "address list",
            "completions bash",
            "rules check",
            "rules test rules/managed_host --covered",
            "rules facts bmc",
            "rules explain --snapshot host.yaml",
            "rules snapshot-example Ready --fact instance.present=true",
            "rules apply rules/managed_host --yes --force",
            "rules rollback 3fa2 --dry-run",
            "rules history",
            "rules graph --top Assigned --draw svg --live",
            "rules diff old new",
            "rules replay --from history.json",
            "rules fmt --check",
            "host history host-1 --snapshots --output json",
        ] {
            let words = std::iter::once("sitectl").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        }
        for line in ["instance create --host any", "health insert host-1 --source x", "host frobnicate"] {
            let words = std::iter::once("sitectl").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }
}
