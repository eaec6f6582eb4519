//! HBN itself: container, services, NVUE's REST interface, DHCP server, interfaces, privilege level. Pure.

use super::findings::{Findings, Severity};
use crate::{
    hbn::CommandResult,
    parse::{containers, privilege_level, running, supervisorctl},
};

/// Probe: the container of HBN runs.
pub(super) const CONTAINER: &str = "ContainerExists";
/// Probe: HBN's supervisor answers.
pub(super) const SUPERVISOR: &str = "SupervisorctlStatus";
/// Probe: a service in HBN runs.
pub(super) const SERVICE: &str = "ServiceRunning";
/// Probe: NVUE answers on its REST interface.
const NVUE_API: &str = "NvueApiRunning";
/// Probe: the DHCP server runs.
const DHCP: &str = "DhcpServer";
/// Probe: the configuration of the interfaces is valid.
const IFRELOAD: &str = "Ifreload";
/// Probe: the host has no privileges on the DPU.
const RESTRICTED: &str = "RestrictedMode";

/// Looks for the running container. One that is being restarted does not count.
pub(super) fn judge_container(result: &CommandResult, name: &str, findings: &mut Findings) {
    let listed = text_of(result, |_| false).and_then(|text| containers(text).map_err(|fault| fault.to_string()));
    match listed {
        Ok(all) if running(&all, name).is_some() => findings.success(CONTAINER, None),
        Ok(_) => findings.silence(CONTAINER, format!("No container {name} runs")),
        Err(why) => {
            findings.silence(CONTAINER, format!("Containers cannot be listed: {why}"));
        }
    }
}

/// Whether NVUE's REST interface answers.
pub(super) fn judge_nvue(answers: Result<(), String>, findings: &mut Findings) {
    match answers {
        Ok(()) => findings.success(NVUE_API, None),
        Err(why) => findings.silence(NVUE_API, why),
    }
}

/// Checks each service that must run. The exit status of `supervisorctl` says only that some program does not run.
pub(super) fn judge_services(result: &CommandResult, required: &[String], findings: &mut Findings) {
    let listed = text_of(result, |output| !output.is_empty());
    let programs = listed.and_then(|text| supervisorctl(text).map_err(|fault| fault.to_string()));
    let programs = match programs {
        Ok(programs) => programs,
        Err(why) => {
            findings.silence(SUPERVISOR, format!("The supervisor cannot be asked: {why}"));
            return;
        }
    };
    findings.success(SUPERVISOR, None);
    for name in required {
        let program = programs.iter().find(|program| program.name == *name);
        match program.map_or("UNKNOWN", |program| program.state.as_str()) {
            "RUNNING" => findings.success(SERVICE, Some(name)),
            state => {
                let message = format!("Service {name} is not RUNNING, but {state}");
                findings.alert(SERVICE, Some(name), Severity::Critical, message);
            }
        }
    }
}

/// Whether the status command of the DHCP server succeeds.
pub(super) fn judge_dhcp(result: &CommandResult, findings: &mut Findings) {
    match text_of(result, |_| false) {
        Ok(_) => findings.success(DHCP, None),
        Err(why) => findings.alert(DHCP, None, Severity::Critical, format!("The DHCP server does not run: {why}")),
    }
}

/// Whether the check of the interfaces' configuration prints nothing, which means that it found no fault.
pub(super) fn judge_ifreload(result: &CommandResult, findings: &mut Findings) {
    let found = text_of(result, |_| false).and_then(|text| {
        let line = text.lines().find(|line| !line.trim().is_empty());
        line.map_or(Ok(()), |line| Err(line.trim().to_owned()))
    });
    match found {
        Ok(()) => findings.success(IFRELOAD, None),
        Err(why) => {
            let message = format!("The interfaces' configuration has faults: {why}");
            findings.alert(IFRELOAD, None, Severity::Critical, message);
        }
    }
}

/// Whether the host's privilege level is the restricted one.
pub(super) fn judge_privilege(result: &CommandResult, findings: &mut Findings) {
    let level = text_of(result, |_| false).and_then(|text| privilege_level(text).map_err(|fault| fault.to_string()));
    match level.as_deref() {
        Ok("RESTRICTED") => findings.success(RESTRICTED, None),
        Ok(level) => {
            let message = format!("The host's level is {level}, not RESTRICTED");
            findings.alert(RESTRICTED, None, Severity::Critical, message);
        }
        Err(why) => {
            let message = format!("The host's level cannot be asked: {why}");
            findings.alert(RESTRICTED, None, Severity::Critical, message);
        }
    }
}

/// Standard output of a command that succeeded, or whose failure `tolerates` such an output.
fn text_of(result: &CommandResult, tolerates: fn(&str) -> bool) -> Result<&str, String> {
    match result {
        Err(fault) => Err(fault.to_string()),
        Ok(output) if output.success() || tolerates(output.stdout.trim()) => Ok(&output.stdout),
        Ok(output) => Err(output.ending()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

    use super::*;
    use crate::hbn::CommandOutput;

    pub(in crate::health) fn printed(code: i32, stdout: &str) -> CommandResult {
        Ok(CommandOutput { status: ExitStatus::from_raw(code << 8), stdout: stdout.into(), stderr: String::new() })
    }

    fn fixture(name: &str) -> String {
        std::fs::read_to_string(format!("{}/../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn alerts(findings: &Findings) -> Vec<(&str, Option<&str>)> {
        findings.report().alerts.iter().map(|alert| (alert.id.as_str(), alert.target.as_deref())).collect()
    }

    #[test]
    fn hbn_runs_only_with_its_own_container() {
        for (name, there) in [
            ("cases/crictl-restarting.json", false),
            ("cases/crictl-two-attempts.json", true),
            ("cases/crictl-none.json", false),
            ("cases/supervisorctl-refused.txt", false),
        ] {
            let mut findings = Findings::default();
            judge_container(&printed(0, &fixture(name)), "doca-hbn", &mut findings);
            assert_eq!(findings.is_healthy(), there, "{name}");
        }
    }

    #[test]
    fn services_are_judged_by_what_is_listed() {
        let required: Vec<String> = ["frr", "nl2doca", "rsyslog", "nobody"].map(String::from).to_vec();
        let mut findings = Findings::default();
        judge_services(&printed(3, &fixture("cases/supervisorctl-status.txt")), &required, &mut findings);
        let service = |name| ("ServiceRunning", Some(name));
        assert_eq!(alerts(&findings), [service("frr"), service("nl2doca"), service("nobody")]);
        assert!(
            findings.report().alerts.iter().any(|alert| alert.message == "Service nobody is not RUNNING, but UNKNOWN")
        );
        let mut findings = Findings::default();
        judge_services(&printed(3, &fixture("commands/supervisorctl_status.txt")), &required[..3], &mut findings);
        assert!(findings.is_healthy());
        for silent in [printed(4, &fixture("cases/supervisorctl-refused.txt")), printed(1, "")] {
            let mut findings = Findings::default();
            judge_services(&silent, &required, &mut findings);
            assert_eq!(alerts(&findings), [("SupervisorctlStatus", None)]);
        }
    }

    #[test]
    fn the_smaller_checks() {
        type Judge = fn(&CommandResult, &mut Findings);
        for (judge, result, healthy) in [
            (judge_dhcp as Judge, printed(0, ""), true),
            (judge_dhcp, printed(3, "inactive"), false),
            (judge_ifreload, printed(0, "\n"), true),
            (judge_ifreload, printed(0, "error: vlan14: no such bridge"), false),
            (judge_ifreload, printed(1, ""), false),
            (judge_privilege, printed(0, &fixture("commands/mlxprivhost_query.txt")), true),
            (judge_privilege, printed(0, "level : PRIVILEGED"), false),
            (judge_privilege, printed(0, "nothing"), false),
        ] {
            let mut findings = Findings::default();
            judge(&result, &mut findings);
            assert_eq!(findings.is_healthy(), healthy, "{result:?}");
            assert!(findings.any());
        }
    }
}
