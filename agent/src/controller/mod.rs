//! The link to the site controller: the connection and its certificate, the request for the desired configuration, and the
//! report. Only the room `agent` calls it; `desired` takes the [`Instruction`] that a response amounts to.

mod certificate;
mod connection;
mod fetch;
mod renewal;
mod report;
mod retry;

pub(crate) use connection::Controller;
pub(crate) use fetch::{Instruction, Isolation, Response};
pub(crate) use renewal::Renewal;
pub(crate) use report::Report;
pub(crate) use retry::Retry;
