use std::collections::BTreeMap;

use proto::{ConfigVersion, MachineId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Result, StoreError, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Moment;

/// Transitions kept for one host.
const HISTORY_KEPT: i64 = 250;

/// Where a host stands in its life.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// State path, e.g. `Assigned/WaitingForNetworkConfig`; empty before the first decision.
    pub state: String,
    /// Its time is when the host entered the state.
    pub version: ConfigVersion,
    /// State of each DPU, for states that hold one for each.
    pub substates: BTreeMap<String, String>,
    /// Counters of the state, e.g. `retries`.
    pub counters: BTreeMap<String, i64>,
    /// What the rules remember across states, e.g. the cause of a failure.
    pub memory: BTreeMap<String, Value>,
    /// The last decision.
    pub outcome: Outcome,
}

/// What the last decision came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Kind of decision.
    pub kind: OutcomeKind,
    /// Why, for people.
    pub reason: String,
    /// Gate that holds the host, if one does.
    pub gate: String,
    /// When it was first decided so.
    pub at: Moment,
}

/// Kind of decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// No decision yet.
    #[default]
    None,
    /// The host went on.
    Go,
    /// The host waits.
    Wait,
    /// A rule or an action failed.
    Error,
}

/// A move to another state, or into the same state anew.
#[derive(Debug, Clone, Default)]
pub struct Transition {
    /// State path.
    pub to: String,
    /// State of each DPU by machine id.
    pub substates: BTreeMap<String, String>,
    /// Counters of the new state.
    pub counters: BTreeMap<String, i64>,
    /// What the rules remember.
    pub memory: BTreeMap<String, Value>,
    /// Decision that made the move.
    pub outcome: Outcome,
    /// Content hash of the rule pack that decided.
    pub pack_hash: String,
    /// What the rules saw, as JSON, for replay.
    pub snapshot: Option<String>,
}

/// One line of a host's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionRecord {
    /// State left.
    pub from: String,
    /// State entered.
    pub to: String,
    /// Version of the entered state.
    pub version: ConfigVersion,
    /// When.
    pub at: Moment,
    /// Rule pack that decided.
    pub pack_hash: String,
    /// Why.
    pub reason: String,
    /// What the rules saw, as JSON.
    pub snapshot: Option<String>,
}

impl Tx {
    /// Where a host stands.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the host is not known.
    pub async fn life(&mut self, host: &MachineId) -> Result<Life> {
        let row =
            sqlx::query("SELECT state, state_version, substates, counters, memory, outcome FROM hosts WHERE id = $1")
                .bind(host.as_str())
                .fetch_optional(&mut *self.inner)
                .await
                .map_err(failed("reading a host's state"))?
                .ok_or_else(|| StoreError::missing("host", host))?;
        let row = Row(&row);
        Ok(Life {
            state: row.text("state")?,
            version: row.parsed("state_version")?,
            substates: row.json("substates")?,
            counters: row.json("counters")?,
            memory: row.json("memory")?,
            outcome: row.json("outcome")?,
        })
    }

    /// Moves a host: new state, next version, and a history line.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the state version is no longer `read`; then nothing is written.
    pub async fn commit_transition(
        &mut self,
        host: &MachineId,
        read: ConfigVersion,
        transition: &Transition,
        now: Moment,
    ) -> Result<ConfigVersion> {
        let before = self.life(host).await?;
        let next = read.next(now.micros());
        let done = sqlx::query(
            "UPDATE hosts SET state = $1, state_version = $2, substates = $3, counters = $4, memory = $5, outcome = $6 \
             WHERE id = $7 AND state_version = $8",
        )
        .bind(&transition.to)
        .bind(next.to_string())
        .bind(to_json("substates", &transition.substates)?)
        .bind(to_json("counters", &transition.counters)?)
        .bind(to_json("memory", &transition.memory)?)
        .bind(to_json("outcome", &transition.outcome)?)
        .bind(host.as_str())
        .bind(read.to_string())
        .execute(&mut *self.inner)
        .await
        .map_err(failed("moving a host"))?;
        if done.rows_affected() == 0 {
            return Err(StoreError::conflict("state of host", host));
        }
        sqlx::query(
            "INSERT INTO history (host_id, number, from_state, to_state, state_version, at, pack_hash, reason, snapshot) \
             SELECT CAST($1 AS TEXT), COALESCE(MAX(number), 0) + 1, CAST($2 AS TEXT), CAST($3 AS TEXT), \
             CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS TEXT) \
             FROM history WHERE host_id = $1",
        )
        .bind(host.as_str())
        .bind(&before.state)
        .bind(&transition.to)
        .bind(next.to_string())
        .bind(micros(now))
        .bind(&transition.pack_hash)
        .bind(&transition.outcome.reason)
        .bind(&transition.snapshot)
        .execute(&mut *self.inner)
        .await
        .map_err(failed("writing a host's history"))?;
        sqlx::query(
            "DELETE FROM history WHERE host_id = $1 \
             AND number <= (SELECT MAX(number) FROM history WHERE host_id = $1) - $2",
        )
        .bind(host.as_str())
        .bind(HISTORY_KEPT)
        .execute(&mut *self.inner)
        .await
        .map_err(failed("trimming a host's history"))?;
        Ok(next)
    }

    /// Stores what a host that stays in its state was told: outcome, counters, substates and memory. The state version
    /// stays.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if `life.version` is no longer the host's state version.
    pub async fn store_stay(&mut self, host: &MachineId, life: &Life) -> Result<()> {
        let done = sqlx::query(
            "UPDATE hosts SET substates = $1, counters = $2, memory = $3, outcome = $4 \
             WHERE id = $5 AND state_version = $6",
        )
        .bind(to_json("substates", &life.substates)?)
        .bind(to_json("counters", &life.counters)?)
        .bind(to_json("memory", &life.memory)?)
        .bind(to_json("outcome", &life.outcome)?)
        .bind(host.as_str())
        .bind(life.version.to_string())
        .execute(&mut *self.inner)
        .await
        .map_err(failed("storing a host's outcome"))?;
        if done.rows_affected() == 0 { Err(StoreError::conflict("state of host", host)) } else { Ok(()) }
    }

    /// Transitions of a host, newest first, at most `limit`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn history(&mut self, host: &MachineId, limit: u32) -> Result<Vec<TransitionRecord>> {
        let rows = sqlx::query("SELECT * FROM history WHERE host_id = $1 ORDER BY number DESC LIMIT $2")
            .bind(host.as_str())
            .bind(i64::from(limit))
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading a host's history"))?;
        rows.iter()
            .map(|row| {
                let row = Row(row);
                Ok(TransitionRecord {
                    from: row.text("from_state")?,
                    to: row.text("to_state")?,
                    version: row.parsed("state_version")?,
                    at: row.moment("at")?,
                    pack_hash: row.text("pack_hash")?,
                    reason: row.text("reason")?,
                    snapshot: row.text_if_any("snapshot")?,
                })
            })
            .collect()
    }
}
