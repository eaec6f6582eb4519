use super::{
    Said,
    findings::{Findings, Severity},
};
use crate::parse::df;

/// The space of the root file system can be told, and is enough.
const CHECK: &str = "DpuDiskUtilizationCheck";
/// It is nearly used up.
const CRITICAL: &str = "DpuDiskUtilizationCritical";
/// Most of it that may be in use.
const MOST_PERCENT: u8 = 85;

/// Holds the root file system against the limit.
pub(super) fn judge(said: &Said, findings: &mut Findings) {
    let used = match said {
        Err(fault) => Err(fault.to_string()),
        Ok(output) if !output.success() && output.stdout.trim().is_empty() => Err(output.ending()),
        // One file system that cannot be asked makes `df` end badly; the others are listed all the same.
        Ok(output) => df(&output.stdout).map_err(|fault| fault.to_string()).and_then(|systems| {
            let root = systems.into_iter().find(|system| system.mount == "/");
            root.and_then(|root| root.used_percent).ok_or_else(|| "no usage of / is listed".to_owned())
        }),
    };
    match used {
        Err(why) => findings.alert(CHECK, None, Severity::Critical, format!("The disk cannot be checked: {why}")),
        Ok(percent) if percent > MOST_PERCENT => {
            let message = format!("{percent} % of / is in use, more than {MOST_PERCENT} %");
            findings.alert(CRITICAL, None, Severity::Critical, message);
        }
        Ok(_) => findings.success(CHECK, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::hbn::tests::said, *};

    #[test]
    fn the_root_file_system_decides() {
        let table = |percent: &str| {
            said(
                0,
                &format!(
                    "Filesystem Size Used Avail Use% Mounted on\n/dev/a 41G 12G 27G {percent} /\n/dev/b 1G 1G 0 100% /boot\n"
                ),
            )
        };
        for (said, healthy, id) in [
            (table("31%"), true, CHECK),
            (table("85%"), true, CHECK),
            (table("86%"), false, CRITICAL),
            (table("-"), false, CHECK),
            (said(1, "Filesystem Size Used Avail Use% Mounted on\n/dev/a 41G 12G 27G 31% /\n"), true, CHECK),
            (said(0, "Filesystem Size Used Avail Use% Mounted on\n/dev/b 41G 12G 27G 31% /boot\n"), false, CHECK),
            (said(1, ""), false, CHECK),
        ] {
            let mut findings = Findings::default();
            judge(&said, &mut findings);
            assert_eq!(findings.is_healthy(), healthy, "{said:?}");
            assert_eq!(findings.has_alert(id), !healthy, "{said:?}");
        }
    }
}
