//! Real parts to run against: routers, DHCP servers, a database, a BMC.
//!
//! `tests/install` puts them on the machine. A test names the parts it needs with [`missing`] and returns if one is not
//! there; its own name says what it needs. Everything a test starts lives in a [`Lab`]: network namespaces and a
//! directory of its own, which are gone when the lab is dropped, also after a panic. Nothing leaves the machine.

#![allow(clippy::expect_used, clippy::panic, reason = "a harness fails the test that it works for")]

mod agent;
mod dhcp;
mod disk;
mod fabric;
mod frr;
mod lab;
mod parts;
mod postgres;
mod redfish;
mod scripted;

use crate::Process;

pub use agent::{AgentProcess, AgentSetup, DPU_ID, parsed};
pub use dhcp::{DhcpService, HostClient, Lease, ServerKind};
pub use disk::{Ballast, SmallDisk};
pub use fabric::{DPU_LOOPBACK, Fabric, ROUTE_SERVER};
pub use frr::Router;
pub use lab::Lab;
pub use parts::{Part, missing};
pub use postgres::{Postgres, SITE_TEST_POSTGRES};
pub use redfish::{Emulator, EmulatorSettings};
pub use scripted::{ScriptedController, admin_answer};

/// A process that runs now.
///
/// # Panics
/// If it does not start.
fn started(mut process: Process) -> Process {
    process.start().expect("a program that starts");
    process
}

/// Fails the test if a process has ended, with what it printed.
///
/// # Panics
/// If it has ended.
fn must_run(process: &mut Process) {
    assert!(process.is_running(), "it has ended:\n{}", process.tail(usize::MAX));
}
