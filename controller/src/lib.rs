//! The site controller: what hosts, DPUs, VPCs and instances there are and are meant to be, and who may change them.
//!
//! Requests and reports enter through the gRPC handlers, are kept by the store, and mark their host dirty. The
//! reconciler alone moves hosts from state to state, as the rules decide.

mod api;
mod config;
mod dirty;
mod host_spec;
mod ids;
mod inventory;
mod judge;
mod moment;
mod nearest;
pub mod network;
mod site_file;
pub mod store;

pub use api::forge::ForgeService;
pub use config::{Config, ConfigError, Log, LogFormat, Timing, Tls};
pub use dirty::DirtyHosts;
pub use host_spec::{SpecFault, check_hosts};
pub use ids::{InstanceId, VpcId, VpcPrefixId};
pub use inventory::{AddedHosts, add_hosts};
pub use judge::HostJudge;
pub use moment::Moment;
pub use site_file::{SiteFile, SiteFileError};
