//! VPCs: create, list, delete, peer.

use ipnet::IpNet;
use proto::site;
use tonic::Status;

use super::{SiteService, answer::from_store};
use crate::{
    Timestamp,
    network::{VpcError, create_vpc, delete_vpc, peer_vpcs},
    store::{Virtualization, Vpc},
};

/// Prefixes that a VPC may have, and letters in its name.
const MOST_PREFIXES: usize = 64;
const LONGEST_NAME: usize = 63;

impl SiteService {
    pub(super) async fn make_vpc(&self, request: site::CreateVpcRequest) -> Result<site::Vpc, Status> {
        let site = self.network.as_deref().ok_or_else(|| {
            Status::failed_precondition("the site has no network settings: give a site file with `network`")
        })?;
        let invalid = |field: &str, fault: String| Status::invalid_argument(format!("{field}: {fault}"));
        for (field, text) in [("name", &request.name), ("tenant_organization_id", &request.tenant_organization_id)] {
            if text.is_empty() || text.len() > LONGEST_NAME || text.chars().any(char::is_control) {
                return Err(invalid(field, format!("must have 1 to {LONGEST_NAME} bytes without control characters")));
            }
        }
        if request.prefixes.is_empty() || request.prefixes.len() > MOST_PREFIXES {
            return Err(invalid("prefixes", format!("must be 1 to {MOST_PREFIXES}")));
        }
        let prefix = |text: &String| {
            text.parse::<IpNet>().map_err(|error| invalid("prefixes", format!("`{}`: {error}", text.escape_default())))
        };
        let prefixes = request.prefixes.iter().map(prefix).collect::<Result<Vec<_>, _>>()?;
        let virtualization: Virtualization = match request.virtualization.as_str() {
            "" => site.virtualization,
            text => text.parse().map_err(|error| invalid("virtualization", error))?,
        };
        let mut tx = self.store.write().await.map_err(from_store)?;
        let tenant = &request.tenant_organization_id;
        let vpc = create_vpc(&mut tx, site, &request.name, tenant, virtualization, &prefixes, Timestamp::now())
            .await
            .map_err(from_vpc)?;
        tx.commit().await.map_err(from_store)?;
        Ok(view(vpc, &[]))
    }

    pub(super) async fn vpcs(&self) -> Result<site::ListVpcsResponse, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let vpcs = tx.vpcs().await.map_err(from_store)?;
        Ok(site::ListVpcsResponse { vpcs: vpcs.iter().cloned().map(|vpc| view(vpc, &vpcs)).collect() })
    }

    pub(super) async fn peer(&self, request: site::PeerVpcsRequest) -> Result<(), Status> {
        let mut tx = self.store.write().await.map_err(from_store)?;
        let vpcs = tx.vpcs().await.map_err(from_store)?;
        let (one, other) = (known(&vpcs, &request.vpc)?, known(&vpcs, &request.peer)?);
        peer_vpcs(&mut tx, one, other, !request.end, Timestamp::now()).await.map_err(from_vpc)?;
        self.commit_for_tenants(tx).await
    }

    pub(super) async fn remove_vpc(&self, request: site::DeleteVpcRequest) -> Result<(), Status> {
        let mut tx = self.store.write().await.map_err(from_store)?;
        let vpcs = tx.vpcs().await.map_err(from_store)?;
        delete_vpc(&mut tx, known(&vpcs, &request.vpc)?).await.map_err(from_vpc)?;
        tx.commit().await.map_err(from_store)
    }
}

/// The VPC that a request names by id or name.
pub(super) fn known<'a>(vpcs: &'a [Vpc], id_or_name: &str) -> Result<&'a Vpc, Status> {
    let by_id = vpcs.iter().find(|vpc| vpc.id.to_string() == id_or_name);
    let found = by_id.or_else(|| vpcs.iter().find(|vpc| vpc.name == id_or_name));
    found.ok_or_else(|| Status::not_found(format!("there is no VPC `{}`", id_or_name.escape_default())))
}

fn from_vpc(error: VpcError) -> Status {
    match error {
        VpcError::Store(error) => from_store(error),
        VpcError::Overlap { .. } => Status::already_exists(error.to_string()),
        VpcError::Prefix { .. } | VpcError::Unlike { .. } => Status::invalid_argument(error.to_string()),
        VpcError::InUse { .. } | VpcError::Held { .. } | VpcError::NotRouted(_) | VpcError::Peered { .. } => {
            Status::failed_precondition(error.to_string())
        }
        VpcError::Pool(_) => Status::resource_exhausted(error.to_string()),
    }
}

fn view(vpc: Vpc, all: &[Vpc]) -> site::Vpc {
    let peers = all.iter().filter(|other| vpc.peers.contains(&other.id));
    site::Vpc {
        id: vpc.id.to_string(),
        name: vpc.name,
        tenant_organization_id: vpc.tenant,
        vni: vpc.vni,
        virtualization: vpc.virtualization.to_string(),
        peers: peers.map(|peer| peer.name.clone()).collect(),
        security_group: vpc.security_group.unwrap_or_default(),
        prefixes: vpc
            .prefixes
            .into_iter()
            .map(|prefix| site::VpcPrefix {
                id: prefix.id.to_string(),
                prefix: prefix.prefix.to_string(),
                ipv6_prefix: prefix.ipv6.map(|ipv6| ipv6.to_string()).unwrap_or_default(),
            })
            .collect(),
    }
}
