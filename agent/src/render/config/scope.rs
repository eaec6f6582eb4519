//! Which parts of a response are read at all.

use proto::forge::ResolvedNetworkSecurityGroupRule;

use super::{Network, Virtualization};

/// Which parts of a message are rendered. The others are not read, so that a fault in them cannot block a quarantine or a
/// return to the admin network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    pub(super) network: Network,
    pub(super) virtualization: Virtualization,
    pub(super) quarantined: bool,
}

impl Scope {
    pub(super) fn is_fnn(self) -> bool {
        self.virtualization == Virtualization::Fnn
    }

    /// The admin network of ETV has no access lists but those of a quarantine.
    fn has_access_lists(self) -> bool {
        self.is_fnn() || !self.network.is_admin()
    }

    /// Prefixes that are used in access lists only.
    pub(super) fn listed(self, prefixes: &[String]) -> &[String] {
        if self.has_access_lists() { prefixes } else { &[] }
    }

    /// The site's overrides, unless a quarantine takes their place.
    pub(super) fn overrides(self, rules: &[ResolvedNetworkSecurityGroupRule]) -> &[ResolvedNetworkSecurityGroupRule] {
        if self.has_access_lists() && !self.quarantined { rules } else { &[] }
    }

    /// Whether security groups decide on any traffic: on the admin network they are attached to nothing, and a quarantine
    /// denies everything before them.
    pub(super) fn groups_decide(self) -> bool {
        !self.network.is_admin() && !self.quarantined
    }
}
