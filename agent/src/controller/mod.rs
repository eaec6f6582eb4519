//! The link to the site controller: the connection and its certificate, the request for the desired configuration, and the
//! report. Only the room `agent` calls it, through [`Site`]; `desired` takes the [`Instruction`] that a response amounts to.

mod certificate;
mod connection;
mod fetch;
mod renewal;
mod report;
mod retry;
mod site;

pub(crate) use fetch::Instruction;
pub(crate) use report::Report;
pub(crate) use retry::Retry;
pub(crate) use site::Site;
