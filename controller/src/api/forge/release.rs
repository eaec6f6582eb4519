//! `ReleaseInstance`: asks for the end of an instance; the rules give its host back.

use std::collections::BTreeMap;

use proto::forge;
use tonic::Status;

use super::{
    ForgeService,
    answer::from_store,
    fields::{description, instance_id},
    find::known_instance,
};
use crate::{Timestamp, store::Event};

impl ForgeService {
    /// Records that the tenant gives the instance up. The instance stays, with its addresses, until the rules have seen
    /// every DPU of the host back on the admin network.
    pub(super) async fn release(
        &self,
        request: forge::InstanceReleaseRequest,
    ) -> Result<forge::InstanceReleaseResult, Status> {
        let id = instance_id("id", request.id.as_ref())?;
        if let Some(issue) = &request.issue {
            description("issue.summary", &issue.summary)?;
            description("issue.details", &issue.details)?;
        }
        let now = Timestamp::now();
        let mut tx = self.store.write().await.map_err(from_store)?;
        let mut instance = known_instance(&mut tx, id).await?;
        let record = tx.host_record(&instance.host).await.map_err(from_store)?;
        if instance.deletion_requested_at.is_none() {
            if let Some(refusal) = self.judge.release_refusal(&record) {
                return Err(Status::failed_precondition(format!("instance {id} cannot be released: {refusal}")));
            }
            instance.deletion_requested_at = Some(now);
            tx.store_instance(&instance, instance.config_version, instance.network_version)
                .await
                .map_err(from_store)?;
        }
        if let Some(issue) = request.issue {
            let category = forge::IssueCategory::try_from(issue.category).unwrap_or_default();
            let arguments = BTreeMap::from([
                ("category".to_owned(), category.as_str_name().to_lowercase()),
                ("summary".to_owned(), issue.summary),
                ("details".to_owned(), issue.details),
            ]);
            let event = Event { kind: "tenant_issue".to_owned(), at: now, arguments };
            tx.put_event(&instance.host, &event).await.map_err(from_store)?;
        }
        tx.commit().await.map_err(from_store)?;
        self.dirty.mark(instance.host);
        Ok(forge::InstanceReleaseResult {})
    }
}
