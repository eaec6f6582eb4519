//! Health reports that operators insert, remove and list, beside those of DPUs.

use proto::{MachineId, MachineKind, common, forge};
use tonic::Status;

use super::{
    ForgeService,
    answer::from_store,
    fields::{invalid, machine_id, required_name},
    reports,
};
use crate::{
    Timestamp,
    facts::AGENT_SOURCE,
    store::{AppliedReport, ApplyMode, Tx},
};

/// Sources that may report on one machine.
const MOST_SOURCES: usize = 64;

impl ForgeService {
    pub(super) async fn list_reports(
        &self,
        request: common::MachineId,
    ) -> Result<forge::ListHealthReportResponse, Status> {
        let machine = machine_id("id", Some(&request))?;
        let mut tx = self.store.read().await.map_err(from_store)?;
        host_of(&mut tx, &machine).await?;
        let reports = tx.health_reports(&machine).await.map_err(from_store)?;
        let health_report_entries = reports
            .into_iter()
            .map(|entry| forge::HealthReportEntry {
                report: Some(entry.report.into()),
                mode: match entry.mode {
                    ApplyMode::Merge => forge::HealthReportApplyMode::Merge,
                    ApplyMode::Replace => forge::HealthReportApplyMode::Replace,
                } as i32,
            })
            .collect();
        Ok(forge::ListHealthReportResponse { health_report_entries })
    }

    pub(super) async fn insert_report(&self, request: forge::InsertMachineHealthReportRequest) -> Result<(), Status> {
        let machine = machine_id("machine_id", request.machine_id.as_ref())?;
        let entry = request.health_report_entry.ok_or_else(|| invalid("health_report_entry", "is missing"))?;
        let mode = match forge::HealthReportApplyMode::try_from(entry.mode) {
            Ok(forge::HealthReportApplyMode::Merge) => ApplyMode::Merge,
            Ok(forge::HealthReportApplyMode::Replace) => ApplyMode::Replace,
            Err(_) => return Err(invalid("health_report_entry.mode", format_args!("unknown value {}", entry.mode))),
        };
        let report = entry.report.ok_or_else(|| invalid("health_report_entry.report", "is missing"))?;
        let source = required_name("health_report_entry.report.source", &report.source)?;
        if source == AGENT_SOURCE && machine.kind() == MachineKind::Dpu {
            let fault =
                format!("`{AGENT_SOURCE}` is the agent's own: use another source, with mode Replace if need be");
            return Err(invalid("health_report_entry.report.source", fault));
        }
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        let host = host_of(&mut tx, &machine).await?;
        let stored = tx.health_reports(&machine).await.map_err(from_store)?;
        let former = stored.iter().map(|entry| &entry.report).find(|former| former.source == source);
        if former.is_none() && stored.len() >= MOST_SOURCES {
            let fault = format!("{machine} has reports of {MOST_SOURCES} sources already: remove one first");
            return Err(invalid("health_report_entry.report.source", fault));
        }
        let report =
            reports::read("health_report_entry.report", report, source, former, now, reports::LongTexts::Refuse)?;
        self.judge.check_names(&report).map_err(|fault| invalid("health_report_entry.report.alerts", fault))?;
        tx.put_health_report(&machine, &AppliedReport { mode, report }).await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(host);
        Ok(())
    }

    pub(super) async fn remove_report(&self, request: forge::RemoveMachineHealthReportRequest) -> Result<(), Status> {
        let machine = machine_id("machine_id", request.machine_id.as_ref())?;
        let source = required_name("source", &request.source)?;
        let mut tx = self.store.write().await.map_err(from_store)?;
        let host = host_of(&mut tx, &machine).await?;
        if !tx.remove_health_report(&machine, &source).await.map_err(from_store)? {
            return Err(Status::not_found(format!("{machine} has no health report of source `{source}`")));
        }
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(host);
        Ok(())
    }
}

/// The host that a machine is or belongs to.
async fn host_of(tx: &mut Tx, machine: &MachineId) -> Result<MachineId, Status> {
    let host = match machine.kind() {
        MachineKind::Dpu => tx.dpu(machine).await.map_err(from_store)?.map(|dpu| dpu.host),
        MachineKind::Host | MachineKind::PredictedHost => {
            tx.host(machine).await.map_err(from_store)?.map(|host| host.id)
        }
    };
    host.ok_or_else(|| Status::not_found(format!("the site does not know machine {machine}")))
}
