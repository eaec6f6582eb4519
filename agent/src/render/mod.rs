//! From a response of the controller to the files that make a DPU do what it says. `desired` and the command `render` call it.
//!
//! Everything here is a function of its arguments: the same response, environment and templates give the same bytes.
//! A response is parsed once, into [`NetworkConfig`]; what does not parse is refused with the name of the field. The
//! texts come from [`Templates`], which an operator can override.

mod config;
mod dhcp;
mod dialect;
mod environment;
mod files;
mod marks;
mod nvue;
mod statements;
mod templates;

pub use config::{Acknowledgement, ConfigError, NetworkConfig, Underlay};
pub use environment::{
    DhcpServer, DhcpServerError, DhcpSettings, Environment, HbnVersion, HbnVersionError, MetadataInterface,
};
pub use files::{ConfigFile, Dhcp, DhcpFiles, Expectations, RenderError, RenderedFiles, TenantPeer, files, isolated};
pub use templates::{TemplateError, Templates};
