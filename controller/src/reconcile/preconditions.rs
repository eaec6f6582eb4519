//! What a decision that changes rows rests on beside the host's state: intents, acknowledgements, alerts.
//!
//! Between reading a host and committing, a tenant can have asked for something else and a DPU can have reported
//! something else. What gives an address away is committed only if neither happened.

use proto::{ConfigVersion, MachineId};

use crate::store::{HostRecord, Instance, Quarantine};

/// Everything of a record that must be as it was read.
#[derive(Debug, PartialEq)]
pub(super) struct Preconditions<'a> {
    desired: (ConfigVersion, bool, Option<&'a Quarantine>),
    instance: Option<&'a Instance>,
    dpus: Vec<&'a MachineId>,
    applied: Vec<(&'a MachineId, Option<ConfigVersion>, Option<ConfigVersion>)>,
    alerts: Vec<AlertOf<'a>>,
}

/// Machine, source, probe, target and classifications.
type AlertOf<'a> = (&'a MachineId, &'a str, &'a str, Option<&'a str>, &'a [String]);

impl<'a> Preconditions<'a> {
    pub(super) fn of(record: &'a HostRecord) -> Self {
        let host = &record.host;
        let reports =
            record.health.iter().flat_map(|(id, reports)| reports.iter().map(move |applied| (id, &applied.report)));
        let alerts = reports.flat_map(|(id, report)| {
            report.alerts.iter().map(move |alert| {
                let target = alert.target.as_deref();
                (id, report.source.as_str(), alert.id.as_str(), target, alert.classifications.as_slice())
            })
        });
        Self {
            desired: (host.network_version, host.use_admin_network, host.quarantine.as_ref()),
            instance: record.instance.as_ref(),
            dpus: record.dpus.iter().map(|dpu| &dpu.id).collect(),
            applied: record
                .observations
                .iter()
                .map(|(id, seen)| (id, seen.network_version, seen.instance_network_version))
                .collect(),
            alerts: alerts.collect(),
        }
    }
}
