//! Probes: one family a file. Each turns what a command printed and what is expected into findings; the commands are run
//! here, the judging is pure.

mod bgp;
mod findings;

pub(crate) use bgp::{BgpReading, judge as judge_bgp};
pub use findings::{Findings, Severity};

use crate::{
    Settings,
    apply::{CommandFault, Output, run},
    config::ProbeFamily,
    parse::{BgpSummary, ParseFault, bgp_json, bgp_text},
    render::Expectations,
};

/// Runs all probes that are configured.
pub(crate) async fn check(settings: &Settings, expected: &Expectations) -> Findings {
    let mut findings = Findings::default();
    if settings.probes(ProbeFamily::Bgp) {
        judge_bgp(&read_bgp(settings).await, expected, &mut findings);
    }
    findings
}

/// Asks FRR for its sessions: as JSON, and as text where FRR has no JSON to give.
async fn read_bgp(settings: &Settings) -> BgpReading {
    let ask = async |command: &str| run(&settings.hbn.vtysh, &["-c", command], settings.hbn.command_timeout).await;
    let read = |output: Result<Output, CommandFault>, parse: fn(&str) -> Result<BgpSummary, ParseFault>| match output {
        Err(fault) => BgpReading::Unreadable(fault.to_string()),
        // Without its daemon, vtysh of FRR 7 says so on standard error and ends with 0.
        Ok(output) if !output.success() || (output.stdout.trim().is_empty() && !output.stderr.trim().is_empty()) => {
            BgpReading::Unreadable(output.ending())
        }
        Ok(output) => match parse(&output.stdout) {
            Ok(summary) => BgpReading::Summary(summary),
            Err(fault) => BgpReading::Unreadable(fault.to_string()),
        },
    };
    let json = ask("show bgp summary json").await;
    if json.as_ref().is_ok_and(|output| output.stdout.contains('%') && !output.stdout.contains('{')) {
        return read(ask("show bgp summary").await, bgp_text);
    }
    read(json, bgp_json)
}
