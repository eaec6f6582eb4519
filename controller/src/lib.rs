//! The site controller: what hosts, DPUs, VPCs and instances there are and are meant to be, and who may change them.
//!
//! Requests and reports enter through the gRPC handlers, are kept by the store, and mark their host dirty. The
//! reconciler alone moves hosts from state to state, as the rules decide.

mod dirty;
mod ids;
mod moment;
pub mod store;

pub use dirty::DirtyHosts;
pub use ids::{InstanceId, VpcId, VpcPrefixId};
pub use moment::Moment;
