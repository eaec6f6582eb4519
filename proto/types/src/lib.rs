//! The vocabulary at the bottom: values that the rules, the controller, the agent and the wire protocol all speak of.
//!
//! Every crate may use this one, and this one uses none of them. Texts are parsed here, once, into types that cannot
//! hold nonsense.

mod config_version;
mod health;
mod machine_id;
mod nearest;
mod timestamp;

pub use config_version::{ConfigVersion, ConfigVersionError};
pub use health::{HealthAlert, HealthReport, HealthSuccess};
pub use machine_id::{MachineId, MachineIdError, MachineKind};
pub use nearest::{did_you_mean, nearest};
pub use timestamp::Timestamp;
