use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One BMC and the system behind it.
#[derive(Debug)]
pub(super) struct Bmc {
    pub(super) system: String,
    pub(super) host: Option<String>,
    /// File that says what is to go wrong.
    pub(super) faults: PathBuf,
    pub(super) controller_file: PathBuf,
    pub(super) username: String,
    pub(super) password: String,
    pub(super) boot: Duration,
    pub(super) poll: Duration,
    pub(super) state: Mutex<State>,
}

/// What changes about a system.
#[derive(Debug)]
pub(super) struct State {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    On,
    Off,
    PoweringOn,
}

/// What is to go wrong with a BMC: the content of its faults file, which may change at any time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BmcFaults {
    /// How many resets are refused, counted from the start of the simulation.
    pub refuse_resets: u32,
    /// Seconds that every answer takes.
    pub slow_secs: f64,
    /// The system never comes up.
    pub never_boots: bool,
    /// The host comes up and says nothing.
    pub silent: bool,
}

/// A system as `GET /sim` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BmcView {
    /// `On`, `Off` or `PoweringOn`.
    pub power: String,
    /// The resets that were carried out, oldest first.
    pub resets: Vec<String>,
    /// What is to go wrong.
    pub faults: BmcFaults,
}

impl Default for State {
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

/// Outcome of a reset.
pub(super) enum Reset {
    /// The system starts; the boot of this generation is under way.
    Boots(u64),
    /// Nothing boots.
    Done,
    Refused,
    Unknown,
}

impl Bmc {
    /// Runs `change` on the state.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is to go wrong now; nothing, if there is no such file.
    pub(super) fn faults(&self) -> BmcFaults {
        let text = fs::read_to_string(&self.faults).unwrap_or_default();
        toml::from_str(&text).unwrap_or_else(|error| {
            eprintln!("{}: {error}", self.faults.display());
            BmcFaults::default()
        })
    }

    pub(super) fn reset(&self, kind: &str) -> Reset {
        let faults = self.faults();
        self.with(|state| {
            if state.refused < faults.refuse_resets {
                state.refused += 1;
                return Reset::Refused;
            }
            let power = match kind {
                "On" | "ForceOn" | "ForceRestart" | "GracefulRestart" | "PowerCycle" => Power::PoweringOn,
                "ForceOff" | "GracefulShutdown" => Power::Off,
                _ => return Reset::Unknown,
            };
            state.resets.push(kind.to_owned());
            if matches!(kind, "On" | "ForceOn") && state.power != Power::Off {
                return Reset::Done;
            }
            state.power = power;
            state.generation += 1;
            state.last_reset = Some(prost_types::Timestamp::from(std::time::SystemTime::now()).to_string());
            if power == Power::Off || faults.never_boots { Reset::Done } else { Reset::Boots(state.generation) }
        })
    }

    /// Ends the boot of this generation. False if another power change overtook it.
    pub(super) fn is_up(&self, generation: u64) -> bool {
        self.with(|state| {
            let same = state.generation == generation;
            if same {
                state.power = Power::On;
                state.booted_secure = state.secure_boot;
            }
            same
        })
    }

    pub(super) fn view(&self) -> BmcView {
        let faults = self.faults();
        self.with(|state| BmcView { power: state.power.word().into(), resets: state.resets.clone(), faults })
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
        self.with(|state| {
            json!({
                "@odata.id": "/redfish/v1/Systems/1",
                "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
                "Id": "1",
                "Name": self.system,
                "SystemType": "Physical",
                "Manufacturer": "Simulated",
                "BootProgress": { "LastState": if state.power == Power::On { "OSRunning" } else { "None" } },
                "PowerState": state.power.word(),
                "LastResetTime": state.last_reset,
                "Status": { "State": "Enabled", "Health": "OK" },
                "Boot": state.boot_override,
                "SecureBoot": { "@odata.id": "/redfish/v1/Systems/1/SecureBoot" },
                "Actions": { "#ComputerSystem.Reset": {
                    "target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
                    "ResetType@Redfish.AllowableValues":
                        ["On", "ForceOff", "ForceRestart", "GracefulRestart", "GracefulShutdown", "PowerCycle"],
                } },
            })
        })
    }
}

impl Power {
    fn word(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::Off => "Off",
            Self::PoweringOn => "PoweringOn",
        }
    }
}
