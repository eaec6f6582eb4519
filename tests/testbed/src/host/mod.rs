//! Hosts that are not there, behind BMCs that are: each BMC is a Redfish service on a port of its own, and a restart
//! boots a host that asks the controller what to do and reports it, as the discovery image of a site does.

mod bmc;
mod boot;
mod config;
mod maker;
mod maker_service;
mod redfish;
mod serve;

pub(crate) use boot::controller_address;

pub use bmc::{BmcFaults, BmcView, Power};
pub use config::{SimHostConfig, SystemConfig};
pub use maker::{MakerBmc, MakerFaults};
pub use serve::{SimBmc, serve_bmcs};
