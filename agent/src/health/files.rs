//! Files that HBN needs, and FRR's list of daemons. Pure.

use std::{io, path::Path};

use super::findings::{Findings, Severity};

/// Probe: a file exists.
const EXISTS: &str = "FileExists";
/// Probe: a file holds something.
const VALID: &str = "FileIsValid";
/// Probe: FRR is configured to run its BGP daemon.
pub(super) const BGP_DAEMON: &str = "BgpDaemonEnabled";
/// Fewest bytes of a useful file: less is left over from an interrupted write.
const MIN_BYTES: u64 = 100;

/// Compares a file's length with the minimum.
pub(super) fn judge(path: &Path, length: io::Result<u64>, findings: &mut Findings) {
    let name = path.display().to_string();
    match length {
        Err(error) => {
            findings.alert(EXISTS, Some(&name), Severity::Critical, format!("{name} cannot be read: {error}"))
        }
        Ok(length) => {
            findings.success(EXISTS, Some(&name));
            if length < MIN_BYTES {
                let message = format!("{name} has {length} bytes, fewer than {MIN_BYTES}");
                findings.alert(VALID, Some(&name), Severity::Critical, message);
            } else {
                findings.success(VALID, Some(&name));
            }
        }
    }
}

/// Looks for `bgpd=yes` in FRR's list of daemons. The last setting counts, as for the shell that reads the file.
pub(super) fn judge_daemons(path: &Path, text: io::Result<String>, findings: &mut Findings) {
    let alert = |findings: &mut Findings, message: String| {
        findings.alert(BGP_DAEMON, None, Severity::Critical, message);
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return alert(findings, format!("{} cannot be read: {error}", path.display())),
    };
    let mut setting = text.lines().filter_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let (name, value) = line.split_once('=')?;
        (name.trim() == "bgpd").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    });
    match setting.next_back().as_deref() {
        Some("yes") => findings.success(BGP_DAEMON, None),
        Some(value) => alert(findings, format!("{} says bgpd={value}, not bgpd=yes", path.display())),
        None => alert(findings, format!("{} does not name bgpd", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_must_be_there_and_hold_something() {
        for (length, alert) in
            [(Ok(100), None), (Ok(99), Some(VALID)), (Err(io::ErrorKind::NotFound.into()), Some(EXISTS))]
        {
            let mut findings = Findings::default();
            judge(Path::new("/etc/frr/frr.conf"), length, &mut findings);
            let alerts = &findings.report().alerts;
            let seen: Vec<_> = alerts.iter().map(|alert| (&*alert.id, alert.target.as_deref())).collect();
            let expected: Vec<_> = alert.into_iter().map(|id| (id, Some("/etc/frr/frr.conf"))).collect();
            assert_eq!(seen, expected);
            if alert == Some(VALID) {
                assert_eq!(findings.report().successes.len(), 1, "only that it is there");
            }
        }
    }

    #[test]
    fn a_comment_is_no_setting() {
        for (text, alert) in [
            (Ok("bgpd=no\n"), Some("says bgpd=no")),
            (Ok("# bgpd=no was the default\nbgpd=yes\n"), None),
            (Ok("bgpd = yes # on\n"), None),
            (Ok("bgpd=yes\nbgpd=no\n"), Some("says bgpd=no")),
            (Ok("zebra=yes\n"), Some("does not name bgpd")),
            (Err(io::ErrorKind::NotFound.into()), Some("/etc/frr/daemons cannot be read")),
        ] {
            let mut findings = Findings::default();
            judge_daemons(Path::new("/etc/frr/daemons"), text.map(str::to_owned), &mut findings);
            let messages: Vec<_> = findings.report().alerts.iter().map(|alert| alert.message.clone()).collect();
            match alert {
                None => assert_eq!(messages, Vec::<String>::new()),
                Some(part) => assert!(messages.len() == 1 && messages[0].contains(part), "{messages:?}"),
            }
        }
    }
}
