//! Counts over the whole site, for metrics.

use std::collections::BTreeMap;

use super::{
    Outcome, OutcomeKind, Result, Tx,
    error::failed,
    row::{Row, micros},
};
use crate::Timestamp;

/// How many of everything a site has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteStats {
    /// Hosts by state.
    pub hosts_by_state: BTreeMap<String, u64>,
    /// Hosts whose last decision was to wait.
    pub waiting: u64,
    /// Hosts whose last decision was an error.
    pub failing: u64,
    /// DPUs.
    pub dpus: u64,
    /// DPUs that reported since the moment asked for.
    pub dpus_heard: u64,
    /// DPUs with an alert.
    pub dpus_alerting: u64,
    /// DPUs that run what the site never gave.
    pub dpus_held: u64,
    /// When the first of the DPUs' certificates ends, in seconds since the epoch, as they reported it.
    pub first_certificate_end: Option<i64>,
    /// Instances.
    pub instances: u64,
    /// Addresses held, by what they are for.
    pub addresses_by_pool: BTreeMap<String, u64>,
}

impl Tx {
    /// Counts everything, in a handful of statements however large the site is.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn stats(&mut self, heard_since: Timestamp) -> Result<SiteStats> {
        let doing = failed("counting");
        let mut stats = SiteStats::default();
        let hosts = sqlx::query("SELECT state, outcome, COUNT(*) AS hosts FROM hosts GROUP BY state, outcome")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(&doing)?;
        for row in &hosts {
            let row = Row(row);
            let hosts: u64 = row.number("hosts")?;
            *stats.hosts_by_state.entry(row.text("state")?).or_default() += hosts;
            match row.json::<Outcome>("outcome")?.kind {
                OutcomeKind::Wait => stats.waiting += hosts,
                OutcomeKind::Error => stats.failing += hosts,
                OutcomeKind::None | OutcomeKind::Go => {}
            }
        }
        let rows = sqlx::query("SELECT pool, COUNT(*) AS held FROM addresses GROUP BY pool")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(&doing)?;
        for row in &rows {
            stats.addresses_by_pool.insert(Row(row).text("pool")?, Row(row).number("held")?);
        }
        let row = sqlx::query(
            "SELECT (SELECT COUNT(*) FROM dpus) AS dpus, (SELECT COUNT(*) FROM instances) AS instances, \
             (SELECT COUNT(*) FROM observations WHERE observed_at > $1) AS heard, \
             (SELECT COUNT(*) FROM held_dpus) AS held, \
             (SELECT MIN(certificate_expiry) FROM observations) AS first_certificate_end, \
             (SELECT COUNT(DISTINCT machine_id) FROM health_reports WHERE alerts > 0 \
             AND machine_id IN (SELECT id FROM dpus)) AS alerting",
        )
        .bind(micros(heard_since))
        .fetch_one(&mut *self.inner)
        .await
        .map_err(&doing)?;
        let row = Row(&row);
        stats.dpus = row.number("dpus")?;
        stats.instances = row.number("instances")?;
        stats.dpus_heard = row.number("heard")?;
        stats.first_certificate_end = row.int_if_any("first_certificate_end")?;
        stats.dpus_held = row.number("held")?;
        stats.dpus_alerting = row.number("alerting")?;
        Ok(stats)
    }
}
