//! A DPU that runs what this site never gave: another database gave it, perhaps to a tenant whom this one does not know.
//! It is told nothing until an operator says that this site's word counts.

use proto::{ConfigVersion, MachineId};
use tonic::{Status, metadata::MetadataMap};

use crate::{
    InstanceId, Timestamp,
    store::{
        AppliedReport, ApplyMode, Dpu, HELD_SOURCE, HealthAlert, HealthReport, HeldVersions, Host, Instance,
        Observation, StoreError, Tx,
    },
};

/// What a DPU says that it runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Runs {
    network: Option<ConfigVersion>,
    instance: Option<(InstanceId, ConfigVersion)>,
}

impl Runs {
    pub(super) fn of_report(seen: &Observation) -> Self {
        Self { network: seen.observed_network_version, instance: seen.instance.zip(seen.observed_instance_version) }
    }

    /// What comes with a request for a configuration, of agents that send it. What cannot be read says nothing.
    pub(super) fn of_request(metadata: &MetadataMap) -> Self {
        let text = |name| metadata.get(name).and_then(|value| value.to_str().ok());
        let parsed = |name| text(name).and_then(|text| text.parse().ok());
        let instance: Option<InstanceId> = text(proto::RUNNING_INSTANCE).and_then(|text| text.parse().ok());
        Self {
            network: parsed(proto::RUNNING_VERSION),
            instance: instance.zip(parsed(proto::RUNNING_INSTANCE_VERSION)),
        }
    }

    pub(super) fn instance(&self) -> Option<InstanceId> {
        self.instance.map(|(id, _)| id)
    }

    /// What of it the site never gave, if there is such a thing. An instance that the host does not have says nothing: it
    /// may have been released.
    pub(super) fn never_given(&self, host: &Host, instance: Option<&Instance>, now: Timestamp) -> Option<HeldVersions> {
        let network = self.network.filter(|runs| is_foreign(*runs, host.desired_network_version));
        let of_instance = self.instance.zip(instance).filter(|((id, _), instance)| *id == instance.id);
        let instance_network = of_instance
            .filter(|((_, runs), instance)| is_foreign(*runs, instance.desired_instance_version))
            .map(|((_, runs), _)| runs);
        (network.is_some() || instance_network.is_some()).then_some(HeldVersions {
            network,
            instance_network,
            since: now,
        })
    }
}

/// Versions count up by one, and the newest is the site's own: none that it gave has its number or a higher one.
fn is_foreign(runs: ConfigVersion, own: ConfigVersion) -> bool {
    runs != own && runs.number() >= own.number()
}

/// Holds a DPU to what it runs, and shows that.
pub(super) async fn hold(tx: &mut Tx, dpu: &Dpu, held: &HeldVersions) -> Result<(), StoreError> {
    tx.hold(&dpu.id, held).await?;
    let alert = HealthAlert {
        id: "NeverGivenVersion".to_owned(),
        target: Some(named(held)),
        in_alert_since: Some(held.since),
        message: why(&dpu.name, held),
        tenant_message: None,
        classifications: ["PreventAllocations", "PreventHostStateChanges"].map(str::to_owned).into(),
    };
    let report = HealthReport {
        source: HELD_SOURCE.to_owned(),
        observed_at: Some(held.since),
        alerts: vec![alert],
        ..HealthReport::default()
    };
    tx.put_health_report(&dpu.id, &AppliedReport { mode: ApplyMode::Merge, report }).await?;
    tracing::warn!(dpu = %dpu.name, runs = named(held), "a DPU runs what this site never gave: it is told nothing");
    Ok(())
}

/// What a DPU that is held hears.
pub(super) fn refusal(dpu: &MachineId, name: &str, held: &HeldVersions) -> Status {
    Status::failed_precondition(format!("DPU {dpu}: {}", why(name, held)))
}

fn why(name: &str, held: &HeldVersions) -> String {
    format!(
        "it runs {}, which this site never gave: the database may be another one or a former one. It keeps what it runs \
         until `sitectl dpu accept {name}`",
        named(held)
    )
}

fn named(held: &HeldVersions) -> String {
    let of = |what: &str, version: Option<ConfigVersion>| version.map(|version| format!("{what}{version}"));
    let all = [of("", held.network), of("instance network ", held.instance_network)];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_version_or_a_lower_number_can_have_been_given() {
        for (runs, own, foreign) in [
            ("V3-T30", "V3-T30", false),
            ("V2-T20", "V3-T30", false),
            ("V2-T99", "V3-T30", false),
            ("V4-T20", "V3-T30", true),
            ("V3-T29", "V3-T30", true),
            ("V3-T31", "V3-T30", true),
        ] {
            assert_eq!(is_foreign(runs.parse().unwrap(), own.parse().unwrap()), foreign, "{runs} {own}");
        }
    }
}
