//! Addresses and who holds them. The database's own key refuses a second holder.

use std::{fmt, net::IpAddr, str::FromStr};

use sqlx::any::AnyRow;

use super::{
    Result, StoreError, Tx,
    error::failed,
    row::{Row, micros},
};
use crate::Timestamp;

/// An address that somebody holds. No address is held twice in a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// What it is for.
    pub pool: AddressPool,
    /// Machine id of a host or DPU, or id of an instance.
    pub owner: String,
    /// Since when.
    pub since: Timestamp,
    /// When the site forgot the owner. Then only an operator frees the address.
    pub forgotten_at: Option<Timestamp>,
}

/// What an address is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressPool {
    /// A DPU's loopback, the end of its tunnels.
    Loopback,
    /// A host on the admin network.
    Admin,
    /// An interface of an instance.
    Instance,
    /// Loopback of a DPU within the routing table of an instance's VPC.
    VrfLoopback,
}

impl fmt::Display for AddressPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "loopback",
            Self::Admin => "admin",
            Self::Instance => "instance",
            Self::VrfLoopback => "vrf_loopback",
        })
    }
}

impl FromStr for AddressPool {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text {
            "loopback" => Ok(Self::Loopback),
            "admin" => Ok(Self::Admin),
            "instance" => Ok(Self::Instance),
            "vrf_loopback" => Ok(Self::VrfLoopback),
            _ => Err(format!("unknown address pool `{text}`")),
        }
    }
}

impl Tx {
    /// Gives an address to an owner.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if it is held, by whomever.
    pub async fn claim_address(&mut self, address: &Address) -> Result<()> {
        let done = sqlx::query(
            "INSERT INTO addresses (address, pool, owner, since) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        )
        .bind(address.address.to_string())
        .bind(address.pool.to_string())
        .bind(&address.owner)
        .bind(micros(address.since))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("claiming an address"))?;
        if done.rows_affected() == 0 { Err(StoreError::taken("address", address.address)) } else { Ok(()) }
    }

    /// Every address that is held, by what it is for.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn addresses(&mut self) -> Result<Vec<Address>> {
        let rows = sqlx::query("SELECT * FROM addresses")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing addresses"))?;
        sorted(&rows)
    }

    /// Addresses that one owner holds.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn addresses_of(&mut self, owner: &str) -> Result<Vec<Address>> {
        let rows = sqlx::query("SELECT * FROM addresses WHERE owner = $1")
            .bind(owner)
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading addresses"))?;
        sorted(&rows)
    }

    /// Takes one address back from its owner, unless the site forgot the owner. Whoever calls knows that no DPU uses it any
    /// more.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_address(&mut self, address: IpAddr, owner: &str) -> Result<()> {
        sqlx::query("DELETE FROM addresses WHERE address = $1 AND owner = $2 AND forgotten_at IS NULL")
            .bind(address.to_string())
            .bind(owner)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("releasing an address"))?;
        Ok(())
    }

    /// Takes all addresses back from an owner, but those that it had when the site forgot it. Whoever calls knows that no
    /// DPU uses them any more.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_addresses(&mut self, owner: &str) -> Result<()> {
        sqlx::query("DELETE FROM addresses WHERE owner = $1 AND forgotten_at IS NULL")
            .bind(owner)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("releasing addresses"))?;
        Ok(())
    }
}

/// By what they are for and by number: as text, 10.0.0.10 would stand before 10.0.0.9.
fn sorted(rows: &[AnyRow]) -> Result<Vec<Address>> {
    let mut addresses = rows.iter().map(|row| read_address(&Row(row))).collect::<Result<Vec<_>>>()?;
    addresses.sort_by_key(|held| (held.pool, held.address));
    Ok(addresses)
}

fn read_address(row: &Row<'_>) -> Result<Address> {
    Ok(Address {
        address: row.parsed("address")?,
        pool: row.parsed("pool")?,
        owner: row.text("owner")?,
        since: row.moment("since")?,
        forgotten_at: row.moment_if_any("forgotten_at")?,
    })
}
