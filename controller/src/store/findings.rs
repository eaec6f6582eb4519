//! What actions and observers found out about machines.

use proto::MachineId;
use rules::FactId;
use serde_json::Value;

use super::{
    Result, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// What a finding is about: a fact that rules read, or something that the controller has to remember beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingId(&'static str);

impl FindingId {
    /// A machine was asked to restart, or lost power: what ran before is gone.
    pub const RESTART: Self = Self("requested.restart");
    /// A BMC was asked to restart.
    pub const BMC_RESET: Self = Self("requested.bmc_reset");
    /// A machine was reset for new firmware of a component.
    pub const COMPONENT_RESET: Self = Self("requested.component_reset");
    /// Path of the BMC's task that installs an image.
    pub const INSTALL_TASK: Self = Self("requested.install_task");
    /// Ids of machines whose BMCs are at factory settings.
    pub const FACTORY_RESET: Self = Self("requested.factory_reset");
    /// MAC addresses that were refused an address, each with the time in microseconds.
    pub const DHCP_ACKNOWLEDGED: Self = Self("acknowledged.dhcp");
    /// Why a BMC could not tell what it was last asked; null if it could.
    pub const BMC_FAULT: Self = Self("observed.bmc_fault");
    /// Whether a DPU's BMC says that its operating system runs.
    pub const OS_RUNNING: Self = Self("observed.os_running");

    /// As it is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// That of a fact, in constants, too.
    #[must_use]
    pub const fn of(fact: FactId) -> Self {
        Self(fact.name())
    }
}

impl From<FactId> for FindingId {
    fn from(fact: FactId) -> Self {
        Self::of(fact)
    }
}

/// What an action or an observer found out about a host or DPU, e.g. its power state.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name, e.g. `bmc.power`. An earlier release may have stored one that is none any more.
    pub name: String,
    /// What was found.
    pub value: Value,
    /// When.
    pub at: Timestamp,
}

impl Finding {
    /// A finding of this release.
    pub fn new(id: impl Into<FindingId>, value: impl Into<Value>, at: Timestamp) -> Self {
        Self { name: id.into().name().to_owned(), value: value.into(), at }
    }

    /// Whether it is about this.
    pub fn is(&self, id: impl Into<FindingId>) -> bool {
        self.name == id.into().name()
    }
}

impl Tx {
    /// Records a finding; the last of each name is kept.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_finding(&mut self, machine: &MachineId, finding: &Finding) -> Result<()> {
        sqlx::query(
            "INSERT INTO findings (machine_id, name, value, at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (machine_id, name) DO UPDATE SET value = excluded.value, at = excluded.at",
        )
        .bind(machine.as_str())
        .bind(&finding.name)
        .bind(to_json("value", &finding.value)?)
        .bind(micros(finding.at))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("recording a finding"))?;
        Ok(())
    }

    /// Forgets a finding; whether there was one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn remove_finding(&mut self, machine: &MachineId, id: impl Into<FindingId>) -> Result<bool> {
        let done = sqlx::query("DELETE FROM findings WHERE machine_id = $1 AND name = $2")
            .bind(machine.as_str())
            .bind(id.into().name())
            .execute(&mut *self.inner)
            .await
            .map_err(failed("forgetting a finding"))?;
        Ok(done.rows_affected() > 0)
    }

    /// Findings about a host or DPU, by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn findings(&mut self, machine: &MachineId) -> Result<Vec<Finding>> {
        let rows = sqlx::query("SELECT name, value, at FROM findings WHERE machine_id = $1 ORDER BY name")
            .bind(machine.as_str())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading findings"))?;
        rows.iter()
            .map(|row| {
                let row = Row(row);
                Ok(Finding { name: row.text("name")?, value: row.json("value")?, at: row.moment("at")? })
            })
            .collect()
    }
}
