//! The vocabulary at the bottom: values that the rules, the controller, the agent and the wire protocol all speak of.
//!
//! Every crate may use this one, and this one uses none of them. Texts are parsed here, once, into types that cannot
//! hold nonsense.

mod config_version;
mod health;
mod machine_id;
mod nearest;
mod nesting;
mod printable;
mod regular_file;
mod timestamp;

pub use config_version::{ConfigVersion, ConfigVersionError};
pub use health::{HealthAlert, HealthReport, HealthSuccess};
pub use machine_id::{MachineId, MachineIdError, MachineKind};
pub use nearest::{did_you_mean, nearest};
pub use nesting::{MOST_LEVELS, nesting};
pub use printable::{one_line, printable};
pub use regular_file::{read_file, read_text};
pub use timestamp::Timestamp;
