//! Hosts as operators add, list and show them, with their history.

use proto::site;
use tonic::Status;

use super::{
    SiteService,
    answer::from_store,
    summary::{self, time},
};
use crate::{
    Timestamp, act, add_hosts, check_hosts, facts,
    store::{Action, ActionStatus, AddressPool, HostRecord},
};

/// Hosts that one request may add.
const MOST_HOSTS: usize = 10_000;
/// Journal lines and transitions that are shown.
const MOST_LINES: u32 = 250;

impl SiteService {
    pub(super) async fn add(&self, request: site::AddHostsRequest) -> Result<site::AddHostsResponse, Status> {
        if request.hosts.len() > MOST_HOSTS {
            return Err(Status::invalid_argument(format!("hosts: more than {MOST_HOSTS} at once")));
        }
        let rules = self.packs.rules().current();
        let hosts = check_hosts(&request.hosts, rules.initial()).map_err(|faults| {
            let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Status::invalid_argument(texts.join("; "))
        })?;
        if let Some(host) = hosts.iter().find(|host| !rules.has_state(&host.state)) {
            let fault = format!("host `{}`: the rules have no state `{}` to start in", host.name, host.state);
            return Err(Status::invalid_argument(fault));
        }
        let deleted = self.store.read().await.map_err(from_store)?.deleted_hosts().await.map_err(from_store)?;
        if let Some(host) = deleted.iter().find(|deleted| hosts.iter().any(|host| host.id == deleted.id)) {
            return Err(Status::failed_precondition(format!(
                "host {} ({}) was deleted at {}: `sitectl host restore {}` lets it come back",
                host.name, host.id, host.at, host.name
            )));
        }
        let counts =
            add_hosts(&self.store, self.network.as_deref(), &hosts, Timestamp::now()).await.map_err(from_store)?;
        for host in hosts {
            self.dirty.mark(host.id);
        }
        Ok(site::AddHostsResponse { added: counts.added, changed: counts.changed, unchanged: counts.unchanged })
    }

    pub(super) async fn list(&self, request: site::ListHostsRequest) -> Result<site::ListHostsResponse, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let mut hosts = Vec::new();
        for host in tx.hosts().await.map_err(from_store)? {
            let record = tx.host_record(&host.id).await.map_err(from_store)?;
            if record.life.state.as_str().starts_with(&request.state_prefix) {
                hosts.push(self.summary(&record));
            }
        }
        Ok(site::ListHostsResponse { hosts })
    }

    pub(super) async fn detail(&self, request: site::HostRef) -> Result<site::HostDetail, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let host = tx.find_host(&request.host).await.map_err(from_store)?;
        let record = tx.host_record(&host.id).await.map_err(from_store)?;
        let mut dpus = Vec::new();
        for dpu in &record.dpus {
            let mut status = summary::dpu(&record, dpu).status;
            let held = tx.addresses_of(dpu.id.as_str()).await.map_err(from_store)?;
            let loopback = held.iter().find(|address| address.pool == AddressPool::Loopback);
            status.loopback_ip = loopback.map(|held| held.address.to_string()).unwrap_or_default();
            dpus.push(status);
        }
        let actions = tx.actions(&host.id, MOST_LINES).await.map_err(from_store)?;
        let status = |action: &Action| match action.status {
            // What is left open belongs to a state that the host has left.
            ActionStatus::Intended if act::is_handed_over(&action.name) => {
                let open = action.state_version == record.life.version;
                if open { "handed over" } else { "withdrawn" }.to_owned()
            }
            status => status.to_string(),
        };
        let actions = actions.into_iter().map(|action| site::Action {
            status: status(&action),
            name: action.name,
            target: action.target,
            at: action.finished_at.unwrap_or(action.intended_at).to_string(),
            error: action.error,
        });
        let mut alerts = summary::alerts(&record);
        self.judge().mark_undeclared(&mut alerts);
        Ok(site::HostDetail {
            summary: Some(self.summary(&record)),
            state_version: record.life.version.to_string(),
            network_config_version: record.host.desired_network_version.to_string(),
            use_admin_network: record.host.use_admin_network,
            dpus,
            alerts,
            bmc_url: record.host.bmc.url.clone(),
            mac: record.host.mac.clone(),
            actions: actions.collect(),
            undeclared: self.judge().undeclared(&record),
            quarantine_reason: record.host.quarantine.and_then(|quarantine| quarantine.reason).unwrap_or_default(),
        })
    }

    pub(super) async fn history(&self, request: site::HostHistoryRequest) -> Result<site::HostHistory, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let host = tx.find_host(&request.host).await.map_err(from_store)?;
        let limit = if request.limit == 0 { 50 } else { request.limit.min(MOST_LINES) };
        let lines = tx.history(&host.id, limit).await.map_err(from_store)?;
        let transitions = lines.into_iter().map(|line| site::Transition {
            from: line.from.to_string(),
            to: line.to.to_string(),
            state_version: line.version.to_string(),
            at: time(Some(line.at)),
            pack_hash: line.pack_hash,
            reason: line.reason,
            snapshot: line.snapshot.filter(|_| request.with_snapshots).unwrap_or_default(),
        });
        Ok(site::HostHistory { transitions: transitions.collect() })
    }

    /// What an operator sees of a host, with its time limit.
    fn summary(&self, record: &HostRecord) -> site::HostSummary {
        let rules = self.packs.rules().current();
        let snapshot = facts::snapshot(record, &self.switches, Timestamp::now());
        let (above_sla, sla) = (facts::is_overdue(&snapshot, &rules), rules.sla(&snapshot));
        site::HostSummary {
            above_sla,
            sla_seconds: sla.and_then(|limit| u64::try_from(limit).ok()).unwrap_or_default(),
            withheld: self.judge().withheld(record).unwrap_or_default(),
            ..summary::host(record)
        }
    }
}
