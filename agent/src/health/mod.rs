//! Probes: one family a file. Each turns what a command printed and what is expected into findings; the commands are run
//! here, the judging is pure.

mod bgp;
mod findings;

pub(crate) use bgp::{BgpReading, judge as judge_bgp};
pub use findings::{Findings, Severity};

use crate::{Settings, apply::run, config::ProbeFamily, parse::bgp_json, render::Expectations};

/// Runs all probes that are configured.
pub(crate) async fn check(settings: &Settings, expected: &Expectations) -> Findings {
    let mut findings = Findings::default();
    if settings.probes(ProbeFamily::Bgp) {
        judge_bgp(&read_bgp(settings).await, expected, &mut findings);
    }
    findings
}

/// Asks FRR for its sessions.
async fn read_bgp(settings: &Settings) -> BgpReading {
    let output = run(&settings.hbn.vtysh, &["-c", "show bgp summary json"], settings.hbn.command_timeout).await;
    match output {
        Err(fault) => BgpReading::Unreadable(fault.to_string()),
        Ok(output) if !output.success() => BgpReading::Unreadable(output.ending()),
        Ok(output) => match bgp_json(&output.stdout) {
            Ok(summary) => BgpReading::Summary(summary),
            Err(fault) => BgpReading::Unreadable(fault.to_string()),
        },
    }
}
