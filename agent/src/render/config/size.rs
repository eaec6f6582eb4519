//! How large the configuration of one DPU may be. NVUE takes minutes for the limit set here, and the hardware's tables are
//! full long before. So a response that exceeds it is refused before anything is rendered.

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::{ConfigError, NetworkConfig, Port, Prefix, SecurityRule, Virtualization, field::fault};

/// Most rules of all access and prefix lists. A thousand prefixes on each of sixteen ports come to less, in two lists; what
/// is rendered of more does not fit into the memory that the agent's service may have.
const MAX_RULES: u64 = 35_000;

impl NetworkConfig {
    /// Names the field that most rules come of, if there are too many.
    pub(super) fn check_size(&self) -> Result<(), ConfigError> {
        let vpcs = match self.virtualization {
            Virtualization::Etv => 1,
            Virtualization::Fnn => self.ports.iter().map(|port| port.vpc_vni).collect::<BTreeSet<_>>().len() as u64,
        };
        let parts = [
            ("network_security_policy_overrides", expanded(&self.overrides)),
            (
                "tenant_interfaces[].network_security_group.rules",
                self.security_groups.iter().map(|group| expanded(&group.rules)).fold(0, u64::saturating_add),
            ),
            ("deny_prefixes", self.deny_prefixes.len() as u64),
            ("site_fabric_prefixes", vpcs * self.site_fabric_prefixes.len() as u64),
            ("tenant_interfaces[].vpc_prefixes", self.permits() * self.different(|port| &port.vpc_prefixes)),
            ("tenant_interfaces[].vpc_peer_prefixes", 2 * self.different(|port| &port.peer_prefixes)),
            ("anycast_site_prefixes", self.announcers() * self.anycast_site_prefixes.len() as u64),
            ("tenant_interfaces[].vpc_routing_profile", self.ports.iter().map(|port| self.of_profile(port)).sum()),
        ];
        let all = parts.iter().map(|(_, rules)| *rules).fold(0, u64::saturating_add);
        match parts.into_iter().max_by_key(|(_, rules)| *rules) {
            Some((field, most)) if all > MAX_RULES => {
                let most = if most == all { String::new() } else { format!("{most} of ") };
                Err(fault(
                    field,
                    format_args!("come to {most}{all} rules in access and prefix lists, more than {MAX_RULES}"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Lists of what hosts may announce: FNN has one for each port.
    fn announcers(&self) -> u64 {
        match self.virtualization {
            Virtualization::Etv => 1,
            Virtualization::Fnn => self.ports.len() as u64,
        }
    }

    /// What a port may announce by its VPC's profile, and what the VPC takes from the underlay.
    fn of_profile(&self, port: &Port) -> u64 {
        self.profile_of(port).map_or(0, |profile| (profile.anycast.len() + profile.accepted_leaks.len()) as u64)
    }

    /// Lists that permit a VPC's own prefixes: before its denies, and before those of the site's fabric.
    fn permits(&self) -> u64 {
        let etv = self.virtualization == Virtualization::Etv;
        if etv && (self.quarantined || !self.security_groups.is_empty()) {
            return 0;
        }
        let isolates = self.isolation && !self.site_fabric_prefixes.is_empty();
        u64::from(etv && !self.deny_prefixes.is_empty()) + u64::from(isolates)
    }

    /// How many prefixes the ports have, each once in its VPC.
    fn different(&self, prefixes: fn(&Port) -> &Vec<Prefix>) -> u64 {
        let vpc = |port: &Port| port.vpc_vni.filter(|_| self.virtualization == Virtualization::Fnn);
        let all = self.ports.iter().flat_map(|port| prefixes(port).iter().map(move |prefix| (vpc(port), prefix.net())));
        all.collect::<BTreeSet<(Option<u32>, IpNet)>>().len() as u64
    }
}

/// How many ACL rules come of security rules.
pub(super) fn expanded(rules: &[SecurityRule]) -> u64 {
    rules.iter().map(SecurityRule::expanded).fold(0, u64::saturating_add)
}
