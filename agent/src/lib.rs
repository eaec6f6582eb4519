//! The DPU agent: one straight line that runs every 30 s.
//!
//! fetch → render → plan → apply → check → report. Rendering, planning, parsing and judging health are pure; commands,
//! files and the network are touched at the edges. What the DPU runs is known from a marker that is written after a
//! confirmed apply, never from a file that was only written.
//!
//! A room calls only rooms below it:
//!
//! ```text
//! agent                                   one pass after the other
//! apply                                   makes the DPU run a target
//! desired                                 what the controller wants, and the files for it
//! controller                              the link to the site
//! health                                  probes
//! hbn                                     HBN as it is
//! state                                   what survives a restart
//! config                                  the configuration file
//! render, lint                            files from a response, and faults in them
//! parse                                   readers of what commands print
//! ```

mod agent;
mod apply;
mod config;
mod controller;
mod desired;
mod hbn;
mod health;
pub mod lint;
pub mod parse;
pub mod render;
mod state;

pub use agent::{Agent, AgentError, Pass};
pub use config::{ConfigFault, LogFormat, Settings};
pub use health::{PREVENT_ALLOCATIONS, PREVENT_HOST_STATE_CHANGES};
pub use state::{LastResponse, MAX_FILE_BYTES, Runs, StateDirLock, StatusFile};
