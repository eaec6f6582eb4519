use std::{collections::BTreeSet, net::IpAddr};

use super::findings::{Findings, Severity};
use crate::{
    parse::{BgpPeer, BgpSummary, BgpTable, Family, PeerState},
    render::Expectations,
};

/// What is known of FRR's sessions.
#[derive(Debug, Clone)]
pub(crate) enum BgpReading {
    Summary(BgpSummary),
    /// FRR could not be asked, or its answer is not understood: the sessions are unknown, not down.
    Unreadable(String),
}

/// Reading the sessions at all, and what concerns no single session.
const STATS: &str = "BgpStats";
/// A session to a top-of-rack switch.
const TOR: &str = "BgpPeeringTor";
/// A session to a route server.
const ROUTE_SERVER: &str = "BgpPeeringRouteServer";
/// A session that nobody asked for.
const UNEXPECTED: &str = "UnexpectedBgpPeer";

/// Holds the sessions against what is expected.
///
/// p0 carries the boot traffic of the host, so without it no instance is placed here; p1 alone is only shown; without
/// both the DPU is cut off and the host stays in its state.
pub(crate) fn judge(reading: &BgpReading, expected: &Expectations, findings: &mut Findings) {
    let summary = match reading {
        BgpReading::Summary(summary) => summary,
        BgpReading::Unreadable(why) => {
            findings.silence(STATS, format!("BGP sessions cannot be read: {why}"));
            return;
        }
    };
    let ipv4 = Sessions::of(summary, Family::Ipv4Unicast);
    let evpn = Sessions::of(summary, Family::L2VpnEvpn);
    links(expected, findings);
    uplinks(&ipv4, &evpn, expected, findings);
    for server in &expected.route_servers {
        let server = server.to_string();
        match evpn.fault(&server) {
            None => findings.success(ROUTE_SERVER, Some(&server)),
            Some(fault) => findings.alert(ROUTE_SERVER, Some(&server), Severity::Critical, fault),
        }
    }
    unexpected(summary, expected, findings);
    unused_families(summary, findings);
    if summary.tables.is_empty() && !summary.notes.is_empty() {
        let message = format!("FRR shows no BGP sessions: {}", summary.notes.join("; "));
        findings.alert(STATS, None, Severity::Critical, message);
    }
    findings.success(STATS, None);
}

/// The uplinks whose IPv4 session is up.
pub(crate) fn established(reading: &BgpReading, uplinks: &[String]) -> BTreeSet<String> {
    let BgpReading::Summary(summary) = reading else { return BTreeSet::new() };
    let sessions = Sessions::of(summary, Family::Ipv4Unicast);
    uplinks.iter().filter(|uplink| sessions.fault(uplink).is_none()).cloned().collect()
}

fn links(expected: &Expectations, findings: &mut Findings) {
    let (wanted, there) = (expected.min_links, expected.uplinks.len());
    if wanted > there {
        let message = format!("{wanted} working uplinks are asked for, but this DPU has {there}");
        findings.alert(STATS, None, Severity::Critical, message);
    }
}

fn uplinks(ipv4: &Sessions<'_>, evpn: &Sessions<'_>, expected: &Expectations, findings: &mut Findings) {
    let watched: Vec<&String> = expected.uplinks.iter().take(expected.min_links).collect();
    let faults: Vec<(usize, &str, Vec<String>)> = (watched.iter().enumerate())
        .map(|(index, uplink)| {
            let evpn = if expected.evpn_on_uplinks { evpn.fault(uplink) } else { None };
            (index, uplink.as_str(), ipv4.fault(uplink).into_iter().chain(evpn).collect())
        })
        .collect();
    let down = faults.iter().filter(|(_, _, faults)| !faults.is_empty()).count();
    for (index, uplink, faults) in faults {
        if faults.is_empty() {
            findings.success(TOR, Some(uplink));
        }
        let severity = match (down, index) {
            (2.., _) => Severity::Critical,
            (_, 0) => Severity::PreventsAllocations,
            _ => Severity::Notice,
        };
        for fault in faults {
            findings.alert(TOR, Some(uplink), severity, fault);
        }
    }
}

fn unexpected(summary: &BgpSummary, expected: &Expectations, findings: &mut Findings) {
    for table in &summary.tables {
        let invited = |peer: &BgpPeer| match peer.name.parse::<IpAddr>() {
            Ok(address) => match table.family {
                Family::L2VpnEvpn => expected.route_servers.contains(&address),
                // Sessions of the host: it may open them or not.
                _ => expected.tenant_peers.iter().any(|tenant| tenant.address == address && tenant.vrf == table.vrf),
            },
            Err(_) => table.vrf == "default" && is_uplink(&peer.name, expected),
        };
        for peer in &table.peers {
            if peer.dynamic {
                let message = format!("Dynamic BGP peer {} was found, expected none", peer.name);
                findings.alert(STATS, None, Severity::Critical, message);
            }
            // Route servers may be listed as IPv4 peers too, where nothing is exchanged with them.
            let known = invited(peer) || peer.name.parse().is_ok_and(|it| expected.route_servers.contains(&it));
            if !known {
                let family = table.family.name();
                let message = format!("Unexpected BGP session referencing peer {} was found in {family}", peer.name);
                findings.alert(UNEXPECTED, Some(&peer.name), Severity::Critical, message);
            }
        }
        let listed = u32::try_from(table.peers.iter().filter(|peer| peer.dynamic).count()).unwrap_or(u32::MAX);
        if let Some(count) = table.dynamic_peers.filter(|&count| count > listed) {
            let message = format!("{count} dynamic BGP peers were found in {}, expected 0", table.family.name());
            findings.alert(STATS, None, Severity::Critical, message);
        }
    }
}

/// IPv6 over the uplinks is a gift of the ToRs: where they do not agree to it, that is shown and blocks nothing. JSON tells
/// it only by a count that is higher than the sessions which are down.
fn unused_families(summary: &BgpSummary, findings: &mut Findings) {
    let Some(table) = summary.default_vrf(&Family::Ipv6Unicast) else { return };
    let up = |peer: &&BgpPeer| matches!(peer.state, PeerState::NotNegotiated);
    let named: Vec<&str> = table.peers.iter().filter(up).map(|peer| peer.name.as_str()).collect();
    let unnamed = table.unnamed_failures();
    let family = table.family.name();
    if !named.is_empty() {
        let message = format!("{} did not agree to {family}", named.join(", "));
        findings.alert(STATS, Some(family), Severity::Notice, message);
    } else if unnamed > 0 {
        let message = format!("{unnamed} peers that are Established did not agree to {family}");
        findings.alert(STATS, Some(family), Severity::Notice, message);
    }
}

/// A name of this DPU's uplinks, or of an uplink under the other naming scheme.
fn is_uplink(name: &str, expected: &Expectations) -> bool {
    let scheme = || {
        let middle = name.strip_prefix('p')?;
        let digits = middle.strip_suffix("_if").or_else(|| middle.strip_suffix("_sf"))?;
        (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
    };
    expected.uplinks.iter().any(|uplink| uplink == name) || scheme().is_some()
}

/// The sessions of one family in the default VRF.
struct Sessions<'a> {
    table: Option<&'a BgpTable>,
}

impl<'a> Sessions<'a> {
    fn of(summary: &'a BgpSummary, family: Family) -> Self {
        Self { table: summary.default_vrf(&family) }
    }

    /// What is wrong with the session of `name`, if anything.
    fn fault(&self, name: &str) -> Option<String> {
        let peers = self.table.map(|table| table.peers.as_slice()).unwrap_or_default();
        let Some(peer) = peers.iter().find(|peer| peer.name == name) else {
            return Some(format!("Expected session for {name} was not found in BGP peer data"));
        };
        match &peer.state {
            PeerState::Established => None,
            PeerState::NotNegotiated => {
                Some(format!("Session {name} is Established, but the peer did not agree to this address family"))
            }
            PeerState::NoPolicy => {
                Some(format!("Session {name} is Established, but exchanges no routes because no policy is set"))
            }
            PeerState::Down(state) => Some(format!("Session {name} is not Established, but in state {state}")),
        }
    }
}

#[cfg(test)]
mod tests;
