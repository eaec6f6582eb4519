//! What `show bgp summary` says, as JSON or as text: the result of both readers.

use serde::Serialize;

/// What `show bgp summary` said, in whichever form it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BgpSummary {
    /// One table a VRF and address family, in the order printed.
    pub tables: Vec<BgpTable>,
    /// The sessions of `summary failed`.
    pub failed: Vec<FailedSession>,
    /// What else was printed and may explain an empty answer, for example `% BGP instance not found`.
    pub notes: Vec<String>,
}

impl BgpSummary {
    /// The table of one family in the default VRF.
    #[must_use]
    pub fn default_vrf(&self, family: &Family) -> Option<&BgpTable> {
        self.tables.iter().find(|table| table.vrf == DEFAULT_VRF && table.family == *family)
    }
}

/// Name of the VRF that holds the underlay.
pub(crate) const DEFAULT_VRF: &str = "default";

/// A VRF as printed, under one name: old releases write the default one in capitals.
pub(crate) fn vrf_named(name: &str) -> &str {
    if name == "Default" { DEFAULT_VRF } else { name }
}

/// The sessions of one address family in one VRF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BgpTable {
    /// VRF name, `default` for the underlay; `vrf-id 14` where only its number is told.
    pub vrf: String,
    /// Address family.
    pub family: Family,
    /// Our own AS number.
    pub local_as: Option<u32>,
    /// The sessions, in the order printed.
    pub peers: Vec<BgpPeer>,
    /// How many sessions FRR itself counts as failed in this family.
    pub failed_peers: Option<u32>,
    /// How many sessions FRR itself counts as dynamic; a peer's own flag is more to be trusted.
    pub dynamic_peers: Option<u32>,
}

impl BgpTable {
    /// Sessions that FRR counts as failed without a session being down: the peer did not agree to the family. JSON calls
    /// them Established; only the text says which they are.
    #[must_use]
    pub fn unnamed_failures(&self) -> usize {
        let named = |peer: &&BgpPeer| matches!(peer.state, PeerState::Down(_) | PeerState::NotNegotiated);
        let counted = self.failed_peers.and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
        counted.saturating_sub(self.peers.iter().filter(named).count())
    }
}

/// A session in the answer of `summary failed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedSession {
    /// VRF name, as of a table.
    pub vrf: String,
    /// Address family.
    pub family: Family,
    /// Interface or address that names the session.
    pub name: String,
    /// How often it came up.
    pub established_count: u32,
    /// How often it went down.
    pub dropped_count: u32,
    /// Time since it went down, as printed.
    pub reset: String,
    /// Why it is down, in FRR's words, which differ by version.
    pub reason: String,
}

/// Address family of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Family {
    /// IPv4 unicast.
    Ipv4Unicast,
    /// IPv6 unicast.
    Ipv6Unicast,
    /// EVPN.
    L2VpnEvpn,
    /// Any other, by the name printed.
    Other(String),
}

impl Family {
    /// The name as in health reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ipv4Unicast => "ipv4_unicast",
            Self::Ipv6Unicast => "ipv6_unicast",
            Self::L2VpnEvpn => "l2_vpn_evpn",
            Self::Other(name) => name,
        }
    }
}

/// One session in one family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BgpPeer {
    /// Interface or address that names the session.
    pub name: String,
    /// Host name that the peer told, if it did.
    pub hostname: Option<String>,
    /// The session was accepted from a range, not configured.
    pub dynamic: bool,
    /// AS number of the peer; 0 for one never heard.
    pub remote_as: Option<u32>,
    /// Our AS number towards this peer, where printed.
    pub local_as: Option<u32>,
    /// State of the session in this family.
    pub state: PeerState,
    /// Prefixes received.
    pub received: Option<u64>,
    /// Prefixes sent.
    pub sent: Option<u64>,
    /// Seconds since the session last went up or down; none for one never up or a form not known.
    pub uptime_secs: Option<u64>,
    /// The time as printed.
    pub uptime: String,
    /// Description, if there is one.
    pub description: Option<String>,
}

/// State of a session in one family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum PeerState {
    /// Up.
    Established,
    /// Up, but the peer did not agree to this family: no route will ever come.
    NotNegotiated,
    /// Up, but nothing is exchanged because no policy is set. Only the text tells: JSON calls it Established.
    NoPolicy,
    /// Not up; the state as printed, with its reason, for example `Idle (Admin)`.
    Down(String),
}

impl PeerState {
    /// The session is up, and the peer agreed to this family.
    #[must_use]
    pub fn is_established(&self) -> bool {
        matches!(self, Self::Established | Self::NoPolicy)
    }
}

/// An AS number as printed: plain (`4200000001`) or with a dot (`64086.59905`).
pub(crate) fn as_number(text: &str) -> Option<u32> {
    match text.split_once('.') {
        None => text.parse().ok(),
        Some((high, low)) => {
            let (high, low): (u16, u16) = (high.parse().ok()?, low.parse().ok()?);
            Some((u32::from(high) << 16) | u32::from(low))
        }
    }
}
