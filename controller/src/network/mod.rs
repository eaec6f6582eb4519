//! Networks: what the site gives out, to whom, and what a DPU is therefore to run.
//!
//! [`desired`] is pure: rows in, the agent's configuration out. The rest gives numbers and addresses out in the caller's
//! transaction, so that nothing is held unless the whole request succeeds.

mod addresses;
mod admission;
mod adopt;
mod allocate;
mod desired;
mod link;
mod pools;
mod renew;
mod security;
mod settings;
mod vpc;
mod vpc_holders;

pub use addresses::{AddressError, give_admin_address, give_loopback};
pub(crate) use addresses::{is_host_address, overlap};
pub use admission::{DesiredInterface, InterfaceFault, desired_interfaces};
pub use adopt::{AdoptError, adopt_settings};
pub use allocate::allocate_interfaces;
pub use desired::{DesiredInput, desired_config};
pub use link::{HostSide, host_side};
pub use pools::{PoolError, give_asn};
pub use security::{
    SecurityGroupError, attach_security_group, check_security_group, delete_security_group, put_security_group,
};
pub use settings::{AdminSegment, Isolation, RouteTarget, RoutedVpcs, RoutingProfile, SiteNetwork};
pub use vpc::{VpcError, create_vpc, delete_vpc, peer_vpcs};
