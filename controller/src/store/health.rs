//! Health reports by machine and source, and how they merge.

use std::{fmt, str::FromStr};

use proto::MachineId;
use types::HealthReport;

use super::{
    Result, Tx,
    error::failed,
    row::{Row, to_json},
};

/// How a report joins the others of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApplyMode {
    /// Beside the others.
    Merge,
    /// Instead of the others. A machine has one at most.
    Replace,
}

impl fmt::Display for ApplyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "merge",
            Self::Replace => "replace",
        })
    }
}

impl FromStr for ApplyMode {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            _ => Err(format!("unknown apply mode `{text}`")),
        }
    }
}

/// A stored report and how it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedReport {
    /// How.
    pub mode: ApplyMode,
    /// What.
    pub report: HealthReport,
}

impl Tx {
    /// Stores a report in place of the machine's former one of that source, whichever mode it had; a Replace report also
    /// takes the place of the machine's former Replace report.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_health_report(&mut self, machine: &MachineId, report: &AppliedReport) -> Result<()> {
        if report.mode == ApplyMode::Replace {
            sqlx::query("DELETE FROM health_reports WHERE machine_id = $1 AND mode = 'replace'")
                .bind(machine.as_str())
                .execute(&mut *self.inner)
                .await
                .map_err(failed("replacing a health report"))?;
        }
        sqlx::query(
            "INSERT INTO health_reports (machine_id, source, mode, report, alerts) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (machine_id, source) DO UPDATE SET mode = excluded.mode, report = excluded.report, \
             alerts = excluded.alerts",
        )
        .bind(machine.as_str())
        .bind(&report.report.source)
        .bind(report.mode.to_string())
        .bind(to_json("report", &report.report)?)
        .bind(i64::try_from(report.report.alerts.len()).unwrap_or(i64::MAX))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("storing a health report"))?;
        Ok(())
    }

    /// Removes the report of a source; whether there was one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn remove_health_report(&mut self, machine: &MachineId, source: &str) -> Result<bool> {
        let done = sqlx::query("DELETE FROM health_reports WHERE machine_id = $1 AND source = $2")
            .bind(machine.as_str())
            .bind(source)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("removing a health report"))?;
        Ok(done.rows_affected() > 0)
    }

    /// Reports on a host or DPU, by source.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn health_reports(&mut self, machine: &MachineId) -> Result<Vec<AppliedReport>> {
        let rows = sqlx::query("SELECT mode, report FROM health_reports WHERE machine_id = $1 ORDER BY source")
            .bind(machine.as_str())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading health reports"))?;
        rows.iter()
            .map(|row| Ok(AppliedReport { mode: Row(row).parsed("mode")?, report: Row(row).json("report")? }))
            .collect()
    }
}
