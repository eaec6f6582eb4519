//! A whole site on this machine: the real controller and agents as processes, simulated DPUs and hosts around them.

mod binaries;
mod certificates;
mod expect;
mod layout;
mod operate;
mod running;
mod tools;

pub use binaries::{Binaries, workspace};
pub use expect::{SECS, is_acknowledged, is_current};
pub use layout::{DpuPlan, HostPlan, SitePlan};
pub use running::{Site, on_prepared, on_site};
