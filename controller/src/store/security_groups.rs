//! Security groups and what they are attached to.

use ipnet::IpNet;
use proto::ConfigVersion;
use serde::{Deserialize, Serialize};

use super::{
    Result, StoreError, Tx,
    error::{failed, is_taken},
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// What traffic of an instance's interfaces is let through. What no rule speaks of is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityGroup {
    /// Unique name.
    pub name: String,
    /// Tenant organization.
    pub tenant: String,
    /// Rises with every change.
    pub version: ConfigVersion,
    /// Answers to what the host sent come back in.
    pub stateful_egress: bool,
    /// Rules; those with a lower priority number come first.
    pub rules: Vec<SecurityRule>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// One rule of a security group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityRule {
    /// Unique in its group.
    pub id: String,
    /// Seen from the host.
    pub direction: TrafficDirection,
    /// What becomes of the traffic.
    pub action: TrafficAction,
    /// Protocol.
    pub protocol: TrafficProtocol,
    /// Place among the rules.
    pub priority: u32,
    /// It is about IPv6.
    pub ipv6: bool,
    /// Where it comes from; anywhere if absent.
    pub source: Option<IpNet>,
    /// Where it goes; anywhere if absent.
    pub destination: Option<IpNet>,
    /// First and last port.
    pub source_ports: Option<(u16, u16)>,
    /// First and last port.
    pub destination_ports: Option<(u16, u16)>,
}

/// Which way traffic goes, seen from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrafficDirection {
    /// To the host.
    Ingress,
    /// From the host.
    Egress,
}

/// What becomes of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrafficAction {
    /// It is let through.
    Permit,
    /// It is not.
    Deny,
}

/// Protocol of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrafficProtocol {
    /// Any.
    Any,
    /// ICMP of IPv4.
    Icmp,
    /// ICMP of IPv6.
    Icmp6,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl Tx {
    /// Adds a security group.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if its name is.
    pub async fn add_security_group(&mut self, group: &SecurityGroup) -> Result<()> {
        sqlx::query(
            "INSERT INTO security_groups (name, tenant, version, stateful_egress, rules, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(&group.name)
        .bind(&group.tenant)
        .bind(group.version.to_string())
        .bind(i64::from(group.stateful_egress))
        .bind(to_json("rules", &group.rules)?)
        .bind(micros(group.created_at))
        .execute(&mut *self.inner)
        .await
        .map_err(|error| {
            if is_taken(&error) {
                StoreError::taken("security group", &group.name)
            } else {
                failed("adding a security group")(error)
            }
        })?;
        Ok(())
    }

    /// Stores changed rules of a security group.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if its version is no longer `read`.
    pub async fn store_security_group(&mut self, group: &SecurityGroup, read: ConfigVersion) -> Result<()> {
        let done = sqlx::query(
            "UPDATE security_groups SET version = $1, stateful_egress = $2, rules = $3 WHERE name = $4 AND version = $5",
        )
        .bind(group.version.to_string())
        .bind(i64::from(group.stateful_egress))
        .bind(to_json("rules", &group.rules)?)
        .bind(&group.name)
        .bind(read.to_string())
        .execute(&mut *self.inner)
        .await
        .map_err(failed("storing a security group"))?;
        if done.rows_affected() == 0 { Err(StoreError::conflict("security group", &group.name)) } else { Ok(()) }
    }

    /// All security groups by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn security_groups(&mut self) -> Result<Vec<SecurityGroup>> {
        let rows = sqlx::query("SELECT * FROM security_groups ORDER BY name")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing security groups"))?;
        rows.iter()
            .map(|row| {
                let row = Row(row);
                Ok(SecurityGroup {
                    name: row.text("name")?,
                    tenant: row.text("tenant")?,
                    version: row.parsed("version")?,
                    stateful_egress: row.int("stateful_egress")? != 0,
                    rules: row.json("rules")?,
                    created_at: row.moment("created_at")?,
                })
            })
            .collect()
    }

    /// Removes a security group. Whoever calls knows that nothing has it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none.
    pub async fn remove_security_group(&mut self, name: &str) -> Result<()> {
        let done = sqlx::query("DELETE FROM security_groups WHERE name = $1")
            .bind(name)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("removing a security group"))?;
        if done.rows_affected() == 0 { Err(StoreError::missing("security group", name)) } else { Ok(()) }
    }

    /// Gives all interfaces in a VPC a security group, or none.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is no such VPC.
    pub async fn set_vpc_security_group(&mut self, vpc: crate::VpcId, group: Option<&str>) -> Result<()> {
        let done = sqlx::query("UPDATE vpcs SET security_group = $1 WHERE id = $2")
            .bind(group)
            .bind(vpc.to_string())
            .execute(&mut *self.inner)
            .await
            .map_err(failed("giving a VPC a security group"))?;
        if done.rows_affected() == 0 { Err(StoreError::missing("VPC", vpc)) } else { Ok(()) }
    }
}
