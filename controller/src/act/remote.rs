//! What an action does at a BMC, and what it found out there. The reconciler calls it before it commits.

use std::time::{Duration, Instant};

use bmc::{BmcClient, BmcError, PowerState, ResetType};
use proto::MachineId;
use rules::{Action, Argument, FactId};
use serde_json::{Value, json};

use super::{ActionError, journal};
use crate::{
    Timestamp,
    store::{self, Finding, FindingId, HostRecord},
};

/// Longest time that a machine may take to turn off, and time between two looks.
const LONGEST_OFF: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(500);

/// The last power command, as rules see it.
const LAST_POWER_REQUEST: FindingId = FindingId::of(rules::Bmc::last_power_request);

/// How many power drains new firmware still needs.
const DRAINS_LEFT: FactId = rules::Firmware::power_drains_left;

/// Work at a BMC, or handed over to a service of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remote {
    /// Resets the host, or the DPUs the action is for.
    Reset(ResetType),
    /// Restarts the DPUs the action is for; all of them if it names none.
    RestartDpus,
    /// One step of a sequence of power commands, chosen by what was asked last and what the power is now.
    Steps(PowerSteps),
    /// Powers off and restarts the BMC.
    OffAndResetBmc,
    /// Restarts the BMC.
    ResetBmc,
    /// Sets the BMC to factory settings.
    FactoryResetBmc,
    /// Sets the next of all BMCs to factory settings: the host's first, then one DPU's after the other.
    FactoryResetNextBmc,
    /// Sets BIOS settings back.
    ResetBios,
    /// The reset that new firmware of a component needs.
    ResetForComponent,
    /// Secure boot on or off.
    SecureBoot(bool),
    /// Next boot over UEFI HTTP.
    BootOnceUefiHttp,
    /// Boot over the host's first port first, or by the argument `order`.
    BootOrder,
    /// BIOS settings as the maker's machines need them; then the machine is restarted, if so said.
    MachineSetup {
        /// Restarts it.
        restart: bool,
    },
    /// Lockdown on or off.
    Lockdown {
        /// On.
        on: bool,
        /// Restarts the machine afterwards.
        restart: bool,
    },
    /// The site's UEFI password, or none.
    UefiPassword {
        /// The site's.
        set: bool,
    },
    /// IPMI over LAN.
    EnableIpmi,
    /// The BMC's way to the DPU.
    EnableRshim,
    /// Erases the boot storage.
    EraseBootStorage,
    /// Makes the boot storage a volume.
    CreateBootVolume,
    /// Installs the image of the argument `image`.
    InstallImage,
    /// Nothing is to be done.
    AtOnce,
    /// Work beyond standard Redfish, handed over to a service of the site: it sees the journal, does it and reports what
    /// became of it. Nothing is taken to be so before that.
    HandOver,
}

/// Sequences of power commands that take one command an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PowerSteps {
    /// Off, on.
    Cycle,
    /// Off, BMC reset, on.
    CycleWithBmc,
    /// Off, AC cycle, on.
    Drain,
}

/// Something found out, or done, that later decisions need to know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) machine: MachineId,
    id: FindingId,
    value: Value,
}

impl Found {
    pub(crate) fn new(machine: &MachineId, id: impl Into<FindingId>, value: impl Into<Value>) -> Self {
        Self { machine: machine.clone(), id: id.into(), value: value.into() }
    }

    pub(crate) fn finding(&self, at: Timestamp) -> Finding {
        Finding::new(self.id, self.value.clone(), at)
    }
}

/// One machine that an action is for.
struct Target<'a> {
    id: &'a MachineId,
    bmc: &'a store::Bmc,
    of_host: bool,
}

impl Remote {
    /// Does it; what is to be remembered of it.
    pub(crate) async fn run(
        self,
        bmc: &dyn BmcClient,
        record: &HostRecord,
        action: &Action,
    ) -> Result<Vec<Found>, ActionError> {
        let targets = self.targets(record, action)?;
        let mut found = Vec::new();
        for target in &targets {
            found.extend(self.run_on(bmc, record, action, target).await?);
        }
        Ok(found)
    }

    /// Whether what the journal says was about to run at `at` has happened, as far as the BMCs know.
    pub(crate) async fn happened(
        self,
        bmc: &dyn BmcClient,
        record: &HostRecord,
        action: &Action,
        at: Timestamp,
    ) -> bool {
        if !matches!(self, Self::Reset(ResetType::ForceRestart) | Self::RestartDpus) {
            // The others may as well be done twice. Of a power cycle the BMC may know no more than its first half.
            return false;
        }
        let Ok(targets) = self.targets(record, action) else { return false };
        for target in &targets {
            match bmc.system(target.bmc).await {
                // It did not come back.
                Ok(system) if system.power == Some(PowerState::Off) => return false,
                Ok(system) if system.last_reset.is_some_and(|reset| reset > at) => {}
                _ => return false,
            }
        }
        !targets.is_empty()
    }

    /// What is remembered of an action that turned out to have happened.
    pub(crate) fn recognised(self, record: &HostRecord, action: &Action) -> Vec<Found> {
        journal::machines(record, action).iter().map(|id| Found::new(id, FindingId::RESTART, true)).collect()
    }

    fn targets<'a>(self, record: &'a HostRecord, action: &Action) -> Result<Vec<Target<'a>>, ActionError> {
        let dpu = |dpu: &'a store::Dpu| Target { id: &dpu.id, bmc: &dpu.bmc, of_host: false };
        if self == Self::RestartDpus && action.dpus.is_empty() {
            return Ok(record.dpus.iter().map(dpu).collect());
        }
        if action.dpus.is_empty() {
            return Ok(vec![Target { id: &record.host.id, bmc: &record.host.bmc, of_host: true }]);
        }
        let named = |id: &String| {
            let missing = || ActionError::NoSuchDpu { action: action.name.to_string(), dpu: id.clone() };
            journal::dpu_of(record, id).map(dpu).ok_or_else(missing)
        };
        action.dpus.iter().map(named).collect()
    }

    async fn run_on(
        self,
        bmc: &dyn BmcClient,
        record: &HostRecord,
        action: &Action,
        target: &Target<'_>,
    ) -> Result<Vec<Found>, ActionError> {
        Ok(match self {
            Self::Reset(ResetType::PowerCycle) => {
                power_cycle(bmc, target).await?;
                remembered(record, target, ResetType::PowerCycle)
            }
            Self::Reset(reset) => {
                bmc.reset(target.bmc, reset).await?;
                remembered(record, target, reset)
            }
            Self::RestartDpus => {
                bmc.reset(target.bmc, ResetType::ForceRestart).await?;
                remembered(record, target, ResetType::ForceRestart)
            }
            Self::Steps(steps) => steps.next(bmc, record, target).await?,
            Self::OffAndResetBmc => {
                bmc.reset(target.bmc, ResetType::ForceOff).await?;
                bmc.reset_bmc(target.bmc).await?;
                let mut found = remembered(record, target, ResetType::ForceOff);
                found.push(Found::new(target.id, FindingId::BMC_RESET, true));
                found
            }
            Self::ResetBmc => {
                bmc.reset_bmc(target.bmc).await?;
                vec![Found::new(target.id, FindingId::BMC_RESET, true)]
            }
            Self::FactoryResetBmc => {
                bmc.factory_reset_bmc(target.bmc).await?;
                vec![Found::new(target.id, FindingId::BMC_RESET, true)]
            }
            Self::FactoryResetNextBmc => factory_reset(bmc, record).await?,
            Self::ResetBios => {
                bmc.reset_bios(target.bmc).await?;
                Vec::new()
            }
            Self::ResetForComponent => {
                if text(action, "component").is_ok_and(|component| component == "bmc") {
                    bmc.reset_bmc(target.bmc).await?;
                } else {
                    bmc.reset(target.bmc, ResetType::ForceRestart).await?;
                }
                vec![Found::new(target.id, FindingId::COMPONENT_RESET, true)]
            }
            Self::SecureBoot(enabled) => {
                bmc.set_secure_boot(target.bmc, enabled).await?;
                Vec::new()
            }
            Self::BootOnceUefiHttp => {
                bmc.boot_once_uefi_http(target.bmc).await?;
                Vec::new()
            }
            Self::BootOrder => {
                let order = texts(action, "order");
                let job = if order.is_empty() {
                    bmc.boot_first(target.bmc, boot_mac(record, target)).await?
                } else {
                    bmc.set_boot_order(target.bmc, &order).await?;
                    None
                };
                // Whether the order holds is read from the BMC afterwards.
                vec![Found::new(target.id, rules::Bmc::boot_order_job, job.unwrap_or_default())]
            }
            Self::MachineSetup { restart } => {
                let job = bmc.set_up(target.bmc, boot_mac(record, target)).await?;
                let mut found = Vec::new();
                if target.of_host {
                    found.push(Found::new(target.id, rules::Bmc::bios_job, job.unwrap_or_default()));
                }
                found.extend(restarted(bmc, record, target, restart).await?);
                found
            }
            Self::Lockdown { on, restart } => {
                bmc.set_lockdown(target.bmc, on).await?;
                restarted(bmc, record, target, restart).await?
            }
            Self::UefiPassword { set } => {
                let job = if set {
                    bmc.set_uefi_password(target.bmc).await?
                } else {
                    bmc.clear_uefi_password(target.bmc).await?
                };
                vec![Found::new(target.id, rules::Bmc::uefi_password_job, job.unwrap_or_default())]
            }
            Self::EnableIpmi => {
                bmc.enable_ipmi(target.bmc).await?;
                Vec::new()
            }
            Self::EnableRshim => {
                bmc.enable_rshim(target.bmc).await?;
                Vec::new()
            }
            Self::EraseBootStorage => {
                vec![Found::new(target.id, rules::Bmc::boss_job, bmc.erase_boot_storage(target.bmc).await?)]
            }
            Self::CreateBootVolume => {
                vec![Found::new(target.id, rules::Bmc::boss_job, bmc.create_boot_volume(target.bmc).await?)]
            }
            Self::InstallImage => {
                let task = bmc.simple_update(target.bmc, text(action, "image")?).await?;
                let mut found = vec![Found::new(target.id, FindingId::INSTALL_TASK, task)];
                found.push(Found::new(target.id, rules::Dpu::install_task, "new"));
                found
            }
            Self::AtOnce | Self::HandOver => Vec::new(),
        })
    }
}

impl PowerSteps {
    async fn next(
        self,
        bmc: &dyn BmcClient,
        record: &HostRecord,
        target: &Target<'_>,
    ) -> Result<Vec<Found>, ActionError> {
        let system = bmc.system(target.bmc).await?;
        let off = system.power == Some(PowerState::Off);
        let entered = Timestamp::from_micros(record.life.version.micros());
        let done = |id: FindingId| {
            let found = record.findings.get(target.id)?.iter().find(|finding| finding.is(id))?;
            (found.at > entered).then_some(&found.value)
        };
        if self == Self::Drain {
            let last = done(LAST_POWER_REQUEST).and_then(Value::as_str).unwrap_or_default();
            return drain(bmc, record, target, last, off).await;
        }
        let asked_off = done(LAST_POWER_REQUEST).is_some_and(|value| value == "off" || value == "ac_cycle");
        let asked_on = done(LAST_POWER_REQUEST).is_some_and(|value| value == "on");
        if asked_on && system.power == Some(PowerState::On) {
            return Ok(vec![Found::new(target.id, rules::Bmc::power, "on")]);
        }
        if !off || !(asked_off || asked_on) {
            bmc.reset(target.bmc, ResetType::ForceOff).await?;
            return Ok(remembered(record, target, ResetType::ForceOff));
        }
        match self {
            Self::CycleWithBmc if done(FindingId::BMC_RESET).is_none() => {
                bmc.reset_bmc(target.bmc).await?;
                return Ok(vec![Found::new(target.id, FindingId::BMC_RESET, true)]);
            }
            _ => {}
        }
        bmc.reset(target.bmc, ResetType::On).await?;
        Ok(remembered(record, target, ResetType::On))
    }
}

/// The next step of a power drain: off, AC cycle, on. The last one counts it as done.
async fn drain(
    bmc: &dyn BmcClient,
    record: &HostRecord,
    target: &Target<'_>,
    last: &str,
    off: bool,
) -> Result<Vec<Found>, ActionError> {
    if last == "off" && off {
        match bmc.reset(target.bmc, ResetType::PowerCycle).await {
            Ok(()) => return Ok(remembered(record, target, ResetType::PowerCycle)),
            // Without an AC cycle the time it stays off has to do.
            Err(BmcError::Unsupported { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    } else if last != "ac_cycle" {
        bmc.reset(target.bmc, ResetType::ForceOff).await?;
        return Ok(remembered(record, target, ResetType::ForceOff));
    }
    bmc.reset(target.bmc, ResetType::On).await?;
    let mut found = remembered(record, target, ResetType::On);
    let known = record.findings.get(target.id).into_iter().flatten();
    let left = known.filter(|finding| finding.is(DRAINS_LEFT)).find_map(|finding| finding.value.as_i64());
    found.push(Found::new(target.id, DRAINS_LEFT, (left.unwrap_or(1) - 1).max(0)));
    Ok(found)
}

/// The MAC that a host boots over; DPUs boot over ports of their own.
fn boot_mac<'r>(record: &'r HostRecord, target: &Target<'_>) -> Option<&'r str> {
    Some(record.host.mac.as_str()).filter(|mac| target.of_host && !mac.is_empty())
}

async fn restarted(
    bmc: &dyn BmcClient,
    record: &HostRecord,
    target: &Target<'_>,
    restart: bool,
) -> Result<Vec<Found>, ActionError> {
    if !restart {
        return Ok(Vec::new());
    }
    bmc.reset(target.bmc, ResetType::ForceRestart).await?;
    Ok(remembered(record, target, ResetType::ForceRestart))
}

/// Takes the power away and gives it back, as a whole: with the BMC's own command, or step by step where it has none.
/// The machine is on afterwards, whatever it was before.
async fn power_cycle(bmc: &dyn BmcClient, target: &Target<'_>) -> Result<(), ActionError> {
    let was_off = bmc.system(target.bmc).await?.power == Some(PowerState::Off);
    match bmc.reset(target.bmc, ResetType::PowerCycle).await {
        Err(BmcError::Unsupported { .. }) => {}
        // BMCs differ in what they give back to a machine that was off.
        Ok(()) if was_off => return Ok(bmc.reset(target.bmc, ResetType::On).await?),
        done => return Ok(done?),
    }
    bmc.reset(target.bmc, ResetType::ForceOff).await?;
    let deadline = Instant::now() + LONGEST_OFF;
    while bmc.system(target.bmc).await?.power != Some(PowerState::Off) {
        if Instant::now() > deadline {
            return Err(ActionError::NotOff { seconds: LONGEST_OFF.as_secs() });
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(bmc.reset(target.bmc, ResetType::On).await?)
}

/// The host's BMC first, then one DPU's an evaluation; those that are done are remembered.
async fn factory_reset(bmc: &dyn BmcClient, record: &HostRecord) -> Result<Vec<Found>, ActionError> {
    let host = &record.host;
    let mut known = record.findings.get(&host.id).into_iter().flatten();
    let done = known.find(|finding| finding.is(FindingId::FACTORY_RESET)).map(|finding| finding.value.clone());
    let mut done: Vec<String> = done.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
    let all = [(&host.id, &host.bmc)].into_iter().chain(record.dpus.iter().map(|dpu| (&dpu.id, &dpu.bmc)));
    let next =
        all.filter(|(_, bmc)| !bmc.url.is_empty()).find(|(id, _)| !done.iter().any(|known| known == id.as_str()));
    let Some((id, access)) = next else { return Ok(Vec::new()) };
    bmc.factory_reset_bmc(access).await?;
    done.push(id.to_string());
    Ok(vec![Found::new(&host.id, FindingId::FACTORY_RESET, json!(done))])
}

/// A power command as rules see it later. DPUs lose power with their host.
fn remembered(record: &HostRecord, target: &Target<'_>, reset: ResetType) -> Vec<Found> {
    let (word, restarts, power_lost) = match reset {
        ResetType::On => ("on", false, true),
        ResetType::ForceOff | ResetType::GracefulShutdown => ("off", false, true),
        ResetType::ForceRestart | ResetType::GracefulRestart => ("restart", true, false),
        ResetType::PowerCycle => ("ac_cycle", true, true),
    };
    let mut found = Vec::new();
    if target.of_host {
        found.push(Found::new(target.id, rules::Bmc::last_power_request, word));
        if power_lost {
            found.extend(record.dpus.iter().map(|dpu| Found::new(&dpu.id, FindingId::RESTART, true)));
        }
    }
    if restarts || !target.of_host {
        found.push(Found::new(target.id, FindingId::RESTART, true));
    }
    found
}

/// A text argument.
pub(super) fn text<'a>(action: &'a Action, argument: &'static str) -> Result<&'a str, ActionError> {
    match action.args.get(argument) {
        Some(Argument::Text(text)) => Ok(text),
        _ => Err(ActionError::Argument { action: action.name.to_string(), argument, what: "a text" }),
    }
}

/// An argument of texts; one text counts as a list of one.
pub(super) fn texts(action: &Action, argument: &str) -> Vec<String> {
    match action.args.get(argument) {
        Some(Argument::Texts(texts)) => texts.iter().map(ToString::to_string).collect(),
        Some(Argument::Text(text)) if !text.is_empty() => vec![text.to_string()],
        _ => Vec::new(),
    }
}
