//! What the whole-system tests and the demo stand on: DPUs and hosts that are simulated, everything else real.
//!
//! [`DpuDir`] and what goes with it is a DPU without hardware, whose `nv`, `vtysh` and `supervisorctl` are programs of
//! this crate. [`serve_bmcs`] is a rack of hosts behind their BMCs. [`Site`] starts the real controller and agents
//! around them. [`real`] has the real parts: routers, DHCP servers, a database, a BMC.

mod dpu;
mod host;
pub mod real;
mod site;

pub use dpu::{
    Answer, BgpScenario, DHCP_PROGRAM, DPU_DIR, Daemon, DpuDir, Fault, FaultKind, HostSide, NvArgs, NvScenario,
    Program, ProgramState, Revisions, Scenario, Services, Session, Step, Tree, run_nv, run_supervisorctl, run_vtysh,
    sessions,
};
pub use host::{BmcFaults, BmcView, SimHostConfig, SystemConfig, serve_bmcs};
pub use site::{Binaries, DpuPlan, HostPlan, Process, Site, SitePlan, on_site, until};
