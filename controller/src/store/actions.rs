//! The action journal's rows: written before an action runs, completed after.

use std::{fmt, str::FromStr};

use proto::{ConfigVersion, MachineId};
use serde_json::Value;

use super::{
    Result, StoreError, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// Lines kept for one host.
const ACTIONS_KEPT: i64 = 250;

/// One line of the action journal: written before the action runs, completed after.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// Place in the host's journal, from 1.
    pub number: u32,
    /// State version that the action belongs to.
    pub state_version: ConfigVersion,
    /// Name, e.g. `reboot`.
    pub name: String,
    /// What it acts on, for people.
    pub target: String,
    /// Its arguments.
    pub arguments: Value,
    /// How far it is.
    pub status: ActionStatus,
    /// When it was intended.
    pub intended_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Why it failed.
    pub error: String,
}

/// How far an action is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionStatus {
    /// It may or may not have run: check before running it again.
    Intended,
    /// It ran.
    Done,
    /// It failed.
    Failed,
}

impl fmt::Display for ActionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Intended => "intended",
            Self::Done => "done",
            Self::Failed => "failed",
        })
    }
}

impl FromStr for ActionStatus {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text {
            "intended" => Ok(Self::Intended),
            "done" => Ok(Self::Done),
            "failed" => Ok(Self::Failed),
            _ => Err(format!("unknown action status `{text}`")),
        }
    }
}

impl Tx {
    /// Writes that an action is about to run; its number in the host's journal.
    ///
    /// # Errors
    /// If the database fails; then the action must not run.
    pub async fn intend_action(
        &mut self,
        host: &MachineId,
        state_version: ConfigVersion,
        name: &str,
        target: &str,
        arguments: &Value,
        now: Timestamp,
    ) -> Result<u32> {
        let last = sqlx::query("SELECT COALESCE(MAX(number), 0) AS number FROM actions WHERE host_id = $1")
            .bind(host.as_str())
            .fetch_one(&mut *self.inner)
            .await
            .map_err(failed("reading the action journal"))?;
        let number = Row(&last).number::<u32>("number")?.saturating_add(1);
        sqlx::query(
            "INSERT INTO actions (host_id, number, state_version, name, target, arguments, status, intended_at, error) \
             VALUES ($1, $2, $3, $4, $5, $6, 'intended', $7, '')",
        )
        .bind(host.as_str())
        .bind(i64::from(number))
        .bind(state_version.to_string())
        .bind(name)
        .bind(target)
        .bind(to_json("arguments", arguments)?)
        .bind(micros(now))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("writing the action journal"))?;
        sqlx::query("DELETE FROM actions WHERE host_id = $1 AND number <= $2")
            .bind(host.as_str())
            .bind(i64::from(number) - ACTIONS_KEPT)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("trimming the action journal"))?;
        Ok(number)
    }

    /// Writes how an action ended: `error` is empty if it is done.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is no such line.
    pub async fn finish_action(&mut self, host: &MachineId, number: u32, error: &str, now: Timestamp) -> Result<()> {
        let status = if error.is_empty() { ActionStatus::Done } else { ActionStatus::Failed };
        let done = sqlx::query(
            "UPDATE actions SET status = $1, finished_at = $2, error = $3 WHERE host_id = $4 AND number = $5",
        )
        .bind(status.to_string())
        .bind(micros(now))
        .bind(error)
        .bind(host.as_str())
        .bind(i64::from(number))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("completing the action journal"))?;
        if done.rows_affected() == 0 { Err(StoreError::missing("action", number)) } else { Ok(()) }
    }

    /// Journal of a host, newest first, at most `limit`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn actions(&mut self, host: &MachineId, limit: u32) -> Result<Vec<Action>> {
        let rows = sqlx::query("SELECT * FROM actions WHERE host_id = $1 ORDER BY number DESC LIMIT $2")
            .bind(host.as_str())
            .bind(i64::from(limit))
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading the action journal"))?;
        rows.iter()
            .map(|row| {
                let row = Row(row);
                Ok(Action {
                    number: row.number("number")?,
                    state_version: row.parsed("state_version")?,
                    name: row.text("name")?,
                    target: row.text("target")?,
                    arguments: row.json("arguments")?,
                    status: row.parsed("status")?,
                    intended_at: row.moment("intended_at")?,
                    finished_at: row.moment_if_any("finished_at")?,
                    error: row.text("error")?,
                })
            })
            .collect()
    }
}
