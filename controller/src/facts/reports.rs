//! Stored health reports in the shape that rules read.

use super::AGENT_SOURCE;
use crate::store::{AppliedReport, ApplyMode};

pub(super) fn host(stored: Option<&Vec<AppliedReport>>) -> rules::HostHealth {
    let mut health = rules::HostHealth::default();
    for applied in stored.into_iter().flatten() {
        let report = applied.report.clone();
        match applied.mode {
            ApplyMode::Replace => health.replace = Some(report),
            ApplyMode::Merge => drop(health.merges.insert(report.source.clone(), report)),
        }
    }
    health
}

pub(super) fn dpu(stored: Option<&Vec<AppliedReport>>) -> rules::DpuHealth {
    let host = host(stored);
    let mut merges = host.merges;
    rules::DpuHealth { agent: merges.remove(AGENT_SOURCE), replace: host.replace, merges }
}
