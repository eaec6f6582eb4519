//! VPCs, prefixes and peerings.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use serde::Serialize;

use super::{
    NumberPool, Result, StoreError, Tx,
    error::{failed, is_taken},
    row::{Row, micros},
};
use crate::{Timestamp, VpcId, VpcPrefixId};

/// A tenant's private network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vpc {
    /// Id.
    pub id: VpcId,
    /// Unique name.
    pub name: String,
    /// Tenant organization.
    pub tenant: String,
    /// How DPUs realise it.
    pub virtualization: Virtualization,
    /// VNI of its routing table.
    pub vni: u32,
    /// Where its addresses come from.
    pub prefixes: Vec<VpcPrefix>,
    /// Security group of its interfaces, but those of instances that have one of their own.
    pub security_group: Option<String>,
    /// VPCs whose hosts its own reach, and the other way round.
    pub peers: Vec<VpcId>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A prefix of a VPC; for Ethernet virtualization also one layer-2 segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VpcPrefix {
    /// Id.
    pub id: VpcPrefixId,
    /// The addresses.
    pub prefix: IpNet,
    /// Its IPv6 addresses, if hosts in it have one of each family.
    pub ipv6: Option<IpNet>,
    /// VNI of the segment.
    pub vni: u32,
    /// VLAN id of the segment.
    pub vlan: u16,
}

/// How DPUs realise a VPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Virtualization {
    /// Ethernet virtualizer: bridged segments.
    Etv,
    /// Routed ports, one routing table a VPC.
    Fnn,
}

impl fmt::Display for Virtualization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Etv => "etv",
            Self::Fnn => "fnn",
        })
    }
}

impl FromStr for Virtualization {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text {
            "etv" => Ok(Self::Etv),
            "fnn" => Ok(Self::Fnn),
            _ => Err(format!("unknown virtualization `{}`: expected etv or fnn", text.escape_default())),
        }
    }
}

impl Vpc {
    /// Whether an address is one of its prefixes'.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.prefixes.iter().flat_map(VpcPrefix::nets).any(|net| net.contains(&address))
    }
}

impl VpcPrefix {
    /// Its addresses of both families.
    pub fn nets(&self) -> impl Iterator<Item = IpNet> {
        [self.prefix].into_iter().chain(self.ipv6)
    }
}

impl Tx {
    /// Adds a VPC with its prefixes and their numbers.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if its name, a prefix or a number is held.
    pub async fn add_vpc(&mut self, vpc: &Vpc) -> Result<()> {
        let refuse = |what: &'static str, id: String, error: sqlx::Error| {
            if is_taken(&error) { StoreError::taken(what, id) } else { failed("adding a VPC")(error) }
        };
        sqlx::query("INSERT INTO vpcs (id, name, tenant, virtualization, created_at) VALUES ($1, $2, $3, $4, $5)")
            .bind(vpc.id.to_string())
            .bind(&vpc.name)
            .bind(&vpc.tenant)
            .bind(vpc.virtualization.to_string())
            .bind(micros(vpc.created_at))
            .execute(&mut *self.inner)
            .await
            .map_err(|error| refuse("VPC name", vpc.name.clone(), error))?;
        self.claim_number(NumberPool::Vni, vpc.vni, &vpc.id.to_string(), vpc.created_at).await?;
        for prefix in &vpc.prefixes {
            let id = prefix.id.to_string();
            sqlx::query("INSERT INTO vpc_prefixes (id, vpc_id, prefix, ipv6_prefix) VALUES ($1, $2, $3, $4)")
                .bind(&id)
                .bind(vpc.id.to_string())
                .bind(prefix.prefix.to_string())
                .bind(prefix.ipv6.map(|ipv6| ipv6.to_string()))
                .execute(&mut *self.inner)
                .await
                .map_err(|error| refuse("VPC prefix", prefix.prefix.to_string(), error))?;
            self.claim_number(NumberPool::Vni, prefix.vni, &id, vpc.created_at).await?;
            self.claim_number(NumberPool::Vlan, prefix.vlan.into(), &id, vpc.created_at).await?;
        }
        Ok(())
    }

    /// All VPCs by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn vpcs(&mut self) -> Result<Vec<Vpc>> {
        let rows = sqlx::query(
            "SELECT vpcs.*, pool_numbers.number AS vni FROM vpcs \
             JOIN pool_numbers ON pool_numbers.pool = 'vni' AND pool_numbers.owner = vpcs.id ORDER BY name",
        )
        .fetch_all(&mut *self.inner)
        .await
        .map_err(failed("listing VPCs"))?;
        let prefixes = sqlx::query(
            "SELECT vpc_prefixes.*, v.number AS vni, l.number AS vlan FROM vpc_prefixes \
             JOIN pool_numbers v ON v.pool = 'vni' AND v.owner = vpc_prefixes.id \
             JOIN pool_numbers l ON l.pool = 'vlan' AND l.owner = vpc_prefixes.id ORDER BY vpc_prefixes.prefix",
        )
        .fetch_all(&mut *self.inner)
        .await
        .map_err(failed("listing VPC prefixes"))?;
        let mut vpcs = rows.iter().map(|row| read_vpc(&Row(row))).collect::<Result<Vec<_>>>()?;
        for row in &prefixes {
            let row = Row(row);
            let owner: VpcId = row.parsed("vpc_id")?;
            if let Some(vpc) = vpcs.iter_mut().find(|vpc| vpc.id == owner) {
                vpc.prefixes.push(VpcPrefix {
                    id: row.parsed("id")?,
                    prefix: row.parsed("prefix")?,
                    ipv6: row.parsed_if_any("ipv6_prefix")?,
                    vni: row.number("vni")?,
                    vlan: row.number("vlan")?,
                });
            }
        }
        let peerings = sqlx::query("SELECT * FROM vpc_peerings ORDER BY vpc_id, peer_id")
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("listing VPC peerings"))?;
        for row in &peerings {
            let row = Row(row);
            let owner: VpcId = row.parsed("vpc_id")?;
            if let Some(vpc) = vpcs.iter_mut().find(|vpc| vpc.id == owner) {
                vpc.peers.push(row.parsed("peer_id")?);
            }
        }
        Ok(vpcs)
    }

    /// Lets the hosts of two VPCs reach each other.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if they do already.
    pub async fn add_vpc_peering(&mut self, one: VpcId, other: VpcId) -> Result<()> {
        for (vpc, peer) in [(one, other), (other, one)] {
            sqlx::query("INSERT INTO vpc_peerings (vpc_id, peer_id) VALUES ($1, $2)")
                .bind(vpc.to_string())
                .bind(peer.to_string())
                .execute(&mut *self.inner)
                .await
                .map_err(|error| {
                    if is_taken(&error) {
                        StoreError::taken("VPC peering", format_args!("{one} and {other}"))
                    } else {
                        failed("peering VPCs")(error)
                    }
                })?;
        }
        Ok(())
    }

    /// Ends the peering of two VPCs.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none.
    pub async fn remove_vpc_peering(&mut self, one: VpcId, other: VpcId) -> Result<()> {
        let done = sqlx::query(
            "DELETE FROM vpc_peerings WHERE (vpc_id = $1 AND peer_id = $2) OR (vpc_id = $2 AND peer_id = $1)",
        )
        .bind(one.to_string())
        .bind(other.to_string())
        .execute(&mut *self.inner)
        .await
        .map_err(failed("ending a VPC peering"))?;
        let none = done.rows_affected() == 0;
        if none { Err(StoreError::missing("VPC peering", format_args!("{one} and {other}"))) } else { Ok(()) }
    }

    /// Notes that the DPUs of an owner of addresses, an instance, may use a VPC that no interface of it says anything of.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn add_vpc_holder(&mut self, vpc: VpcId, owner: &str) -> Result<()> {
        sqlx::query("INSERT INTO vpc_holders (vpc_id, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(vpc.to_string())
            .bind(owner)
            .execute(&mut *self.inner)
            .await
            .map_err(failed("noting who may use a VPC"))?;
        Ok(())
    }

    /// Owners that were noted as holders of a VPC since it was made.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn vpc_holders(&mut self, vpc: VpcId) -> Result<Vec<String>> {
        let rows = sqlx::query("SELECT owner FROM vpc_holders WHERE vpc_id = $1 ORDER BY owner")
            .bind(vpc.to_string())
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading who may use a VPC"))?;
        rows.iter().map(|row| Row(row).text("owner")).collect()
    }

    /// Removes a VPC and gives its numbers back. Whoever calls knows that no DPU uses it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none.
    pub async fn remove_vpc(&mut self, vpc: &Vpc) -> Result<()> {
        for prefix in &vpc.prefixes {
            self.release_numbers(&prefix.id.to_string()).await?;
        }
        self.release_numbers(&vpc.id.to_string()).await?;
        let id = vpc.id.to_string();
        let statements = [
            "DELETE FROM vpc_holders WHERE vpc_id = $1",
            "DELETE FROM vpc_prefixes WHERE vpc_id = $1",
            "DELETE FROM vpcs WHERE id = $1",
        ];
        let gone = self.run_all("removing a VPC", &statements, &id).await?;
        if gone == 0 { Err(StoreError::missing("VPC", id)) } else { Ok(()) }
    }
}

fn read_vpc(row: &Row<'_>) -> Result<Vpc> {
    Ok(Vpc {
        id: row.parsed("id")?,
        name: row.text("name")?,
        tenant: row.text("tenant")?,
        virtualization: row.parsed("virtualization")?,
        vni: row.number("vni")?,
        prefixes: Vec::new(),
        security_group: row.text_if_any("security_group")?,
        peers: Vec::new(),
        created_at: row.moment("created_at")?,
    })
}
