//! Instances as tenants find them: ids by filter, and whole instances by id.

use proto::forge;
use tonic::Status;

use super::{
    ForgeService,
    answer::from_store,
    fields::{instance_id, invalid},
    view,
};
use crate::{
    InstanceId, VpcId,
    store::{Instance, Tx},
};

/// Instances that one request may ask for.
const MOST_INSTANCES: usize = 1_000;

/// An instance that a request names.
pub(super) async fn known_instance(tx: &mut Tx, id: InstanceId) -> Result<Instance, Status> {
    let found = tx.instance(id).await.map_err(from_store)?;
    found.ok_or_else(|| Status::not_found(format!("there is no instance {id}")))
}

impl ForgeService {
    pub(super) async fn find_ids(&self, filter: forge::InstanceSearchFilter) -> Result<forge::InstanceIdList, Status> {
        let vpc: Option<VpcId> =
            filter.vpc_id.as_deref().map(|text| text.parse().map_err(|error| invalid("vpc_id", error))).transpose()?;
        let mut tx = self.store.read().await.map_err(from_store)?;
        let instances = tx.instances().await.map_err(from_store)?;
        let found = instances.iter().filter(|instance| matches(&filter, vpc, instance));
        Ok(forge::InstanceIdList { instance_ids: found.map(|instance| instance.id.into()).collect() })
    }

    /// Unknown ids are left out of the answer.
    pub(super) async fn find_by_ids(
        &self,
        request: forge::InstancesByIdsRequest,
    ) -> Result<forge::InstanceList, Status> {
        if request.instance_ids.len() > MOST_INSTANCES {
            return Err(invalid("instance_ids", format_args!("more than {MOST_INSTANCES} ids")));
        }
        let mut tx = self.store.read().await.map_err(from_store)?;
        let vpcs = tx.vpcs().await.map_err(from_store)?;
        let mut instances = Vec::new();
        for (place, id) in request.instance_ids.iter().enumerate() {
            let id = instance_id(&format!("instance_ids[{place}]"), Some(id))?;
            if let Some(instance) = tx.instance(id).await.map_err(from_store)? {
                let record = tx.host_record(&instance.host).await.map_err(from_store)?;
                instances.push(view::instance(instance, &record, &vpcs, &self.judge));
            }
        }
        Ok(forge::InstanceList { instances })
    }
}

fn matches(filter: &forge::InstanceSearchFilter, vpc: Option<VpcId>, instance: &Instance) -> bool {
    let tenant = filter.tenant_org_id.as_ref().is_none_or(|tenant| *tenant == instance.tenant);
    let in_vpc = vpc.is_none_or(|vpc| instance.interfaces.iter().any(|interface| interface.vpc == vpc));
    let kind = filter.instance_type_id.as_ref().is_none_or(|kind| Some(kind) == instance.instance_type_id.as_ref());
    let label = filter.label.as_ref().is_none_or(|wanted| {
        instance.metadata.labels.iter().any(|label| {
            (wanted.key.is_empty() || label.key == wanted.key)
                && (wanted.value.is_none() || label.value == wanted.value)
        })
    });
    tenant && in_vpc && kind && label
}
