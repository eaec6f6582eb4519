//! Which access lists a configuration needs beside those of its VPCs.

use super::acl::{self, Acl, IpFamily};
use crate::render::{
    NetworkConfig, RenderError,
    config::{Direction, SecurityGroup},
};

/// Lists and the ends of a port they belong to.
pub(super) type Sided = Vec<(Direction, Acl)>;

/// The site's overrides; a quarantine takes their place.
pub(super) fn overrides(config: &NetworkConfig) -> Result<Sided, RenderError> {
    let name = |direction, family: IpFamily| {
        let side = match direction {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        };
        format!("p0004_security_policy_override_{}_host_{side}", family.name())
    };
    if config.quarantined { acl::quarantine(name) } else { acl::overrides(&config.overrides, name) }
}

/// The tenant's groups as one, for a host whose networks share one VRF.
pub(super) fn merged(config: &NetworkConfig) -> Result<Sided, RenderError> {
    let groups: Vec<&SecurityGroup> = config.security_groups.iter().collect();
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    acl::security(&groups, config.stateful_acls, |direction, family| {
        let side = match direction {
            Direction::Egress => "in",
            Direction::Ingress => "out",
        };
        format!("p0005_security_group_{}_{side}", family.name())
    })
}

/// The lists of one of the tenant's groups.
pub(super) fn group(config: &NetworkConfig, number: usize, group: &SecurityGroup) -> Result<Sided, RenderError> {
    acl::security(&[group], config.stateful_acls, |direction, family| {
        let side = match direction {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        };
        format!("p0005_{number}_security_group_{}_host_{side}", family.name())
    })
}

/// Names of lists by the side of the port they are attached to.
#[derive(Default)]
pub(super) struct Attached {
    pub(super) inbound: Vec<String>,
    pub(super) outbound: Vec<String>,
}

impl Attached {
    /// What the host sends passes inbound lists.
    pub(super) fn add(&mut self, direction: Direction, acl: &Acl) {
        match direction {
            Direction::Egress => self.inbound.push(acl.name.clone()),
            Direction::Ingress => self.outbound.push(acl.name.clone()),
        }
    }
}
