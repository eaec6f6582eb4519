//! Whether a DPU runs what it should: the one place that compares desired with observed versions. Pure; anybody may ask.
//!
//! On the admin network, and on a DPU without an interface of the instance, no instance network is desired, and one that is
//! observed shows a DPU that has not let go of it.

use std::fmt;

use proto::ConfigVersion;

use crate::store::{Dpu, HostRecord};

/// Versions of a DPU's networks; none of a network that it has nothing to do with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NetworkVersions {
    pub(crate) host: Option<ConfigVersion>,
    pub(crate) instance: Option<ConfigVersion>,
}

impl NetworkVersions {
    /// What a DPU is to run.
    pub(crate) fn desired(record: &HostRecord, dpu: &Dpu) -> Self {
        let tenants = record.instance.as_ref().filter(|_| !record.host.use_admin_network);
        let instance = tenants.filter(|instance| instance.required_dpus().contains(&dpu.position));
        Self {
            host: Some(record.host.desired_network_version),
            instance: instance.map(|instance| instance.desired_instance_version),
        }
    }

    /// What it last said that it runs.
    pub(crate) fn observed(record: &HostRecord, dpu: &Dpu) -> Self {
        record.observations.get(&dpu.id).map_or_else(Self::default, |seen| Self {
            host: seen.observed_network_version,
            instance: seen.observed_instance_version,
        })
    }
}

/// A DPU is not known to run what it should. Reads on after its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unconverged {
    network: &'static str,
    desired: Option<ConfigVersion>,
    observed: Option<ConfigVersion>,
}

impl fmt::Display for Unconverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.desired, self.observed) {
            (Some(desired), Some(observed)) => write!(f, "has {} network {observed}, not {desired}", self.network),
            (Some(desired), None) => write!(f, "has not acknowledged {} network {desired}", self.network),
            (None, Some(observed)) => write!(f, "still has {} network {observed}", self.network),
            (None, None) => write!(f, "has no {} network", self.network),
        }
    }
}

/// The first thing of a DPU's networks that it is not known to run as desired, the host's network before the instance's.
pub(crate) fn unconverged(record: &HostRecord, dpu: &Dpu) -> Option<Unconverged> {
    let desired = NetworkVersions::desired(record, dpu);
    let observed = NetworkVersions::observed(record, dpu);
    [("host", desired.host, observed.host), ("instance", desired.instance, observed.instance)]
        .into_iter()
        .find(|(_, desired, observed)| desired != observed)
        .map(|(network, desired, observed)| Unconverged { network, desired, observed })
}

/// The first DPU of a host that is not known to run what it should: first the host's network of all, then the instance's.
pub(crate) fn first_unconverged(record: &HostRecord) -> Option<(&Dpu, Unconverged)> {
    let all = || record.dpus.iter().filter_map(|dpu| Some((dpu, unconverged(record, dpu)?)));
    all().find(|(_, why)| why.network == "host").or_else(|| all().next())
}
