//! Disk space, from `df`. Pure.

use super::findings::{Findings, Severity};
use crate::{hbn::CommandResult, parse::df};

/// Probe: the usage of the root file system is known and below the limit.
const CHECK: &str = "DpuDiskUtilizationCheck";
/// Probe: the root file system is nearly full.
const CRITICAL: &str = "DpuDiskUtilizationCritical";
/// Most per cent that may be in use.
const MAX_PERCENT: u8 = 85;

/// Compares the usage of the root file system with the limit.
pub(super) fn judge(result: &CommandResult, findings: &mut Findings) {
    let used = match result {
        Err(fault) => Err(fault.to_string()),
        Ok(output) if !output.success() && output.stdout.trim().is_empty() => Err(output.ending()),
        // One unreadable file system makes `df` exit with an error; it lists the others all the same.
        Ok(output) => df(&output.stdout).map_err(|fault| fault.to_string()).and_then(|systems| {
            let root = systems.into_iter().find(|system| system.mount == "/");
            root.and_then(|root| root.used_percent).ok_or_else(|| "no usage of / is listed".to_owned())
        }),
    };
    match used {
        Err(why) => findings.alert(CHECK, None, Severity::Critical, format!("The disk cannot be checked: {why}")),
        Ok(percent) if percent > MAX_PERCENT => {
            let message = format!("{percent} % of / is in use, more than {MAX_PERCENT} %");
            findings.alert(CRITICAL, None, Severity::Critical, message);
        }
        Ok(_) => findings.success(CHECK, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::hbn::tests::printed, *};

    #[test]
    fn the_root_file_system_decides() {
        let table = |percent: &str| {
            printed(
                0,
                &format!(
                    "Filesystem Size Used Avail Use% Mounted on\n/dev/a 41G 12G 27G {percent} /\n/dev/b 1G 1G 0 100% /boot\n"
                ),
            )
        };
        for (result, healthy, id) in [
            (table("31%"), true, CHECK),
            (table("85%"), true, CHECK),
            (table("86%"), false, CRITICAL),
            (table("-"), false, CHECK),
            (printed(1, "Filesystem Size Used Avail Use% Mounted on\n/dev/a 41G 12G 27G 31% /\n"), true, CHECK),
            (printed(0, "Filesystem Size Used Avail Use% Mounted on\n/dev/b 41G 12G 27G 31% /boot\n"), false, CHECK),
            (printed(1, ""), false, CHECK),
        ] {
            let mut findings = Findings::default();
            judge(&result, &mut findings);
            assert_eq!(findings.is_healthy(), healthy, "{result:?}");
            assert_eq!(findings.has_alert(id), !healthy, "{result:?}");
        }
    }
}
