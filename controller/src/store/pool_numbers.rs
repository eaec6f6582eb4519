//! Numbers given out once each: VNIs, VLANs, AS numbers.

use super::{Result, Tx, error::failed, row::micros};
use crate::{Timestamp, store::StoreError};

/// A pool of numbers that are given out once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberPool {
    /// VXLAN network identifiers, of layer-2 segments and of VPCs.
    Vni,
    /// VLAN ids of layer-2 segments.
    Vlan,
    /// AS numbers of DPUs of a site with routed VPCs.
    Asn,
}

impl NumberPool {
    fn name(self) -> &'static str {
        match self {
            Self::Vni => "vni",
            Self::Vlan => "vlan",
            Self::Asn => "asn",
        }
    }
}

impl Tx {
    /// Gives a number to an owner.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if another owner holds it, or the owner holds another one of the pool.
    pub async fn claim_number(&mut self, pool: NumberPool, number: u32, owner: &str, now: Timestamp) -> Result<()> {
        let done = sqlx::query(
            "INSERT INTO pool_numbers (pool, number, owner, since) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        )
        .bind(pool.name())
        .bind(i64::from(number))
        .bind(owner)
        .bind(micros(now))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("claiming a number"))?;
        if done.rows_affected() == 0 { Err(StoreError::taken(pool.name(), number)) } else { Ok(()) }
    }

    /// The number that an owner holds, if any.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn number_of(&mut self, pool: NumberPool, owner: &str) -> Result<Option<u32>> {
        let row = sqlx::query("SELECT number FROM pool_numbers WHERE pool = $1 AND owner = $2")
            .bind(pool.name())
            .bind(owner)
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading a number"))?;
        row.map(|row| super::row::Row(&row).number("number")).transpose()
    }

    /// Numbers of a pool that are given out, rising.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn numbers_taken(&mut self, pool: NumberPool) -> Result<Vec<u32>> {
        let rows = sqlx::query("SELECT number FROM pool_numbers WHERE pool = $1 ORDER BY number")
            .bind(pool.name())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading a pool"))?;
        rows.iter().map(|row| super::row::Row(row).number("number")).collect()
    }

    /// Takes all numbers back from an owner.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_numbers(&mut self, owner: &str) -> Result<()> {
        sqlx::query("DELETE FROM pool_numbers WHERE owner = $1")
            .bind(owner)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("releasing numbers"))?;
        Ok(())
    }
}
