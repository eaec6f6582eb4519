//! Power states and resets in Redfish's words.

use serde::{Deserialize, Serialize};

/// Power state of a system, as Redfish spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PowerState {
    /// Running.
    On,
    /// Not running.
    Off,
    /// On its way up.
    PoweringOn,
    /// On its way down.
    PoweringOff,
    /// Suspended.
    Paused,
}

impl PowerState {
    /// Redfish's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::Off => "Off",
            Self::PoweringOn => "PoweringOn",
            Self::PoweringOff => "PoweringOff",
            Self::Paused => "Paused",
        }
    }
}

/// What `ComputerSystem.Reset` is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ResetType {
    /// Power on.
    On,
    /// Power off at once.
    ForceOff,
    /// Restart at once.
    ForceRestart,
    /// Ask the operating system to restart.
    GracefulRestart,
    /// Ask the operating system to power off.
    GracefulShutdown,
    /// Take the power away for a moment.
    PowerCycle,
}

impl ResetType {
    /// Redfish's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::ForceOff => "ForceOff",
            Self::ForceRestart => "ForceRestart",
            Self::GracefulRestart => "GracefulRestart",
            Self::GracefulShutdown => "GracefulShutdown",
            Self::PowerCycle => "PowerCycle",
        }
    }

    /// What has to be asked of a system in this power state, or nothing if it is there already: a system that is off
    /// cannot be restarted, it is powered on instead.
    #[must_use]
    pub fn from_state(self, power: Option<PowerState>) -> Option<Self> {
        match (self, power) {
            (Self::On, Some(PowerState::On | PowerState::PoweringOn))
            | (Self::ForceOff | Self::GracefulShutdown, Some(PowerState::Off)) => None,
            (Self::ForceRestart | Self::GracefulRestart, Some(PowerState::Off)) => Some(Self::On),
            _ => Some(self),
        }
    }

    /// What does nearly the same on a BMC that lacks this type. Half of it is not the same: a power cycle has none.
    #[must_use]
    pub fn fallback(self) -> Option<Self> {
        match self {
            Self::GracefulRestart => Some(Self::ForceRestart),
            Self::GracefulShutdown => Some(Self::ForceOff),
            Self::On | Self::ForceOff | Self::ForceRestart | Self::PowerCycle => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_something_is_asked_for() {
        let (on, off) = (Some(PowerState::On), Some(PowerState::Off));
        for (wanted, power, asked) in [
            (ResetType::ForceRestart, on, Some(ResetType::ForceRestart)),
            (ResetType::ForceRestart, off, Some(ResetType::On)),
            (ResetType::ForceRestart, None, Some(ResetType::ForceRestart)),
            (ResetType::PowerCycle, off, Some(ResetType::PowerCycle)),
            (ResetType::On, on, None),
            (ResetType::On, Some(PowerState::PoweringOn), None),
            (ResetType::On, Some(PowerState::PoweringOff), Some(ResetType::On)),
            (ResetType::On, None, Some(ResetType::On)),
            (ResetType::ForceOff, off, None),
            (ResetType::ForceOff, Some(PowerState::PoweringOff), Some(ResetType::ForceOff)),
        ] {
            assert_eq!(wanted.from_state(power), asked, "{wanted:?} from {power:?}");
        }
    }
}
