//! HBN as it is: its commands, its container and release, NVUE's REST interface, and what it knows of the host. Nothing here
//! changes HBN; `apply` does, with the same commands. `agent`, `apply`, `health` and `controller` call it.

mod command;
mod container;
mod host_ports;
mod last_request;
mod nvue_http;
mod release;

pub(crate) use command::{CommandFault, CommandOutput, CommandResult, run};
pub(crate) use container::HbnContainer;
pub(crate) use host_ports::HostPorts;
pub(crate) use last_request::last_dhcp_requests;
pub(crate) use nvue_http::{HttpFault, Reply, answers as nvue_answers, send};
pub(crate) use release::Release;
