//! Rows that change in the transaction that commits a decision. Called by `reconcile/commit` alone.

use rules::{Action, FactId};

use super::{ActionError, journal, release_guard, remote};
use crate::{
    Timestamp,
    store::{
        AppliedReport, ApplyMode, Bmc, Finding, FindingId, HealthAlert, HealthReport, HostRecord, NewDpu, NewHost, Tx,
    },
};

/// Rows that change with the commit of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The host's DPUs are to realise the tenant's network.
    UseTenantNetwork,
    /// The host's DPUs are to realise the admin network.
    UseAdminNetwork,
    /// The requested network update becomes the desired network.
    PromoteUpdate,
    /// What the former network used is given back.
    ReleaseOldResources,
    /// The instance is removed and its addresses are given back.
    ReleaseInstance,
    /// Stores a health report of the arguments `source`, `probe`, `target`, `message`, `classifications`.
    PutReport,
    /// Removes the health report of the argument `source`.
    RemoveReport,
    /// Removes the report of `source` if it is there, stores it otherwise.
    PutOrRemoveReport,
    /// A request is done.
    ClearRequest(&'static str),
    /// The request of the argument `kind` is done.
    ClearNamedRequest,
    /// A fact is true from now on.
    Note(FactId),
    /// A fact is false from now on.
    Deny(FactId),
    /// The host leaves management: the request is done, and what an earlier time of leaving came to no longer counts.
    BeginDecommissioning,
    /// The reprovisioning of DPUs has ended.
    EndDpuReprovision,
    /// User names and passwords of the host's BMCs are forgotten.
    ForgetCredentials,
}

impl Rows {
    /// Refuses what the site must not do whatever its rules say.
    ///
    /// # Errors
    /// [`ActionError::Held`].
    pub(crate) fn permitted(self, record: &HostRecord) -> Result<(), ActionError> {
        release_guard::check(self, record)
    }

    /// Changes the rows in the transaction that commits the decision.
    pub(crate) async fn change(
        self,
        tx: &mut Tx,
        record: &HostRecord,
        action: &Action,
        now: Timestamp,
    ) -> Result<(), ActionError> {
        self.permitted(record)?;
        let host = &record.host;
        let instance = || {
            let nothing = || ActionError::Nothing { action: action.name.to_string(), what: "an instance on the host" };
            record.instance.as_ref().ok_or_else(nothing)
        };
        match self {
            Self::UseTenantNetwork | Self::UseAdminNetwork => {
                let admin = self == Self::UseAdminNetwork;
                tx.set_host_network(&host.id, host.desired_network_version, admin, host.quarantine.as_ref(), now)
                    .await?;
            }
            Self::PromoteUpdate => {
                tx.promote_network_update(instance()?.id, now).await?;
                let admin = host.use_admin_network;
                tx.set_host_network(&host.id, host.desired_network_version, admin, host.quarantine.as_ref(), now)
                    .await?;
            }
            Self::ReleaseOldResources => drop(tx.release_after_network_update(instance()?.id).await?),
            // A host whose instance was removed already has nothing to release.
            Self::ReleaseInstance => {
                if let Some(instance) = &record.instance {
                    tx.release_instance(instance.id).await?;
                }
            }
            Self::PutReport => put_report(tx, record, action, now).await?,
            Self::RemoveReport => remove_report(tx, record, action).await?,
            Self::PutOrRemoveReport => {
                let source = remote::text(action, "source")?;
                let stored = record.health.get(&host.id).into_iter().flatten();
                if stored.map(|applied| applied.report.source.as_str()).any(|stored| stored == source) {
                    remove_report(tx, record, action).await?;
                } else {
                    put_report(tx, record, action, now).await?;
                }
            }
            Self::ClearRequest(kind) => drop(tx.remove_request(&host.id, kind).await?),
            Self::ClearNamedRequest => drop(tx.remove_request(&host.id, remote::text(action, "kind")?).await?),
            Self::Note(fact) | Self::Deny(fact) => {
                let finding = Finding::new(fact, matches!(self, Self::Note(_)), now);
                for machine in journal::machines(record, action) {
                    tx.put_finding(&machine, &finding).await?;
                }
            }
            Self::BeginDecommissioning => {
                tx.remove_request(&host.id, "decommission").await?;
                for former in [FindingId::DHCP_ACKNOWLEDGED, FindingId::FACTORY_RESET] {
                    tx.remove_finding(&host.id, former).await?;
                }
            }
            Self::EndDpuReprovision => {
                for kind in ["dpu_reprovision", "dpu_reprovision_restart"] {
                    tx.remove_request(&host.id, kind).await?;
                }
                for dpu in &record.dpus {
                    tx.remove_finding(&dpu.id, rules::Dpu::reprovision_started).await?;
                }
            }
            Self::ForgetCredentials => drop(tx.add_host(&without_credentials(record), now).await?),
        }
        Ok(())
    }
}

async fn put_report(tx: &mut Tx, record: &HostRecord, action: &Action, now: Timestamp) -> Result<(), ActionError> {
    let source = remote::text(action, "source")?.to_owned();
    let target = remote::text(action, "target").ok().filter(|target| !target.is_empty()).map(str::to_owned);
    let alert = HealthAlert {
        id: remote::text(action, "probe")?.to_owned(),
        target,
        in_alert_since: Some(now),
        message: remote::text(action, "message").unwrap_or_default().to_owned(),
        tenant_message: None,
        classifications: remote::texts(action, "classifications"),
    };
    for machine in journal::machines(record, action) {
        let stored = record.health.get(&machine).into_iter().flatten().find(|applied| applied.report.source == source);
        let before = stored.and_then(|applied| {
            let same = |known: &&HealthAlert| known.id == alert.id && known.target == alert.target;
            applied.report.alerts.iter().find(same).and_then(|known| known.in_alert_since)
        });
        let alert = HealthAlert { in_alert_since: before.or(alert.in_alert_since), ..alert.clone() };
        let report = HealthReport {
            source: source.clone(),
            observed_at: Some(now),
            alerts: vec![alert],
            ..HealthReport::default()
        };
        tx.put_health_report(&machine, &AppliedReport { mode: ApplyMode::Merge, report }).await?;
    }
    Ok(())
}

async fn remove_report(tx: &mut Tx, record: &HostRecord, action: &Action) -> Result<(), ActionError> {
    let source = remote::text(action, "source")?;
    for machine in journal::machines(record, action) {
        tx.remove_health_report(&machine, source).await?;
    }
    Ok(())
}

fn without_credentials(record: &HostRecord) -> NewHost {
    let bare = |bmc: &Bmc| Bmc { username: String::new(), password: String::new(), ..bmc.clone() };
    let dpu = |dpu: &crate::store::Dpu| NewDpu {
        id: dpu.id.clone(),
        name: dpu.name.clone(),
        bmc: bare(&dpu.bmc),
        oob_mac: dpu.oob_mac.clone(),
    };
    NewHost {
        id: record.host.id.clone(),
        name: record.host.name.clone(),
        mac: record.host.mac.clone(),
        bmc: bare(&record.host.bmc),
        dpus: record.dpus.iter().map(dpu).collect(),
        state: record.life.state.clone(),
    }
}
