//! The readiness decision of `Assigned/WaitingForNetworkConfig` written in Rust, to compare with, and its snapshot.

use rules::{Dpu, HealthAlert, HealthReport, Reported, Snapshot};

/// A host with two DPUs whose agents report three harmless alerts each, and every gate open.
pub(crate) fn ready_host() -> Snapshot {
    let mut host = Snapshot { id: "host".into(), now: 1_750_000_000_000_000, ..Snapshot::default() };
    host.state.path = "Assigned/WaitingForNetworkConfig".into();
    host.state.since = host.now - 60_000_000;
    host.host.associated_dpus = 2;
    // The site has all that is asked about.
    host.site.supernics = true.into();
    host.site.infiniband = true.into();
    host.site.nvlink = true.into();
    host.host.other_nics_synced = true.into();
    host.instance.present = true;
    host.instance.infiniband_synced = true.into();
    host.instance.nvlink_synced = true.into();
    host.instance.network_version = "V26-T1693603493579606".parse().ok();
    for number in 0..2 {
        let mut dpu = Dpu {
            id: format!("dpu{number}"),
            name: format!("dpu{number}"),
            primary: number == 0,
            desired_network_version: "V12-T1693603493579600".parse().ok(),
            observed_network_version: "V12-T1693603493579600".parse().ok(),
            required_by_instance: true,
            instance_observed: true,
            observed_instance_version: host.instance.network_version,
            observed_at: Some(host.now - 10_000_000),
            ..Dpu::default()
        };
        dpu.health.agent = Some(HealthReport { source: "forge-dpu-agent".into(), ..HealthReport::default() });
        for sensor in ["BmcSensorFan", "BmcSensorTemperature", "BmcSensorVoltage"] {
            alert(&mut dpu, sensor, "SensorWarning");
        }
        host.dpus.push(dpu);
    }
    host
}

/// Adds an alert to the report of a DPU's agent.
pub(crate) fn alert(dpu: &mut Dpu, probe: &str, class: &str) {
    let classifications = vec!["Hardware".to_owned(), class.to_owned()];
    let alert = HealthAlert { id: probe.into(), target: Some("x".into()), classifications, ..HealthAlert::default() };
    dpu.health.agent.get_or_insert_default().alerts.push(alert);
}

/// One snapshot for each outcome of `Assigned/WaitingForNetworkConfig`, each with two DPUs and six alerts or more.
pub(crate) fn outcomes() -> Vec<(&'static str, Snapshot)> {
    let base = ready_host();
    let mut cases = vec![("go", base.clone())];
    let mut case = |outcome, change: fn(&mut Snapshot)| {
        let mut snapshot = base.clone();
        change(&mut snapshot);
        cases.push((outcome, snapshot));
    };
    case("managed_host_config_synced", |h| h.dpus[1].observed_network_version = "V4-T4".parse().ok());
    case("other_nics_synced", |h| h.host.other_nics_synced = false.into());
    case("instance_config_synced", |h| h.dpus[1].observed_instance_version = None);
    case("no_blocking_health", |h| alert(&mut h.dpus[1], "BgpStats", "PreventHostStateChanges"));
    case("primary_p0_ready", |h| alert(&mut h.dpus[0], "BgpPeeringTor", "PreventAllocations"));
    case("fabrics_synced", |h| h.instance.nvlink_synced = false.into());
    case("go", |h| h.instance.deletion_requested = true);
    cases
}

/// The gate that is closed, or `go`.
pub(crate) fn gate(host: &Snapshot) -> &'static str {
    if host.host.associated_dpus > 0 && host.dpus.is_empty() {
        return "missing snapshots";
    }
    if host.requests.force_delete {
        return "force delete";
    }
    for dpu in &host.dpus {
        let silent = dpu.observed_at.is_some_and(|at| host.now.saturating_sub(at) / 1_000_000 > 300);
        if silent && dpu.health.agent.as_ref().is_none_or(|report| report.alerts.is_empty()) {
            return "heartbeat";
        }
    }
    if !host.failure.cause.is_empty() && host.failure.cause != "NoError" {
        return "failed";
    }
    if host.instance.deletion_requested {
        return "go";
    }
    if host.host.associated_dpus > 0 && network_outdated(host) {
        return "managed_host_config_synced";
    }
    if !is_yes(&host.host.other_nics_synced) && !is_no(&host.site.supernics) {
        return "other_nics_synced";
    }
    if host.host.associated_dpus > 0 {
        if instance_outdated(host) {
            return "instance_config_synced";
        }
        if blocked(host) {
            return "no_blocking_health";
        }
    }
    if uplink_down(host) {
        return "primary_p0_ready";
    }
    if !fabrics_synced(host) {
        return "fabrics_synced";
    }
    "go"
}

pub(crate) fn fabrics_synced(host: &Snapshot) -> bool {
    let infiniband = is_yes(&host.instance.infiniband_synced) || is_no(&host.site.infiniband);
    infiniband && (is_yes(&host.instance.nvlink_synced) || is_no(&host.site.nvlink))
}

fn is_yes(fact: &Reported<bool>) -> bool {
    fact.known() == Some(&true)
}

fn is_no(fact: &Reported<bool>) -> bool {
    fact.known() == Some(&false)
}

pub(crate) fn network_outdated(host: &Snapshot) -> bool {
    let enough = i64::try_from(host.dpus.len()).is_ok_and(|dpus| dpus >= host.host.associated_dpus);
    let current = |dpu: &Dpu| {
        dpu.observed_network_version.is_some() && dpu.observed_network_version == dpu.desired_network_version
    };
    !enough || !host.dpus.iter().all(current)
}

pub(crate) fn instance_outdated(host: &Snapshot) -> bool {
    let wanted = host.instance.network_version;
    let current = |dpu: &Dpu| {
        dpu.instance_observed == dpu.required_by_instance
            && (!dpu.instance_observed || (wanted.is_some() && dpu.observed_instance_version == wanted))
    };
    !host.dpus.iter().all(current)
}

pub(crate) fn blocked(host: &Snapshot) -> bool {
    let blocks = |report: &HealthReport| {
        report.alerts.iter().any(|alert| alert.classifications.iter().any(|class| class == "PreventHostStateChanges"))
    };
    if let Some(report) = &host.health.replace {
        return blocks(report);
    }
    let of_dpu = |dpu: &Dpu| match &dpu.health.replace {
        Some(report) => blocks(report),
        None => dpu.health.agent.as_ref().is_none_or(blocks) || dpu.health.merges.values().any(blocks),
    };
    host.dpus.iter().any(of_dpu)
        || host.health.merges.values().any(blocks)
        || host.health.rack_replace.as_ref().is_some_and(blocks)
        || host.health.rack_merges.values().any(blocks)
}

pub(crate) fn uplink_down(host: &Snapshot) -> bool {
    let down = |report: &HealthReport| {
        report.alerts.iter().any(|alert| {
            alert.id == "BgpPeeringTor" && alert.classifications.iter().any(|class| class == "PreventAllocations")
        })
    };
    if let Some(report) = &host.health.replace {
        return down(report);
    }
    host.dpus.iter().filter(|dpu| dpu.primary).any(|dpu| match &dpu.health.replace {
        Some(report) => down(report),
        None => dpu.health.agent.as_ref().is_some_and(down) || dpu.health.merges.values().any(down),
    })
}
