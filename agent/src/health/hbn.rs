use super::{
    Said,
    findings::{Findings, Severity},
};
use crate::parse::{containers, privilege_level, running, supervisorctl};

/// The container of HBN runs.
pub(super) const CONTAINER: &str = "ContainerExists";
/// HBN's supervisor answers.
pub(super) const SUPERVISOR: &str = "SupervisorctlStatus";
/// A service in HBN runs.
pub(super) const SERVICE: &str = "ServiceRunning";
/// NVUE answers on its REST interface.
const NVUE_API: &str = "NvueApiRunning";
/// The DHCP server runs.
const DHCP: &str = "DhcpServer";
/// The interfaces' configuration reads well.
const IFRELOAD: &str = "Ifreload";
/// The host may not reach into the DPU.
const RESTRICTED: &str = "RestrictedMode";

/// Looks for the running container. One that is being started again is not there yet.
pub(super) fn judge_container(said: &Said, name: &str, findings: &mut Findings) {
    let listed = text_of(said, |_| false).and_then(|text| containers(text).map_err(|fault| fault.to_string()));
    match listed {
        Ok(all) if running(&all, name).is_some() => findings.success(CONTAINER, None),
        Ok(_) => findings.silence(CONTAINER, format!("No container {name} runs")),
        Err(why) => {
            findings.silence(CONTAINER, format!("Containers cannot be listed: {why}"));
        }
    }
}

/// Looks whether NVUE's REST interface answers.
pub(super) fn judge_nvue(answers: Result<(), String>, findings: &mut Findings) {
    match answers {
        Ok(()) => findings.success(NVUE_API, None),
        Err(why) => findings.silence(NVUE_API, why),
    }
}

/// Looks at each service that must run. The exit status of `supervisorctl` tells only that some program does not.
pub(super) fn judge_services(said: &Said, wanted: &[String], findings: &mut Findings) {
    let listed = text_of(said, |output| !output.is_empty());
    let programs = listed.and_then(|text| supervisorctl(text).map_err(|fault| fault.to_string()));
    let programs = match programs {
        Ok(programs) => programs,
        Err(why) => {
            findings.silence(SUPERVISOR, format!("The supervisor cannot be asked: {why}"));
            return;
        }
    };
    findings.success(SUPERVISOR, None);
    for name in wanted {
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

/// Looks whether the command that asks for the DHCP server is content.
pub(super) fn judge_dhcp(said: &Said, findings: &mut Findings) {
    match text_of(said, |_| false) {
        Ok(_) => findings.success(DHCP, None),
        Err(why) => findings.alert(DHCP, None, Severity::Critical, format!("The DHCP server does not run: {why}")),
    }
}

/// A check that finds nothing prints nothing.
pub(super) fn judge_ifreload(said: &Said, findings: &mut Findings) {
    let found = text_of(said, |_| false).and_then(|text| {
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

/// Looks at the privilege level of the host.
pub(super) fn judge_privilege(said: &Said, findings: &mut Findings) {
    let level = text_of(said, |_| false).and_then(|text| privilege_level(text).map_err(|fault| fault.to_string()));
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

/// Standard output of a command that ended well, or that may end badly with such an output.
fn text_of(said: &Said, bears: fn(&str) -> bool) -> Result<&str, String> {
    match said {
        Err(fault) => Err(fault.to_string()),
        Ok(output) if output.success() || bears(output.stdout.trim()) => Ok(&output.stdout),
        Ok(output) => Err(output.ending()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

    use super::*;
    use crate::apply::Output;

    pub(in crate::health) fn said(code: i32, stdout: &str) -> Said {
        Ok(Output { status: ExitStatus::from_raw(code << 8), stdout: stdout.into(), stderr: String::new() })
    }

    fn fixture(name: &str) -> String {
        std::fs::read_to_string(format!("{}/../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn alerts(findings: &Findings) -> Vec<(&str, Option<&str>)> {
        findings.alerts().map(|(id, target, ..)| (id, target)).collect()
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
            judge_container(&said(0, &fixture(name)), "doca-hbn", &mut findings);
            assert_eq!(findings.is_healthy(), there, "{name}");
        }
    }

    #[test]
    fn services_are_judged_by_what_is_listed() {
        let wanted: Vec<String> = ["frr", "nl2doca", "rsyslog", "nobody"].map(String::from).to_vec();
        let mut findings = Findings::default();
        judge_services(&said(3, &fixture("cases/supervisorctl-status.txt")), &wanted, &mut findings);
        let service = |name| ("ServiceRunning", Some(name));
        assert_eq!(alerts(&findings), [service("frr"), service("nl2doca"), service("nobody")]);
        assert!(findings.alerts().any(|(.., message)| message == "Service nobody is not RUNNING, but UNKNOWN"));
        let mut findings = Findings::default();
        judge_services(&said(3, &fixture("commands/supervisorctl_status.txt")), &wanted[..3], &mut findings);
        assert!(findings.is_healthy());
        for silent in [said(4, &fixture("cases/supervisorctl-refused.txt")), said(1, "")] {
            let mut findings = Findings::default();
            judge_services(&silent, &wanted, &mut findings);
            assert_eq!(alerts(&findings), [("SupervisorctlStatus", None)]);
        }
    }

    #[test]
    fn the_smaller_checks() {
        type Judge = fn(&Said, &mut Findings);
        for (judge, said, healthy) in [
            (judge_dhcp as Judge, said(0, ""), true),
            (judge_dhcp, said(3, "inactive"), false),
            (judge_ifreload, said(0, "\n"), true),
            (judge_ifreload, said(0, "error: vlan14: no such bridge"), false),
            (judge_ifreload, said(1, ""), false),
            (judge_privilege, said(0, &fixture("commands/mlxprivhost_query.txt")), true),
            (judge_privilege, said(0, "level : PRIVILEGED"), false),
            (judge_privilege, said(0, "nothing"), false),
        ] {
            let mut findings = Findings::default();
            judge(&said, &mut findings);
            assert_eq!(findings.is_healthy(), healthy, "{said:?}");
            assert!(findings.any());
        }
    }
}
