//! BGP sessions: compares those that FRR has with those that are expected. Pure.

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
    /// FRR gave no answer, or one that is not understood: the sessions are unknown, not down.
    Unreadable(String),
}

/// Probe: sessions can be read, and findings that concern no single session.
const STATS: &str = "BgpStats";
/// Probe: a session to a top-of-rack switch.
const TOR: &str = "BgpPeeringTor";
/// Probe: a session to a route server.
const ROUTE_SERVER: &str = "BgpPeeringRouteServer";
/// Probe: a session that is not expected.
const UNEXPECTED: &str = "UnexpectedBgpPeer";

/// What is known if the JSON counts failed sessions without naming them: the text, which names them, or if it is of no use,
/// the JSON with a note that says why.
pub(crate) fn named(mut counted: BgpSummary, text: BgpReading) -> BgpReading {
    let why = match text {
        BgpReading::Summary(named) if !named.tables.is_empty() => return BgpReading::Summary(named),
        BgpReading::Summary(empty) => empty.notes.join("; "),
        BgpReading::Unreadable(why) => why,
    };
    counted.notes.push(if why.is_empty() { "show bgp summary says nothing".to_owned() } else { why });
    BgpReading::Summary(counted)
}

/// Compares the sessions with what is expected.
///
/// p0 carries the boot traffic of the host, so while it is down no instance is placed here. If only p1 is down, that is
/// shown and stops nothing. Without both the DPU is cut off, and the host stays in its state.
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
        match evpn.session(&server) {
            Session::Up => findings.success(ROUTE_SERVER, Some(&server)),
            Session::Unknown => {}
            Session::Faulty(fault) => findings.alert(ROUTE_SERVER, Some(&server), Severity::Critical, fault),
        }
    }
    for sessions in [&ipv4, &evpn] {
        sessions.report_unnamed(&summary.notes, findings);
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
    uplinks.iter().filter(|uplink| matches!(sessions.session(uplink), Session::Up)).cloned().collect()
}

/// The DPU has as many uplinks as must work.
fn links(expected: &Expectations, findings: &mut Findings) {
    let (required, there) = (expected.min_links, expected.uplinks.len());
    if required > there {
        let message = format!("{required} working uplinks are required, but this DPU has {there}");
        findings.alert(STATS, None, Severity::Critical, message);
    }
}

fn uplinks(ipv4: &Sessions<'_>, evpn: &Sessions<'_>, expected: &Expectations, findings: &mut Findings) {
    let watched: Vec<&String> = expected.uplinks.iter().take(expected.min_links).collect();
    let watched: Vec<(usize, &str, Vec<Session>)> = (watched.iter().enumerate())
        .map(|(index, uplink)| {
            let evpn = expected.evpn_on_uplinks.then(|| evpn.session(uplink));
            (index, uplink.as_str(), [ipv4.session(uplink)].into_iter().chain(evpn).collect())
        })
        .collect();
    let faulty = |session: &Session| matches!(session, Session::Faulty(_));
    let down = watched.iter().filter(|(_, _, sessions)| sessions.iter().any(faulty)).count();
    for (index, uplink, sessions) in watched {
        if sessions.iter().all(|session| matches!(session, Session::Up)) {
            findings.success(TOR, Some(uplink));
        }
        let severity = match (down, index) {
            (2.., _) => Severity::Critical,
            (_, 0) => Severity::PreventsAllocations,
            _ => Severity::Notice,
        };
        for session in sessions {
            if let Session::Faulty(fault) = session {
                findings.alert(TOR, Some(uplink), severity, fault);
            }
        }
    }
}

fn unexpected(summary: &BgpSummary, expected: &Expectations, findings: &mut Findings) {
    for table in &summary.tables {
        let expected_peer = |peer: &BgpPeer| match peer.name.parse::<IpAddr>() {
            Ok(address) => match table.family {
                Family::L2VpnEvpn => expected.route_servers.contains(&address),
                // Sessions that the host may open, or not.
                _ => expected.tenant_peers.iter().any(|tenant| tenant.address == address && tenant.vrf == table.vrf),
            },
            Err(_) => table.vrf == "default" && is_uplink(&peer.name, expected),
        };
        for peer in &table.peers {
            if peer.dynamic {
                let message = format!("Dynamic BGP peer {} was found, expected none", peer.name);
                findings.alert(STATS, None, Severity::Critical, message);
            }
            // Route servers may be listed as IPv4 peers, too, although no IPv4 routes are exchanged with them.
            let known = expected_peer(peer) || peer.name.parse().is_ok_and(|it| expected.route_servers.contains(&it));
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

/// IPv6 over the uplinks is optional: if the ToRs do not agree to it, that is shown and stops nothing. JSON shows it only as a
/// count of failed sessions that exceeds those that are down.
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

/// The state of one session.
enum Session {
    Up,
    /// Some of several failed, and FRR does not say which.
    Unknown,
    Faulty(String),
}

/// The sessions of one family in the default VRF.
struct Sessions<'a> {
    table: Option<&'a BgpTable>,
}

impl<'a> Sessions<'a> {
    fn of(summary: &'a BgpSummary, family: Family) -> Self {
        Self { table: summary.default_vrf(&family) }
    }

    /// The state of the session `name`. One without a policy is up, as JSON has it.
    fn session(&self, name: &str) -> Session {
        let peer = self.table.and_then(|table| table.peers.iter().find(|peer| peer.name == name));
        let not_agreed = || {
            Session::Faulty(format!("Session {name} is Established, but the peer did not agree to this address family"))
        };
        match peer.map(|peer| &peer.state) {
            None => Session::Faulty(format!("Expected session for {name} was not found in BGP peer data")),
            Some(PeerState::Established | PeerState::NoPolicy) => match self.failed() {
                (0, _) => Session::Up,
                (failed, up) if failed < up => Session::Unknown,
                _ => not_agreed(),
            },
            Some(PeerState::NotNegotiated) => not_agreed(),
            Some(PeerState::Down(state)) => {
                Session::Faulty(format!("Session {name} is not Established, but in state {state}"))
            }
        }
    }

    /// How many sessions failed although FRR calls them Established, and how many it calls so.
    fn failed(&self) -> (usize, usize) {
        let up = |table: &BgpTable| table.peers.iter().filter(|peer| peer.state.is_established()).count();
        self.table.map_or((0, 0), |table| (table.unnamed_failures(), up(table)))
    }

    /// Alerts that some sessions failed where FRR does not say which.
    fn report_unnamed(&self, notes: &[String], findings: &mut Findings) {
        let (Some(table), (failed @ 1.., up)) = (self.table, self.failed()) else { return };
        if failed < up {
            let (family, notes) = (table.family.name(), notes.join("; "));
            let message = format!(
                "{failed} of {up} sessions that are Established failed in {family}, which ones is not known: {notes}"
            );
            findings.alert(STATS, Some(family), Severity::Critical, message);
        }
    }
}

#[cfg(test)]
mod tests;
