//! `sitectl host`.

use std::{path::PathBuf, time::SystemTime};

use proto::{
    MachineId,
    site::{
        AddHostsRequest, AddHostsResponse, BmcSpec, DpuSpec, HostDetail, HostEvent, HostHistory, HostHistoryRequest,
        HostRef, HostRequest, HostSpec, HostSummary, ListHostsRequest, ListHostsResponse,
    },
};

use crate::{
    connect::Controller,
    dpu, explain,
    failure::Failure,
    output::{Format, ago, clock, fields, table},
};

#[derive(clap::Subcommand)]
pub(crate) enum HostCommand {
    /// Adds the hosts of a site file, or one host given by options
    Add(Box<Add>),
    /// Every host with its state and what it waits for
    List {
        /// Only hosts whose state path starts with this
        #[arg(long, default_value = "")]
        state: String,
    },
    /// One host with its DPUs, alerts and last actions
    Show {
        /// Machine id or name
        host: String,
    },
    /// Why the host is where it is: the rules evaluated on it as it is now
    Explain {
        /// Machine id or name
        host: String,
    },
    /// The host's transitions, newest first
    History {
        /// Machine id or name
        host: String,
        /// At most this many
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Also gives what the rules saw, for `sitectl rules replay`; with --output json
        #[arg(long)]
        snapshots: bool,
    },
    /// Asks for a change of the host's life, e.g. `decommission`; the rules decide if and when
    Request {
        /// Machine id or name
        host: String,
        /// A request that the rules know (`sitectl rules facts` lists them)
        kind: String,
        /// Takes the request back instead
        #[arg(long)]
        withdraw: bool,
        /// Argument of the request
        #[arg(long = "argument", value_name = "NAME=VALUE", value_parser = pair)]
        arguments: Vec<(String, String)>,
    },
    /// Lets a host that was deleted come back: with `host add`, or with the controller's next start from its site file
    Restore {
        /// Machine id, or the name that it had
        host: String,
    },
    /// Reports what happened on the host, e.g. `rebooted`, `discovered`, `cleaned`
    Event {
        /// Machine id or name
        host: String,
        /// An event that the rules know
        kind: String,
        /// Argument of the event
        #[arg(long = "argument", value_name = "NAME=VALUE", value_parser = pair)]
        arguments: Vec<(String, String)>,
    },
}

#[derive(clap::Args)]
pub(crate) struct Add {
    /// YAML file with a list `hosts`, as in a site file
    #[arg(long, conflicts_with_all = ["name", "machine_id", "bmc_url", "dpus"])]
    file: Option<PathBuf>,
    /// Name of the host, unique in the site
    #[arg(required_unless_present = "file")]
    name: Option<String>,
    /// Machine id of the host
    #[arg(long, required_unless_present = "file")]
    machine_id: Option<MachineId>,
    /// Redfish address of the host's BMC
    #[arg(long, required_unless_present = "file")]
    bmc_url: Option<String>,
    /// User of the BMC
    #[arg(long, default_value = "root")]
    bmc_user: String,
    /// File with the BMC's password
    #[arg(long, value_name = "FILE")]
    bmc_password_file: Option<PathBuf>,
    /// MAC address of the BMC
    #[arg(long, default_value = "")]
    bmc_mac: String,
    /// DPU of the host, the primary first
    #[arg(long = "dpu", value_name = "NAME=MACHINE_ID", value_parser = pair)]
    dpus: Vec<(String, String)>,
    /// MAC address of the host's first port
    #[arg(long, default_value = "")]
    mac: String,
    /// State to start in, for a host taken over from another system
    #[arg(long, default_value = "")]
    state: String,
}

pub(crate) async fn run(command: HostCommand, mut controller: Controller, format: Format) -> Result<String, Failure> {
    let failure = controller.failure();
    let site = &mut controller.site;
    match command {
        HostCommand::Add(add) => {
            let request = AddHostsRequest { hosts: add.hosts()? };
            let answer = site.add_hosts(request).await.map_err(failure)?.into_inner();
            format.answer(&answer, |AddHostsResponse { added, changed, unchanged }| {
                format!("{added} added, {changed} changed, {unchanged} unchanged")
            })
        }
        HostCommand::List { state } => {
            let request = ListHostsRequest { state_prefix: state };
            format.answer(&site.list_hosts(request).await.map_err(failure)?.into_inner(), list)
        }
        HostCommand::Show { host } => {
            format.answer(&site.get_host(HostRef { host }).await.map_err(failure)?.into_inner(), show)
        }
        HostCommand::Explain { host } => {
            let answer = site.explain_host(HostRef { host }).await.map_err(failure)?.into_inner();
            format.answer(&answer, |answer| explain::text(answer, SystemTime::now()))
        }
        HostCommand::History { host, limit, snapshots } => {
            let request = HostHistoryRequest { host, limit, with_snapshots: snapshots };
            format.answer(&site.get_host_history(request).await.map_err(failure)?.into_inner(), history)
        }
        HostCommand::Request { host, kind, withdraw, arguments } => {
            let said = if withdraw { "withdrawn" } else { "requested" };
            let text = format!("{kind} {said} for {host}");
            let request = HostRequest { host, kind, withdraw, arguments: arguments.into_iter().collect() };
            site.request_host(request).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
        HostCommand::Restore { host } => {
            let text = format!("{host} may come back: add it, or start the controller again if its site file has it");
            site.restore_host(HostRef { host }).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
        HostCommand::Event { host, kind, arguments } => {
            let event = HostEvent { host, kind, arguments: arguments.into_iter().collect() };
            site.report_host_event(event).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| String::new())
        }
    }
}

impl Add {
    fn hosts(&self) -> Result<Vec<HostSpec>, Failure> {
        if let Some(path) = &self.file {
            return controller::SiteFile::read(path)
                .map(|site| site.hosts)
                .map_err(|error| Failure::Usage(error.to_string()));
        }
        let password = match &self.bmc_password_file {
            Some(path) => types::read_text(path, 1 << 20)
                .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?,
            None => String::new(),
        };
        let dpu = |(name, id): &(String, String)| {
            let id: MachineId = id.parse().map_err(|error| Failure::Usage(format!("--dpu {name}: {error}")))?;
            Ok(DpuSpec { machine_id: Some((&id).into()), name: name.clone(), ..DpuSpec::default() })
        };
        Ok(vec![HostSpec {
            name: self.name.clone().unwrap_or_default(),
            machine_id: self.machine_id.as_ref().map(Into::into),
            bmc: Some(BmcSpec {
                url: self.bmc_url.clone().unwrap_or_default(),
                username: self.bmc_user.clone(),
                password: password.trim_end_matches(['\r', '\n']).to_owned(),
                mac: self.bmc_mac.clone(),
                system_id: String::new(),
            }),
            dpus: self.dpus.iter().map(dpu).collect::<Result<_, Failure>>()?,
            initial_state: self.state.clone(),
            mac: self.mac.clone(),
        }])
    }
}

/// `NAME=VALUE`, for clap.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

fn list(answer: &ListHostsResponse) -> String {
    let now = SystemTime::now();
    let row = |host: &HostSummary| {
        let state = if host.above_sla { format!("{} !", host.state) } else { host.state.clone() };
        let dpus = format!("{}/{}", host.dpus_ready, host.dpus);
        let quarantine = if host.quarantined { "in quarantine; " } else { "" };
        let reason = match host.withheld.as_str() {
            "" => format!("{quarantine}{}", host.reason),
            why => format!("{quarantine}no tenant can have it: {why}"),
        };
        [host.name.clone(), state, ago(&host.state_since, now), dpus, host.instance_id.clone(), reason]
    };
    let text = table(
        ["HOST", "STATE", "SINCE", "DPUS", "INSTANCE", "REASON"],
        answer.hosts.iter().map(row).collect(),
        "no hosts",
    );
    if answer.hosts.iter().any(|host| host.above_sla) {
        format!("{text}\n! longer than the state's time limit")
    } else {
        text
    }
}

fn show(host: &HostDetail) -> String {
    let now = SystemTime::now();
    let summary = host.summary.clone().unwrap_or_default();
    let network = if host.use_admin_network { "admin" } else { "tenant" };
    let quarantine = match host.quarantine_reason.as_str() {
        _ if !summary.quarantined => String::new(),
        "" => "all traffic is blocked".to_owned(),
        reason => format!("all traffic is blocked: {reason}"),
    };
    let mut parts = vec![fields(&[
        ("host", format!("{}  {}", summary.name, summary.machine_id)),
        ("state", format!("{}  {}", summary.state, host.state_version)),
        ("since", explain::since(&summary.state_since, summary.sla_seconds, summary.above_sla, now)),
        ("outcome", summary.outcome),
        ("reason", summary.reason),
        ("withheld", summary.withheld),
        ("instance", summary.instance_id),
        ("network", format!("{network}  {}", host.network_config_version)),
        ("quarantine", quarantine),
        ("bmc", host.bmc_url.clone()),
        ("mac", host.mac.clone()),
    ])];
    parts.push(dpu::status(&host.dpus, now));
    if !host.alerts.is_empty() {
        parts.push(explain::alerts(&host.alerts, now));
    }
    if !host.undeclared.is_empty() {
        parts.push(explain::undeclared(&host.undeclared));
    }
    if !host.actions.is_empty() {
        let rows = host.actions.iter().map(|action| {
            [clock(&action.at), action.name.clone(), action.target.clone(), action.status.clone(), action.error.clone()]
        });
        parts.push(table(["AT", "ACTION", "TARGET", "STATUS", "ERROR"], rows.collect(), ""));
    }
    parts.join("\n\n")
}

fn history(answer: &HostHistory) -> String {
    let rows = answer.transitions.iter().map(|step| {
        let pack = step.pack_hash.get(..12).unwrap_or(&step.pack_hash).to_owned();
        [clock(&step.at), step.from.clone(), step.to.clone(), step.reason.clone(), pack]
    });
    table(["AT", "FROM", "TO", "REASON", "RULES"], rows.collect(), "no transitions yet")
}
