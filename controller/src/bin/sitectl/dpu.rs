//! `sitectl dpu`.

use std::time::SystemTime;

use proto::{
    forge::{
        ClearManagedHostQuarantineStateRequest, ManagedHostQuarantineMode, ManagedHostQuarantineState,
        SetManagedHostQuarantineStateRequest,
    },
    site::{AcceptDpuRequest, DpuStatus, ForgetDpuRequest, ListDpusRequest},
};

use crate::{
    connect::Controller,
    failure::Failure,
    output::{Format, ago, table},
};

#[derive(clap::Subcommand)]
pub(crate) enum DpuCommand {
    /// Desired and applied versions, health and last report of every DPU
    Status {
        /// Only the DPUs of this host
        #[arg(default_value = "")]
        host: String,
    },
    /// Makes the site forget a DPU; its agent then isolates the host
    Forget {
        /// Machine id or name
        dpu: String,
    },
    /// Has a DPU that runs what the site never gave run the site's configuration: whatever tenant it serves now is cut off
    Accept {
        /// Machine id or name
        dpu: String,
    },
    /// Has the DPUs of a host block all its traffic, or ends that; no tenant gets such a host
    Quarantine {
        /// Machine id or name of the host
        host: String,
        /// Why, for other operators
        #[arg(long)]
        reason: Option<String>,
        /// Lets the traffic through again
        #[arg(long, conflicts_with = "reason")]
        clear: bool,
    },
}

pub(crate) async fn run(command: DpuCommand, mut controller: Controller, format: Format) -> Result<String, Failure> {
    let failure = controller.failure();
    match command {
        DpuCommand::Status { host } => {
            let answer = controller.site.list_dpus(ListDpusRequest { host }).await.map_err(failure)?.into_inner();
            format.answer(&answer, |answer| status(&answer.dpus, SystemTime::now()))
        }
        DpuCommand::Forget { dpu } => {
            let text = format!("{dpu} is forgotten; its agent isolates the host at its next request");
            controller.site.forget_dpu(ForgetDpuRequest { dpu }).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
        DpuCommand::Accept { dpu } => {
            let text = format!("{dpu} gets the site's configuration at its next request");
            controller.site.accept_dpu(AcceptDpuRequest { dpu }).await.map_err(failure)?;
            format.answer(&serde_json::json!({}), |_| text)
        }
        DpuCommand::Quarantine { host, reason, clear } => {
            let machine_id = Some((&controller.machine(&host).await?).into());
            let text = if clear {
                let request = ClearManagedHostQuarantineStateRequest { machine_id };
                let answer = controller.forge.clear_managed_host_quarantine_state(request).await.map_err(failure)?;
                match answer.into_inner().prior_quarantine_state {
                    Some(_) => format!("the DPUs of {host} let its traffic through again once they have applied it"),
                    None => format!("{host} was not in quarantine"),
                }
            } else {
                let mode = ManagedHostQuarantineMode::BlockAllTraffic as i32;
                let quarantine_state = Some(ManagedHostQuarantineState { mode, reason });
                let request = SetManagedHostQuarantineStateRequest { machine_id, quarantine_state };
                controller.forge.set_managed_host_quarantine_state(request).await.map_err(failure)?;
                format!("the DPUs of {host} block all its traffic once they have applied it")
            };
            format.answer(&serde_json::json!({}), |_| text)
        }
    }
}

/// DPUs as a table; versions are shown as `applied` or as `applied -> desired` where they differ.
pub(crate) fn status(dpus: &[DpuStatus], now: SystemTime) -> String {
    let row = |dpu: &DpuStatus| {
        let name = if dpu.primary { format!("{} *", dpu.name) } else { dpu.name.clone() };
        let report = if dpu.last_report.is_empty() { "never".to_owned() } else { ago(&dpu.last_report, now) };
        let alerts = dpu.alerts.iter().map(|alert| match alert.target.as_str() {
            "" => alert.probe.clone(),
            target => format!("{} {target}", alert.probe),
        });
        let mut faults: Vec<String> = alerts.collect();
        if !dpu.network_config_error.is_empty() {
            faults.push(format!("configuration not applied: {}", dpu.network_config_error));
        }
        let health = if dpu.healthy { "healthy".to_owned() } else { faults.join(", ") };
        [
            name,
            dpu.host.clone(),
            dpu.loopback_ip.clone(),
            report,
            version(&dpu.applied_network_config_version, &dpu.desired_network_config_version),
            version(&dpu.applied_instance_network_config_version, &dpu.desired_instance_network_config_version),
            health,
        ]
    };
    table(
        ["DPU", "HOST", "LOOPBACK", "REPORT", "HOST CONFIG", "INSTANCE CONFIG", "HEALTH"],
        dpus.iter().map(row).collect(),
        "no DPUs",
    )
}

fn version(applied: &str, desired: &str) -> String {
    let number = |version: &str| version.split('-').next().unwrap_or_default().to_owned();
    let or_none = |version: &str| if version.is_empty() { "-".to_owned() } else { number(version) };
    // Same number with another time is another version: then the whole text is what tells them apart.
    match (applied, desired) {
        _ if applied == desired => or_none(applied),
        _ if number(applied) == number(desired) => format!("{applied} -> {desired}"),
        _ => format!("{} -> {}", or_none(applied), or_none(desired)),
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_show_what_is_still_to_come() {
        for (applied, desired, text) in [
            ("V3-T5", "V3-T5", "V3"),
            ("", "", "-"),
            ("", "V1-T5", "- -> V1"),
            ("V2-T4", "V3-T5", "V2 -> V3"),
            ("V3-T4", "V3-T5", "V3-T4 -> V3-T5"),
            ("V1-T1", "", "V1 -> -"),
        ] {
            assert_eq!(version(applied, desired), text);
        }
    }
}
