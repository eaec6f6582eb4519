//! What the tests of all crates and the demo stand on: DPUs and hosts that are simulated, everything else real.
//!
//! [`DpuDir`] and what goes with it is a DPU without hardware, whose `nv`, `vtysh` and `supervisorctl` are programs of
//! this crate. [`SimBmc`] is a BMC in the test's own process, [`MakerBmc`] one of a maker, [`serve_bmcs`] a rack of hosts behind theirs. [`Site`] starts
//! the real controller and agents around them. [`real`] has the real parts: routers, DHCP servers, a database, a BMC.
//! [`Process`] runs whatever is a program, [`until`] waits, and [`host_id`] and its neighbours name the machines. [`check_rooms`]
//! holds a crate's rooms to their order.

mod dpu;
mod host;
mod names;
mod process;
pub mod real;
mod rooms;
mod site;
mod wait;

pub use dpu::{
    Answer, BgpScenario, DHCP_PROGRAM, DPU_DIR, Daemon, DpuDir, Fault, FaultKind, HostSide, NvArgs, NvScenario,
    Program, ProgramState, Revisions, Scenario, Services, Session, Step, Tree, run_nv, run_supervisorctl, run_vtysh,
    sessions,
};
pub use host::{BmcFaults, BmcView, MakerBmc, MakerFaults, Power, SimBmc, SimHostConfig, SystemConfig, serve_bmcs};
pub use names::{BMC_PASSWORD, BMC_USER, dpu_id, dpu_name, host_id, host_name};
pub use process::Process;
pub use rooms::{Room, check_rooms};
pub use site::{
    Binaries, DpuPlan, HostPlan, SECS, Site, SitePlan, is_acknowledged, is_current, on_prepared, on_site, workspace,
};
pub use wait::{block_until, until};
