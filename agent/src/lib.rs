//! The DPU agent: one straight line that runs every 30 s.
//!
//! fetch → render → plan → apply → check → report. Rendering, planning, parsing and judging health are pure; commands,
//! files and the network are touched at the rim only. What the DPU runs is known from a marker that is written after a
//! confirmed apply, never from a file that was only written.

mod agent;
mod apply;
mod certificate;
mod config;
mod container;
mod controller;
mod fetch;
mod health;
mod intent;
mod last_request;
pub mod lint;
mod marker;
mod observe;
pub mod parse;
mod plan;
mod private_file;
mod proof;
mod release;
pub mod render;
mod render_guard;
mod renewal;
mod report;
mod retry;
mod sole;
mod status;
mod wanted;

pub use agent::{Agent, AgentError, Pass};
pub use config::{ConfigFault, LogFormat, Settings};
pub use health::{Findings, Severity};
pub use private_file::MOST_BYTES;
pub use sole::Sole;
pub use status::{Runs, Said, StatusFile};
