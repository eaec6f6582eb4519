//! Times that lie in the future, because they were written while the clock was ahead. What comes in from then on would
//! count as older than they are for as long as the clock was ahead, and time limits would not run. So they are brought
//! back to now, in their order: what came after what stays as it is.

use std::collections::BTreeMap;

use proto::MachineId;

use super::{HostRecord, Life, Result, Tx, error::failed, row::micros};
use crate::Timestamp;

/// Times of a host or DPU by its id.
const OF_A_MACHINE: [&str; 3] = [
    "UPDATE events SET at = $1 WHERE at = $2 AND machine_id = $3",
    "UPDATE findings SET at = $1 WHERE at = $2 AND machine_id = $3",
    "UPDATE observations SET observed_at = $1 WHERE observed_at = $2 AND dpu_id = $3",
];
/// Times of a host by its id.
const OF_A_HOST: [&str; 4] = [
    "UPDATE requests SET at = $1 WHERE at = $2 AND host_id = $3",
    "UPDATE actions SET intended_at = $1 WHERE intended_at = $2 AND host_id = $3",
    "UPDATE actions SET finished_at = $1 WHERE finished_at = $2 AND host_id = $3",
    "UPDATE history SET at = $1 WHERE at = $2 AND host_id = $3",
];
/// Where a host's state version stands.
const VERSIONS: [&str; 3] = [
    "UPDATE hosts SET state_version = $1 WHERE state_version = $2 AND id = $3",
    "UPDATE actions SET state_version = $1 WHERE state_version = $2 AND host_id = $3",
    "UPDATE history SET state_version = $1 WHERE state_version = $2 AND host_id = $3",
];

impl HostRecord {
    /// Whether a time that rules look at is later than `now`.
    pub(crate) fn is_ahead(&self, now: Timestamp) -> bool {
        self.times().any(|at| at > now)
    }

    fn times(&self) -> impl Iterator<Item = Timestamp> {
        let life = &self.life;
        let of_life = [Timestamp::from_micros(life.version.micros()), life.outcome.at].into_iter();
        of_life
            .chain(life.failure.iter().map(|failure| failure.at))
            .chain(life.dpus.values().map(|own| own.since))
            .chain(self.events.values().flatten().map(|event| event.at))
            .chain(self.findings.values().flatten().map(|finding| finding.at))
            .chain(self.observations.values().map(|seen| seen.observed_at))
            .chain(self.requests.iter().map(|request| request.at))
            .chain(self.actions.iter().flat_map(|action| [Some(action.intended_at), action.finished_at]).flatten())
    }
}

impl Tx {
    /// Brings all times of a host and its DPUs that lie in the future back to now, in their order; how many there were.
    ///
    /// # Errors
    /// [`super::StoreError::Missing`] if the host is not known.
    pub async fn clamp_future_timestamps(&mut self, host: &MachineId) -> Result<usize> {
        let record = self.host_record(host).await?;
        let now = Timestamp::now();
        let back = brought_back(record.times(), now);
        let machines: Vec<&MachineId> = record.dpus.iter().map(|dpu| &dpu.id).chain([host]).collect();
        for (from, to) in &back {
            for machine in &machines {
                self.set_times(&OF_A_MACHINE, *to, *from, machine).await?;
            }
            self.set_times(&OF_A_HOST, *to, *from, host).await?;
        }
        let mut life = record.life;
        let read = life.version;
        move_times(&mut life, &back);
        for statement in VERSIONS {
            sqlx::query(statement)
                .bind(life.version.to_string())
                .bind(read.to_string())
                .bind(host.as_str())
                .execute(&mut *self.inner)
                .await
                .map_err(failed("bringing a host's times back"))?;
        }
        self.store_stay(host, &life).await?;
        Ok(back.len())
    }

    async fn set_times(
        &mut self,
        statements: &[&'static str],
        to: Timestamp,
        from: Timestamp,
        machine: &MachineId,
    ) -> Result<()> {
        for &statement in statements {
            sqlx::query(statement)
                .bind(micros(to))
                .bind(micros(from))
                .bind(machine.as_str())
                .execute(&mut *self.inner)
                .await
                .map_err(failed("bringing a host's times back"))?;
        }
        Ok(())
    }
}

/// For each time after `now` the one that it becomes: the last is `now`, the one before a microsecond earlier, and so on.
fn brought_back(times: impl Iterator<Item = Timestamp>, now: Timestamp) -> BTreeMap<Timestamp, Timestamp> {
    let mut back: BTreeMap<Timestamp, Timestamp> = times.filter(|at| *at > now).map(|at| (at, now)).collect();
    for (place, to) in back.values_mut().rev().enumerate() {
        *to = Timestamp::from_micros(now.micros().saturating_sub(place as u64));
    }
    back
}

fn move_times(life: &mut Life, back: &BTreeMap<Timestamp, Timestamp>) {
    let moved = |at: Timestamp| back.get(&at).copied().unwrap_or(at);
    life.version = life.version.made_at(moved(Timestamp::from_micros(life.version.micros())).micros());
    life.outcome.at = moved(life.outcome.at);
    for own in life.dpus.values_mut() {
        own.since = moved(own.since);
    }
    if let Some(failure) = &mut life.failure {
        failure.at = moved(failure.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_the_future_become_now_in_their_order_and_others_stay() {
        let at = Timestamp::from_micros;
        let times = [at(70), at(500), at(100), at(900), at(500), at(101)];
        let back = brought_back(times.into_iter(), at(100));
        assert_eq!(back, BTreeMap::from([(at(101), at(98)), (at(500), at(99)), (at(900), at(100))]));
    }
}
