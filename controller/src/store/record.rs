//! All the site knows of one host, read in one transaction.

use std::collections::BTreeMap;

use proto::MachineId;

use super::{
    Action, AppliedReport, Dpu, Event, Finding, Host, Instance, Life, Observation, Request, Result, StoreError, Tx,
};

/// Everything the site knows about one host, as of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRecord {
    /// The host.
    pub host: Host,
    /// Where it stands.
    pub life: Life,
    /// Its DPUs, the primary first.
    pub dpus: Vec<Dpu>,
    /// Last report of each DPU that has reported.
    pub observations: BTreeMap<MachineId, Observation>,
    /// Health reports on the host and each DPU.
    pub health: BTreeMap<MachineId, Vec<AppliedReport>>,
    /// Its instance.
    pub instance: Option<Instance>,
    /// Open requests.
    pub requests: Vec<Request>,
    /// Last events on the host and each DPU.
    pub events: BTreeMap<MachineId, Vec<Event>>,
    /// Findings about the host and each DPU.
    pub findings: BTreeMap<MachineId, Vec<Finding>>,
    /// Newest lines of the action journal.
    pub actions: Vec<Action>,
}

/// Journal lines that come with a record.
const ACTIONS_READ: u32 = 100;

impl Tx {
    /// Reads all about one host.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the host is not known.
    pub async fn host_record(&mut self, id: &MachineId) -> Result<HostRecord> {
        let host = self.host(id).await?.ok_or_else(|| StoreError::missing("host", id))?;
        let life = self.life(id).await?;
        let dpus = self.dpus_of(id).await?;
        let mut record = HostRecord {
            host,
            life,
            observations: BTreeMap::new(),
            health: BTreeMap::new(),
            instance: self.instance_on(id).await?,
            requests: self.requests(id).await?,
            events: BTreeMap::new(),
            findings: BTreeMap::new(),
            actions: self.actions(id, ACTIONS_READ).await?,
            dpus: Vec::new(),
        };
        for dpu in &dpus {
            if let Some(observation) = self.observation(&dpu.id).await? {
                record.observations.insert(dpu.id.clone(), observation);
            }
        }
        for machine in dpus.iter().map(|dpu| &dpu.id).chain([id]) {
            record.health.insert(machine.clone(), self.health_reports(machine).await?);
            record.events.insert(machine.clone(), self.events(machine).await?);
            record.findings.insert(machine.clone(), self.findings(machine).await?);
        }
        record.dpus = dpus;
        Ok(record)
    }
}
