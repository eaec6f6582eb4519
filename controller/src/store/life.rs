//! Where a host stands: state, version, counters, notes, last outcome; moves by compare-and-set.

use std::collections::BTreeMap;

use proto::{ConfigVersion, MachineId};
use rules::StatePath;
use serde::{Deserialize, Serialize};

use super::{
    Result, StoreError, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// Transitions kept for one host.
const HISTORY_KEPT: i64 = 250;

/// Where a host stands in its life.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// State path, e.g. `Assigned/WaitingForNetworkConfig`; empty before the first decision.
    pub state: StatePath,
    /// Its time is when the host entered the state.
    pub version: ConfigVersion,
    /// State of each DPU by machine id, in states that DPUs pass one by one.
    pub dpus: BTreeMap<String, DpuLife>,
    /// Values of the rules' counters.
    pub counters: BTreeMap<String, i64>,
    /// What earlier rules noted for later ones.
    pub notes: BTreeMap<String, String>,
    /// The failure on record.
    pub failure: Option<FailureRecord>,
    /// The last decision.
    pub outcome: Outcome,
}

/// Where one DPU stands, in states that DPUs pass one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DpuLife {
    /// State path.
    pub state: StatePath,
    /// When the DPU entered it.
    pub since: Timestamp,
    /// Its counters.
    #[serde(default)]
    pub counters: BTreeMap<String, i64>,
    /// Its notes.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
}

/// A failure on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// Cause as the rules name it.
    pub cause: String,
    /// Machine id of the DPU that failed; none for the host.
    pub dpu: Option<String>,
    /// When.
    pub at: Timestamp,
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
    pub at: Timestamp,
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

/// A move to another state, or into the same state again.
#[derive(Debug, Clone, Default)]
pub struct Transition {
    /// State path.
    pub to: StatePath,
    /// State of each DPU by machine id.
    pub dpus: BTreeMap<String, DpuLife>,
    /// Counters after the move.
    pub counters: BTreeMap<String, i64>,
    /// Notes after the move.
    pub notes: BTreeMap<String, String>,
    /// Failure on record after the move.
    pub failure: Option<FailureRecord>,
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
    pub from: StatePath,
    /// State entered.
    pub to: StatePath,
    /// Version of the entered state.
    pub version: ConfigVersion,
    /// When.
    pub at: Timestamp,
    /// Rule pack that decided.
    pub pack_hash: String,
    /// Why.
    pub reason: String,
    /// What the rules saw, as JSON.
    pub snapshot: Option<String>,
}

impl Tx {
    /// States that hosts are in, or DPUs of them, with the host's name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn states_in_use(&mut self) -> Result<Vec<(String, StatePath)>> {
        let rows = sqlx::query("SELECT name, state, dpu_states FROM hosts ORDER BY name")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading states of hosts"))?;
        let mut states = Vec::with_capacity(rows.len());
        for row in &rows {
            let (row, mut of_dpus) = (Row(row), Vec::new());
            for own in row.json::<BTreeMap<String, DpuLife>>("dpu_states")?.into_values() {
                if !of_dpus.contains(&own.state) {
                    of_dpus.push(own.state);
                }
            }
            let name = row.text("name")?;
            let own: StatePath = row.text("state")?.as_str().into();
            of_dpus.retain(|state| *state != own);
            states.extend(std::iter::once(own).chain(of_dpus).map(|state| (name.clone(), state)));
        }
        // A host that is new in the site has none yet.
        states.retain(|(_, state)| !state.as_str().is_empty());
        Ok(states)
    }

    /// Where a host stands.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the host is not known.
    pub async fn life(&mut self, host: &MachineId) -> Result<Life> {
        let row = sqlx::query(
            "SELECT state, state_version, dpu_states, counters, notes, failure, outcome FROM hosts WHERE id = $1",
        )
        .bind(host.as_str())
        .fetch_optional(&mut *self.inner)
        .await
        .map_err(failed("reading a host's state"))?
        .ok_or_else(|| StoreError::missing("host", host))?;
        let row = Row(&row);
        Ok(Life {
            state: row.text("state")?.as_str().into(),
            version: row.parsed("state_version")?,
            dpus: row.json("dpu_states")?,
            counters: row.json("counters")?,
            notes: row.json("notes")?,
            failure: row.json_if_any("failure")?,
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
        now: Timestamp,
    ) -> Result<ConfigVersion> {
        let before = self.life(host).await?;
        let next = read.next(now.micros());
        let done = sqlx::query(
            "UPDATE hosts SET state = $1, state_version = $2, dpu_states = $3, counters = $4, notes = $5, failure = $6, \
             outcome = $7 WHERE id = $8 AND state_version = $9",
        )
        .bind(transition.to.as_str())
        .bind(next.to_string())
        .bind(to_json("dpu_states", &transition.dpus)?)
        .bind(to_json("counters", &transition.counters)?)
        .bind(to_json("notes", &transition.notes)?)
        .bind(transition.failure.as_ref().map(|failure| to_json("failure", failure)).transpose()?)
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
        .bind(before.state.as_str())
        .bind(transition.to.as_str())
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

    /// Stores what a host that stays in its state was told: outcome, DPU states, counters, notes and failure. The
    /// state version stays.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if `life.version` is no longer the host's state version.
    pub async fn store_stay(&mut self, host: &MachineId, life: &Life) -> Result<()> {
        let done = sqlx::query(
            "UPDATE hosts SET dpu_states = $1, counters = $2, notes = $3, failure = $4, outcome = $5 \
             WHERE id = $6 AND state_version = $7",
        )
        .bind(to_json("dpu_states", &life.dpus)?)
        .bind(to_json("counters", &life.counters)?)
        .bind(to_json("notes", &life.notes)?)
        .bind(life.failure.as_ref().map(|failure| to_json("failure", failure)).transpose()?)
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
                    from: row.text("from_state")?.as_str().into(),
                    to: row.text("to_state")?.as_str().into(),
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
