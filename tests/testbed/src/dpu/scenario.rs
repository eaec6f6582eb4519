use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ProgramState;

/// What is to go wrong on a simulated DPU: the content of its `scenario.toml`. The default is a DPU without faults.
///
/// ```
/// let scenario: testbed::Scenario = toml::from_str(r#"
///     [bgp.peers]
///     p0_if = "Active"
///     [[nv.fault]]
///     on = "apply"
///     kind = "exit_zero_error"
///     times = 1
/// "#)?;
/// assert_eq!(scenario.bgp.peers["p0_if"], "Active");
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// What `nv` does.
    pub nv: NvScenario,
    /// What `vtysh` sees.
    pub bgp: BgpScenario,
    /// Programs under the supervisor that are in another state than they were put in.
    pub services: BTreeMap<String, ProgramState>,
}

/// What `nv` does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NvScenario {
    /// Applying also saves, as from Cumulus Linux 5.9 on.
    pub auto_save: bool,
    /// Seconds that a good apply takes.
    pub apply_secs: f64,
    /// A password is configured outside the file, which every diff shows masked.
    pub masked_secret: bool,
    /// A warning that apply prints; without `-y` it then asks.
    pub warning: Option<String>,
    /// Faults, the first that fits strikes.
    #[serde(rename = "fault")]
    pub faults: Vec<Fault>,
}

impl Default for NvScenario {
    fn default() -> Self {
        Self { auto_save: true, apply_secs: 0.0, masked_secret: false, warning: None, faults: Vec::new() }
    }
}

/// A fault of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The step that fails.
    pub on: Step,
    /// How it fails.
    pub kind: FaultKind,
    /// How often it strikes before it is used up; absent for always.
    #[serde(default)]
    pub times: Option<u32>,
    /// Reason that is printed with a refusal.
    #[serde(default)]
    pub reason: Option<String>,
    /// Seconds that a hang lasts.
    #[serde(default)]
    pub secs: f64,
}

/// A step of `nv` that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `nv config replace` and `nv config patch`.
    Replace,
    /// `nv config diff`.
    Diff,
    /// `nv config apply`.
    Apply,
    /// `nv config apply --confirm-yes`.
    Confirm,
    /// `nv config apply --confirm-no`.
    RollBack,
    /// `nv config detach`.
    Detach,
    /// `nv show` and `nv config show`, `history`, `revision`.
    Show,
}

/// How a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The configuration is refused, nothing changes.
    Refuse,
    /// As a refusal, with exit status 0.
    ExitZeroError,
    /// The step sleeps for `secs`, then goes on.
    Hang,
    /// A part of the configuration is applied, then it fails.
    HalfApplied,
    /// NVUE's daemon is not there.
    NvuedDown,
    /// NVUE's daemon goes away after the step took effect.
    DiesApplied,
    /// The step takes effect, and then fails in words that do not say how far it came.
    FailsApplied,
    /// NVUE's daemon goes away before the configuration took effect.
    DiesUnapplied,
}

/// What `vtysh` sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BgpScenario {
    /// State of FRR.
    pub daemon: Daemon,
    /// Seconds from a peer's configuration to an established session.
    pub settle_secs: f64,
    /// State of a peer in FRR's words (`Idle`, `Active`, `Established`, ...), by name. Peers of a host are `Active`
    /// unless named here, all others `Established`.
    pub peers: BTreeMap<String, String>,
    /// Uplinks are down while the running configuration has something at this path: a change that cuts the DPU off.
    pub cut_while: Option<Vec<String>>,
    /// Peers that FRR has although the configuration does not name them.
    pub unexpected: Vec<String>,
    /// Peers that came in by a listen range.
    pub dynamic_peers: u32,
}

impl Default for BgpScenario {
    fn default() -> Self {
        Self {
            daemon: Daemon::Running,
            settle_secs: 0.0,
            peers: BTreeMap::new(),
            cut_while: None,
            unexpected: Vec::new(),
            dynamic_peers: 0,
        }
    }
}

/// State of FRR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Daemon {
    /// All daemons run.
    #[default]
    Running,
    /// `bgpd` is missing.
    BgpdDown,
    /// No daemon runs.
    AllDown,
}
