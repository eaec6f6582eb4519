//! What operators ask of a host, and events that they or observers report. Checked against the table of kinds.

use std::collections::BTreeMap;

use proto::{MachineId, site};
use tonic::Status;

use super::{SiteService, answer::from_store};
use crate::{
    Timestamp,
    access::Caller,
    act, facts,
    store::{ActionStatus, Event, Finding, FindingId, Host, Request, Tx},
};

/// Bytes of the name of an event.
const LONGEST_KIND: usize = 128;

/// Arguments that a request or event may have, and bytes in one of them.
const MOST_ARGUMENTS: usize = 32;
const LONGEST_ARGUMENT: usize = 4_096;

impl SiteService {
    pub(super) async fn request(&self, request: site::HostRequest) -> Result<(), Status> {
        let kind = known("request", &request.kind, facts::REQUESTS)?;
        let arguments = checked(request.arguments)?;
        if !request.withdraw {
            kind.check("request", &arguments).map_err(|fault| Status::invalid_argument(fault.to_string()))?;
        }
        let mut tx = self.store.write().await.map_err(from_store)?;
        let host = tx.find_host(&request.host).await.map_err(from_store)?;
        if request.kind == "retry" && !request.withdraw {
            let life = tx.life(&host.id).await.map_err(from_store)?;
            if life.failure.is_none() {
                let fault = format!("{} has not failed: it is in state {}", host.name, life.state);
                return Err(Status::failed_precondition(fault));
            }
        }
        if request.kind == "custom_ipxe" && !request.withdraw {
            let record = tx.host_record(&host.id).await.map_err(from_store)?;
            if record.instance.is_none() {
                let fault = format!("{} has no instance that could boot into an iPXE script", host.name);
                return Err(Status::failed_precondition(fault));
            }
        }
        if request.withdraw {
            tx.remove_request(&host.id, &request.kind).await.map_err(from_store)?;
        } else {
            let asked = Request { kind: request.kind, at: Timestamp::now(), arguments };
            tx.put_request(&host.id, &asked).await.map_err(from_store)?;
        }
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(host.id);
        Ok(())
    }

    pub(super) async fn event(&self, caller: &Caller, event: site::HostEvent) -> Result<(), Status> {
        let mut arguments = checked(event.arguments)?;
        if event.kind.len() > LONGEST_KIND {
            return Err(Status::invalid_argument(format!("kind: is longer than {LONGEST_KIND} bytes")));
        }
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        let host = match (tx.find_host(&event.host).await.map_err(from_store), caller) {
            // Which hosts there are is not for a machine to find out.
            (Err(_), Caller::Machine(_)) => {
                return Err(Status::permission_denied(format!("{caller} may not speak of another host")));
            }
            (found, _) => found?,
        };
        caller.speaks_of(&host.id)?;
        if let Some(run) = arguments.remove("run") {
            let life = tx.life(&host.id).await.map_err(from_store)?;
            if run != life.version.to_string() {
                let (name, state, version) = (&host.name, &life.state, life.version);
                if let Some(times) = self.ignored.now() {
                    let run: String = run.chars().take(80).collect();
                    tracing::warn!(host = %name, event = event.kind, run, %version, times, "event of another run ignored");
                }
                let fault = format!("this is not of the run that {name} is in: it is in {state} since {version}");
                return Err(Status::failed_precondition(fault));
            }
        }
        let machine = match arguments.remove("dpu") {
            Some(name) => {
                let dpu = tx.find_dpu(&name).await.map_err(from_store)?;
                if dpu.host != host.id {
                    return Err(Status::invalid_argument(format!("host `{}` has no DPU `{name}`", host.name)));
                }
                dpu.id
            }
            None => host.id.clone(),
        };
        let work = matches!(event.kind.as_str(), "work_done" | "work_failed");
        let observed = event.kind.contains('.') || event.kind == "dhcp_suppressed" || work;
        if observed && matches!(caller, Caller::Machine(_)) {
            let fault = format!("{caller} may not report `{}`: observers do", event.kind.escape_default());
            return Err(Status::permission_denied(fault));
        }
        if !event.kind.contains('.') {
            let kind = known("event", &event.kind, facts::EVENTS)?;
            kind.check("event", &arguments).map_err(|fault| Status::invalid_argument(fault.to_string()))?;
        }
        if work {
            end_work(&mut tx, &host, &machine, &arguments, now).await?;
        } else if event.kind == "dhcp_suppressed" {
            acknowledge(&mut tx, &host, arguments.get("mac"), now).await?;
        } else if !event.kind.contains('.') {
            let event = Event { kind: event.kind, at: now, arguments };
            tx.put_event(&machine, &event).await.map_err(from_store)?;
        } else {
            let of_dpu = event.kind.split('.').next() == Some(<rules::Dpu as rules::Area>::NAME);
            if of_dpu == (machine == host.id) {
                let fault = if of_dpu { "needs the argument `dpu`" } else { "is not a fact of a DPU" };
                return Err(Status::invalid_argument(format!("fact `{}` {fault}", event.kind)));
            }
            let Some(value) = arguments.get("value") else {
                return Err(Status::invalid_argument(format!("fact `{}` needs the argument `value`", event.kind)));
            };
            if let Some(name) = arguments.keys().find(|name| *name != "value") {
                let fault = format!("fact `{}` has no argument `{}`", event.kind, name.escape_default());
                return Err(Status::invalid_argument(fault));
            }
            let finding = facts::finding_of(&event.kind, value, now)
                .map_err(|fault| Status::invalid_argument(fault.to_string()))?;
            tx.put_finding(&machine, &finding).await.map_err(from_store)?;
        }
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(host.id);
        Ok(())
    }
}

/// Work that was handed over in the state that the host is in has ended: well, or for the reason given.
async fn end_work(
    tx: &mut Tx,
    host: &Host,
    machine: &MachineId,
    arguments: &BTreeMap<String, String>,
    now: Timestamp,
) -> Result<(), Status> {
    let action = arguments.get("action").map(String::as_str).unwrap_or_default();
    let record = tx.host_record(&host.id).await.map_err(from_store)?;
    let own = record.actions.iter().filter(|line| line.state_version == record.life.version && line.name == action);
    let mut open = own.filter(|line| line.status == ActionStatus::Intended && act::is_handed_over(&line.name));
    let line = open.rfind(|line| act::is_for(&record, line, machine));
    let Some(line) = line else {
        let short: String = action.chars().take(80).collect();
        let (name, state) = (&host.name, &record.life.state);
        let fault = format!("no work `{}` of {name} is open in state {state}", short.escape_default());
        return Err(Status::failed_precondition(fault));
    };
    let reason = arguments.get("reason").map(String::as_str).unwrap_or_default();
    tx.finish_action(&host.id, line.number, reason, now).await.map_err(from_store)
}

/// A machine with this MAC was refused an address, as decommissioning wants it.
async fn acknowledge(tx: &mut Tx, host: &Host, mac: Option<&String>, now: Timestamp) -> Result<(), Status> {
    let mac = mac.ok_or_else(|| Status::invalid_argument("event `dhcp_suppressed` needs the argument `mac`"))?;
    let found = tx.findings(&host.id).await.map_err(from_store)?;
    let known = found.into_iter().find(|finding| finding.is(FindingId::DHCP_ACKNOWLEDGED));
    let mut macs: BTreeMap<String, u64> =
        known.and_then(|finding| serde_json::from_value(finding.value).ok()).unwrap_or_default();
    let mac = mac.to_ascii_lowercase();
    if macs.contains_key(&mac) || macs.len() < 64 {
        macs.insert(mac, now.micros());
    }
    let value = serde_json::to_value(macs).map_err(|error| Status::internal(error.to_string()))?;
    let finding = Finding::new(FindingId::DHCP_ACKNOWLEDGED, value, now);
    tx.put_finding(&host.id, &finding).await.map_err(from_store)
}

fn known<'k>(what: &str, name: &str, kinds: &'k [facts::Kind]) -> Result<&'k facts::Kind, Status> {
    kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let short: String = name.chars().take(80).collect();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        Status::invalid_argument(format!(
            "there is no {what} `{}`{}",
            short.escape_default(),
            types::did_you_mean(&short, &names)
        ))
    })
}

fn checked(
    arguments: std::collections::HashMap<String, String>,
) -> Result<std::collections::BTreeMap<String, String>, Status> {
    if arguments.len() > MOST_ARGUMENTS {
        return Err(Status::invalid_argument(format!("arguments: more than {MOST_ARGUMENTS}")));
    }
    let long = |(name, value): (&String, &String)| name.len().max(value.len()) > LONGEST_ARGUMENT;
    if arguments.iter().any(long) {
        return Err(Status::invalid_argument(format!("arguments: one is longer than {LONGEST_ARGUMENT} bytes")));
    }
    Ok(arguments.into_iter().collect())
}
