//! Routing profiles and route targets.

use std::fmt;

use proto::{
    common,
    forge::{self, PrefixFilterPolicyEntry},
};

use super::{ConfigError, Prefix, field::networks};

/// A BGP route target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RouteTarget {
    pub(crate) asn: u32,
    pub(crate) number: u32,
}

impl From<&common::RouteTarget> for RouteTarget {
    fn from(message: &common::RouteTarget) -> Self {
        Self { asn: message.asn, number: message.vni }
    }
}

impl fmt::Display for RouteTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.asn, self.number)
    }
}

/// What routes a VPC takes and gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoutingProfile {
    pub(crate) imports: Vec<RouteTarget>,
    pub(crate) exports: Vec<RouteTarget>,
    pub(crate) leak_default_route: bool,
    pub(crate) leak_host_routes: bool,
    pub(crate) leak_communities: bool,
    pub(crate) accepted_leaks: Vec<Prefix>,
    pub(crate) anycast: Vec<Prefix>,
}

impl RoutingProfile {
    pub(super) fn parse(at: impl fmt::Display, message: &forge::RoutingProfile) -> Result<Self, ConfigError> {
        Ok(Self {
            imports: message.route_target_imports.iter().map(RouteTarget::from).collect(),
            exports: message.route_targets_on_exports.iter().map(RouteTarget::from).collect(),
            leak_default_route: message.leak_default_route_from_underlay,
            leak_host_routes: message.leak_tenant_host_routes_to_underlay,
            leak_communities: message.tenant_leak_communities_accepted,
            accepted_leaks: entries(
                format_args!("{at}.accepted_leaks_from_underlay"),
                &message.accepted_leaks_from_underlay,
            )?,
            anycast: entries(format_args!("{at}.allowed_anycast_prefixes"), &message.allowed_anycast_prefixes)?,
        })
    }
}

/// The prefixes of a filter policy.
pub(super) fn entries(at: impl fmt::Display, entries: &[PrefixFilterPolicyEntry]) -> Result<Vec<Prefix>, ConfigError> {
    networks(at, entries.iter().map(|entry| entry.prefix.as_str()))
}
