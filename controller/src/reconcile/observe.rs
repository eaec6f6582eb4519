//! Facts that only a BMC can tell, read when the rules look at them and not before.
//!
//! A decision's explanation says which facts it looked at. Those that a BMC supplies are read then, put with the findings
//! of their machine, and the host is decided on what was found. A BMC that does not answer is a finding, too.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bmc::{BmcClient, BmcError, Class, Lockdown, PowerState, SecureBoot, TaskState};
use proto::MachineId;
use rules::{Explanation, FactId};
use serde_json::Value;

use super::{
    context::{Context, Evaluated},
    permits::Permit,
};
use crate::{
    Timestamp, act,
    store::{self, Finding, FindingId, HostRecord, StoreError},
};

/// Long enough for a slow BMC, short enough that a dead one does not hold up what else is known of the host.
const READ_LIMIT: Duration = Duration::from_secs(15);

/// Time between two questions to a BMC about the same.
const POLL: Duration = Duration::from_secs(10);

/// One question to a BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    HostSystem,
    HostSettings,
    HostJobs,
    HostStorage,
    DpuSystem,
    DpuSettings,
    DpuSecureBoot,
    DpuInstallTask,
    DpuFirmware,
}

/// What a decision wants to know from BMCs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Questions(BTreeSet<Question>);

impl Questions {
    /// Those behind the facts that a decision looked at.
    pub(super) fn of(explained: &Explanation) -> Self {
        let facts = explained.arms.iter().flat_map(|arm| &arm.facts);
        Self(facts.filter_map(|fact| question(&fact.name)).collect())
    }

    /// A host that waits for what a BMC tells is looked at again soon: BMCs tell nobody by themselves.
    pub(super) fn poll(&self, done: Evaluated) -> Evaluated {
        match done {
            Evaluated::Stays(rest) if !self.0.is_empty() => Evaluated::Stays(Some(rest.unwrap_or(POLL).min(POLL))),
            done => done,
        }
    }

    /// Asks, and puts the answers with the findings of the record and in the database.
    pub(super) async fn ask(
        &self,
        context: &Context,
        permit: &Permit,
        record: &mut HostRecord,
    ) -> Result<(), StoreError> {
        let mut fresh: Vec<(MachineId, Finding)> = Vec::new();
        let mut faults: BTreeMap<MachineId, Vec<String>> = BTreeMap::new();
        for question in &self.0 {
            let machines: Vec<(MachineId, store::Bmc)> = match question {
                Question::HostSystem | Question::HostSettings | Question::HostJobs | Question::HostStorage => {
                    vec![(record.host.id.clone(), record.host.bmc.clone())]
                }
                Question::DpuSystem
                | Question::DpuSettings
                | Question::DpuSecureBoot
                | Question::DpuInstallTask
                | Question::DpuFirmware => record.dpus.iter().map(|dpu| (dpu.id.clone(), dpu.bmc.clone())).collect(),
            };
            for (machine, bmc) in machines.into_iter().filter(|(_, bmc)| !bmc.url.is_empty()) {
                let known = record.findings.get(&machine).map(Vec::as_slice).unwrap_or_default();
                let stale = act::stale_before(record, &machine);
                let about = About {
                    known: known.iter().filter(|it| stale.get(&*it.name).is_none_or(|since| it.at >= *since)).collect(),
                    boot_mac: Some(record.host.mac.as_str()).filter(|mac| !mac.is_empty()),
                    dpu_bmc_firmware: context.settings.dpu_bmc_firmware.as_deref(),
                };
                let told = faults.entry(machine.clone()).or_default();
                let found = permit.away(question.ask(context.bmc.as_ref(), &bmc, &about, told)).await;
                let now = Timestamp::now();
                let found = found.into_iter().map(|(id, value)| Finding::new(id, value, now));
                let news = found.filter(|finding| is_news(finding, known, stale.get(&*finding.name)));
                fresh.extend(news.map(|finding| (machine.clone(), finding)));
            }
        }
        for (machine, faults) in faults {
            let known = record.findings.get(&machine).map(Vec::as_slice).unwrap_or_default();
            let fault = Some(faults.join("; ")).filter(|faults| !faults.is_empty());
            let finding = Finding::new(FindingId::BMC_FAULT, fault, Timestamp::now());
            if is_news(&finding, known, None) {
                fresh.push((machine, finding));
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let mut tx = context.store.write().await?;
        for (machine, finding) in &fresh {
            tx.put_finding(machine, finding).await?;
        }
        tx.commit().await?;
        for (machine, finding) in fresh {
            let known = record.findings.entry(machine).or_default();
            known.retain(|known| known.name != finding.name);
            known.push(finding);
        }
        Ok(())
    }
}

/// Facts that a BMC supplies, with the question that asks for each.
const SUPPLIED: &[(FactId, Question)] = &[
    (rules::Bmc::power, Question::HostSystem),
    (rules::Bmc::power_is_fresh, Question::HostSystem),
    (rules::Bmc::reachable, Question::HostSystem),
    (rules::Bmc::vendor, Question::HostSystem),
    (rules::Bmc::lockdown, Question::HostSettings),
    (rules::Bmc::bios_setup, Question::HostSettings),
    (rules::Bmc::boot_order_set, Question::HostSettings),
    (rules::Bmc::bios_job_state, Question::HostJobs),
    (rules::Bmc::boot_order_job_state, Question::HostJobs),
    (rules::Bmc::uefi_password_job_state, Question::HostJobs),
    (rules::Bmc::boss_job_state, Question::HostJobs),
    (rules::Bmc::boss_controller, Question::HostStorage),
    (rules::Dpu::reachable, Question::DpuSystem),
    (rules::Dpu::booted_since_state_change, Question::DpuSystem),
    (rules::Dpu::booted_since_restart, Question::DpuSystem),
    (rules::Dpu::secure_boot, Question::DpuSecureBoot),
    (rules::Dpu::install_task, Question::DpuInstallTask),
    (rules::Dpu::install_percent, Question::DpuInstallTask),
    (rules::Dpu::bios_setup, Question::DpuSettings),
    (rules::Dpu::bmc_firmware, Question::DpuFirmware),
    (rules::Dpu::firmware_matches, Question::DpuFirmware),
];

/// The question that supplies a fact, if a BMC does.
fn question(fact: &str) -> Option<Question> {
    SUPPLIED.iter().find(|(known, _)| known.name() == fact).map(|(_, question)| *question)
}

/// The same answer after a power command, or after an action that made it stale, is news: only now it can be believed.
fn is_news(finding: &Finding, known: &[Finding], stale: Option<&Timestamp>) -> bool {
    let commands =
        known.iter().filter(|known| known.is(rules::Bmc::last_power_request) || known.is(FindingId::RESTART));
    let commanded = commands.map(|known| known.at).chain(stale.copied()).max();
    let same = known.iter().find(|known| known.name == finding.name && known.value == finding.value);
    same.is_none_or(|same| commanded.is_some_and(|commanded| commanded >= same.at))
}

/// What is known of a machine when its BMC is asked.
struct About<'a> {
    /// What was found before and still counts.
    known: Vec<&'a Finding>,
    /// MAC that its host boots over.
    boot_mac: Option<&'a str>,
    dpu_bmc_firmware: Option<&'a str>,
}

impl About<'_> {
    fn text(&self, id: impl Into<FindingId>) -> Option<&str> {
        let id = id.into();
        self.known.iter().find(|known| known.is(id)).and_then(|known| known.value.as_str())
    }
}

/// Jobs that actions name, each with the fact that tells how far it is.
const JOBS: [(FactId, FactId); 4] = [
    (rules::Bmc::bios_job, rules::Bmc::bios_job_state),
    (rules::Bmc::boot_order_job, rules::Bmc::boot_order_job_state),
    (rules::Bmc::uefi_password_job, rules::Bmc::uefi_password_job_state),
    (rules::Bmc::boss_job, rules::Bmc::boss_job_state),
];

impl Question {
    /// What was found.
    /// Why something could not be told goes to `faults`.
    async fn ask(
        self,
        bmc: &dyn BmcClient,
        access: &store::Bmc,
        about: &About<'_>,
        faults: &mut Vec<String>,
    ) -> Vec<(FindingId, Value)> {
        match self {
            Self::HostSystem => match limited(bmc.system(access), faults).await {
                Some(system) => vec![
                    (rules::Bmc::reachable.into(), true.into()),
                    (rules::Bmc::power.into(), system.power.map(power).into()),
                    (rules::Bmc::vendor.into(), vendor(system.class).into()),
                ],
                // What cannot be read is unknown, whatever it was before.
                None => vec![(rules::Bmc::reachable.into(), false.into()), (rules::Bmc::power.into(), Value::Null)],
            },
            Self::HostSettings => {
                let settings = limited(bmc.settings(access, about.boot_mac), faults).await.unwrap_or_default();
                faults.extend(settings.faults.iter().map(ToString::to_string));
                let set_up = settings.differences.map(|differences| differences.is_empty());
                vec![
                    (rules::Bmc::lockdown.into(), settings.lockdown.map(lockdown).into()),
                    (rules::Bmc::bios_setup.into(), set_up.map(answer).into()),
                    (rules::Bmc::boot_order_set.into(), settings.boot_order_set.map(answer).into()),
                ]
            }
            Self::HostJobs => {
                let mut found = Vec::new();
                for (job, state) in JOBS {
                    let Some(id) = about.text(job).filter(|id| !id.is_empty()) else { continue };
                    let asked = tokio::time::timeout(READ_LIMIT, bmc.job(access, id)).await;
                    let word = match asked {
                        Ok(Ok(job)) => Some(job_word(job.state)),
                        Ok(Err(error)) if !error.retryable() => Some(rules::JobState::QueryError.as_str()),
                        Ok(Err(_)) | Err(_) => None,
                    };
                    found.push((state.into(), word.into()));
                }
                found
            }
            Self::HostStorage => {
                let controller = limited(bmc.boot_storage(access), faults).await.map(Option::unwrap_or_default);
                vec![(rules::Bmc::boss_controller.into(), controller.into())]
            }
            Self::DpuSettings => {
                let settings = limited(bmc.settings(access, None), faults).await.unwrap_or_default();
                faults.extend(settings.faults.iter().map(ToString::to_string));
                let set_up = settings.differences.map(|differences| differences.is_empty());
                vec![(rules::Dpu::bios_setup.into(), set_up.map(answer).into())]
            }
            Self::DpuSystem => match limited(bmc.system(access), faults).await {
                Some(system) => {
                    let up = system.os_running.map(|up| (FindingId::OS_RUNNING, Value::from(up)));
                    [(rules::Dpu::reachable.into(), true.into())].into_iter().chain(up).collect()
                }
                None => vec![(rules::Dpu::reachable.into(), false.into())],
            },
            Self::DpuSecureBoot => {
                let asked = tokio::time::timeout(READ_LIMIT, bmc.secure_boot(access)).await;
                let word = match asked {
                    Ok(Ok(SecureBoot::Enabled)) => Some("enabled"),
                    Ok(Ok(SecureBoot::Disabled)) => Some("disabled"),
                    Ok(Ok(SecureBoot::Incomplete)) => Some("missing_data"),
                    Ok(Err(error)) if !error.retryable() => Some("error"),
                    Ok(Err(_)) | Err(_) => None,
                };
                vec![(rules::Dpu::secure_boot.into(), word.into())]
            }
            Self::DpuInstallTask => {
                let Some(path) = about.text(FindingId::INSTALL_TASK) else { return Vec::new() };
                match limited(bmc.task(access, path), faults).await {
                    Some(task) => vec![
                        (rules::Dpu::install_task.into(), task_word(task.state).into()),
                        (rules::Dpu::install_percent.into(), task.percent.into()),
                    ],
                    // What was last known of the task stays.
                    None => Vec::new(),
                }
            }
            Self::DpuFirmware => match limited(bmc.firmware_version(access), faults).await {
                Some(Some(version)) => {
                    // A site that has not said what it wants is not told that this is it.
                    let matches = about.dpu_bmc_firmware.map(|wanted| wanted == version);
                    vec![
                        (rules::Dpu::firmware_matches.into(), matches.into()),
                        (rules::Dpu::bmc_firmware.into(), version.into()),
                    ]
                }
                Some(None) | None => {
                    vec![
                        (rules::Dpu::firmware_matches.into(), Value::Null),
                        (rules::Dpu::bmc_firmware.into(), Value::Null),
                    ]
                }
            },
        }
    }
}

async fn limited<T>(asked: impl Future<Output = Result<T, BmcError>>, faults: &mut Vec<String>) -> Option<T> {
    let fault = match tokio::time::timeout(READ_LIMIT, asked).await {
        Ok(Ok(told)) => return Some(told),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("the BMC did not tell within {} s", READ_LIMIT.as_secs()),
    };
    if !faults.contains(&fault) {
        faults.push(fault);
    }
    None
}

fn answer(yes: bool) -> &'static str {
    if yes { rules::Answer::Yes.as_str() } else { rules::Answer::No.as_str() }
}

/// The word that rules know a power state by.
fn power(power: PowerState) -> &'static str {
    match power {
        PowerState::On => "on",
        PowerState::Off => "off",
        PowerState::PoweringOn => "powering_on",
        PowerState::PoweringOff => "powering_off",
        PowerState::Paused => "paused",
    }
}

fn task_word(state: TaskState) -> &'static str {
    match state {
        TaskState::New | TaskState::Scheduled => "new",
        TaskState::Starting => "starting",
        TaskState::Running => "running",
        TaskState::Completed => "completed",
        // A task that the BMC has forgotten is not one that still runs.
        TaskState::Exception | TaskState::Missing => "exception",
        TaskState::Other => "other",
    }
}

fn job_word(state: TaskState) -> &'static str {
    match state {
        // Accepted, and not yet there to be carried out.
        TaskState::New => rules::JobState::None,
        TaskState::Scheduled => rules::JobState::Scheduled,
        TaskState::Starting | TaskState::Running => rules::JobState::Running,
        TaskState::Completed => rules::JobState::Completed,
        TaskState::Exception => rules::JobState::Failed,
        TaskState::Missing | TaskState::Other => rules::JobState::QueryError,
    }
    .as_str()
}

fn lockdown(read: Lockdown) -> &'static str {
    match read {
        Lockdown::Disabled => rules::Lockdown::Disabled,
        Lockdown::Partial => rules::Lockdown::Partial,
        Lockdown::Enabled => rules::Lockdown::Enabled,
        Lockdown::Unsupported => rules::Lockdown::Unsupported,
    }
    .as_str()
}

/// Makers that rules tell apart.
fn vendor(class: Class) -> &'static str {
    match class {
        Class::Dell => rules::Vendor::Dell,
        Class::Hpe => rules::Vendor::Hpe,
        Class::LenovoXcc | Class::LenovoAmi => rules::Vendor::Lenovo,
        Class::Supermicro => rules::Vendor::Supermicro,
        Class::Viking | Class::Grace | Class::BlueField => rules::Vendor::Nvidia,
        Class::Ami | Class::Generic => rules::Vendor::Other,
    }
    .as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_facts_of_bmcs_are_asked_for() {
        let facts = |names: &[&str]| {
            let fact = |name: &&str| rules::FactSeen { name: (*name).to_owned(), value: String::new(), dpu: None };
            let arm = rules::ArmTrace {
                at: String::new(),
                arm: String::new(),
                result: rules::ArmResult::Skipped,
                dpu: None,
                error: None,
                facts: names.iter().map(fact).collect(),
            };
            Questions::of(&Explanation {
                state: "Ready".into(),
                decision: rules::Decision::Delete(rules::Delete { actions: vec![] }),
                sla_seconds: None,
                above_sla: false,
                arms: vec![arm],
                facts: vec![],
                alerts: vec![],
            })
        };
        assert_eq!(facts(&["instance.present", "dpu.observed_network_version"]), Questions::default());
        let asked = facts(&["bmc.power", "bmc.power_is_fresh", "dpu.secure_boot"]);
        assert_eq!(asked.0, BTreeSet::from([Question::HostSystem, Question::DpuSecureBoot]));
    }

    #[test]
    fn the_same_power_state_is_news_only_after_a_command() {
        let at = |name: &str, value: &str, at| Finding {
            name: name.into(),
            value: value.into(),
            at: Timestamp::from_micros(at),
        };
        let seen = at("bmc.power", "on", 9);
        assert!(is_news(&seen, &[], None));
        assert!(!is_news(&seen, &[at("bmc.power", "on", 5)], None));
        assert!(!is_news(&seen, &[at("bmc.power", "on", 5), at("bmc.last_power_request", "on", 4)], None));
        assert!(is_news(&seen, &[at("bmc.power", "on", 5), at("bmc.last_power_request", "on", 6)], None));
        assert!(is_news(&seen, &[at("bmc.power", "off", 5)], None));
    }
}
