//! A whole site on this machine: the real controller and agents as processes, simulated DPUs and hosts around them.

mod binaries;
mod certificates;
mod layout;
mod operate;
mod process;
mod running;
mod tools;
mod wait;

pub use binaries::Binaries;
pub use layout::{DpuPlan, HostPlan, SitePlan};
pub use process::Process;
pub use running::{Site, on_site};
pub use wait::until;
