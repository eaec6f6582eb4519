//! `sitectl vpc`.

use proto::site::{CreateVpcRequest, DeleteVpcRequest, ListVpcsRequest, PeerVpcsRequest, Vpc};

use crate::{
    connect::Controller,
    failure::Failure,
    output::{Format, table},
};

#[derive(clap::Subcommand)]
pub(crate) enum VpcCommand {
    /// Creates a VPC with the prefixes its instances take addresses from
    Create {
        /// Name of the VPC
        name: String,
        /// Organization that owns it
        #[arg(long)]
        tenant: String,
        /// Prefix in CIDR notation, may be repeated; an IPv6 prefix stands after the IPv4 prefix of its segment
        #[arg(long = "prefix", value_name = "CIDR", required = true)]
        prefixes: Vec<String>,
        /// How its traffic is separated: `etv` or `fnn`
        #[arg(long, default_value = "")]
        virtualization: String,
    },
    /// Every VPC with its VNI and prefixes
    List,
    /// Lets the hosts of two VPCs reach each other
    Peer {
        /// Id or name
        vpc: String,
        /// Id or name of the other
        peer: String,
        /// Ends that instead
        #[arg(long)]
        end: bool,
    },
    /// Deletes a VPC that no instance uses
    Delete {
        /// Id or name
        vpc: String,
    },
}

pub(crate) async fn run(command: VpcCommand, mut controller: Controller, format: Format) -> Result<String, Failure> {
    let failure = controller.failure();
    let site = &mut controller.site;
    match command {
        VpcCommand::Create { name, tenant, prefixes, virtualization } => {
            let request = CreateVpcRequest { name, tenant_organization_id: tenant, prefixes, virtualization };
            let vpc = site.create_vpc(request).await.map_err(failure)?.into_inner();
            format.answer(&vpc, |vpc| list(std::slice::from_ref(vpc)))
        }
        VpcCommand::List => {
            let answer = site.list_vpcs(ListVpcsRequest {}).await.map_err(failure)?.into_inner();
            format.answer(&answer, |answer| list(&answer.vpcs))
        }
        VpcCommand::Peer { vpc, peer, end } => {
            let said = if end { "are no longer peered" } else { "are peered" };
            let text = format!("{vpc} and {peer} {said}; it counts once the DPUs have applied it");
            site.peer_vpcs(PeerVpcsRequest { vpc, peer, end }).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
        VpcCommand::Delete { vpc } => {
            let text = format!("{vpc} is deleted");
            site.delete_vpc(DeleteVpcRequest { vpc }).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
    }
}

fn list(vpcs: &[Vpc]) -> String {
    let row = |vpc: &Vpc| {
        let nets = vpc.prefixes.iter().flat_map(|prefix| [prefix.prefix.as_str(), prefix.ipv6_prefix.as_str()]);
        let prefixes = nets.filter(|net| !net.is_empty()).collect::<Vec<_>>().join(" ");
        [
            vpc.name.clone(),
            vpc.tenant_organization_id.clone(),
            vpc.vni.to_string(),
            vpc.virtualization.clone(),
            prefixes,
            vpc.peers.join(" "),
            vpc.id.clone(),
        ]
    };
    table(
        ["VPC", "TENANT", "VNI", "VIRTUALIZATION", "PREFIXES", "PEERS", "ID"],
        vpcs.iter().map(row).collect(),
        "no VPCs",
    )
}
