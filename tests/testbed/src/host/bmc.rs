//! A BMC and the system behind it, without the service in front: its power, its settings, and what is to go wrong. Only
//! the rooms beside this one call it.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One BMC and the system behind it.
#[derive(Debug)]
pub(super) struct Bmc {
    pub(super) system: String,
    /// The host that reports to a controller once it is up. Nobody reports for the others.
    pub(super) host: Option<BootedAs>,
    /// Time from power on to a running system.
    pub(super) boot: Duration,
    pub(super) faults: FaultSource,
    pub(super) state: Mutex<SystemState>,
    pub(super) requests: AtomicUsize,
}

/// Who a booted system is, and to whom it reports.
#[derive(Debug, Clone)]
pub(super) struct BootedAs {
    pub(super) host: String,
    /// File with the address of the controller.
    pub(super) controller_file: PathBuf,
    /// Time between two looks at what it should do.
    pub(super) poll: Duration,
}

/// Where a BMC finds what is to go wrong with it.
#[derive(Debug)]
pub(super) enum FaultSource {
    /// In a file that may not be there, which a test in another process writes.
    File(PathBuf),
    /// Here, for tests in this process.
    Memory(Mutex<BmcFaults>),
}

/// What changes about a system.
#[derive(Debug)]
pub(super) struct SystemState {
    power: Power,
    /// Counts power changes, so that a boot knows when it was overtaken.
    pub(super) generation: u64,
    resets: Vec<String>,
    last_reset: Option<String>,
    /// When each task began.
    tasks: Vec<Instant>,
    pub(super) boot_override: Value,
    pub(super) secure_boot: bool,
    /// The setting that the system booted with.
    pub(super) booted_secure: bool,
    refused: u32,
}

/// Power state of a simulated system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Power {
    /// It runs.
    On,
    /// It does not.
    Off,
    /// It boots.
    PoweringOn,
}

/// What is to go wrong with a BMC; it may change at any time. In a file it is TOML.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BmcFaults {
    /// Every request is refused, with 503.
    pub down: bool,
    /// No request is answered.
    pub hangs: bool,
    /// Seconds that every answer takes.
    pub slow_secs: f64,
    /// How many resets are refused, counted from the start of the simulation.
    pub refuse_resets: u32,
    /// Resets wait while this is set, and are carried out then.
    pub holds_resets: bool,
    /// It says that it has no power cycle, as iLO and XCC do.
    pub lacks_power_cycle: bool,
    /// A system that is off shows as on its way down.
    pub never_quite_off: bool,
    /// It tells the power state and no more: neither when it was last reset nor which resets it has.
    pub terse: bool,
    /// The system never comes up.
    pub never_boots: bool,
    /// The host comes up and says nothing.
    pub silent: bool,
}

/// A system as `GET /sim` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BmcView {
    /// Its power.
    pub power: Power,
    /// The resets that were carried out, oldest first.
    pub resets: Vec<String>,
    /// What is to go wrong.
    pub faults: BmcFaults,
}

impl Default for SystemState {
    fn default() -> Self {
        Self {
            power: Power::On,
            generation: 0,
            resets: Vec::new(),
            last_reset: None,
            tasks: Vec::new(),
            boot_override: json!({ "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None" }),
            secure_boot: false,
            booted_secure: false,
            refused: 0,
        }
    }
}

impl SystemState {
    fn come_up(&mut self) {
        self.power = Power::On;
        self.booted_secure = self.secure_boot;
    }
}

/// Outcome of a reset.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reset {
    /// The system starts; the boot of this generation is under way.
    Boots(u64),
    /// Nothing boots.
    Done,
    Refused,
    Unknown,
}

/// Resets that a BMC has, for those that ask.
const RESETS: [&str; 6] = ["On", "ForceOff", "ForceRestart", "GracefulRestart", "GracefulShutdown", POWER_CYCLE];
const POWER_CYCLE: &str = "PowerCycle";

impl Bmc {
    pub(super) fn new(system: &str, host: Option<BootedAs>, boot: Duration, faults: FaultSource) -> Self {
        Self { system: system.into(), host, boot, faults, state: Mutex::default(), requests: AtomicUsize::new(0) }
    }

    /// Runs `change` on the state.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut SystemState) -> T) -> T {
        change(&mut locked(&self.state))
    }

    /// What is to go wrong now; nothing, if there is no such file.
    pub(super) fn faults(&self) -> BmcFaults {
        let file = match &self.faults {
            FaultSource::Memory(faults) => return locked(faults).clone(),
            FaultSource::File(file) => file,
        };
        let text = fs::read_to_string(file).unwrap_or_default();
        toml::from_str(&text).unwrap_or_else(|error| {
            eprintln!("{}: {error}", file.display());
            BmcFaults::default()
        })
    }

    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn reset(&self, kind: &str) -> Reset {
        let faults = self.faults();
        self.with(|state| {
            if state.refused < faults.refuse_resets {
                state.refused += 1;
                return Reset::Refused;
            }
            let power = match kind {
                // It gives back the state that it found.
                POWER_CYCLE if state.power == Power::Off => Power::Off,
                "On" | "ForceOn" | "ForceRestart" | "GracefulRestart" | POWER_CYCLE => Power::PoweringOn,
                "ForceOff" | "GracefulShutdown" => Power::Off,
                _ => return Reset::Unknown,
            };
            state.resets.push(kind.to_owned());
            if matches!(kind, "On" | "ForceOn") && state.power != Power::Off {
                return Reset::Done;
            }
            state.power = power;
            state.generation += 1;
            state.last_reset = Some(prost_types::Timestamp::from(SystemTime::now()).to_string());
            if power == Power::Off || faults.never_boots {
                return Reset::Done;
            }
            if self.boot.is_zero() {
                state.come_up();
            }
            Reset::Boots(state.generation)
        })
    }

    /// Ends the boot of this generation. False if another power change overtook it.
    pub(super) fn is_up(&self, generation: u64) -> bool {
        self.with(|state| {
            let same = state.generation == generation;
            if same {
                state.come_up();
            }
            same
        })
    }

    pub(super) fn view(&self) -> BmcView {
        let faults = self.faults();
        self.with(|state| BmcView { power: state.power, resets: state.resets.clone(), faults })
    }

    /// Turns the system off without a reset, as somebody at its button would.
    pub(super) fn turn_off(&self) {
        self.with(|state| state.power = Power::Off);
    }

    /// Begins a task and gives its number.
    pub(super) fn start_task(&self) -> usize {
        self.with(|state| {
            state.tasks.push(Instant::now());
            state.tasks.len() - 1
        })
    }

    /// How much of a task is done.
    pub(super) fn task_percent(&self, number: usize) -> Option<u8> {
        let began = self.with(|state| state.tasks.get(number).copied())?;
        let share = began.elapsed().as_secs_f64() / self.boot.as_secs_f64().max(0.001);
        Some((share * 100.0).min(100.0) as u8)
    }

    /// The system as a Redfish resource.
    pub(super) fn resource(&self) -> Value {
        let faults = self.faults();
        let resets: Vec<_> =
            RESETS.into_iter().filter(|reset| !faults.lacks_power_cycle || *reset != POWER_CYCLE).collect();
        let mut reset = json!({ "target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset" });
        if !faults.terse || faults.lacks_power_cycle {
            reset["ResetType@Redfish.AllowableValues"] = json!(resets);
        }
        let actions = json!({ "#ComputerSystem.Reset": reset });
        self.with(|state| {
            let power = match state.power {
                Power::Off if faults.never_quite_off => "PoweringOff",
                Power::Off => "Off",
                Power::On => "On",
                Power::PoweringOn => "PoweringOn",
            };
            if faults.terse {
                return json!({ "PowerState": power, "Actions": actions });
            }
            json!({
                "@odata.id": "/redfish/v1/Systems/1",
                "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
                "Id": "1",
                "Name": self.system,
                "SystemType": "Physical",
                "Manufacturer": "Simulated",
                "BootProgress": { "LastState": if state.power == Power::On { "OSRunning" } else { "None" } },
                "PowerState": power,
                "LastResetTime": state.last_reset,
                "Status": { "State": "Enabled", "Health": "OK" },
                "Boot": state.boot_override,
                "SecureBoot": { "@odata.id": "/redfish/v1/Systems/1/SecureBoot" },
                "Actions": actions,
            })
        })
    }
}

/// What a mutex holds, also after a panic: a test that failed says why by itself.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_change_the_power_as_a_bmc_does() {
        use Power::{Off, On, PoweringOn};
        for (reset, from, outcome, to) in [
            ("ForceRestart", On, Reset::Boots(1), PoweringOn),
            ("ForceRestart", Off, Reset::Boots(1), PoweringOn),
            ("PowerCycle", On, Reset::Boots(1), PoweringOn),
            ("PowerCycle", Off, Reset::Done, Off),
            ("On", On, Reset::Done, On),
            ("On", Off, Reset::Boots(1), PoweringOn),
            ("ForceOff", On, Reset::Done, Off),
            ("Nmi", On, Reset::Unknown, On),
        ] {
            let bmc = Bmc::new("x", None, Duration::from_secs(1), FaultSource::Memory(Mutex::default()));
            if from == Off {
                bmc.turn_off();
            }
            assert_eq!((bmc.reset(reset), bmc.view().power), (outcome, to), "{reset} from {from:?}");
        }
    }
}
