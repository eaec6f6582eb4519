//! Probes: one family a file. The commands are run and the files are read here; what they mean is judged in pure code.

mod bgp;
mod disk;
mod files;
mod findings;
mod hbn;

use std::collections::BTreeSet;

use bgp::BgpReading;
pub use findings::{Findings, Severity};

use crate::{
    Settings,
    apply::{CommandFault, Output, nvue_answers, run},
    config::{CommandPrefix, ProbeFamily, under},
    parse::{BgpSummary, ParseFault, bgp_json, bgp_text},
    render::Expectations,
};

/// Runs all probes that are configured.
///
/// `containers` is the list of those that run, where it was asked for. Where HBN does not run at all, what is inside it is not asked: one alert says it better than twenty.
pub(crate) async fn check(settings: &Settings, expected: &Expectations, containers: Option<&Said>) -> Findings {
    let mut findings = Findings::default();
    let hands = Hands { settings };
    if settings.probes(ProbeFamily::Disk) {
        disk::judge(&hands.read(&settings.health.df, &[]).await, &mut findings);
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
        let status = hands.read(&settings.hbn.supervisorctl, &["status"]).await;
        hbn::judge_services(&status, &settings.health.services, &mut findings);
        if findings.has_alert(hbn::SUPERVISOR) || findings.has_alert(hbn::SERVICE) {
            return findings;
        }
    }
    if settings.probes(ProbeFamily::Dhcp) && expected.dhcp_served {
        hbn::judge_dhcp(&hands.read(&settings.dhcp.status, &[]).await, &mut findings);
    }
    if settings.probes(ProbeFamily::Ifreload) {
        let output = hands.read(&settings.health.ifreload, &["--all", "--syntax-check"]).await;
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
        files::judge_daemons(&path, types::read_text(&path, crate::MOST_BYTES), &mut findings);
    }
    // FRR without its BGP daemon has no sessions, and that alert is there already.
    if settings.probes(ProbeFamily::Bgp) && !findings.has_alert(files::BGP_DAEMON) {
        bgp::judge(&hands.sessions().await, expected, &mut findings);
    }
    findings
}

/// Probes that are worth a look by a person, not a command every 30 s.
pub(crate) async fn check_once(settings: &Settings, findings: &mut Findings) {
    if !settings.health.mlxprivhost.is_empty() {
        let output = Hands { settings }.read(&settings.health.mlxprivhost, &[]).await;
        hbn::judge_privilege(&output, findings);
    }
}

/// Names of the uplinks whose session is up.
pub(crate) async fn established_uplinks(settings: &Settings) -> BTreeSet<String> {
    let uplinks = settings.environment().uplinks_of_any_version();
    bgp::established(&Hands { settings }.sessions().await, &uplinks)
}

/// What a command printed, or why it printed nothing of use.
pub(crate) type Said = Result<Output, CommandFault>;

struct Hands<'a> {
    settings: &'a Settings,
}

impl Hands<'_> {
    async fn read(&self, command: &CommandPrefix, arguments: &[&str]) -> Said {
        run(command, arguments, self.settings.hbn.command_timeout).await
    }

    /// Asks FRR for its sessions: as JSON, and as text where FRR has no JSON to give or its JSON does not name the
    /// sessions that it counts as failed.
    async fn sessions(&self) -> BgpReading {
        let vtysh = &self.settings.hbn.vtysh;
        let text = async || reading(self.read(vtysh, &["-c", "show bgp summary"]).await, bgp_text);
        let json = self.read(vtysh, &["-c", "show bgp summary json"]).await;
        if json.as_ref().is_ok_and(|output| output.stdout.contains('%') && !output.stdout.contains('{')) {
            return text().await;
        }
        match reading(json, bgp_json) {
            BgpReading::Summary(summary) if summary.tables.iter().any(|table| table.unnamed_failures() > 0) => {
                bgp::named(summary, text().await)
            }
            said => said,
        }
    }
}

fn reading(said: Said, parse: fn(&str) -> Result<BgpSummary, ParseFault>) -> BgpReading {
    match said {
        Err(fault) => BgpReading::Unreadable(fault.to_string()),
        // Without its daemon, vtysh of FRR 7 says so on standard error and ends with 0.
        Ok(output) if !output.success() || (output.stdout.trim().is_empty() && !output.stderr.trim().is_empty()) => {
            BgpReading::Unreadable(output.ending())
        }
        Ok(output) => match parse(&output.stdout) {
            Ok(summary) => BgpReading::Summary(summary),
            Err(fault) => BgpReading::Unreadable(fault.to_string()),
        },
    }
}
