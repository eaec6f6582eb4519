//! The operator interface. One file a concern.

mod accept;
mod addresses;
mod answer;
mod dpus;
mod explain;
mod hosts;
mod requests;
mod rule_packs;
mod security_groups;
mod summary;
mod vpcs;

pub use explain::told;

use std::sync::Arc;

use answer::from_store;
use proto::site::{self, site_server::Site};
use tonic::{Request, Response, Status, async_trait};

use crate::{
    DirtyHosts, Judge,
    access::Caller,
    listen::Rated,
    network::SiteNetwork,
    rule_packs::RulePacks,
    store::{Store, Tx},
};

/// The operator interface's server.
#[derive(Clone)]
pub struct SiteService {
    store: Store,
    network: Option<Arc<SiteNetwork>>,
    packs: Arc<RulePacks>,
    switches: rules::Site,
    dirty: DirtyHosts,
    /// Log lines about events that came too late.
    ignored: Arc<Rated>,
}

impl SiteService {
    /// Serves from a database. `switches` are those that the reconciler shows to the rules.
    #[must_use]
    pub fn new(
        store: Store,
        network: Option<Arc<SiteNetwork>>,
        packs: Arc<RulePacks>,
        switches: rules::Site,
        dirty: DirtyHosts,
    ) -> Self {
        Self { store, network, packs, switches, dirty, ignored: Arc::default() }
    }

    fn judge(&self) -> Judge {
        Judge::new(Arc::clone(self.packs.rules()), self.switches.clone())
    }

    /// Commits what can have changed the networks of instances.
    async fn commit_for_tenants(&self, mut tx: Tx) -> Result<(), Status> {
        let instances = tx.instances().await.map_err(from_store)?;
        tx.commit().await.map_err(from_store)?;
        for instance in instances {
            self.dirty.mark(instance.host);
        }
        Ok(())
    }
}

type SiteResult<T> = Result<Response<T>, Status>;

#[async_trait]
impl Site for SiteService {
    async fn add_hosts(&self, request: Request<site::AddHostsRequest>) -> SiteResult<site::AddHostsResponse> {
        self.add(request.into_inner()).await.map(Response::new)
    }

    async fn list_hosts(&self, request: Request<site::ListHostsRequest>) -> SiteResult<site::ListHostsResponse> {
        self.list(request.into_inner()).await.map(Response::new)
    }

    async fn get_host(&self, request: Request<site::HostRef>) -> SiteResult<site::HostDetail> {
        self.detail(request.into_inner()).await.map(Response::new)
    }

    async fn explain_host(&self, request: Request<site::HostRef>) -> SiteResult<site::Explanation> {
        self.explain(request.into_inner()).await.map(Response::new)
    }

    async fn get_host_history(&self, request: Request<site::HostHistoryRequest>) -> SiteResult<site::HostHistory> {
        self.history(request.into_inner()).await.map(Response::new)
    }

    async fn request_host(&self, request: Request<site::HostRequest>) -> SiteResult<()> {
        self.request(request.into_inner()).await.map(Response::new)
    }

    async fn report_host_event(&self, request: Request<site::HostEvent>) -> SiteResult<()> {
        self.event(&Caller::of(&request), request.into_inner()).await.map(Response::new)
    }

    async fn list_dpus(&self, request: Request<site::ListDpusRequest>) -> SiteResult<site::ListDpusResponse> {
        self.dpus(request.into_inner()).await.map(Response::new)
    }

    async fn forget_dpu(&self, request: Request<site::ForgetDpuRequest>) -> SiteResult<()> {
        self.forget(request.into_inner()).await.map(Response::new)
    }

    async fn accept_dpu(&self, request: Request<site::AcceptDpuRequest>) -> SiteResult<()> {
        self.accept(request.into_inner()).await.map(Response::new)
    }

    async fn restore_host(&self, request: Request<site::HostRef>) -> SiteResult<()> {
        self.restore(request.into_inner()).await.map(Response::new)
    }

    async fn create_vpc(&self, request: Request<site::CreateVpcRequest>) -> SiteResult<site::Vpc> {
        self.make_vpc(request.into_inner()).await.map(Response::new)
    }

    async fn list_vpcs(&self, _: Request<site::ListVpcsRequest>) -> SiteResult<site::ListVpcsResponse> {
        self.vpcs().await.map(Response::new)
    }

    async fn delete_vpc(&self, request: Request<site::DeleteVpcRequest>) -> SiteResult<()> {
        self.remove_vpc(request.into_inner()).await.map(Response::new)
    }

    async fn peer_vpcs(&self, request: Request<site::PeerVpcsRequest>) -> SiteResult<()> {
        self.peer(request.into_inner()).await.map(Response::new)
    }

    async fn put_security_group(&self, request: Request<site::SecurityGroup>) -> SiteResult<site::SecurityGroup> {
        self.put_group(request.into_inner()).await.map(Response::new)
    }

    async fn list_security_groups(
        &self,
        _: Request<site::ListSecurityGroupsRequest>,
    ) -> SiteResult<site::ListSecurityGroupsResponse> {
        self.groups().await.map(Response::new)
    }

    async fn delete_security_group(&self, request: Request<site::DeleteSecurityGroupRequest>) -> SiteResult<()> {
        self.remove_group(request.into_inner()).await.map(Response::new)
    }

    async fn attach_security_group(&self, request: Request<site::AttachSecurityGroupRequest>) -> SiteResult<()> {
        self.attach_group(request.into_inner()).await.map(Response::new)
    }

    async fn list_addresses(&self, _: Request<site::ListAddressesRequest>) -> SiteResult<site::ListAddressesResponse> {
        self.addresses().await.map(Response::new)
    }

    async fn release_address(&self, request: Request<site::ReleaseAddressRequest>) -> SiteResult<()> {
        self.free_address(request.into_inner()).await.map(Response::new)
    }

    async fn list_rule_packs(&self, _: Request<site::ListRulePacksRequest>) -> SiteResult<site::ListRulePacksResponse> {
        self.rule_packs().await.map(Response::new)
    }

    async fn list_facts(&self, _: Request<site::ListFactsRequest>) -> SiteResult<site::ListFactsResponse> {
        Ok(Response::new(rule_packs::facts()))
    }

    async fn apply_rules(&self, request: Request<site::ApplyRulesRequest>) -> SiteResult<site::ApplyRulesResponse> {
        self.apply(request.into_inner()).await.map(Response::new)
    }

    async fn rollback_rules(
        &self,
        request: Request<site::RollbackRulesRequest>,
    ) -> SiteResult<site::ApplyRulesResponse> {
        self.rollback(request.into_inner()).await.map(Response::new)
    }
}
