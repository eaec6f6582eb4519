//! Probes: one family a file. Commands are run and files are read here; what they mean is judged in pure code. `agent` calls
//! it, for the daemon and for the command `check`.

mod bgp;
mod disk;
mod files;
mod findings;
mod hbn;

use std::collections::BTreeSet;

use bgp::BgpReading;
pub(crate) use findings::{Findings, Severity};
pub use findings::{PREVENT_ALLOCATIONS, PREVENT_HOST_STATE_CHANGES};

use crate::{
    Settings,
    config::{CommandPrefix, ProbeFamily, under},
    hbn::{CommandResult, nvue_answers, run},
    parse::{BgpSummary, ParseFault, bgp_json, bgp_text},
    render::Expectations,
};

/// Runs all probes that are configured.
///
/// `containers` is what the command that lists them printed, if it is configured. If HBN does not run at all, nothing inside
/// it is probed: one alert says it better than twenty.
pub(crate) async fn check(
    settings: &Settings,
    expected: &Expectations,
    containers: Option<&CommandResult>,
) -> Findings {
    let mut findings = Findings::default();
    let runner = ProbeRunner { settings };
    if settings.probes(ProbeFamily::Disk) {
        disk::judge(&runner.run(&settings.health.df, &[]).await, &mut findings);
    }
    if let Some(listing) = containers.filter(|_| settings.probes(ProbeFamily::Container)) {
        hbn::judge_container(listing, &settings.health.container, &mut findings);
        if findings.has_alert(hbn::CONTAINER) {
            return findings;
        }
    }
    if let Some(rest) = settings.hbn.rest.as_ref().filter(|_| settings.probes(ProbeFamily::NvueApi)) {
        hbn::judge_nvue(nvue_answers(rest, settings.hbn.command_timeout).await, &mut findings);
    }
    if settings.probes(ProbeFamily::Services) {
        let status = runner.run(&settings.hbn.supervisorctl, &["status"]).await;
        hbn::judge_services(&status, &settings.health.services, &mut findings);
        if findings.has_alert(hbn::SUPERVISOR) || findings.has_alert(hbn::SERVICE) {
            return findings;
        }
    }
    if settings.probes(ProbeFamily::Dhcp) && expected.dhcp_served {
        hbn::judge_dhcp(&runner.run(&settings.dhcp.status, &[]).await, &mut findings);
    }
    if settings.probes(ProbeFamily::Ifreload) {
        let output = runner.run(&settings.health.ifreload, &["--all", "--syntax-check"]).await;
        hbn::judge_ifreload(&output, &mut findings);
    }
    if settings.probes(ProbeFamily::Files) {
        for path in &settings.health.files {
            let path = under(&settings.hbn.root_dir, path);
            let length = std::fs::metadata(&path).map(|metadata| metadata.len());
            files::judge(&path, length, &mut findings);
        }
    }
    let daemons = settings.health.frr_daemons.as_ref().filter(|_| settings.probes(ProbeFamily::Bgp));
    if let Some(path) = daemons {
        let path = under(&settings.hbn.root_dir, path);
        files::judge_daemons(&path, types::read_text(&path, crate::MAX_FILE_BYTES), &mut findings);
    }
    // FRR without its BGP daemon has no sessions, which an alert says already.
    if settings.probes(ProbeFamily::Bgp) && !findings.has_alert(files::BGP_DAEMON) {
        bgp::judge(&runner.sessions().await, expected, &mut findings);
    }
    findings
}

/// Probes that only people ask for, with the command `check`: they do not need to run every 30 s.
pub(crate) async fn check_once(settings: &Settings, findings: &mut Findings) {
    if !settings.health.mlxprivhost.is_empty() {
        let output = ProbeRunner { settings }.run(&settings.health.mlxprivhost, &[]).await;
        hbn::judge_privilege(&output, findings);
    }
}

/// Names of the uplinks whose session is up.
pub(crate) async fn established_uplinks(settings: &Settings) -> BTreeSet<String> {
    let uplinks = settings.environment().uplinks_of_any_version();
    bgp::established(&ProbeRunner { settings }.sessions().await, &uplinks)
}

/// Runs the commands of probes.
struct ProbeRunner<'a> {
    settings: &'a Settings,
}

impl ProbeRunner<'_> {
    async fn run(&self, command: &CommandPrefix, arguments: &[&str]) -> CommandResult {
        run(command, arguments, self.settings.hbn.command_timeout).await
    }

    /// Asks FRR for its sessions: as JSON, and as text where FRR has no JSON to give or its JSON does not name the
    /// sessions that it counts as failed.
    async fn sessions(&self) -> BgpReading {
        let vtysh = &self.settings.hbn.vtysh;
        let text = async || reading(self.run(vtysh, &["-c", "show bgp summary"]).await, bgp_text);
        let json = self.run(vtysh, &["-c", "show bgp summary json"]).await;
        if json.as_ref().is_ok_and(|output| output.stdout.contains('%') && !output.stdout.contains('{')) {
            return text().await;
        }
        match reading(json, bgp_json) {
            BgpReading::Summary(summary) if summary.tables.iter().any(|table| table.unnamed_failures() > 0) => {
                bgp::named(summary, text().await)
            }
            reading => reading,
        }
    }
}

/// What a command says about sessions.
fn reading(result: CommandResult, parse: fn(&str) -> Result<BgpSummary, ParseFault>) -> BgpReading {
    match result {
        Err(fault) => BgpReading::Unreadable(fault.to_string()),
        // Without its daemon, vtysh of FRR 7 says so on standard error and exits with 0.
        Ok(output) if !output.success() || (output.stdout.trim().is_empty() && !output.stderr.trim().is_empty()) => {
            BgpReading::Unreadable(output.ending())
        }
        Ok(output) => match parse(&output.stdout) {
            Ok(summary) => BgpReading::Summary(summary),
            Err(fault) => BgpReading::Unreadable(fault.to_string()),
        },
    }
}
